"""The compiled walk and words against the plain ones, which are the reference."""

import gc
import hashlib
import pickle
import random
import subprocess
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks.corpora import CORPORA
from hypothesis import given, settings
from hypothesis import strategies as st
from w3lib.encoding import to_unicode

from tests.page.test_tree import pages
from upwell import native
from upwell.answers.totals import numbered_lines, numbered_lines_python
from upwell.content.lines import line_features, split_lines
from upwell.native import compiled
from upwell.page import charset as charset_module
from upwell.page import tokens as terms
from upwell.page import tree
from upwell.page import tree as attribute_limit
from upwell.page.charset import to_utf8
from upwell.page.tag_tree import TagTree, attribute_by_row
from upwell.records.cut_rules import ScoredCut, ScoredPage, apply_rule, apply_rule_python, learn_rules
from upwell.records.cuts import Cut, candidate_cuts
from upwell.records.fields import Piece, RecordReader
from upwell.records.leaves import split_leaves
from upwell.records.record_columns import ReadRecord, learn_columns

if compiled is None:
    pytest.skip("the compiled page was not built here: no compiler, or no Python.h", allow_module_level=True)

MAX_CUTS = 6  # of a page whose records are compared
GOLDEN = Path(__file__).parent / "golden"
ODD = st.sampled_from(
    ["<svg><a xlink:href=x></svg>", "<dialog open>", "<dialog>", "<x-y z>", "<td itemprop>", "<i> </i>", "<b>a</b> ", "<th>",
     "<em itemprop=''> a", "<textarea>\n a  b\n", "<script type=Application/JSON>{}</script>", "\x1c", "<p class='a  b\u00a0c'>",
     "<div style='VISIBILITY : hidden'>", "<div style='display: None'>", "<select><option>a", "<frameset>", "<plaintext>",
     "w<span>o</span>rd ", "<style>.x{display:none}</style>", "<i class=x>hidden"]
)  # fmt: skip
odd_pages = st.lists(st.one_of(pages, ODD), max_size=12).map("".join)


# Digest of the C sources at this INTERFACE. After a change of the sources increase INTERFACE in module.c and native/__init__.py, and update this.
SOURCES = (9, "6479c74950349341")


def test_the_number_of_the_compiled_parts_follows_their_sources() -> None:
    """A module that was built from other sources can be known by its number, so that it is not used."""
    files = sorted(path for pattern in ("*.c", "*.h") for path in Path(native.__file__).parent.glob(pattern))
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]
    assert (compiled.INTERFACE, digest) == SOURCES


STALE = """
import sys, types
stale = types.ModuleType("upwell.native._native")
stale.walk = stale.tokens = lambda *_: 1 / 0
sys.modules["upwell.native._native"] = stale
from upwell.page import tokens, tree
from upwell.records.leaves import split_leaves
page = tree.read("<p>one <b>two</b>")
print(tokens.terms_of(page).words, split_leaves(page).text(0, 2))
"""


def test_a_module_of_another_version_is_not_used() -> None:
    """One that was left over from an older version does not break anything: plain Python does its work."""
    run = subprocess.run([sys.executable, "-c", STALE], capture_output=True, text=True, check=True)
    assert run.stdout == "('one', 'two') one two\n"


def test_reading_leaves_nothing_behind() -> None:
    """What a page took is given back: reading it again and again holds no more memory."""
    html = max((file.read_bytes() for file in GOLDEN.rglob("*.html")), key=len)
    leaves = split_leaves(tree.read(html))
    cut = max(candidate_cuts(leaves), key=len)
    columns, (rule, *_) = (
        learn_columns([RecordReader(leaves, cut)]),
        learn_rules([ScoredPage(leaves, [ScoredCut(cut, 1.0)])]),
    )

    def work() -> None:
        page = tree.read(html)
        terms.terms_of(page)
        line_features(page, split_lines(page))
        dict(page.attributes.items())
        leaves = split_leaves(page)
        (cut,) = apply_rule(leaves, rule)[:1]
        for record in columns.records(RecordReader(leaves, cut, columns.marks)):
            leaves.text(record.at.first, record.at.last)
        page.steps_below(0)

    held = []
    tracemalloc.start()
    for times in (10, 10, 100):
        for _ in range(times):
            work()
        gc.collect()
        held.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert held[2] - held[1] < 100 * len(cut) * sys.getsizeof(1)


def same(html: bytes) -> list[str]:
    """The columns that the compiled walk fills otherwise."""
    plain, fast = tree._plain_columns(html), tree._compiled_columns(html)
    assert plain.keys() | {"url", "charset", "language", "problems"} == {part.name for part in fields(TagTree)}
    return [name for name in plain if not tree._same(plain[name], fast[name])]


def test_the_compiled_walk_is_used() -> None:
    """Where it was built, it was made for the parser that is installed."""
    assert tree._columns_of is tree._compiled_columns


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


