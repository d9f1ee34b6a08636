"""What kind of answer came: `links` (the pager)."""
