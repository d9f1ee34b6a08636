"""Finding the search interfaces of a site.

forms, declared, script_requests    where interfaces come from: forms, SearchAction and OpenSearch, requests of scripts
interfaces                          what an interface sends for a query
interface_trial, preset_settings    whether it brings records; settings whose preset hides some
discover, promising_links           which pages are looked at, and in which order
browser_search, index_source        what a rendered page shows of its search; an index that holds all records
page_size                           more records on a page
"""
