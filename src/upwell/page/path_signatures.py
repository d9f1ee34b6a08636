"""Path signatures: the tags and classes from <html> down to an element, as one value shared by all elements of all pages with the same path.

`PathSignature` has what depends on the path alone: readable short paths, 64-bit hashes of the path, and how the element is displayed.
`SignatureSet` has the same as columns for all signatures of a page. Most answers of a source have the same signatures in the same order
(80 to 99 % of them, depending on the source), so the columns are computed once and shared.
"""

import re
from functools import cached_property, lru_cache
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "BROKEN",
    "CLASSLESS",
    "FORMATTING",
    "GLUED",
    "INLINE",
    "KEEPS_SPACE",
    "KEPT",
    "MAX_CACHED_SETS",
    "SHOWN",
    "SPACED",
    "TAG_DISPLAY",
    "UNSEEN",
    "UNSHOWN",
    "PathSignature",
    "SignatureSet",
    "hash_path",
    "normalized_class",
    "signature_set",
]

GLUED, SPACED, BROKEN = range(
    3
)  # separator that the edge of an element puts between texts: none, a space, a line break
SHOWN, KEPT, UNSHOWN = range(3)  # display of text: shown, shown with its white space, not shown
MIX, FULL = 0x9E3779B97F4A7C15, 2**64 - 1  # multiplier of the path hash: 2^64 divided by the golden ratio
# Steps of a short path. F1 of `records.entity_model` on 24 sites: all steps 0.952, 5 and 4 steps 0.977, 3 steps 0.980, 2 steps 0.981; on 16
# other sites 3 steps are best (0.994).
SHORT_PATH_STEPS = 3
DIGITS = re.compile(r"\d+")
CLASSLESS = ("html", "body")  # their classes describe browser and user, so they are left out of paths

# Never displayed as text (HTML standard §15.3.1 "hidden elements", and the fallbacks of embedded content).
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
# Elements that change the look of letters: the texts before and after their edges may be one word.
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
MARKING = ("span", "a")  # may mark a part of a word (`tree.glue_words`)
WITHOUT_SCRIPTS = "noscript"  # shown if scripts are disabled
KEEPS_SPACE = frozenset(("pre", "textarea", "listing", "xmp", "plaintext"))