def test_threads_that_read_at_once_do_not_disturb_each_other() -> None:
    """The parser's document, places and their numbers are shared by all pages: each thread still gets its own columns."""
    pages = [file.read_bytes() for file in sorted(GOLDEN.rglob("*.html"))]
    pages += [page.replace(b"class=", b"class=other-") for page in pages]  # signatures that are made while others read
    alone = [tree._plain_columns(page) for page in pages]
    with ThreadPoolExecutor(4) as threads:
        for plain, fast in zip(alone, threads.map(tree._compiled_columns, pages), strict=True):
            assert [name for name in plain if not tree._same(plain[name], fast[name])] == []


def read_both(html: bytes) -> list[ReadRecord]:
    """The records of every cut of a page, compiled and plain: their pieces, texts, fields and links, and the cuts of rules that give them."""
    leaves = split_leaves(tree.read(html))
    found: list[ReadRecord] = []
    for cut in candidate_cuts(leaves)[:MAX_CUTS]:
        compiled_reader, plain_reader = RecordReader(leaves, cut), RecordReader(leaves, cut)
        plain_reader._add_pieces = plain_reader.add_pieces_python  # type: ignore[method-assign] # as where nothing is compiled
        for record in compiled_reader.records:
            fast = compiled_reader.pieces(record), leaves.text(record.first, record.last)
            assert fast == (plain_reader.pieces(record), leaves.text_python(record.first, record.last))
        columns = learn_columns([compiled_reader])
        for some in (columns, replace(columns, columns=columns.columns[1:], labels=(), link="")):
            records = some.records(RecordReader(leaves, cut, some.marks))
            assert records == some.records_python(RecordReader(leaves, cut, some.marks))
            found += records
        for rule in learn_rules([ScoredPage(leaves, [ScoredCut(cut, 1.0)])]):
            for other in (rule, replace(rule, all_containers=not rule.all_containers, longest=1)):
                assert cuts_of(apply_rule(leaves, other)) == cuts_of(apply_rule_python(leaves, other))
    return found


def cuts_of(cuts: list[Cut]) -> list[object]:
    """All that is in cuts, to be compared."""
    names = ("starts", "ends", "depth", "unit", "container", "unit_row", "container_end")
    return [[np.asarray(getattr(cut, name)).tolist() for name in names] for cut in cuts]


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


@given(odd_pages)
@settings(max_examples=100)
def test_the_steps_below_a_row_are_the_same(html: str) -> None:
    """Both number the rows right below a row alike."""
    page = tree.read(html)
    for row in range(len(page)):
        assert page.steps_below(row) == page.plain_steps_below(row)
        assert all(page.row_at(f"{page.path(row)}/{step}") == child for child, step in page.steps_below(row).items())


@given(odd_pages)
@settings(max_examples=200)
def test_texts_and_their_lines_are_the_same(html: str) -> None:
    """Both join the same chunks to the same text, and find the same lines with numbers."""
    page = tree.read(html)
    for row in range(len(page)):
        first, last = int(page.text_at[row]), int(page.text_end[row])
        assert page.text(row) == (page.plain_text_of(first, last) if first < last else "")
    for text in (page.text(), html):
        for most in (0, 3, 240):
            assert numbered_lines(text, most) == numbered_lines_python(text, most)


@given(st.text(alphabet="a1\n \u0661\u00b2Ⅷ深\U0001d7ce\x1c\x85\u2028"))
@settings(max_examples=300)
def test_lines_with_numbers_are_the_same(text: str) -> None:
    """A digit is one in any script; only a line feed ends a line."""
    assert numbered_lines(text, 5) == numbered_lines_python(text, 5)


@given(
    st.binary(max_size=60),
    st.sampled_from(["cp1252", "iso8859-7", "koi8-r", "cp874", "mac-roman", "gb18030", "cp932", "cp1255"]),
)
@settings(max_examples=500)
def test_charsets_of_single_bytes_are_recoded_alike(page: bytes, charset: str) -> None:
    """By a table or by the codec, the same UTF-8 comes out."""
    assert charset_module._to_utf8_from(page, charset) == charset_module._encode_utf8(to_unicode(page, charset))


def test_every_charset_with_a_table_is_one_of_single_bytes() -> None:
    """Those with several bytes for a character are left to their codecs."""
    assert charset_module._utf8_table("cp1252") is not None
    for charset in ("gb18030", "big5", "cp932", "euc-jp", "cp949", "utf-8", "utf-16-le", "utf-7", "iso2022-jp"):
        assert charset_module._utf8_table(charset) is None


