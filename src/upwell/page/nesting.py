"""Nesting as deep as a browser would nest, before the page is parsed: a bound on what a page can cost."""

import re

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
UNCOUNTED = frozenset(f"{VOID} {CLOSED_FOR_YOU}".split())
REOPENED = frozenset(["b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"])
RAW = {name: re.compile(f"</{name}", re.I) for name in ("script", "style", "textarea", "title")}
TAG = re.compile(r"<(?:(!--)|(/?)([a-zA-Z][^\s/<>]*)[^<>]*>?)")


def flatten(text: str) -> tuple[str, int]:
    """Leaves out the tags that stand deeper than a browser would nest them; also how many those were."""
    kept: list[str] = []
    at = place = dropped = 0
    depth = {True: 0, False: 0}  # formatting elements, others
    over = {True: 0, False: 0}
    limit = {True: MAX_FORMATTING, False: MAX_DEPTH}
    while found := TAG.search(text, place):
        place = found.end()
        name = (found[3] or "").lower()
        if found[1]:
            place = text.find("-->", place)
        elif name in RAW and not found[2]:
            closing = RAW[name].search(text, place)
            place = closing.end() if closing else -1
        if place < 0:
            break  # a comment or script without an end: the rest is inside it
        if found[1] or name in RAW or name in UNCOUNTED:
            continue
        kind = name in REOPENED
        if not found[2]:
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
    return ("".join(kept) if dropped else text), dropped