class PathSignature:
    """Path of an element; `column` is the position of a cell in its table row (else 0), `prop` its `itemprop`.

    `above` is the parent's signature.
    """

    def __init__(
        self,
        above: "PathSignature | None",
        tag: str,
        cls: str,
        column: int = 0,
        prop: str | None = None,
        hidden: bool = False,
    ) -> None:
        self.above, self.tag, self.cls, self.column, self.prop, self.hidden = above, tag, cls, column, prop, hidden
        self.depth: int = above.depth + 1 if above else 0
        self.shapes = tag in FORMATTING
        self.marks = tag in MARKING
        self.edge = GLUED if self.shapes else SPACED if tag in INLINE else BROKEN
        shown = UNSHOWN if hidden or tag in UNSEEN else KEPT if tag in KEEPS_SPACE else SHOWN
        self.shown: int = max(shown, above.shown) if above else shown
        revealed = UNSHOWN if tag in UNSEEN and tag != WITHOUT_SCRIPTS else KEPT if tag in KEEPS_SPACE else SHOWN
        self.revealed: int = max(revealed, above.revealed) if above else revealed  # if hidden elements were shown

    @cached_property
    def short_path(self) -> str:
        """Return the last steps with their classes: `div.buying/span/a`."""
        return "/".join(reversed([step._name for step in self._last_steps]))

    @cached_property
    def cell_path(self) -> str:
        """Return the last steps with the columns of cells: `tbody/tr/td[2]`."""
        steps = self._last_steps
        return "/".join(reversed([f"{step._name}[{step.column}]" if step.column else step._name for step in steps]))

    @cached_property
    def _name(self) -> str:
        names = normalized_class(self.cls).split() if self.tag not in CLASSLESS else ()
        return ".".join([self.tag, *names]) + (f"@{self.prop}" if self.prop else "")

    @property
    def _last_steps(self) -> "list[PathSignature]":
        """Return the signature and its nearest ancestors, innermost first."""
        steps: list[PathSignature] = [self]
        while len(steps) < SHORT_PATH_STEPS and (above := steps[-1].above) is not None:
            steps.append(above)
        return steps

    @cached_property
    def style(self) -> str:
        """Return tags and first classes from <html> down, without digits: `/html./body./p.intro`."""
        return f"{self.above.style if self.above else ''}/{self.tag}.{_first_class(self.cls)}"

    @cached_property
    def step(self) -> int:
        """Return a hash of the tag and class alone."""
        return _mix(0, _code(self.tag) ^ (_code(normalized_class(self.cls)) << 32))

    @cached_property
    def place_step(self) -> int:
        """Return a 48-bit hash of tag, class and `itemprop`, and the column of a cell."""
        step = self.step >> 16
        if self.prop is not None:
            step ^= hash_path(self.prop) >> 16
        return step * 127 + self.column if self.column else step

    @cached_property
    def tag_step(self) -> int:
        """Return a 48-bit hash of the tag alone."""
        return hash_path(self.tag) >> 16

    @cached_property
    def tag_path(self) -> int:
        """Return a hash of the path of tags."""
        return _mix(self.above.tag_path if self.above else 0, _code(self.tag))

    @cached_property
    def class_path(self) -> int:
        """Return a hash of the path of tags and classes."""
        class_code = _code(normalized_class(self.cls)) << 32 if self.tag not in CLASSLESS else 0
        return _mix(self.above.class_path if self.above else 0, _code(self.tag) ^ class_code)

    @cached_property
    def unformatted_path(self) -> int:
        """Return a hash of the path of tags without formatting elements."""
        if self.above is None:
            return _mix(0, _code(self.tag))
        return self.above.unformatted_path if self.shapes else _mix(self.above.unformatted_path, _code(self.tag))


# How the text of tags that are not ordinary blocks is displayed, for the native walk: edge | shown << 2 | shapes << 4 | marks << 5 |
# revealed << 6.
TAG_DISPLAY = {
    tag: signature.edge | signature.shown << 2 | signature.shapes << 4 | signature.marks << 5 | signature.revealed << 6
    for tag in sorted(UNSEEN | INLINE | KEEPS_SPACE | set(MARKING))
    for signature in (PathSignature(None, tag, ""),)
}


@lru_cache(maxsize=100_000)
def _code(name: str) -> int:
    return crc32(name.encode("utf-8", "replace"))


@lru_cache(maxsize=100_000)
def normalized_class(name: str) -> str:
    """Normalise a class attribute: drop names that contain digits, sort the rest."""
    return " ".join(sorted(part for part in name.split() if not any(c.isdigit() or c in "./" for c in part)))


@lru_cache(maxsize=100_000)
def _first_class(name: str) -> str:
    """Return the first name of a class attribute, without digits."""
    return DIGITS.sub("", name).split(" ")[0]


@lru_cache(maxsize=20_000)
def hash_path(path: str) -> int:
    """Return the hash of a readable path (`html/body/div.result`), as in `class_path`."""
    value = 0
    for step in path.split("/"):
        tag, *names = step.split(".")
        value = _mix(value, _code(tag) ^ (_code(" ".join(names)) << 32))
    return value


def _mix(above: int, step: int) -> int:
    mixed = ((above ^ step) * MIX) & FULL
    return mixed ^ (mixed >> 29)


MAX_CACHED_SETS = 100  # signature sets that are cached across pages


