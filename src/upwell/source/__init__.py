"""The source model: what was learned about one source, and how its later answers are read."""
