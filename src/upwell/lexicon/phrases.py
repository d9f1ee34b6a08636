"""Phrases of answers in many languages, as regular expressions: labels of pagers, "no matches", errors, refusals.

The words are in the files of `vocabulary`; they are read when a pattern is first used.
"""

import re

from upwell.lazy import late_pattern
from upwell.lexicon.vocabulary import alternatives, whole_words

__all__ = [
    "ACCESS_DENIED",
    "ARROW",
    "ASKS_FOR_MORE",
    "BLOCKED",
    "ERROR",
    "LAST",
    "LOGIN_WALL",
    "MORE",
    "MORE_RESULTS",
    "NEWER",
    "NEXT",
    "NEXT_ITEM",
    "NEXT_START",
    "NOTHING_FOUND",
    "OLDER",
    "PAGE_MISSING",
    "PREVIOUS",
    "QUERY_REJECTED",
    "ROBOT_CHECK",
    "SEARCH_WORDS",
    "TOO_MANY_REQUESTS",
]


MAX_LABEL_CHARS = (
    100  # a longer text is not a label; the patterns try all divisions of signs and digits into three parts
)


def _label(words: str) -> str:
    """Return a pattern for a whole label: one of the words, with signs and digits around it."""
    edge = r"[\W_\d]*"
    return rf"(?=(?s:.{{0,{MAX_LABEL_CHARS}}})\Z){edge}(?:{words}){edge}"


def _next_words() -> str:
    nouns = alternatives("next_nouns")
    english = rf"(?:go to |show |view |see |to )?(?:the )?next(?:\s+\d+)?(?:\s+(?:{nouns}))?"
    return f"{english}|{alternatives('next')}"


# Labels of pagers.
NEXT = late_pattern(lambda: _label(_next_words()), re.I)
# "Next" followed by other words: "Next article", "次の記事".
NEXT_START = late_pattern(lambda: rf"[\W_\d]*(?:{whole_words('next')}|\bnext\b)", re.I)
NEXT_ITEM = late_pattern(lambda: whole_words("next_item"), re.I)
PREVIOUS = late_pattern(lambda: _label(alternatives("previous")), re.I)
MORE_RESULTS = late_pattern(lambda: _label(alternatives("more_results")), re.I)
MORE = late_pattern(lambda: _label(alternatives("more")), re.I)
OLDER = late_pattern(lambda: _label(alternatives("older")), re.I)
NEWER = late_pattern(lambda: alternatives("newer"), re.I)
LAST = late_pattern(lambda: _label(alternatives("last")), re.I)
# A single arrow to the right means the next page, a double arrow the next or the last page.
ARROW = late_pattern(r"[\s\[\](){}|]*(?:[›>→▶►⟩❯⇒➔➜»⏵▷〉⟫]|->|=>|>>|››|»»)[\s\[\](){}|]*")

NOTHING_FOUND = late_pattern(lambda: alternatives("nothing_found"), re.I)
ERROR = late_pattern(lambda: whole_words("error"), re.I)  # titles and headings
PAGE_MISSING = late_pattern(lambda: whole_words("page_missing"), re.I)  # titles and headings
QUERY_REJECTED = late_pattern(lambda: whole_words("query_rejected"), re.I)

# Refusals.
ROBOT_CHECK = late_pattern(lambda: alternatives("robot_check"), re.I)
TOO_MANY_REQUESTS = late_pattern(lambda: alternatives("too_many_requests"), re.I)
ACCESS_DENIED = late_pattern(lambda: alternatives("access_denied"), re.I)
# Also on ordinary pages: counts only on a page with a password field.
LOGIN_WALL = late_pattern(lambda: f"{alternatives('please_log_in')}|{alternatives('login_wall')}", re.I)
BLOCKED = late_pattern(
    lambda: "|".join(
        alternatives(meaning) for meaning in ("robot_check", "too_many_requests", "access_denied", "please_log_in")
    ),
    re.I,
)

# Words for "search" in the languages of the web, as used on buttons and in identifiers; "research" is excluded.
SEARCH_WORDS = late_pattern(lambda: alternatives("search"), re.I)

# Words of a consent page that ask for more than agreement, in texts folded by `fold_accents`.
ASKS_FOR_MORE = late_pattern(lambda: f"{whole_words('consent_vetoes')}|[$€£¥₽₹₩₺₴₪]")