class SignatureSet:
    """Distinct signatures of a page, in order of appearance; columns have one value per signature."""

    def __init__(self, signatures: tuple[PathSignature, ...]) -> None:
        self.signatures = signatures
        self._with_tags: dict[tuple[str, ...], NDArray[np.bool_] | None] = {}
        self._by_tag_and_class: dict[tuple[str, str], list[int]] = {}

    @cached_property
    def tags(self) -> tuple[str, ...]:
        """Return the tag names, in order of appearance."""
        return tuple(dict.fromkeys([each.tag for each in self.signatures]))

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """Return the classes, in order of appearance; the first is "" (no class)."""
        return tuple(dict.fromkeys(["", *(each.cls for each in self.signatures)]))

    @cached_property
    def tag(self) -> NDArray[np.int32]:
        """Return the tag of each signature, as an index into `tags`."""
        number = {name: i for i, name in enumerate(self.tags)}
        return self._column([number[each.tag] for each in self.signatures], np.int32)

    @cached_property
    def cls(self) -> NDArray[np.int32]:
        """Return the class of each signature, as an index into `classes`."""
        number = {name: i for i, name in enumerate(self.classes)}
        return self._column([number[each.cls] for each in self.signatures], np.int32)

    @cached_property
    def depth(self) -> NDArray[np.int32]:
        """Return the number of ancestors of each signature."""
        return self._column([each.depth for each in self.signatures], np.int32)

    @cached_property
    def tag_path(self) -> NDArray[np.uint64]:
        """Return the hash of the path of tags of each signature."""
        return self._column([each.tag_path for each in self.signatures], np.uint64)

    @cached_property
    def class_path(self) -> NDArray[np.uint64]:
        """Return the hash of the path of tags and classes of each signature."""
        return self._column([each.class_path for each in self.signatures], np.uint64)

    @cached_property
    def unformatted_path(self) -> NDArray[np.uint64]:
        """Return the hash of the path of tags without formatting elements of each signature."""
        return self._column([each.unformatted_path for each in self.signatures], np.uint64)

    @cached_property
    def place_step(self) -> NDArray[np.uint64]:
        """Return the step of each signature in places of records (`PathSignature.place_step`)."""
        return self._column([each.place_step for each in self.signatures], np.uint64)

    @cached_property
    def tag_step(self) -> NDArray[np.uint64]:
        """Return the hash of the tag of each signature (`PathSignature.tag_step`)."""
        return self._column([each.tag_step for each in self.signatures], np.uint64)

    @cached_property
    def keeps_breaks(self) -> NDArray[np.bool_] | None:
        """Return which signatures keep the line breaks of their texts; None if none does."""
        kept = [each.shown == KEPT for each in self.signatures]
        return self._column(kept, np.bool_) if True in kept else None

    @cached_property
    def is_hidden(self) -> NDArray[np.bool_]:
        """Return which signatures are of elements that are not shown."""
        return self._column([each.shown == UNSHOWN for each in self.signatures], np.bool_)

    def have_tags(self, names: tuple[str, ...]) -> NDArray[np.bool_] | None:
        """Return which signatures have one of these tag names; None if none has."""
        if names not in self._with_tags:
            have = [each.tag in names for each in self.signatures]
            self._with_tags[names] = self._column(have, np.bool_) if True in have else None
        return self._with_tags[names]

    def with_tag_and_class(self, tag: str, cls: str) -> list[int]:
        """Return the indices of the signatures with this tag name and class."""
        numbers = self._by_tag_and_class.get((tag, cls))
        if numbers is None:
            numbers = [i for i, each in enumerate(self.signatures) if each.cls == cls and each.tag == tag]
            self._by_tag_and_class[tag, cls] = numbers
        return numbers

    def _column(self, values: list[Any], kind: type[np.generic]) -> NDArray[Any]:
        column = np.array(values, dtype=kind)
        column.flags.writeable = False  # shared by pages
        return column


@lru_cache(maxsize=MAX_CACHED_SETS)
def signature_set(signatures: tuple[PathSignature, ...]) -> SignatureSet:
    """Return the shared set of these signatures."""
    return SignatureSet(signatures)
