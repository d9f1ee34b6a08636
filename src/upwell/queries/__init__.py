"""What to ask next: `words` (for probing), `select` (while harvesting), `size` (how much there is)."""
