"""The figures in `docs/papers.md` are those that the commands printed (`benchmarks/papers/printed`)."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NUMBER = re.compile(r"\d+\.\d{2,}%?")


def section(title: str) -> str:
    text = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
    return text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def own_figures(title: str) -> list[str]:
    """Return the figures in the last column of the tables of measurements of a paper."""
    rows = re.findall(r"^\|(.+)\|$", section(title).partition("| ours |")[2], re.M)
    return [number for row in rows for number in NUMBER.findall(row.replace(" %", "%").split(" | ")[-1])]


@pytest.mark.parametrize(("title", "name"), [("Wisdom", "wisdom"), ("Yuan", "yuan"), ("Entity", "entity")])
def test_figures_of_a_paper_were_printed(title: str, name: str) -> None:
    """`python -m benchmarks.papers NAME > benchmarks/papers/printed/NAME.txt` prints them again."""
    printed = {
        number.rstrip("0") for number in NUMBER.findall((ROOT / f"benchmarks/papers/printed/{name}.txt").read_text())
    }
    figures = own_figures(title)
    assert len(figures) >= 10
    assert [figure for figure in figures if figure.rstrip("0") not in printed] == []
