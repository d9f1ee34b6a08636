"""How pages write a range of result numbers: the "1 – 10" of "1 – 10 of 283", in many languages."""

import re
from collections.abc import Iterator

from upwell.lazy import late_pattern
from upwell.page.compiled import compiled

__all__ = ["NUMBER", "RANGE", "RANGE_TO", "number_value", "numbered_lines", "plain_numbered_lines", "ranges_in"]

# A whole number of at most fifteen digits, with or without marks between the thousands ("1,234", "1 234", "12,34,567");
# no part of a decimal or of a percentage.
NUMBER = r"(?:\d{1,3}(?:[.,'’٬\u00a0\u2009\u202f ]\d{3}){1,4}|\d{1,3}(?:,\d{2}){0,5},\d{3}|\d{1,15})(?![\d%]|[.,]\d)"
# What stands between the first and the last number.
RANGE_TO = r"\s*(?:[-–—−~～〜]|\.{2,3}|…|to|through|thru|until|bis|à|au|al?|até|tot|till?|til|do|до|по|至|から)\s*"
RANGE = rf"(?P<first>{NUMBER}){RANGE_TO}(?P<last>{NUMBER})"
DIGITS = late_pattern(r"\d+")
# No date, no time, no part of a longer row of numbers.
_LONE_RANGE = late_pattern(rf"(?<![\d.,/:-]){RANGE}(?!\s*(?:{RANGE_TO})\d)", re.I)


def numbered_lines(text: str, max_chars: int) -> list[str]:
    """The lines of a text that have a digit, without those of more than `max_chars` characters.

    >>> numbered_lines("Results\\n1 of 3\\n2024 was a long year", 10)
    ['1 of 3']
    """
    return plain_numbered_lines(text, max_chars) if compiled is None else compiled.numbered_lines(text, max_chars)


def plain_numbered_lines(text: str, max_chars: int) -> list[str]:
    """The same without the compiled parts."""
    return [line for line in text.split("\n") if len(line) <= max_chars and DIGITS.search(line)]


def ranges_in(text: str) -> Iterator[tuple[int, int]]:
    """The first and last number of each range in a text.

    >>> list(ranges_in("Results 1.001 – 1.010 of 2.345; 11 to 20; 2024-05-31"))
    [(1001, 1010), (11, 20)]
    """
    at = 0
    for digits in DIGITS.finditer(text):  # a range begins with digits: far fewer places to look at than characters
        if digits.start() >= at and (found := _LONE_RANGE.match(text, digits.start())) is not None:
            yield number_value(found["first"]), number_value(found["last"])
            at = found.end()


def number_value(text: str) -> int:
    """The value of a written number.

    >>> number_value("1.234"), number_value("12,34,567")
    (1234, 1234567)
    """
    return int(text if text.isdecimal() else re.sub(r"\D", "", text))
