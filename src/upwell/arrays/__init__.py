"""Compact data structures on numpy arrays: `key_set` (sets of record keys) and `sparse` (sparse matrices of bags of terms)."""
