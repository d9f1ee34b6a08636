"""Benchmarks: `quality` (figures on labelled corpora, with floors), `speed` (ratios to named references), `reliability`, `ground` (simulated
sources), `scale`, `papers`.
"""
