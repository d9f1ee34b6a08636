"""Where rows stand: the tags and classes from <html> down, as one shared value for all rows of all pages that stand alike.

spot     one place in the tags of a page; most rows of an answer share a few, and the next answer has the same
place    the last three steps of a spot, as a text that people can read and that pages of one template share
path     a spot as a number of 64 bits: by its tags, by tags and classes, or without tags that only change how text looks
"""

import re
from functools import cached_property, lru_cache
from zlib import crc32

__all__ = [
    "BROKEN", "FORMATTING", "GLUED", "INLINE", "KEEPS_SPACE", "KEPT", "SHOWN", "SPACED", "STATED", "UNSEEN", "UNSHOWN",
    "Spot", "fold", "look",
]  # fmt: skip

GLUED, SPACED, BROKEN = range(3)
SHOWN, KEPT, UNSHOWN = range(3)  # what becomes of text: it is shown, shown with its white space, not shown
MIX, FULL = 0x9E3779B97F4A7C15, 2**64 - 1  # 2^64 divided by the golden ratio: spreads the bits of what it multiplies
# Steps of a place. F1 of `extract.entities` on 24 sites: all steps 0.952, 5 and 4 steps 0.977, 3 steps 0.980, 2 steps 0.981; on 16 others
# 3 steps are best (0.994).
PLACE_STEPS = 3
DIGITS = re.compile(r"\d+")
STATED = ("html", "body")  # their classes say what the browser can do and who is looking, not where a row stands

# Never shown as text (HTML standard §15.3.1 "hidden elements", and the fallbacks of embedded content).
UNSEEN = frozenset(
    [
        "area",
        "audio",
        "base",
        "canvas",
        "datalist",
        "desc",
        "iframe",
        "link",
        "meta",
        "metadata",
        "noembed",
        "noframes",
        "noscript",
        "object",
        "param",
        "rp",
        "script",
        "source",
        "style",
        "template",
        "title",
        "track",
        "video",
    ]
)
# Elements that change how a piece of a word looks: text on both sides of them may be one word.
FORMATTING = frozenset(
    [
        "abbr",
        "acronym",
        "b",
        "bdi",
        "bdo",
        "big",
        "cite",
        "code",
        "del",
        "dfn",
        "em",
        "font",
        "i",
        "ins",
        "kbd",
        "mark",
        "nobr",
        "q",
        "s",
        "samp",
        "small",
        "strike",
        "strong",
        "sub",
        "sup",
        "tt",
        "u",
        "var",
        "wbr",
    ]
)
INLINE = FORMATTING | frozenset(
    ["a", "button", "data", "img", "input", "label", "meter", "output", "picture", "select", "span", "svg", "time"]
)
MARKING = ("span", "a")  # they may mark a part of a word (`word_marks`)
KEEPS_SPACE = frozenset(("pre", "textarea", "listing", "xmp", "plaintext"))


class Spot:
    """Where rows stand; `column` is the place of a cell among the cells of its line (else 0), `prop` its `itemprop`."""

    def __init__(
        self, above: "Spot | None", tag: str, cls: str, column: int = 0, prop: str | None = None, hidden: bool = False
    ) -> None:
        self.above, self.tag, self.cls, self.column, self.prop, self.hidden = above, tag, cls, column, prop, hidden
        self.depth: int = above.depth + 1 if above else 0
        self.shapes = tag in FORMATTING
        self.marks = tag in MARKING
        self.edge = GLUED if self.shapes else SPACED if tag in INLINE else BROKEN
        shown = UNSHOWN if hidden or tag in UNSEEN else KEPT if tag in KEEPS_SPACE else SHOWN
        self.shown: int = max(shown, above.shown) if above else shown

    @cached_property
    def place(self) -> str:
        """Its last steps with their classes, to read: `div.buying/span/a`."""
        return "/".join(reversed([at._name for at in self._last]))

    @cached_property
    def cell(self) -> str:
        """The same with the columns of cells: `tbody/tr/td[2]`."""
        return "/".join(reversed([f"{at._name}[{at.column}]" if at.column else at._name for at in self._last]))

    @cached_property
    def _name(self) -> str:
        names = look(self.cls).split() if self.tag not in STATED else ()
        return ".".join([self.tag, *names]) + (f"@{self.prop}" if self.prop else "")

    @property
    def _last(self) -> "list[Spot]":
        """It and the spots above it, as many as a place has steps."""
        steps: list[Spot] = [self]
        while len(steps) < PLACE_STEPS and (above := steps[-1].above) is not None:
            steps.append(above)
        return steps

    @cached_property
    def style(self) -> str:
        """Its tags and first classes from <html> down, without digits: `/html./body./p.intro`."""
        return f"{self.above.style if self.above else ''}/{self.tag}.{_first_class(self.cls)}"

    @cached_property
    def step(self) -> int:
        """Its tag and class alone as a number."""
        return _mix(0, _code(self.tag) ^ (_code(look(self.cls)) << 32))

    @cached_property
    def place_step(self) -> int:
        """Its tag, class and `itemprop` as a number of 48 bits, and for a cell its column."""
        step = self.step >> 16
        if self.prop is not None:
            step ^= fold(self.prop) >> 16
        return step * 127 + self.column if self.column else step

    @cached_property
    def tag_step(self) -> int:
        """Its tag alone, the same way."""
        return fold(self.tag) >> 16

    @cached_property
    def tagged(self) -> int:
        """Its path of tags …"""
        return _mix(self.above.tagged if self.above else 0, _code(self.tag))

    @cached_property
    def classed(self) -> int:
        """… of tags and classes …"""
        named = _code(look(self.cls)) << 32 if self.tag not in STATED else 0
        return _mix(self.above.classed if self.above else 0, _code(self.tag) ^ named)

    @cached_property
    def plain(self) -> int:
        """… of tags that do not only change how a piece of text looks."""
        if self.above is None:
            return _mix(0, _code(self.tag))
        return self.above.plain if self.shapes else _mix(self.above.plain, _code(self.tag))


@lru_cache(maxsize=100_000)
def _code(name: str) -> int:
    return crc32(name.encode("utf-8", "replace"))


@lru_cache(maxsize=100_000)
def look(name: str) -> str:
    """A class without what only numbers or marks it: names with digits are left out, the rest sorted."""
    return " ".join(sorted(part for part in name.split() if not any(c.isdigit() or c in "./" for c in part)))


@lru_cache(maxsize=100_000)
def _first_class(name: str) -> str:
    """The first of a row's classes, without digits."""
    return DIGITS.sub("", name).split(" ")[0]


@lru_cache(maxsize=20_000)
def fold(path: str) -> int:
    """The number of a readable path (`html/body/div.result`), as spots have it."""
    value = 0
    for step in path.split("/"):
        tag, *names = step.split(".")
        value = _mix(value, _code(tag) ^ (_code(" ".join(names)) << 32))
    return value


def _mix(above: int, step: int) -> int:
    mixed = ((above ^ step) * MIX) & FULL
    return mixed ^ (mixed >> 29)
