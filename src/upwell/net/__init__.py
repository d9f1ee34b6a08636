"""Talking to the world: `fetch` (polite HTTP, with `pace`, `robots`, `addresses` and `decode`) and `browser`."""
