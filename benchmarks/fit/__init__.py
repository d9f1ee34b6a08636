"""Fit the judgements of `upwell.judge`: `python -m benchmarks.fit [NAME…] [--dry]`.

Each module of this package fits one judgement. It has a function `fit()` that returns the `FittedJudgement`: the weights fitted on all data
and the card with the score that was measured with whole sites left out. `__main__` prints the card and writes the file. `fitting` has what
the modules share: folds by site, logistic regression, boosted trees, the file format.
"""
