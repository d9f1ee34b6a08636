"""Words of natural languages, and their meaning on web pages.

*.toml           words and phrases by meaning and language: next, nothing found, delete …
vocabulary       reader of these files
phrases          patterns of pager labels, "no matches", errors and refusals
argument_names   usual names and values of URL arguments
frequent_words   the most frequent words of each language (word_lists/)
scripts          scripts, their characters and languages
"""
