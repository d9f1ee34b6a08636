"""Main content of an ordinary page.

`lines` has the text lines of a page and their features, `main_content` the article with title, date and author, `table_of_contents` lists of
links to content.
"""
