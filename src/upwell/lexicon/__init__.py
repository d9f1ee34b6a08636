"""Words of natural languages, and what they mean on web pages.

phrases          next, previous, more, nothing found, error … in many languages
acting_words     delete, buy, send, log out …
argument_names   usual names and values of URL arguments
frequent_words   the most frequent words of each language
scripts          scripts, their characters and languages
"""
