"""Choose the next request, and estimate how much of a source is held.

plan                how far to go, and what the user knows
candidates          what can be asked next               expected_yield   new records expected per request
chooser             compares all candidates              calibration      received ÷ predicted records, per kind
word_candidates, pairs, prefix_queries, facet_candidates, list_candidates, proposers   the kinds of candidates
word_index, record_words, url_repository   words of the records held; URLs that were seen
result_pages        the pages of one query, and the result cap       listing   progress of a list without a query
ledger              the records held                     coverage, size, check_queries   the size of the source
"""
