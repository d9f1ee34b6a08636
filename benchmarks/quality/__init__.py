"""The quality gate: what the methods reach on the labelled corpora, and the floors below which they must not fall.

Run with `make quality`, or `python -m benchmarks.quality forms` for one part; `floors.json` holds the floors.
"""
