"""Talking to the world: `fetch` (polite HTTP: `pace`, `robots`, `addresses`, `decode`, `refusal`), `browser`, `archive`."""
