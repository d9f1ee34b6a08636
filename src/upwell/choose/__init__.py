"""Choose the next request, and estimate how much of a source is held.

plan                how far to go, and what the user knows
chooser             compares all candidates
candidates          what can be asked next, and the open queries
expected_yield      new records expected per request, and their calibration
word_candidates, pairs, prefix_queries, facet_candidates, list_candidates, proposers   the kinds of candidates
word_index          words of the records held, stored in blocks by record_words
url_repository      URLs that were seen
result_pages        the pages of one query, and the result cap
ledger              the records held, and the statements of the source about itself
coverage            the size of the source with its confidence interval, and check queries
size                Chao's lower bound, and the records of further requests
"""
