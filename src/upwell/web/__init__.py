"""Web pages (`upwell serve`) and MCP server (`upwell mcp`).

app             routes                                   security       host check, token, CSRF, response headers
harvests        harvests of a folder, and their runs     progress       a run, read from events.jsonl
harvest_views, record_views, combine_views               the pages      rendering   templates and formatting
browse          tables, queried with DuckDB              texts          every sentence on the pages
corrections     corrections of a source model by example
"""
