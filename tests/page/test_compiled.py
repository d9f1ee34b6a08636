"""The compiled walk and words against the plain ones, which are the reference."""

import pickle
import random
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from benchmarks.corpora import CORPORA
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.page.test_tree import pages
from upwell.extract.cut_candidates import candidates
from upwell.extract.fields import Piece, RecordReader
from upwell.extract.leaves import leaves_of
from upwell.page import attribute_limit, terms, tree
from upwell.page.charset import to_utf8
from upwell.page.compiled import compiled
from upwell.page.tag_tree import having

if compiled is None:
    pytest.skip("the compiled page was not built here: no compiler, or no Python.h", allow_module_level=True)

MAX_CUTS = 6  # of a page whose records are compared
GOLDEN = Path(__file__).parents[1] / "golden"
ODD = st.sampled_from(
    ["<svg><a xlink:href=x></svg>", "<dialog open>", "<dialog>", "<x-y z>", "<td itemprop>", "<i> </i>", "<b>a</b> ", "<th>",
     "<em itemprop=''> a", "<textarea>\n a  b\n", "<script type=Application/JSON>{}</script>", "\x1c", "<p class='a  b\u00a0c'>",
     "<div style='VISIBILITY : hidden'>", "<div style='display: None'>", "<select><option>a", "<frameset>", "<plaintext>",
     "w<span>o</span>rd ", "<style>.x{display:none}</style>", "<i class=x>hidden"]
)  # fmt: skip
odd_pages = st.lists(st.one_of(pages, ODD), max_size=12).map("".join)


def same(html: bytes) -> list[str]:
    """The columns that the compiled walk fills otherwise."""
    plain, fast = tree._plain_columns(html), tree._compiled_columns(html)
    names = [part.name for part in fields(plain)]
    return [name for name in names if not tree._same(getattr(plain, name), getattr(fast, name))]


def test_the_compiled_walk_is_used() -> None:
    """Where it was built, it was made for the parser that is installed."""
    assert tree._walked is tree._compiled_columns


@given(odd_pages)
@settings(max_examples=500)
def test_made_pages_have_the_same_columns(html: str) -> None:
    """Whatever the markup, both walks fill the same columns."""
    assert same(html.encode("utf-8", "replace")) == []


def test_saved_and_broken_pages_have_the_same_columns() -> None:
    """So do real pages, and pieces of them: of the saved answers, and of every corpus that is there."""
    files = sorted(GOLDEN.rglob("*.html")) + sorted(CORPORA.rglob("*.html"))[::20]
    rng = random.Random(1)
    for file in files:
        html = to_utf8(file.read_bytes())[0]
        first, last = sorted(rng.randrange(len(html) + 1) for _ in range(2))
        assert (file.name, same(html)) == (file.name, [])
        assert (file.name, same(html[first:last])) == (file.name, [])


def read_both(html: bytes) -> list[tuple[list[Piece], list[str]]]:
    """The pieces and the texts of the records of every cut of a page, compiled and plain."""
    leaves = leaves_of(tree.read(html))
    found = []
    for cut in candidates(leaves)[:MAX_CUTS]:
        compiled_reader, plain_reader = RecordReader(leaves, cut), RecordReader(leaves, cut)
        plain_reader._add_pieces = plain_reader.add_plain_pieces  # type: ignore[method-assign] # as where nothing is compiled
        for record in compiled_reader.records:
            fast = compiled_reader.pieces(record), [leaves.text(record.first, record.last)]
            assert fast == (plain_reader.pieces(record), [leaves.plain_text(record.first, record.last)])
            found.append(fast)
    return found


@given(odd_pages)
@settings(max_examples=200)
def test_made_records_have_the_same_pieces(html: str) -> None:
    """Whatever the markup, the pieces and texts of records are the same."""
    read_both(html.encode("utf-8", "replace") * 3)


