"""Fitted judgements: `judgement` evaluates features × weights; the weights are data files in `weights/`, written by `python -m benchmarks.fit NAME`."""
