"""Run the native code under AddressSanitizer and UBSan: `python scripts/sanitize.py [EVERY [FIRST]]`, before a change of it is merged.

A copy of the package with an instrumented module reads the saved answers of the tests and the pages of the corpora (one of EVERY,
starting with number FIRST): unchanged, truncated, and with changed bytes; then random bytes and random markup, a page of each for every
file; and calls every function of the module. At the end it says which functions no page reached. Leaks are tested by tests/test_native.py.
It needs gcc.
"""

import os
import pickle
import random
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, ModuleType

ROOT = Path(__file__).parents[1]
CORPORA = Path(os.environ.get("CORPORA", ROOT.parent / "shared" / "data"))
FLAGS = ["-g", "-O1", "-std=c11", "-fPIC", "-shared", "-fno-omit-frame-pointer", "-fno-sanitize-recover=all"]
MAX_CUTS = 2  # cuts of a page whose records are read
MAX_PAGE_BYTES = 300_000  # largest page in bytes that is also read in changed forms
CHANGES = (
    b"<",
    b">",
    b"&",
    b'"',
    b"=",
    b"\x00",
    b"\xff",
    b"</",
    b"<!--",
    b"<table>",
    b"<script",
    b"<style>",
    b"\xe2\x80",
)
TAGS = (
    "p", "b", "i", "a", "div", "ul", "li", "table", "tr", "td", "th", "caption", "select", "option", "form", "textarea", "svg", "math",
    "template", "br", "body", "html",
)  # fmt: skip
# Pieces of random markup: tags that the parser moves, closes or opens again, and texts in several alphabets.
PIECES = (
    *(f"<{tag}>".encode() for tag in TAGS), *(f"</{tag}>".encode() for tag in TAGS),
    b"<input name=q value='", b"<a href='/x?", b"<p class='a b' id=", b"'", b'"', b">", b"x", b" ", b"7 ", b"word ", b"\n", b"&amp;", b"&#x10ffff;",
    b"&#", "ß ".encode(), "搜索".encode(), "\u0301".encode(), "\U0001f600".encode(), "اب ".encode(), b"\xff", b"\x00", b"<!--", b"-->", b"<![CDATA[",
    b"<style>p{display:none}</style>", b"<script>", b"</script>", b"<td>1", b"<li><a href=/7>seven</a> 7,00",
)  # fmt: skip


