"""Use several sources together.

catalogue     harvests in folders, and the verbs over them    learned_source   a source loaded from its source.json
ask, merge    send one query to many sources, merge answers   enrich           add fields of another source to each row
search, search_index, sql                                     search and query everything harvested
match, align, similarity, source_table                        find rows and columns that mean the same
duplicates                                                    find rows of one table that mean the same
compare       compare several sources in one table            match_results    values that match and compare return
"""
