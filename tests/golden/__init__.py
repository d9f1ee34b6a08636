"""Saved answers of the demo site in each layout, and their expected records: see README.md in this folder."""
