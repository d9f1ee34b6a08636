"""Print how much of the sample is read right, for each judgement: `python -m tests.sample`."""

from collections import Counter

from tests.sample.pages import load
from tests.sample.score import wrong_in


def main() -> None:
    """Print the pages that are read wrongly, and the share of pages that are read right."""
    pages: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    for site in load().values():
        gaps = wrong_in(site)
        pages[site.judgement] += len(site.pages)
        wrong[site.judgement] += len({gap.partition(" ")[0] for gap in gaps})
        for gap in gaps:
            print(f"{site.name}: {gap}")
    for judgement, count in pages.items():
        print(f"{judgement}: {count - wrong[judgement]} of {count} pages are read without an error")


if __name__ == "__main__":
    main()
