"""Whether a source understands several words, AND, NOT and phrases: learned by trying (Yuan's last piece of future work).

and      all words must match        a b · a AND b · +a +b
not      the second word must not    a -b · a NOT b
phrase   the words in this order     "a b"
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

from upwell.page.terms import query_words

__all__ = ["FORMS", "Operator", "judge", "write"]

Operator = Literal["and", "not", "phrase"]
FORMS: dict[Operator, tuple[str, ...]] = {
    "and": ("{a} {b}", "{a} AND {b}", "+{a} +{b}"),
    "not": ("{a} -{b}", "{a} NOT {b}"),
    "phrase": ('"{a} {b}"',),
}


# Share of the matches whose text shows what was asked for: some sources search more than they show.
MIN_SHOWING_SHARE = 0.8  # not swept: 20 Newsgroups and the demo site show everything


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
    words = [query_words(text) for text in texts]
    if operator == "and":
        shown = [a in found and b in found for found in words]
    elif operator == "not":
        shown = [a in found and b not in found for found in words]
    else:
        shown = [(a, b) in pairwise(found) for found in words]
    return sum(shown) >= MIN_SHOWING_SHARE * len(shown)
