"""Find marked parts of a text that is not parsed as a page: elements of feeds and other XML, comments, tags.

Pages are written by strangers. A regular expression such as `<item>.*?</item>` takes quadratic time if many starts have no end, and
holds the interpreter lock meanwhile. The functions here look at each character a constant number of times.
"""

import re
from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import AnyStr, NamedTuple

__all__ = ["Element", "elements", "end_tags", "replace_between"]

EndTags = Mapping[str, tuple["array[int]", "array[int]"]]  # name → starts and ends of its end tags
NO_TAGS = array("q"), array("q")
END_TAG = re.compile(r"</([\w:.-]++)\s*+>")


class Element(NamedTuple):
    """Element of a text: its name, the text of its attributes, its content, and where it is."""

    name: str
    attributes: str
    inner: str
    start: int
    end: int


def end_tags(text: str, *, fold_case: bool = False) -> EndTags:
    """Return where the end tags of a text are, by name."""
    tags: defaultdict[str, tuple[array[int], array[int]]] = defaultdict(lambda: (array("q"), array("q")))
    for tag in END_TAG.finditer(text):
        starts, stops = tags[tag[1].lower() if fold_case else tag[1]]
        starts.append(tag.start())
        stops.append(tag.end())
    return tags


def elements(
    text: str,
    start_tag: re.Pattern[str],
    *,
    fold_case: bool = False,
    may_be_empty: bool = False,
    ends: EndTags | None = None,
) -> Iterator[Element]:
    """Yield the elements of a text that do not overlap, each up to the first end tag of its name.

    `start_tag` matches "<" and the name, which is its first group. `fold_case` is for names in which case does not matter. If an element
    `may_be_empty`, it has no content if there is "/" before ">". A start tag without an end tag is skipped. `ends` are the end tags, if
    they are known.

    >>> list(elements("<a><b c=1>x</b ></a><b/>", re.compile("<(b)"), may_be_empty=True))
    [Element(name='b', attributes=' c=1', inner='x', start=3, end=16), Element(name='b', attributes='', inner='', start=20, end=24)]
    """
    ends = end_tags(text, fold_case=fold_case) if ends is None else ends
    at, tag_end = 0, -1
    while (tag := start_tag.search(text, at)) is not None:
        at = tag.end()
        if tag_end < at:
            tag_end = text.find(">", at)
        if tag_end < 0:
            return
        if may_be_empty and text[tag_end - 1] == "/":
            yield Element(tag[1], text[at : tag_end - 1], "", tag.start(), tag_end + 1)
            at = tag_end + 1
            continue
        starts, stops = ends.get(tag[1].lower() if fold_case else tag[1], NO_TAGS)
        number = bisect_left(starts, tag_end + 1)
        if number < len(starts):
            begin, end = starts[number], stops[number]
            yield Element(tag[1], text[at:tag_end], text[tag_end + 1 : begin], tag.start(), end)
            at = end


def replace_between(
    text: AnyStr, start: AnyStr, end: AnyStr, replacement: Callable[[AnyStr], AnyStr] | AnyStr
) -> AnyStr:
    """Replace each part of a text from `start` to the next `end`; a function is called with what is between them.

    >>> replace_between("a<b>c<d", "<", ">", " "), replace_between("(a)(b)", "(", ")", str.upper)
    ('a c<d', 'AB')
    """
    pieces: list[AnyStr] = []
    at = 0
    while (begin := text.find(start, at)) >= 0 and (stop := text.find(end, begin + len(start))) >= 0:
        inner = text[begin + len(start) : stop]
        pieces += (text[at:begin], replacement(inner) if callable(replacement) else replacement)
        at = stop + len(end)
    pieces.append(text[at:])
    return text[:0].join(pieces)
