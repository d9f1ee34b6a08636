"""The number of matches where no word that we know stands beside it: "226 messages" above the list, whatever they are called.

A count fits the list of records, in any language: it stands in one line with a range that is as long as the list ("x 1–10 y 226"), or it is
the only number of a short line that is no link and no part of a record, and is as many as the records where no page follows, more
where one follows.
"""

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise

from upwell.answers.pager import Pager
from upwell.lazy import late_pattern
from upwell.page.ranges import NUMBER, number_value
from upwell.page.tree import TagTree

__all__ = ["RecordTexts", "plain_count"]

WHOLE_NUMBER = late_pattern(rf"(?<![\d.,:/#]){NUMBER}")
# One number, and it is not a time, a version, a date or a place in a list.
COUNT_LINE = late_pattern(
    rf"(?:[^\d]*(?:[^\d\w.,:/#-]|[\u3040-\u9fff\uac00-\ud7af]))?(?P<total>{NUMBER})\+?(?:[^\d.,:/%-][^\d]*)?"
)
LETTER = late_pattern(r"[^\W\d_]")
MAX_CHARS = 60  # of a line with nothing but a count
MAX_LINES_ABOVE = 15  # lines with numbers between the count and the first record, where more pages follow
MIN_RECORDS = 2  # that are as many as a number says, before that is no accident


class RecordTexts:
    """The texts of the records of a page, which can be asked what they have."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts, self._joined = texts, "\n".join(texts)

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset(self._joined.split())

    def line(self, line: str) -> bool:
        """Whether a line stands in one of them; most lines with a number that do are a word of it."""
        return line in self._words or line in self._joined


def plain_count(tree: TagTree, lines: Sequence[str], record_texts: RecordTexts) -> int | None:
    """The count of matches; None where no number fits the list. `lines` are the lines of the page's text with a number in them."""
    records = len(set(record_texts.texts))
    if records < MIN_RECORDS:
        return None
    plain = [" ".join(line.split()) for line in lines]
    is_outside = [not record_texts.line(line) for line in plain]
    for line, outside in zip(plain, is_outside, strict=True):
        if outside and (total := _beside_range(line, records)) is not None:
            return total
    link_texts = {" ".join(tree.text(int(row)).split()) for row in tree.rows("a", "option", "button", "label")}
    counts = [
        (at, number_value(match["total"]))
        for at, (line, outside) in enumerate(zip(plain, is_outside, strict=True))
        if outside and len(line) <= MAX_CHARS and line not in link_texts
        if LETTER.search(line) and (match := COUNT_LINE.fullmatch(line))
    ]
    pager = Pager(tree)
    if not pager.next_link() and not pager.likely_link:
        return records if any(total == records for _, total in counts) else None
    list_starts = is_outside.index(False) if False in is_outside else len(lines)
    above = [
        total
        for at, total in counts
        if records < total and not 1900 < total < 2100 and 0 <= list_starts - at <= MAX_LINES_ABOVE
    ]
    return above[-1] if above else None


def _beside_range(line: str, records: int) -> int | None:
    """The number that stands beside a range as long as the list, and is not smaller than the end of the range."""
    numbers = [number_value(text) for text in WHOLE_NUMBER.findall(line)]
    for i, (first, last) in enumerate(pairwise(numbers)):
        if first >= 1 and last - first + 1 == records:
            others = [*numbers[i + 2 : i + 3], *numbers[max(0, i - 1) : i]]
            total = next((number for number in others if number >= last), None)
            if total is not None:
                return total
    return None
