"""Made pages with truth, so that a clean clone notices when a judgement gets worse.

make    writes the pages, and knows their truth        pages   the saved pages
score   reads them with Upwell and compares            `python -m tests.sample` prints the score of each judgement
"""
