"""Describe a harvest to people: `sentences`, `charts` and `report` (report.html)."""
