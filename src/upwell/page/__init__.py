"""Reading one page: `charset` (bytes to text), `nesting` (its bound), `tree` (a page as columns), `terms` (its words), `vectors`, `data` (JSON as a page)."""
