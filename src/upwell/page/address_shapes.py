"""What the addresses of records have in common: constant steps and arguments, with the places where they differ left open.

shape    host, steps of the path and arguments; "#" stands for any number (also inside: "post-#.html"), "*" for anything, "*.html" for anything that ends so
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from upwell.page.hosts import site_host
from upwell.page.url_arguments import parse_arguments

__all__ = ["AddressShape", "has_shape", "learn_shapes"]

MIN_ADDRESSES = 3  # of one shape
MIN_SHARE = 0.05  # of all addresses, that have a shape at least: the others are links that were misread
MAX_ENDING_CHARS = 6  # of a file name's ending, with its dot

DIGITS = re.compile(r"\d+")
ROUTE = "#/"  # a step that stands before those of a route

Parts = tuple[str, tuple[str, ...], tuple[tuple[str, str], ...]]


@dataclass(frozen=True, slots=True)
class AddressShape:
    """What addresses have in common."""

    host: str
    steps: tuple[str, ...]
    arguments: tuple[tuple[str, str], ...]  # sorted

    def fits(self, address: str) -> bool:
        """Whether an address has this shape."""
        parts = _parts(address)
        if parts is None or parts[0] != self.host or len(parts[1]) != len(self.steps):
            return False
        if [name for name, _ in parts[2]] != [name for name, _ in self.arguments]:
            return False
        own = (*parts[1], *(value for _, value in parts[2]))
        wanted = (*self.steps, *(value for _, value in self.arguments))
        return all(_fits(pattern, text) for pattern, text in zip(wanted, own, strict=True))

    @property
    def is_specific(self) -> bool:
        """Whether all addresses of this shape share a step of their path, or an argument."""
        return any(step and step != "#" and not step.startswith("*") for step in self.steps) or bool(self.arguments)

    def lies_below(self, address: str) -> bool:
        """Whether the path of an address is where paths of this shape begin: `/items` for `/items/#`."""
        parts = _parts(address)
        if parts is None or parts[0] != self.host:
            return False
        folder = tuple(step for step in parts[1] if step)
        return 0 < len(folder) < len(self.steps) and folder == self.steps[: len(folder)]


def has_shape(shapes: Sequence[AddressShape], address: str) -> bool:
    """Whether an address has one of some shapes."""
    return any(shape.fits(address) for shape in shapes)


def learn_shapes(addresses: Iterable[str]) -> tuple[AddressShape, ...]:
    """The shapes that many of these addresses have, the most frequent first.

    >>> [shape.steps for shape in learn_shapes(f"http://x/item/{n}/a{n}.html" for n in range(9))]
    [('item', '#', 'a#.html')]
    """
    groups: defaultdict[tuple[object, ...], set[Parts]] = defaultdict(set)
    all_parts = {parts for address in addresses if (parts := _parts(address)) is not None}
    for parts in all_parts:
        host, steps, arguments = parts
        groups[host, len(steps), tuple(name for name, _ in arguments)].add(parts)
    shapes = []
    for group in sorted(groups.values(), key=lambda group: (-len(group), min(group))):
        if len(group) < max(MIN_ADDRESSES, MIN_SHARE * len(all_parts)):
            continue
        host, _, arguments = next(iter(group))
        steps = tuple(_pattern(texts) for texts in zip(*(parts[1] for parts in group), strict=True))
        values = (_pattern(texts) for texts in zip(*([v for _, v in parts[2]] for parts in group), strict=True))
        names = [name for name, _ in arguments]
        shapes.append(AddressShape(host, steps, tuple(zip(names, values, strict=True))))
    return tuple(shapes)


def _parts(address: str) -> Parts | None:
    """Host, steps and arguments of an address; None where it is none."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return None
    steps = tuple(parts.path.removeprefix("/").split("/"))
    if parts.fragment.startswith(("/", "!")):  # a route that a script shows as a page of its own
        steps = (*steps, ROUTE, *parts.fragment[1:].split("/"))
    return site_host(address), steps, tuple(sorted(parse_arguments(parts.query)))


def _pattern(texts: Sequence[str]) -> str:
    """What stands for all of these texts."""
    if len(set(texts)) == 1:
        return texts[0]
    numbered = {DIGITS.sub("#", text) for text in texts}
    if len(numbered) == 1:
        return numbered.pop()
    endings = {text[text.rfind(".") :] if "." in text else "" for text in texts}
    ending = endings.pop() if len(endings) == 1 else ""
    return f"*{ending}" if len(ending) <= MAX_ENDING_CHARS and not ending[1:].isdigit() else "*"


def _fits(pattern: str, text: str) -> bool:
    if "#" in pattern:
        return DIGITS.sub("#", text) == pattern
    if pattern.startswith("*"):
        return len(text) >= len(pattern) and text.endswith(pattern[1:])
    return text == pattern
