"""Talking to the world: `fetch` (polite HTTP)."""
