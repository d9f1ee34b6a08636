"""Measurements: `quality` (pinned floors on labelled corpora), `speed` (ratios against named references)."""
