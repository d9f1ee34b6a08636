"""The native code must give the same results as its references in Python, and refuse columns that do not fit together."""

import gc
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
from hypothesis import example, given, settings
from hypothesis import strategies as st
from w3lib.encoding import to_unicode

from tests.page.test_tree import pages
from upwell import native
from upwell.content.lines import line_features, split_lines
from upwell.native import compiled
from upwell.page import charset as charset_module
from upwell.page import tokens as terms
from upwell.page import tree
from upwell.page.charset import to_utf8
from upwell.page.tag_tree import TagTree, attribute_by_row
from upwell.records.cut_rules import ScoredCut, ScoredPage, apply_rule, apply_rule_python, learn_rules
from upwell.records.cuts import Cut, candidate_cuts
from upwell.records.fields import RecordReader
from upwell.records.leaves import split_leaves
from upwell.records.record_columns import ReadRecord, learn_columns

if compiled is None:
    pytest.skip("the native module was not built: no compiler, or no Python.h", allow_module_level=True)

MAX_CUTS = 6  # cuts of a page whose records are compared
GOLDEN = Path(__file__).parent / "golden"
ODD = st.sampled_from(
    ["<svg><a xlink:href=x></svg>", "<dialog open>", "<dialog>", "<x-y z>", "<td itemprop>", "<i> </i>", "<b>a</b> ", "<th>",
     "<em itemprop=''> a", "<textarea>\n a  b\n", "<script type=Application/JSON>{}</script>", "\x1c", "<p class='a  b\u00a0c'>",
     "<div style='VISIBILITY : hidden'>", "<div style='display: None'>", "<select><option>a", "<frameset>", "<plaintext>",
     "w<span>o</span>rd ", "<style>.x{display:none}</style>", "<i class=x>hidden"]
)  # fmt: skip
odd_pages = st.lists(st.one_of(pages, ODD), max_size=12).map("".join)


def test_the_module_is_built_from_the_present_sources() -> None:
    """The digest that setup.py compiles in is that of the C files."""
    assert native.sources_digest(Path(native.__file__).parent) == compiled.SOURCES


STALE = """
import sys, types
stale = types.ModuleType("upwell.native._native")
stale.walk = stale.tokens = lambda *_: 1 / 0
stale.SOURCES = "the digest of other sources"
sys.modules["upwell.native._native"] = stale
from upwell.page import tokens, tree
from upwell.records.leaves import split_leaves
page = tree.read("<p>one <b>two</b>")
print(tokens.terms_of(page).words, split_leaves(page).text(0, 2))
"""


def test_a_module_built_from_other_sources_is_not_used() -> None:
    """A module left over from before a change of the C files breaks nothing: Python does its work."""
    run = subprocess.run([sys.executable, "-c", STALE], capture_output=True, text=True, check=True)
    assert run.stdout == "('one', 'two') one two\n"


def test_a_folder_without_sources_has_no_digest(tmp_path: Path) -> None:
    """The module is then used without a comparison."""
    assert native.sources_digest(tmp_path) == ""


def test_reading_does_not_leak() -> None:
    """Reading a page again and again needs no more memory."""
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
    """Return the columns in which the native walk differs from the Python walk."""
    plain, fast = tree._plain_columns(html), tree._compiled_columns(html)
    assert plain.keys() | {"url", "charset", "language", "problems"} == {part.name for part in fields(TagTree)} | {
        "parsed"
    }
    return [name for name in plain if not tree._same(plain[name], fast[name])]


def test_the_native_walk_is_used() -> None:
    """It supports the installed version of the parser."""
    assert tree._columns_of is tree._compiled_columns


@given(odd_pages)
@settings(max_examples=500)
def test_generated_pages_have_the_same_columns(html: str) -> None:
    """Both walks give the same columns for any markup."""
    assert same(html.encode("utf-8", "replace")) == []


