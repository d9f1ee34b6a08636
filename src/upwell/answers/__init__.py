"""Interpret an answer: its kind, stated totals, pager and facets, and the roles of URL arguments.

answer           the central class: query, response and page
kind             no matches, error or refusal
totals           stated number of matches
pager            link to the next page
next_page        request for the next page: link, form, script
facets           links that narrow or sort a query, or repeat it
argument_roles   purpose of each URL argument of a source
"""