def main(every: str = "1", first: str = "0") -> int:
    """Build the module in a copy, and run this file again with it."""
    with tempfile.TemporaryDirectory() as scratch:
        package = Path(scratch) / "upwell"
        shutil.copytree(
            ROOT / "src" / "upwell", package, ignore=shutil.ignore_patterns("*.so", "*.c", "*.h", "__pycache__")
        )
        module = package / "native" / f"_native{sysconfig.get_config_var('EXT_SUFFIX')}"
        sources = sorted(map(str, (ROOT / "src/upwell/native").glob("*.c")))
        include = f"-I{sysconfig.get_path('include')}"
        build = ["gcc", "-fsanitize=address,undefined", *FLAGS, include, *sources, "-o", str(module)]
        subprocess.run(build, check=True)  # our own sources
        library = subprocess.run(
            ["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
        )  # the compiler on the path
        settings = {
            "LD_PRELOAD": library.stdout.strip(), "ASAN_OPTIONS": "detect_leaks=0", "UBSAN_OPTIONS": "print_stacktrace=1",
            "PYTHONMALLOC": "malloc", "PYTHONPATH": scratch,
        }  # fmt: skip
        command = [sys.executable, __file__, "instrumented", every, first]
        return subprocess.run(command, env={**os.environ, **settings}).returncode  # this file


def read_all(every: int, first: int) -> None:
    """Read every page in every form."""
    from upwell.native import compiled

    if compiled is None:
        sys.exit("the instrumented module was not loaded")
    files = sorted((ROOT / "tests" / "golden").rglob("*.html")) + sorted(CORPORA.rglob("*.html"))
    rng = random.Random(1)  # noqa: S311 # the same pages each time
    pages = 0
    reached = note_calls(compiled)
    misuse()
    reached.clear()
    for number, file in enumerate(files[first::every], 1):
        for page in (*forms(file.read_bytes(), rng), *random_pages(rng)):
            use(page)
            pages += 1
        if not number % 50:
            print(f"{pages:,} pages of {number:,} files read, no findings yet", flush=True)
    print(f"{pages:,} pages of {len(files[first::every]):,} files read, no findings")
    functions = {name for name in dir(compiled) if isinstance(getattr(compiled, name), FunctionType)}  # as wrapped
    print(f"not reached by any page: {', '.join(sorted(functions - reached)) or 'none'}")


def note_calls(module: ModuleType) -> set[str]:
    """Return a set that gets the names of the functions of a module when they are called; modules that import them later are meant."""
    reached: set[str] = set()

    def noting(name: str, function: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object, **named: object) -> object:
            reached.add(name)
            return function(*arguments, **named)

        return call

    for name in dir(module):
        if not name.startswith("_") and isinstance(getattr(module, name), BuiltinFunctionType):
            setattr(module, name, noting(name, getattr(module, name)))
    return reached


def forms(page: bytes, rng: random.Random) -> Iterator[bytes]:
    """Yield a page unchanged, truncated, and with changed bytes."""
    yield page
    if not page or len(page) > MAX_PAGE_BYTES:
        return
    first, last = sorted(rng.randrange(len(page) + 1) for _ in range(2))
    yield page[first:last]
    changed = bytearray(page)
    for _ in range(rng.randrange(1, 40)):
        at = rng.randrange(len(changed))
        changed[at : at + rng.randrange(3)] = rng.choice(CHANGES)
        if not changed:
            return
    yield bytes(changed)


def random_pages(rng: random.Random) -> Iterator[bytes]:
    """Yield random bytes, random markup, and random markup of many tags, which is walked while it is parsed."""
    yield rng.randbytes(rng.randrange(5000))
    for count in (rng.randrange(2000), 50_000 if not rng.randrange(20) else 0):
        yield b"".join(rng.choice(PIECES) for _ in range(count))


def use(html: bytes) -> None:
    """Call every compiled function with one page."""
    from upwell.arrays.key_set import KeySet
    from upwell.content.lines import line_features, split_lines
    from upwell.content.main_content import find_blocks
    from upwell.page import tokens as terms
    from upwell.page.tree import read
    from upwell.records.cut_rules import ScoredCut, ScoredPage, apply_rule, learn_rules
    from upwell.records.cuts import candidate_cuts
    from upwell.records.fields import RecordReader
    from upwell.records.leaves import split_leaves
    from upwell.records.record_columns import learn_columns

    page = read(html)
    keys = KeySet()
    keys.update(page.text().split())
    keys.update(str(number) for number in range(len(html) % 3000))
    if any(word not in keys for word in page.text().split()):
        sys.exit("a key was lost")
    terms.terms_of(page)
    attributes = pickle.loads(pickle.dumps(page)).attributes  # noqa: S301 # our own bytes
    for row, found in attributes.items():
        for name in found:
            attributes.value(row, name)
    for name in page.attribute_names:
        page.attribute_by_row(name)
    line_features(page, split_lines(page))
    find_blocks(page)
    count_words(page.text().split("\n")[:200])
    leaves = split_leaves(page)
    if len(leaves) < 2000:  # searching for cuts takes long on larger pages
        for cut in candidate_cuts(leaves)[:MAX_CUTS]:
            columns = learn_columns([RecordReader(leaves, cut)])
            for record in columns.records(RecordReader(leaves, cut, columns.marks)):
                leaves.text(record.at.first, record.at.last)
            for rule in learn_rules([ScoredPage(leaves, [ScoredCut(cut, 1.0)])]):
                apply_rule(leaves, rule)


def count_words(lines: list[str]) -> None:
    """Add lines as records, query words and pairs, and read the numbers of words from their pickle."""
    from upwell.choose.pairs import WordPairs
    from upwell.choose.word_candidates import WordYield
    from upwell.choose.word_index import SeenRecord

    index = WordYield(keeps_stop_words=len(lines) % 2 == 0, result_cap=5, page_size=2)
    index.add_records([SeenRecord(str(number), line, {"a": line[:20], "b": line}) for number, line in enumerate(lines)])
    index.add_records([SeenRecord(str(number), line, {}) for number, line in enumerate(lines[:20])])
    pickle.loads(pickle.dumps(index))  # noqa: S301 # our own bytes
    pairs = WordPairs(index)
    for _ in range(5):
        if (proposed := index.propose(1.0, 1000, 0.6)) is not None:
            index.asked(proposed[0], 1)
            pairs.add_capped(proposed[0], 1000)
        if (pair := pairs.next()) is not None:
            pairs.asked(pair)


def misuse() -> None:
    """Call the functions with invalid arguments: they must raise, not read out of bounds."""
    from upwell.native import compiled
    from upwell.page.tree import read

    read("")  # binds the parser
    numbers = b"\x00\x00\x00\x00" * 3
    odd: tuple[object, ...] = (b"", b"a", "", "a", numbers, -1, 0, 10**30, None, (), ((),), [], {}, object)
    for name in dir(compiled):
        function = getattr(compiled, name)
        if (
            callable(function) and name != "bind" and not name.startswith("__")
        ):  # a wrong call of bind unbinds the parser
            for count in range(9):
                for argument in odd:
                    try:
                        function(*[argument] * count)
                    except (TypeError, ValueError, OverflowError, IndexError, KeyError, AttributeError, BufferError):
                        continue


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["instrumented", every, first]:
            read_all(int(every), int(first))
        case arguments:
            sys.exit(main(*arguments))
