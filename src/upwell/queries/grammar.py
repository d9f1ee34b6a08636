"""Whether a source understands several words, AND, NOT and phrases: learned by trying (Yuan's last piece of future work).

and      all words must match        a b · a AND b · +a +b
not      the second word must not    a -b · a NOT b
phrase   the words in this order     "a b"
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from upwell.page.terms import tokens

__all__ = ["FORMS", "Grammar", "judge", "write"]

Operator = Literal["and", "not", "phrase"]
FORMS: dict[Operator, tuple[str, ...]] = {
    "and": ("{a} {b}", "{a} AND {b}", "+{a} +{b}"),
    "not": ("{a} -{b}", "{a} NOT {b}"),
    "phrase": ('"{a} {b}"',),
}


@dataclass(frozen=True, kw_only=True)
class Grammar:
    """How each operator is written for a source; None where it is not understood, or not known yet."""

    both: str | None = None
    without: str | None = None
    phrase: str | None = None


def write(form: str, a: str, b: str) -> str:
    """A query of two words.

    >>> write(FORMS["not"][0], "red", "car")
    'red -car'
    """
    return form.format(a=a, b=b)


def judge(operator: Operator, a: str, b: str, texts: Sequence[str], alone: int) -> bool:
    """Whether the answer to a trial shows that the operator was understood; `alone` is how many matched the first word alone.

    An empty answer shows nothing; one that is no smaller than that to the first word alone was not narrowed.
    """
    if not texts or len(texts) > alone:
        return False
    words = [tokens(text) for text in texts]
    if operator == "and":
        return all(a in found and b in found for found in words)
    if operator == "not":
        return all(a in found and b not in found for found in words)
    return all((a, b) in pairwise(found) for found in words)