def test_columns_of_different_pages_are_refused() -> None:
    """Columns that do not fit together raise; nothing is read beyond their ends."""
    page, other = tree.read("<p>one <b>two</b> three"), tree.read("<p>one")
    columns = (
        page.chunk_row, page.chunk_gap, page.signatures, page.signature, page.parent, page.end, page.text_at, page.text_end
    )  # fmt: skip
    made = compiled.Leaves(page.chunks, *columns)
    with pytest.raises(ValueError, match="different pages"):
        compiled.Leaves(other.chunks, *columns)
    with pytest.raises(ValueError, match="different pages"):
        compiled.Leaves(page.chunks, page.chunk_row + 100, *columns[1:])
    with pytest.raises(IndexError):
        made.text(0, 99, 5)
    number = np.array([99], np.int32)
    with pytest.raises(ValueError, match="different pages"):
        made.records(
            number, number + 1, page.chunk_row, number[:0], [], ({}, {}, (), "", 0, 0), ({}, {}, 0, 0, *[Piece] * 3), 5
        )
    with pytest.raises(ValueError, match="different pages"):
        made.cuts({}, lambda _: (3, 0, 0.0), 2, True, 1, 0.0, 0.0, 1, b"", (0.5, 0.4, 4))
    with pytest.raises(IndexError):
        compiled.text(other.chunks, page.chunk_gap, 0, 1)
    with pytest.raises(IndexError):
        compiled.steps_below(99, page.end, page.signature, page.signatures)
    with pytest.raises(ValueError, match="different pages"):
        compiled.Attributes(("a",), number.tobytes() * 2, number.tobytes(), number.tobytes(), b"")
    with pytest.raises(ValueError, match="different pages"):
        compiled.finish_gaps(
            page.chunk_gap.copy(),
            page.chunk_gap,
            other.chunks,
            page.chunk_row,
            page.chunk_row,
            page.parent,
            page.signature,
            b"",
        )


@given(odd_pages)
@settings(max_examples=100)
def test_attributes_are_a_mapping(html: str) -> None:
    """The attributes that are decoded when asked for are the parser's own, whichever way they are asked for, also after pickling."""
    plain, fast = (
        walk(html.encode("utf-8", "replace"))["attributes"] for walk in (tree._plain_columns, tree._compiled_columns)
    )
    assert list(fast) == list(fast.keys()) == list(plain)
    assert list(fast.values()) == list(plain.values())
    assert len(fast) == len(plain)
    assert dict(pickle.loads(pickle.dumps(fast)).items()) == plain  # noqa: S301 # our own bytes
    names = {name for found in plain.values() for name in found}
    assert isinstance(fast, compiled.Attributes)
    assert set(fast.names()) == names
    for name in (*names, "no-such-name"):
        assert fast.having(name) == attribute_by_row(plain, name)
        rows = np.arange(-1, len(plain) + 3, dtype=np.int32)
        assert fast.of_rows(name, rows) == [attribute_by_row(plain, name).get(row) for row in rows.tolist()]
    for row in range(-1, len(plain) + 3):
        assert (row in fast) == (row in plain)
        assert fast.get(row) == plain.get(row)
        assert fast.get(int(np.int32(row)), "no") == plain.get(row, "no")
    with pytest.raises(KeyError):
        fast[10**6]


@given(st.text(alphabet="aB1 .,'’_é\u0130ẞ\x00\u0661深い検エー・〇한Ａ，\u302a\U00020000-", max_size=40))
@settings(max_examples=1000)
def test_words_are_the_same(text: str) -> None:
    """Both cut a text into the same words and number them alike; a text that only the plain one can cut is left to it."""
    fast = compiled.tokens(text)
    assert fast is None or fast == terms.plain_tokens(text)
    assert fast is not None or not text.isascii()
    made, ids, at = compiled.terms(text, terms.plain_tokens)
    words, plain_ids, plain_at = terms.plain_terms(text)
    assert (made, list(np.frombuffer(ids, np.int32)), list(np.frombuffer(at, np.int32))) == (
        words,
        list(plain_ids),
        list(plain_at),
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
    while (tag := attribute_limit.LONG_TAG.search(page, position)) is not None:
        position = attribute_limit._end_of_text(page, tag)
        if tag[0] != b"<!--":
            most = max(most, len(attribute_limit.ATTRIBUTE.findall(page, tag.start(), tag.end())))
    for limit in (1, 2, 3, 4, 5):
        assert compiled.has_crowded_tag(page, limit) == (most >= limit)


def test_a_page_is_read_as_if_none_had_been_read_before() -> None:
    """In a page without a document type a table stays inside its paragraph; that page leaves nothing behind for the next."""
    table = b"<p>one<table><tr><td>two</table>"
    pages = [table, b"<!DOCTYPE html>" + table]
    inside, beside = (tree.read(page).parent.tolist() for page in pages)
    assert inside != beside
    assert [tree.read(page).parent.tolist() for page in pages[::-1] + pages] == [beside, inside, inside, beside]
