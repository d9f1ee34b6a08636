"""A large page is walked while it is parsed: the columns are the same, and what it costs grows with its size."""

import gc
import sys
import tracemalloc
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from benchmarks.reliability.page_memory import KINDS, headers_of
from hypothesis import given
from hypothesis import strategies as st

from upwell.answers.totals import read_totals
from upwell.content.main_text import find_main_text
from upwell.discover import forms, interfaces
from upwell.native import compiled
from upwell.page.embedded_data import largest_collection
from upwell.page.formats import read_page
from upwell.page.tokens import terms_of
from upwell.records.cuts import candidate_cuts
from upwell.records.leaves import split_leaves

NO_LIMIT = 1 << 40
needs_native = pytest.mark.skipif(compiled is None, reason="the native code walks pages in parts")
TAGS = [
    "html", "head", "body", "p", "div", "b", "i", "font", "a", "nobr", "span", "table", "tr", "td", "th", "tbody", "caption", "select", "option",
    "template", "form", "input", "br", "title", "script", "style", "pre", "textarea", "ul", "li", "dl", "dt", "dd", "h1", "button", "svg", "math",
    "frameset", "noscript", "meta", "unknown-x", "marquee", "object",
]  # fmt: skip
pieces = st.one_of(
    st.sampled_from([f"<{tag}{own}>" for tag in TAGS for own in ("", " class=c", " id=x a=1", " hidden")]),
    st.sampled_from([f"</{tag}>" for tag in TAGS]),
    st.sampled_from(["x", " ", "two words", "\n", "&amp;", "<!-- c -->", "<!doctype html>", "<b>b<p>", "</b></p>", "<p", "7"]),
)  # fmt: skip


def columns(html: bytes, part: int, reveals: bool = False) -> dict[str, Any]:
    """Return the columns of a page without what differs between walks."""
    assert compiled is not None
    walked = compiled.walk(html, NO_LIMIT, reveals, part)
    assert walked is not None
    walked["attributes"] = dict(walked["attributes"].items())
    return {
        name: value for name, value in walked.items() if name not in ("new", "table", "signatures", "parts", "needed")
    }


@needs_native
@given(st.lists(pieces, max_size=60), st.integers(1, 40), st.booleans())
def test_walk_in_parts_has_the_columns_of_the_whole_page(tags: list[str], part: int, reveals: bool) -> None:
    """Whatever is opened, closed, crossed or misplaced."""
    html = "".join(tags).encode()
    assert columns(html, part, reveals) == columns(html, 0, reveals)


@needs_native
@pytest.mark.parametrize(
    ("html", "is_in_parts"),
    [
        (b"<ul>" + b"<li>one <b>two</b> &amp; <a href=/x>three</a>" * 50, True),
        (b"<font>" + b"<p>x" * 100, True),
        (b"<table>" + b"<tr><td>1<td>2" * 100 + b"</table>x", True),
        (b"<table>" + b"<tr><td>1<td>2" * 100 + b"x</table>", True),  # in the last cell
        (b"<table>" + b"<tr><td>1<td>2" * 100 + b"</tr>x</table>", False),  # a text before a table that was walked
        (b"<b>" + b"<p>x" * 100 + b" <i>y</i>" * 9 + b"</b>z", False),  # the last paragraph moves
        (b"<p>x" * 100 + b"<body class=c>", False),
    ],
)
def test_page_is_walked_in_parts_unless_the_parser_changes_what_was_walked(html: bytes, is_in_parts: bool) -> None:
    """Then it is parsed again and walked at the end, with the same columns."""
    assert compiled is not None
    walked = compiled.walk(html, NO_LIMIT, False, 16)
    assert walked is not None
    assert (walked["parts"] > 0) == is_in_parts
    assert columns(html, 16) == columns(html, 0)


HTML = sorted(kind for kind in KINDS if headers_of(kind)["content-type"] == "text/html")
# The parser moves what was walked, or nothing is closed.
AS_A_WHOLE = ("deep nesting", "text in tables", "unclosed tags")


@needs_native
@pytest.mark.skipif(sys.platform != "linux", reason="the memory of the parser is not counted")
@pytest.mark.parametrize("kind", [kind for kind in HTML if kind not in AS_A_WHOLE])
def test_parser_needs_a_few_times_the_size_of_any_page(kind: str) -> None:
    """The nodes of closed elements are destroyed; before, dense tags needed 80 times the size and reopened ones thousands of times."""
    assert compiled is not None
    html = KINDS[kind](50_000, 1)
    walked = compiled.walk(html, NO_LIMIT, False, 4000)
    assert walked is not None
    assert walked["parts"] > 0
    assert walked["needed"] <= 2_000_000 + 12 * len(html)


STEPS: tuple[Callable[[Any], object], ...] = (
    terms_of,
    forms.find,
    interfaces.find,
    lambda tree: list(tree.links()),
    read_totals,
    find_main_text,
    lambda tree: len(candidate_cuts(split_leaves(tree))),
)


def _cost(body: bytes, headers: dict[str, str]) -> tuple[int, int]:
    """Return the calls and the peak of the memory of Python while a page is read and everything is done with it."""
    calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event.endswith("call")

    gc.collect()
    tracemalloc.start()
    sys.setprofile(count)
    try:
        tree = read_page(body, "http://site.example/search?q=alpha", headers)
        largest_collection(body)
        for step in STEPS:
            step(tree)
        return calls, tracemalloc.get_traced_memory()[1]
    finally:
        sys.setprofile(None)
        tracemalloc.stop()


# Every second kind, because of the time; nesting is limited to 512 levels, which small pages do not reach.
@pytest.mark.parametrize("kind", sorted(KINDS.keys() - {"deep nesting"})[::2])
def test_cost_grows_with_the_size_of_any_page(kind: str) -> None:
    """Four times the page: at most about four times the calls and the memory. Something that is quadratic needs sixteen times."""
    headers = headers_of(kind)
    (calls, memory), (more_calls, more_memory) = (_cost(KINDS[kind](size, 2), headers) for size in (2000, 8000))
    assert more_calls <= 6 * calls + 5000
    assert more_memory <= 6 * memory + 500_000
