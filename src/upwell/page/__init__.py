"""Reading one page: `tree` (a page as columns), `terms` (its words), `vectors` (weights and distances)."""
