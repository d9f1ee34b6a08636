"""Verbs on saved pages, archives and tables.

extract, entities, blocks   records, entity fields and main content of saved pages    saved_pages     the pages they read
inspect                     clusters and links of saved answers                       crawl           pages fetched for `blocks`
queries                     queries suggested from the user's own tables              many_archives   `--engine` over WARC files
"""
