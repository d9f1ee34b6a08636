"""Quality gate: the figures of the methods on the labelled corpora, and the floors below which they must not fall.

Run it with `make quality`, or one part with `python -m benchmarks.quality forms`; `floors.json` contains the floors.
"""
