"""Every file type of a harvest's folder with random and hostile content: each verb ends with a clear error or works, and nothing is executed."""

import functools
import itertools
import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.hostile.site import HostileSite, hostile
from tests.hostile.test_files_and_output import upwell_here
from upwell import api
from upwell.combine.search import search
from upwell.config import MAX_FILE_BYTES
from upwell.errors import CannotKeep
from upwell.harvest.loop import Plan
from upwell.net.fetch import Manners
from upwell.store.database import TABLES
from upwell.store.read_only import open_read_only
from upwell.store.sqlite import SqliteDatabase, connect_safely

FAST = Manners(rate=0, retries=0)
PLAN = Plan(budget=40, browser="never")
Run = Callable[..., tuple[int, str]]
repeated = functools.partial(
    settings, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), database=None
)


@pytest.fixture(scope="module")
def site() -> Iterator[HostileSite]:
    with hostile() as running:
        yield running


@pytest.fixture(scope="module")
def harvested(site: HostileSite, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a small harvest with a search index."""
    out = tmp_path_factory.mktemp("harvested")
    folder = api.harvest(site.url, out=out, plan=PLAN, manners=FAST).folder
    search("amber", [out])
    return folder


@pytest.fixture(scope="module")
def copy(harvested: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    """Return a function that copies the output folder into a new one: all examples of a test share one `tmp_path`."""
    numbers, parent = itertools.count(), tmp_path_factory.mktemp("copies")

    def new() -> Path:
        return Path(shutil.copytree(harvested.parent, parent / str(next(numbers)))) / harvested.name

    return new


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that runs a verb of the command line and asserts that it ends as documented."""

    def verb(*arguments: str | Path) -> tuple[int, str]:
        code, stderr = upwell_here(capsys, monkeypatch, *arguments)
        assert code in (0, 1, 2, 3), (arguments, stderr)
        assert "Traceback" not in stderr, (arguments, stderr)
        assert "bug in Upwell" not in stderr, (arguments, stderr)
        assert not code or "upwell: " in stderr, (arguments, stderr)
        return code, stderr

    return verb


def verbs(folder: Path, site: HostileSite) -> dict[str, tuple[str | Path, ...]]:
    """Return the verbs that open the state of a folder."""
    again = ("--rate", "0", "--budget", "44", "--browser", "never")
    return {
        "status": ("status", folder.parent),
        "explain": ("explain", folder),
        "export": ("export", folder, "--format", "csv", "-o", folder.parent / "csv"),
        "extract": ("extract", folder / "archive", "--json"),
        "harvest": ("harvest", site.url, "-o", folder.parent, *again),
        "refresh": ("harvest", site.url, "-o", folder.parent, *again, "--refresh"),
    }


VERBS = st.sampled_from(["status", "explain", "export", "extract"] * 3 + ["harvest", "refresh"])


@repeated(max_examples=8)
@given(
    verb=VERBS,
    places=st.lists(st.tuples(st.floats(0, 0.9999), st.binary(min_size=1, max_size=20)), max_size=8),
    cut=st.booleans(),
)
def test_any_bytes_in_a_state(
    verb: str, places: list[tuple[float, bytes]], cut: bool, copy: Callable[[], Path], run: Run, site: HostileSite
) -> None:
    """Bytes of the SQLite file are overwritten, or its end is missing."""
    folder = copy()
    file = folder / "state.sqlite"
    content = bytearray(file.read_bytes())
    for place, new in places:
        at = int(place**3 * len(content))  # more often near the beginning, where the schema is
        content[at : at + len(new)] = new
    file.write_bytes(content[: len(content) // 2] if cut else content)
    run(*verbs(folder, site)[verb])


HOSTILE: list[Any] = [
    None, -1, 2**63 - 1, -(2**63), 1.5, float("inf"), "", "x", "[]", "{}", "null", "7", '["a"]', '["", "", [], "GET", "http://127.0.0.1/"]',
    '{"url": 7, "status": "x", "headers": 5, "blocked": []}', "[" * 100_000, b"", b"\xff\xfe", b"x" * 1000, '{"a": NaN}', "9" * 5000, '"\\ud800"',
]  # fmt: skip
COLUMNS = [(table.name, column) for table in TABLES for column in table.columns]


@repeated(max_examples=12)
@given(verb=VERBS, column=st.sampled_from(COLUMNS), value=st.sampled_from(HOSTILE), is_one=st.booleans())
def test_any_values_in_a_state(
    verb: str, column: tuple[str, str], value: Any, is_one: bool, copy: Callable[[], Path], run: Run, site: HostileSite
) -> None:
    """One column of a valid SQLite file has values of another type, range or meaning."""
    folder = copy()
    with closing(sqlite3.connect(folder / "state.sqlite")) as db, db:
        table, name = column
        db.execute(f"UPDATE OR IGNORE {table} SET {name} = ? {'LIMIT 1' if is_one else ''}", (value,))  # noqa: S608
    run(*verbs(folder, site)[verb])


ENDLESS = "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n) SELECT"
SCHEMAS = {
    "view": f"DROP TABLE records; CREATE VIEW records AS {ENDLESS} i AS key, '{{}}' AS row, 1 AS seen, 1 AS first, 1 AS last FROM n",
    "trigger": f"CREATE TRIGGER t AFTER UPDATE ON about BEGIN INSERT INTO details {ENDLESS} i, '{{}}', 1 FROM n; END",
    "generated": "DROP TABLE records; CREATE TABLE records (key TEXT, row AS (hex(zeroblob(300000000))), seen INTEGER, PRIMARY KEY (key))",
    "check": "DROP TABLE about; CREATE TABLE about (name TEXT CHECK (length(hex(zeroblob(300000000)))), value TEXT, PRIMARY KEY (name))",
    "default": "DROP TABLE details; CREATE TABLE details (key TEXT, row TEXT DEFAULT (hex(zeroblob(300000000))), run INTEGER, PRIMARY KEY (key))",
    "expression": "CREATE INDEX sights_by_key ON sights (length(hex(zeroblob(300000000))))",
    "partial index": "DROP INDEX outcomes_by_request; CREATE INDEX outcomes_by_request ON outcomes (run) WHERE length(hex(zeroblob(3000000))) = 1",
    "virtual": "CREATE VIRTUAL TABLE history2 USING fts5(x)",
    "name": 'CREATE TABLE "../../evil" (a)',
    "other": "DROP TABLE outcomes; CREATE TABLE outcomes (id INTEGER, run INTEGER, PRIMARY KEY (id))",
    "nothing": "DROP TABLE records; DROP TABLE about",
    "statement": "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = 'CREATE TABLE records (key TEXT DEFAULT (hex(1)))' WHERE name = 'records'",
    "pages": "PRAGMA writable_schema = ON; UPDATE sqlite_master SET rootpage = (SELECT rootpage FROM sqlite_master WHERE name = 'about')",
}  # fmt: skip
ONLY_DIFFERENT = {"other", "nothing", "pages"}  # contain nothing that SQLite would run


@pytest.mark.parametrize("kind", SCHEMAS)
def test_a_state_with_code_in_its_schema_is_refused(
    kind: str, copy: Callable[[], Path], run: Run, site: HostileSite
) -> None:
    """Views, triggers, generated columns, checks, defaults, expressions and virtual tables are named before any table is used."""
    folder = copy()
    with closing(sqlite3.connect(folder / "state.sqlite", isolation_level=None)) as db:
        db.executescript(SCHEMAS[kind])
    before = len(site.received)
    for verb in ("status", "export", "harvest") if kind in ONLY_DIFFERENT | {"view", "trigger"} else ("status",):
        code, stderr = run(*verbs(folder, site)[verb])
        if kind not in ONLY_DIFFERENT:
            assert (code == 1 and "is not of a state that Upwell wrote" in stderr) or "malformed" in stderr, (
                verb,
                stderr,
            )
    assert kind in ONLY_DIFFERENT or len(site.received) == before
    if kind not in ONLY_DIFFERENT:
        with pytest.raises(CannotKeep), open_read_only(folder):
            pass
        with pytest.raises(CannotKeep):
            SqliteDatabase(folder / "state.sqlite")


def test_a_connection_runs_no_function_of_a_schema_and_reads_no_huge_value(tmp_path: Path) -> None:
    """A table of a stranger in SQLite, which may have any columns, is read without extensions and without values of a gigabyte."""
    with closing(sqlite3.connect(tmp_path / "t.sqlite")) as db:
        db.executescript("CREATE TABLE records (a, b AS (hex(zeroblob(60000000)))); INSERT INTO records VALUES (1)")
    with closing(connect_safely(tmp_path / "t.sqlite", read_only=True)) as db:
        with pytest.raises(sqlite3.DataError):
            db.execute("SELECT b FROM records").fetchone()
        with pytest.raises(sqlite3.OperationalError):
            db.execute("SELECT load_extension('x')")
        with pytest.raises(sqlite3.OperationalError):
            db.execute("INSERT INTO records VALUES (2)")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=5) | st.sampled_from(["parquet", "../x", "http://127.0.0.1:1/"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
FILES = ("summary.json", "source.json", "state.json", "events.jsonl", "run.json", "summary.jsonl", "datapackage.json")


@repeated(max_examples=8)
@given(
    file=st.sampled_from(FILES),
    place=st.floats(0, 0.9999),
    value=JSON,
    data=st.binary(max_size=30),
    is_json=st.booleans(),
)
def test_any_values_in_the_json_files(
    file: str,
    place: float,
    value: Any,
    data: bytes,
    is_json: bool,
    copy: Callable[[], Path],
    run: Run,
    site: HostileSite,
) -> None:
    """One value of a real file is replaced by any other, or some bytes are overwritten."""
    folder = copy()
    path = (folder.parent if file in ("run.json", "summary.jsonl") else folder) / file
    text = path.read_bytes() if path.exists() else b'{"state": "postgresql://h.invalid/x", "site": "a"}'
    if is_json and not file.endswith("l"):
        content = json.loads(text)
        every = list(_places(content))
        container, key = every[int(place * len(every))]
        container[key] = value
        path.write_text(json.dumps(content), encoding="utf-8", errors="surrogatepass")
    else:
        at = int(place * len(text))
        path.write_bytes(text[:at] + data + text[at + len(data) :])
    for verb in ("status", "export"):
        run(*verbs(folder, site)[verb])
    run("search", "amber", folder.parent)
    if file == "source.json":
        run("extract", folder / "archive", "--source", path, "--json")


def _places(node: Any) -> Iterator[tuple[Any, Any]]:
    for key, value in list(node.items() if isinstance(node, dict) else enumerate(node)):
        yield node, key
        if isinstance(value, dict | list):
            yield from _places(value)


@repeated(max_examples=4)
@given(
    number=st.integers(0, 100), place=st.floats(0, 0.9999), data=st.binary(min_size=1, max_size=40), cut=st.booleans()
)
def test_any_bytes_in_the_search_index_and_other_binary_files(
    number: int, place: float, data: bytes, cut: bool, copy: Callable[[], Path], run: Run, site: HostileSite
) -> None:
    """Files of the index, tables, archives and checkpoints: searching either works, rebuilds the index, or says what is damaged."""
    folder = copy()
    files = sorted(
        path
        for path in folder.parent.rglob("*")
        if path.is_file() and path.suffix not in (".json", ".jsonl", ".sqlite", ".html")
    )
    path = files[number % len(files)]
    content = path.read_bytes()
    at = int(place * len(content))
    path.write_bytes(content[:at] if cut else content[:at] + data + content[at + len(data) :])
    run("search", "amber", folder.parent)
    run("sql", "SELECT count(*) FROM everything", folder.parent)
    run(*verbs(folder, site)["extract"])


@repeated(max_examples=12)
@given(content=st.binary(max_size=200) | st.text(max_size=60).map(str.encode) | st.sampled_from([
    b"[harvest]\nrate = 'x'\n", b"[harvest]\nbudget = 1e400\n", b"[harvest]\nbudget = -99999999999999999999999\n", b"rate = {a = [1, {b = 2}]}\n",
    b"[harvest.out.x]\n", b"a = " + b"[" * 50_000, b"[harvest]\nout = \"\\u0000\"\n", b"[" * 3000 + b"a" + b"]" * 3000, b"a." * 9000 + b"a = 1",
]))  # fmt: skip
def test_any_configuration(
    content: bytes, run: Run, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`upwell config` reads any file, or names it in a message."""
    file = tmp_path_factory.mktemp("config") / "upwell.toml"
    file.write_bytes(content)
    monkeypatch.setenv("UPWELL_CONFIG", str(file))
    run("config")


def test_a_huge_configuration_is_not_read(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that cannot be a configuration is named, not parsed."""
    file = tmp_path / "upwell.toml"
    file.write_bytes(b"# comment\n" * (MAX_FILE_BYTES // 10 + 1))
    monkeypatch.setenv("UPWELL_CONFIG", str(file))
    assert run("config")[0] == 2
