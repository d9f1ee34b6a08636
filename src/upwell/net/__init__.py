"""Talk to servers: `fetch` (polite HTTP), `browser`, `robots`, `pace` (rates and leases), `connect`, `access` and `login`."""
