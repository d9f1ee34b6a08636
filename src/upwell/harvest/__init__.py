"""Harvest one site.

loop            sends requests for the generators        session       one source
reader          asks and reads a source                  record_pages  details from record pages
list_finder     looks for lists                          events        what happens, as values
checkpoint      saved memory                             refresh       a later run
harvest_folder  one harvest in its folder                folders       what lies in folders
summary, files  what is written at the end               site_work, run_log   work for engines
"""
