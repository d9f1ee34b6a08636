"""The memory that a page costs is bounded by its size, whatever its tags are; `benchmarks.reliability.page_memory` measures more kinds."""

import sys

import pytest
from benchmarks.reliability.page_memory import run

from upwell.discover import forms, interfaces
from upwell.lexicon.frequent_words import _rarer, zipf
from upwell.native import compiled
from upwell.page.embedded_data import largest_collection
from upwell.page.formats import read_page
from upwell.page.tokens import terms_of
from upwell.page.tree import MAX_SIGNATURES, read

SIZE = 500_000
# Kinds that cost 50 to 4,000 times the size of the page before the memory of the parser, words over tags and forms were bounded.
# The bars above 30 leave room: 28 and 21 were measured.
KINDS = (
    ("letters in <i>", 45),
    ("empty elements", 40),
    ("many attributes", 30),
    ("plain text", 30),
    ("small forms", 30),
)


@pytest.mark.skipif(
    compiled is None or sys.platform != "linux", reason="measured with /proc, limited by the native code"
)
@pytest.mark.parametrize(("kind", "max_ratio"), KINDS)
def test_memory_is_bounded_by_the_size_of_the_page(kind: str, max_ratio: int) -> None:
    """Everything that a harvest does with one answer needs a few times its size; in a fresh process with a memory limit."""
    measured = run(kind, SIZE)
    assert "failed" not in measured, measured
    assert float(measured["all"]) <= max_ratio  # type: ignore[arg-type] # a number


def test_distinct_classes_are_bounded() -> None:
    """Each distinct path needs a kilobyte; beyond the limit, classes no longer distinguish paths, and no text is lost."""
    page = read("".join(f"<p class=c{i}>paragraph {i} of several words</p>" for i in range(2 * MAX_SIGNATURES)))
    assert len(page.signatures) <= MAX_SIGNATURES + 10
    assert len(page.chunks) == 2 * MAX_SIGNATURES


def test_word_over_many_tags_is_divided_in_linear_time() -> None:
    """20,000 letters, each in its own element, are one word of the first element."""
    terms = terms_of(read("<i>x</i>" * 20_000))
    assert len(terms.ids) == 1
    assert terms.at[1] == terms.at[-1] == 1


def test_forms_of_any_number_and_size_are_read() -> None:
    """A form with thousands of text fields has a score, and thousands of forms are compared in linear time."""
    (form,) = forms.find(read("<form>" + "".join(f"<input name=q{i}>" for i in range(5000)) + "</form>"))
    assert 0 <= form.score <= 1
    many = read("".join(f"<form action=/f{i}><input name=q></form>" for i in range(5000)))
    assert len(interfaces.find(many)) == len(forms.find(many)) == forms.MAX_FORMS


def test_unclosed_elements_of_a_list_take_linear_time() -> None:
    """Each start tag without an end tag was searched to the end of the page."""
    assert largest_collection("<rows>" + "<td>1<td>22" * 50_000) == []


@pytest.mark.parametrize("cell", ["<td>7</td>", "<td>12", "<td>3.1</td>"])
@pytest.mark.parametrize("size", [1_000_000, 5_000_000])
def test_dense_table_is_read_completely(cell: str, size: int) -> None:
    """A minified table of numbers needs 32 to 64 times its size while it is parsed; none of its cells is left out."""
    rows = size // len(cell) // 20
    page = read("<table>" + ("<tr>" + cell * 20) * rows)
    assert page.problems == ()
    assert len(page.chunks) == 20 * rows


def test_distinct_tag_names_take_linear_time() -> None:
    """The parser compares each unknown name with one in 128 of the names before it; further names are one name, and no text is lost."""
    page = read("".join(f"<t{i}>x</t{i}>" for i in range(50_000)))
    assert len(page.chunks) == 50_000
    assert len(page.tags) < 3000


def test_long_list_of_numbers_is_one_text() -> None:
    """A series of numbers in JSON is no list of records; each number needed 500 bytes as an element."""
    page = read_page(b'{"name": "river", "flow": [' + b"1.5," * 50_000 + b"2]}")
    assert len(page) < 10
    assert page.text().count("1.5") == 50_000
    assert len(read_page(b'["a", ' + b"1," * 5000 + b"2]").rows("li")) == 5002


def test_words_outside_the_list_are_not_kept() -> None:
    """Each pair of Chinese characters was kept with the words that begin with it, even if there are none."""
    for code in range(0x4E00, 0x4E00 + 2000):
        zipf(chr(code) + "\u9fa5\u9fa5", "zh")
    assert _rarer.cache_info().currsize < 1000
