"""What a harvest keeps on disk: `archive` (WARC), `state` (SQLite), `folder` (both of one site), `records` and `typed` (the table), `tables` (the user's)."""
