"""The lines of a page and their features, compiled and plain: the plain ones are the reference."""

import dataclasses
import random
from pathlib import Path

import numpy as np
import pytest
from benchmarks.corpora import CORPORA
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.page.test_tree import pages
from upwell.extract import line_features, lines
from upwell.extract.blocks import read_blocks
from upwell.page.compiled import compiled
from upwell.page.tree import read

GOLDEN = Path(__file__).parents[1] / "golden"
PARTS = st.sampled_from(
    ["<title>A line of a page</title>", "<p>A line of a page and more of it, which goes on until it is long enough. </p>", "<p>By Ann Other",
     "<div class='comment body'>", "<p id=gallery>\u6df1\u5c64\u7db2\u7684\u8cc7\u6599\u3002", "<span>3 May 2020</span>", "</div>",
     "<h1>\u0130 line of a page</h1>", "<p>\u0663/\u0664/2020 ", "<ul><li><a href=x>A link</a>, <a href=y>a line</a>", "<td>Copyright \u00a9", "<nav>",
     "<option>a", "<pre> by  An\n</pre>"]
)  # fmt: skip
texts = st.lists(st.one_of(pages, PARTS), max_size=20).map("".join)


def differences(html: bytes | str) -> list[str]:
    """The columns and features that the compiled parts fill otherwise."""
    tree = read(html)
    plain, fast = lines.plain_lines(tree), lines.lines_of(tree)
    names = [part.name for part in dataclasses.fields(lines.Lines)]
    columns = [name for name in names if not np.array_equal(getattr(plain, name), getattr(fast, name))]
    is_other = line_features.plain_features(tree, plain) != line_features.line_features(tree, fast)
    return columns + [line_features.FEATURES[i] for i in np.flatnonzero(is_other.any(axis=0))]


@given(texts)
@settings(max_examples=500)
def test_made_pages_have_the_same_lines(html: str) -> None:
    """Whatever the markup, both give the same lines and features to the last bit."""
    assert differences(html) == []


def test_saved_and_broken_pages_have_the_same_lines() -> None:
    """So do real pages, and pieces of them."""
    rng = random.Random(1)
    for file in sorted(GOLDEN.rglob("*.html")) + sorted(CORPORA.rglob("*.html"))[::20]:
        html = file.read_bytes()
        first, last = sorted(rng.randrange(len(html) + 1) for _ in range(2))
        assert [differences(html), differences(html[first:last])] == [[], []], file


def test_what_does_not_fit_is_refused() -> None:
    """Columns of two pages, or lines out of order, raise; nothing is read beyond their ends."""
    if compiled is None:
        pytest.skip("the compiled page was not built here: no compiler, or no Python.h")
    page, other = read("<p>one <b>two</b><p>three"), read("<p>one")
    with pytest.raises(ValueError, match="different pages"):
        lines.lines_of(dataclasses.replace(page, chunks=other.chunks))
    with pytest.raises(ValueError, match="different pages"):
        lines.lines_of(dataclasses.replace(page, chunk_row=page.chunk_row + 99))
    with pytest.raises(IndexError):
        lines.lines_of(dataclasses.replace(page, spot=page.spot + 99))
    known = lines.lines_of(page)
    with pytest.raises(ValueError, match="different pages"):
        line_features.line_features(other, known)
    with pytest.raises(ValueError, match="different pages"):
        line_features.line_features(page, dataclasses.replace(known, row=known.row + 99))
    with pytest.raises(ValueError, match="one after the other"):
        line_features.line_features(page, dataclasses.replace(known, first=known.first[::-1].copy()))


def test_a_page_without_text_has_no_lines() -> None:
    """It has no blocks either."""
    for html in ("", "<p> </p>", "<script>a</script>"):
        page = read(html)
        assert not len(lines.lines_of(page))
        assert read_blocks(page).blocks == ()