def test_records_of_saved_pages_have_the_same_pieces() -> None:
    """So are those of real pages, whole and cut off."""
    files = sorted(GOLDEN.rglob("*.html"))[::4] + sorted((CORPORA / "kinds").rglob("*.html"))[::200]
    records = 0
    for file in files:
        html = to_utf8(file.read_bytes())[0]
        records += len(read_both(html)) + len(read_both(html[len(html) // 3 :]))
    assert records > 1000


@given(st.binary(max_size=40) | st.text(max_size=20).map(lambda text: text.encode("utf-8", "surrogatepass")))
@settings(max_examples=1000)
def test_bytes_are_looked_at_alike(page: bytes) -> None:
    """Both know UTF-8 from what is not, and count alike."""
    try:
        page.decode("utf-8")
        can_be_decoded = True
    except UnicodeDecodeError:
        can_be_decoded = False
    assert compiled.is_utf8(page) == can_be_decoded
    assert compiled.count(page * 100, 0x61) == page.count(b"a") * 100


def test_columns_of_different_pages_are_refused() -> None:
    """Columns that do not fit together raise; nothing is read beyond their ends."""
    page, other = tree.read("<p>one <b>two</b> three"), tree.read("<p>one")
    columns = page.chunk_row, page.chunk_gap, page.spots, page.spot, page.parent
    made = compiled.Leaves(page.chunks, *columns)
    with pytest.raises(ValueError, match="different pages"):
        compiled.Leaves(other.chunks, *columns)
    with pytest.raises(ValueError, match="different pages"):
        compiled.Leaves(page.chunks, page.chunk_row + 100, *columns[1:])
    with pytest.raises(IndexError):
        made.text(0, 99, 5)
    with pytest.raises(ValueError, match="different pages"):
        compiled.glue_inside_words(
            page.chunk_gap.copy(),
            page.chunk_gap,
            other.chunks,
            page.chunk_row,
            page.chunk_row,
            page.parent,
            page.spot,
            b"",
        )


@given(odd_pages)
@settings(max_examples=100)
def test_attributes_are_a_mapping(html: str) -> None:
    """The attributes that are decoded when asked for are the parser's own, whichever way they are asked for, also after pickling."""
    plain, fast = (
        walk(html.encode("utf-8", "replace")).attributes for walk in (tree._plain_columns, tree._compiled_columns)
    )
    assert list(fast) == list(fast.keys()) == list(plain)
    assert list(fast.values()) == list(plain.values())
    assert len(fast) == len(plain)
    assert dict(pickle.loads(pickle.dumps(fast)).items()) == plain  # noqa: S301 # our own bytes
    names = {name for found in plain.values() for name in found}
    assert isinstance(fast, compiled.Attributes)
    assert set(fast.names()) == names
    for name in (*names, "no-such-name"):
        assert fast.having(name) == having(plain, name)
    for row in range(-1, len(plain) + 3):
        assert (row in fast) == (row in plain)
        assert fast.get(row) == plain.get(row)
        assert fast.get(int(np.int32(row)), "no") == plain.get(row, "no")
    with pytest.raises(KeyError):
        fast[10**6]


@given(st.text(alphabet="aB1 .,'’_é\u0130ẞ\x00\u0661深い-", max_size=40))
@settings(max_examples=1000)
def test_words_are_the_same(text: str) -> None:
    """Both cut a text into the same words and number them alike; a text that only the plain one can cut is left to it."""
    fast = compiled.tokens(text)
    assert fast is None or fast == terms.plain_tokens(text)
    assert fast is not None or not text.isascii()
    made = compiled.terms(text)
    if made is not None:
        words, ids, at = terms.plain_terms(text)
        assert (made[0], list(np.frombuffer(made[1], np.int32)), list(np.frombuffer(made[2], np.int32))) == (
            words,
            list(ids),
            list(at),
        )


@given(st.lists(st.sampled_from(
    ["<a", " b", "/c", " d=",
     "<", ">", "=", "'", '"', " ", "x" * 9, "<!--", "-->", "<script>", "</script", "<title", "</TITLE>", "/", "\n", "<STYLE ", "</style>"]
), max_size=30).map("".join))  # fmt: skip
@settings(max_examples=1000)
def test_a_crowded_tag_is_found_where_the_plain_one_finds_it(html: str) -> None:
    """The test that comes before cutting attributes finds the same numbers of attributes."""
    page = html.encode()
    position, most = 0, 0
    while (tag := attribute_limit.TAG.search(page, position)) is not None:
        position = attribute_limit._end_of_text(page, tag)
        if tag[0] != b"<!--":
            most = max(most, len(attribute_limit.ATTRIBUTE.findall(page, tag.start(), tag.end())))
    for limit in (1, 2, 3, 4, 5):
        assert compiled.has_crowded_tag(page, limit) == (most >= limit)