def test_saved_and_broken_pages_have_the_same_columns() -> None:
    """Both walks give the same columns for saved answers, pages of the corpora, and random pieces of them."""
    files = sorted(GOLDEN.rglob("*.html")) + sorted(CORPORA.rglob("*.html"))[::20]
    rng = random.Random(1)
    for file in files:
        html = to_utf8(file.read_bytes())[0]
        first, last = sorted(rng.randrange(len(html) + 1) for _ in range(2))
        assert (file.name, same(html)) == (file.name, [])
        assert (file.name, same(html[first:last])) == (file.name, [])


def test_threads_can_read_at_the_same_time() -> None:
    """Threads share the parser's document and the table of path signatures, and still get the right columns."""
    pages = [file.read_bytes() for file in sorted(GOLDEN.rglob("*.html"))]
    pages += [page.replace(b"class=", b"class=other-") for page in pages]  # signatures that are made while others read
    alone = [tree._plain_columns(page) for page in pages]
    with ThreadPoolExecutor(4) as threads:
        for plain, fast in zip(alone, threads.map(tree._compiled_columns, pages), strict=True):
            assert [name for name in plain if not tree._same(plain[name], fast[name])] == []


def read_both(html: bytes) -> list[ReadRecord]:
    """Compare the records of every cut of a page, and the cuts of the rules learned from it; return the records."""
    leaves = split_leaves(tree.read(html))
    found: list[ReadRecord] = []
    for cut in candidate_cuts(leaves)[:MAX_CUTS]:
        columns = learn_columns([RecordReader(leaves, cut)])
        for some in (columns, replace(columns, columns=columns.columns[1:], labels=(), link="")):
            records = some.records(RecordReader(leaves, cut, some.marks))
            assert records == some.records_python(RecordReader(leaves, cut, some.marks))
            found += records
        for rule in learn_rules([ScoredPage(leaves, [ScoredCut(cut, 1.0)])]):
            for other in (rule, replace(rule, all_containers=not rule.all_containers, longest=1)):
                assert cuts_of(apply_rule(leaves, other)) == cuts_of(apply_rule_python(leaves, other))
    return found


def cuts_of(cuts: list[Cut]) -> list[object]:
    """Return the columns of cuts as lists."""
    names = ("starts", "ends", "depth", "unit", "container", "unit_row", "container_end")
    return [[np.asarray(getattr(cut, name)).tolist() for name in names] for cut in cuts]


@given(odd_pages)
@settings(max_examples=200)
def test_generated_pages_have_the_same_records(html: str) -> None:
    """Fields, links, texts and cuts are the same for any markup."""
    read_both(html.encode("utf-8", "replace") * 3)


