"""Find the search interfaces of a site, and try them.

forms, declared, browser_search   where interfaces come from: forms, SearchAction and OpenSearch, scripts
interfaces                        the requests that an interface sends
trial, probe_words                whether it returns records
form_settings                     page sizes, and preset filters that hide records
discover, link_ranking            which pages to look at, and in which order
consent_page                      pages in front of a site
lists, without_search             sources without a search: lists, sitemaps, downloads, feeds
index_source                      an index that holds all records
"""
