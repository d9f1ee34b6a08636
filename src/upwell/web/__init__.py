"""The page in the browser (`upwell serve`), and the MCP server (`upwell mcp`).

app           the pages by address                  security     who may see and change what
harvests      the harvests of a folder              runs         harvests as processes of their own
progress      what `events.jsonl` tells             live         the same, while it happens
browse        the tables, asked with DuckDB         columns      renaming and leaving out columns
together_pages  search, ask, compare          comparing    two tables side by side
record        one record and where it came from     texts        every sentence that people read
"""
