"""Saved answers of the demo site in each layout, and what Upwell reads in them: see README.md in this folder."""
