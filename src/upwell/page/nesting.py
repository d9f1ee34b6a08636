"""Nesting as deep as a browser would nest, before the page is parsed: a bound on what a page can cost."""

import re

import numpy as np

__all__ = ["CHECK_DEPTH_FROM", "MAX_DEPTH", "flatten"]

# Chromium stops nesting at 512 levels. The parser here has no such limit, and the cost of a tag grows with the depth
# it stands at: 100,000 nested <div> take it 23 s instead of 0.05.
MAX_DEPTH = 512
# Formatting elements that were never closed are opened again in every following block (HTML standard, "reconstruct the
# active formatting elements"): a page of <p><font a=1><p><font a=2>… grows with the square of its size.
MAX_FORMATTING = 32
# Below this many tags even the worst nesting is parsed in a second, and looking for it is saved.
CHECK_DEPTH_FROM = 20_000
VOID = "area base br col embed hr img input link meta param source track wbr"
# Elements that the parser closes by itself: many open ones are many siblings, not much depth.
CLOSED_FOR_YOU = "a body dd dt head html li optgroup option p rb rp rt tbody td tfoot th thead tr"
REOPENED = frozenset(["b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"])
RAW = "script|style|textarea|title"
UNCOUNTED = frozenset([*RAW.split("|"), *VOID.split(), *CLOSED_FOR_YOU.split()])
# What holds no tags: a comment, or the text of an element that is only text.
TEXTS = re.compile(rf"<(?:!--.*?(?:-->|\Z)|({RAW})(?![^\s/<>])[^<>]*>?.*?(?:</\1|\Z))", re.I | re.S)
NAME = re.compile(r"<(/?[a-zA-Z][^\s/<>]*)")
TAG = re.compile(rf"{TEXTS.pattern}|{NAME.pattern}[^<>]*>?", re.I | re.S)


def flatten(text: str) -> tuple[str, int]:
    """Leaves out the tags that stand deeper than a browser would nest them; also how many those were."""
    if not _deep(text):
        return text, 0
    kept: list[str] = []
    at = dropped = 0
    depth = {True: 0, False: 0}  # formatting elements, others
    over = {True: 0, False: 0}
    limit = {True: MAX_FORMATTING, False: MAX_DEPTH}
    for found in TAG.finditer(text):
        name = (found[2] or "").lower()
        kind = name.strip("/") in REOPENED
        if not _step(name, kind):
            continue
        if name[0] != "/":
            if depth[kind] < limit[kind]:
                depth[kind] += 1
                continue
            over[kind] += 1
        elif over[kind]:
            over[kind] -= 1
        else:
            depth[kind] = max(0, depth[kind] - 1)
            continue
        kept.append(text[at : found.start()])
        at = found.end()
        dropped += 1
    kept.append(text[at:])
    return "".join(kept), dropped


def _deep(text: str) -> bool:
    """Whether any tag stands too deep, counted for all tags at once: for most large pages nothing more has to be done."""
    names = NAME.findall(TEXTS.sub(" ", text))
    for formatting, limit in ((True, MAX_FORMATTING), (False, MAX_DEPTH)):
        steps = {name: _step(name.lower(), formatting) for name in set(names)}
        depth = np.cumsum(np.fromiter(map(steps.__getitem__, names), np.int32, len(names)))
        lowest = np.minimum(np.minimum.accumulate(depth), 0)  # a tag that closes nothing does not count
        if (depth - lowest).max(initial=0) > limit:
            return True
    return False


def _step(name: str, formatting: bool) -> int:
    """What a tag adds to the depth of formatting elements, or of others."""
    bare = name.strip("/")
    if not bare or bare in UNCOUNTED or (bare in REOPENED) != formatting:
        return 0
    return -1 if name[0] == "/" else 1
