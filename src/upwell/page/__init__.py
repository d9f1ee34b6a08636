"""Parse one page: bytes to columns.

charset           decode bytes
tree              parse HTML and walk it once          tag_tree   the page as columns, the result of the walk
path_signatures   values shared by all elements with the same tags and classes from <html> down
visibility        texts hidden by the page's own style sheets
tokens            tokens, stop words, stems            language   language of a page
links             links that may be followed           form_encoding   forms, encoded as a browser does
formats           JSON, feeds and plain text as pages
embedded_data     collections of objects in JSON, CSV, XML and scripts
"""
