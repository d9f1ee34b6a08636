"""Read what an answer says about itself.

kind             none, error or refusal
totals           the number of matches that a page states
pager            the link to the next page         next_page   any request for the next page: link, form, script
facets           links that narrow, sort or repeat a query
argument_roles   what each URL argument of a source is for
"""
