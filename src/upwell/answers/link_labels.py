"""What the text of a link says of where it leads: to the next page, back, to a numbered page, to more, or nothing of the kind.

Most links of an answer stand on other answers, too, so what a text says is remembered from page to page.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from upwell.answers.number_links import PLAIN_NUMBER, plain_number
from upwell.answers.phrases import ARROW, LAST, MORE, MORE_RESULTS, NEXT, OLDER, PREVIOUS

__all__ = ["LinkLabel", "label_of"]

LEFT_ARROW = re.compile(r"\s*(?:[←«‹<◀◄❮⟨]|&lt;)")
MAX_KNOWN_TEXTS = 10_000  # that are remembered; those of pager links are short


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkLabel:
    """A text, on one line, and what it says."""

    text: str
    number: int | None  # the number that it is, but for signs around it
    is_number: bool
    is_arrow: bool
    is_left_arrow: bool  # it begins with one
    is_next_word: bool
    is_more: bool
    is_older: bool
    leads_back: bool  # or to the last page
    is_other: bool  # it says something, and nothing of pages


@lru_cache(maxsize=MAX_KNOWN_TEXTS)
def label_of(said: str) -> LinkLabel:
    """What a text says.

    >>> label_of("Next ›").is_next_word, label_of("‹ Previous").leads_back, label_of("[3]").number, label_of("About").is_more
    (True, True, 3, False)
    """
    text = " ".join(said.split())
    is_number, is_arrow = bool(PLAIN_NUMBER.fullmatch(text)), bool(ARROW.fullmatch(text))
    is_left_arrow, is_more = bool(LEFT_ARROW.match(text)), bool(MORE.fullmatch(text))
    is_next_word = bool(text) and not is_arrow and bool(NEXT.fullmatch(text) or MORE_RESULTS.fullmatch(text))
    is_older = bool(OLDER.fullmatch(text))
    leads_back = bool(PREVIOUS.fullmatch(text) or LAST.fullmatch(text))
    return LinkLabel(
        text=text,
        number=plain_number(text),
        is_number=is_number,
        is_arrow=is_arrow,
        is_left_arrow=is_left_arrow,
        is_next_word=is_next_word,
        is_more=is_more,
        is_older=is_older,
        leads_back=leads_back,
        is_other=bool(text)
        and not (is_number or is_arrow or is_left_arrow or is_next_word or is_more or is_older or leads_back),
    )
