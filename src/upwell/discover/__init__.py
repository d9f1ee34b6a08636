"""Find the search interfaces of a site, and try them. Nothing is sent here: generators yield the requests that they need (`steps`).

discovery, link_ranking           which pages are examined, in which order; the result
consent_page                      consent pages in front of a site
forms, declared, browser_search   where interfaces come from: forms, SearchAction and OpenSearch, scripts
interfaces                        the requests that an interface sends
trial, probe_words                whether an interface returns records; presets that hide records
page_size                         more records per page
without_search                    fallbacks: lists, downloads, feeds, the sitemap
lists, index_source               reading lists and indexes as records
"""
