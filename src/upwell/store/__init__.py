"""Keeping and finding: `records` (tables in the format that the user wants)."""
