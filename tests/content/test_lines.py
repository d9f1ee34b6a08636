"""Lines of a page and their features: the native code must equal the pure-Python reference."""

import dataclasses
import random
from pathlib import Path

import numpy as np
import pytest
from benchmarks.corpora import CORPORA
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.page.test_tree import pages
from upwell.content import lines
from upwell.content.main_content import find_blocks
from upwell.native import compiled
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
    """Return the columns and features in which native code and reference differ."""
    tree = read(html)
    plain, fast = lines.split_lines_python(tree), lines.split_lines(tree)
    names = [part.name for part in dataclasses.fields(lines.Lines)]
    columns = [name for name in names if not np.array_equal(getattr(plain, name), getattr(fast, name))]
    is_other = lines.line_features_python(tree, plain) != lines.line_features(tree, fast)
    return columns + [lines.FEATURES[i] for i in np.flatnonzero(is_other.any(axis=0))]


@given(texts)
@settings(max_examples=500)
def test_native_and_python_lines_agree_on_generated_pages(html: str) -> None:
    """Lines and features are equal to the last bit."""
    assert differences(html) == []


def test_native_and_python_lines_agree_on_saved_and_truncated_pages() -> None:
    """Whole pages and random pieces of them."""
    rng = random.Random(1)
    for file in sorted(GOLDEN.rglob("*.html")) + sorted(CORPORA.rglob("*.html"))[::20]:
        html = file.read_bytes()
        first, last = sorted(rng.randrange(len(html) + 1) for _ in range(2))
        assert [differences(html), differences(html[first:last])] == [[], []], file


def test_inconsistent_columns_raise() -> None:
    """Columns of two pages, or lines out of order, raise instead of reading out of bounds."""
    if compiled is None:
        pytest.skip("the native module was not built: no compiler, or no Python.h")
    page, other = read("<p>one <b>two</b><p>three"), read("<p>one")
    with pytest.raises(ValueError, match="different pages"):
        lines.split_lines(dataclasses.replace(page, chunks=other.chunks))
    with pytest.raises(ValueError, match="different pages"):
        lines.split_lines(dataclasses.replace(page, chunk_row=page.chunk_row + 99))
    with pytest.raises(IndexError):
        lines.split_lines(dataclasses.replace(page, signature=page.signature + 99))
    known = lines.split_lines(page)
    with pytest.raises(ValueError, match="different pages"):
        lines.line_features(other, known)
    with pytest.raises(ValueError, match="different pages"):
        lines.line_features(page, dataclasses.replace(known, row=known.row + 99))
    with pytest.raises(ValueError, match="not in order"):
        lines.line_features(page, dataclasses.replace(known, first=known.first[::-1].copy()))


def test_a_page_without_text_has_no_lines() -> None:
    """Nor blocks."""
    for html in ("", "<p> </p>", "<script>a</script>"):
        page = read(html)
        assert not len(lines.split_lines(page))
        assert find_blocks(page) == ()


def test_a_long_list_of_short_lines_keeps_its_line_breaks() -> None:
    """Several short lines of a huge page are judged as one, and their text has all line breaks."""
    count = 2 * lines.MAX_SHORT_LINES + 5
    page = read("<main>" + "".join(f"<p>word <b>nr</b> {i}" for i in range(count)) + "</main>")
    merged = lines.split_lines(page)
    assert len(merged) < count
    assert "\n".join(merged.texts) == page.text()
    assert lines.split_lines_python(page).texts == merged.texts
