"""What all texts of a column begin or end with, and is no part of their values: "Population: 5", "(1999)", "A title - The Site"."""

import re
from collections import Counter
from collections.abc import Collection

__all__ = ["cut_of", "without_cut"]

SLIPS = 0.01  # of the texts, at each end of the alphabet, need not begin as the others do
MIN_LABELLED = 5  # different texts that begin with the same label and a colon
MIN_WORDED = 20  # the same, without a colon
MAX_LABEL_CHARS = 40
SEPARATED = re.compile(r"\s[-–—|·»«:/]\s.*$", re.S)  # the name of a site behind a title
BRACKETS = (("(", ")"), ("[", "]"), ("（", "）"))  # around all texts of a column


def cut_of(texts: Collection[str]) -> tuple[str, str]:
    """What the texts of a column begin and end with that is no part of their values; "" where they differ."""
    if len(texts) < MIN_LABELLED:
        return "", ""
    slips = int(SLIPS * len(texts))
    least = len(texts) - 2 * slips  # texts that begin or end alike, where any but slips do
    starts = max(Counter(text[:1] for text in texts).values()) >= least
    ends = max(Counter(text[-1:] for text in texts).values()) >= least
    if not starts and not ends:  # as in most columns, which need not be sorted to see it
        return "", ""
    start = _common_start(ordered[slips], ordered[-1 - slips]) if (ordered := sorted(texts)) and starts else ""
    if start.startswith(("http:", "https:")):
        return "", ""
    found = re.match(r".*[:\s]\s*", start, re.S)
    label = found[0] if found else ""
    if len(texts) < (MIN_LABELLED if label.rstrip().endswith((":", "：")) else MIN_WORDED) or not _is_label(label):
        label = ""
    backwards = sorted(text[::-1] for text in texts) if ends else []
    finish = _common_start(backwards[slips], backwards[-1 - slips])[::-1] if ends else ""
    for opening, closing in BRACKETS:
        if finish.endswith(closing) and (label.count(opening) > label.count(closing) or start.startswith(opening)):
            return label or opening, closing
    end = SEPARATED.search(finish)
    return label, end[0] if end and _is_label(end[0]) else ""


def without_cut(text: str, cut: tuple[str, str]) -> str:
    """The text without what all texts begin and end with."""
    begin, end = cut
    if begin and text.startswith(begin):
        text = text[len(begin) :]
    return (text.removesuffix(end) if end else text).strip()


def _is_label(text: str) -> bool:
    return "://" not in text and len(text) <= MAX_LABEL_CHARS and any(map(str.isalpha, text))


def _common_start(one: str, other: str) -> str:
    length = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return one[:length]