def test_saved_pages_have_the_same_records() -> None:
    """Fields, links, texts and cuts are the same for real pages, whole and truncated."""
    files = sorted(GOLDEN.rglob("*.html"))[::4] + sorted((CORPORA / "kinds").rglob("*.html"))[::200]
    records = 0
    for file in files:
        html = to_utf8(file.read_bytes())[0]
        records += len(read_both(html)) + len(read_both(html[len(html) // 3 :]))
    assert records > 1000


@given(st.binary(max_size=40) | st.text(max_size=20).map(lambda text: text.encode("utf-8", "surrogatepass")))
@settings(max_examples=1000)
def test_valid_utf8_is_recognised(page: bytes) -> None:
    """The native check accepts the bytes that Python can decode."""
    try:
        page.decode("utf-8")
        can_be_decoded = True
    except UnicodeDecodeError:
        can_be_decoded = False
    assert compiled.is_utf8(page) == can_be_decoded


@given(
    st.binary(max_size=60),
    st.sampled_from(["cp1252", "iso8859-7", "koi8-r", "cp874", "mac-roman", "gb18030", "cp932", "cp1255"]),
)
@settings(max_examples=500)
def test_single_byte_charsets_are_converted_alike(page: bytes, charset: str) -> None:
    """The table and the codec give the same UTF-8."""
    assert charset_module._to_utf8_from(page, charset) == charset_module._encode_utf8(to_unicode(page, charset))


def test_only_single_byte_charsets_have_a_table() -> None:
    """Multi-byte charsets are converted by their codecs."""
    assert charset_module._utf8_table("cp1252") is not None
    for charset in ("gb18030", "big5", "cp932", "euc-jp", "cp949", "utf-8", "utf-16-le", "utf-7", "iso2022-jp"):
        assert charset_module._utf8_table(charset) is None


def test_columns_of_different_pages_are_refused() -> None:
    """Columns that do not fit together raise an error; nothing is read beyond their ends."""
    page, other = tree.read("<p>one <b>two</b> three"), tree.read("<p>one")
    columns = (
        *(page.chunk_row, page.chunk_gap, page.signature, page.parent, page.end, page.text_at, page.text_end),
        len(page.signatures),
    )
    leaves = compiled.Leaves(page.chunks, *columns)
    with pytest.raises(ValueError, match="different pages"):
        compiled.Leaves(other.chunks, *columns)
    with pytest.raises(ValueError, match="different pages"):
        compiled.Leaves(page.chunks, page.chunk_row + 100, *columns[1:])
    with pytest.raises(ValueError, match="different pages"):
        compiled.Leaves(page.chunks, *columns[:-1], 1)
    number, none = np.array([99], np.int32), np.zeros(0, np.int32)
    steps, flags = page.signature_set.place_step, np.zeros(len(page.signatures), np.int32)
    names: tuple[dict[int, str], dict[tuple[int, int], str]] = ({}, {})
    for starts, units, some_flags in (
        (number, page.chunk_row, flags),
        (none, page.chunk_row * 0 + 4, flags),
        (none, page.chunk_row, flags[1:]),
    ):
        with pytest.raises(ValueError, match="different pages"):
            leaves.records(starts, starts + 1, units, none, [], steps, steps, some_flags, *names, (), "", 0, 0, 5)
    with pytest.raises(ValueError, match="different pages"):
        leaves.cuts(flags, flags, flags.astype(float), 2, True, 1, 0.0, 0.0, 1, b"", (0.5, 0.4, 4))
    with pytest.raises(ValueError, match="different pages"):
        leaves.cuts(flags, flags + 99, flags.astype(float), 0, True, 1, 0.0, 0.0, 1, b"", (0.5, 0.4, 4))
    with pytest.raises(IndexError):
        compiled.store_signature((compiled.walk(b"") or {})["table"], 10**9, page.signatures[0])
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
    """The attributes are those of the parser, with every method and after pickling."""
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
    """Both split a text into the same words and number them alike; a text that only Python splits is left to it."""
    fast = compiled.tokens(text)
    assert fast is None or fast == terms.plain_tokens(text)
    assert fast is not None or not text.isascii()
    *_, left = compiled.terms(text, [])
    if not left:
        (low, spans), *numbered = compiled.terms(text, [], True)
        spelled = [low[begin:end] for begin, end in np.frombuffer(spans, np.int32).reshape(-1, 2).tolist()]
        assert (spelled, *numbered) == compiled.terms(text, [])
    made, ids, at, left = compiled.terms(text, [terms.plain_tokens(chunk) for chunk in left])
    assert left == []
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
@example("<a d=/ b")
@settings(max_examples=1000)
def test_crowded_tags_are_the_same(html: str) -> None:
    """The check before `limit_attributes` counts attributes as the regular expressions do."""
    page = html.encode()
    position, most = 0, 0
    while (tag := tree.LONG_TAG.search(page, position)) is not None:
        position = tree._end_of_text(page, tag)
        if tag[0] != b"<!--":
            most = max(most, sum(map(bool, tree.ATTRIBUTE.findall(page, tag.start(), tag.end()))))
    for limit in (1, 2, 3, 4, 5):
        assert compiled.has_crowded_tag(page, limit) == (most >= limit)


def test_a_page_does_not_depend_on_the_page_before() -> None:
    """In a page without a document type a table stays inside its paragraph; the next page is parsed in standards mode again."""
    table = b"<p>one<table><tr><td>two</table>"
    pages = [table, b"<!DOCTYPE html>" + table]
    inside, beside = (tree.read(page).parent.tolist() for page in pages)
    assert inside != beside
    assert [tree.read(page).parent.tolist() for page in pages[::-1] + pages] == [beside, inside, inside, beside]
