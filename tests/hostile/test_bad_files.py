"""Files of a harvest's folder that are damaged or made up: each verb says so in one line or works without them, and nothing outside is written."""

import gzip
import json
import os
import pty
import resource
import shutil
import sqlite3
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.hostile.site import hostile
from tests.hostile.test_files_and_output import upwell, upwell_here
from tests.web.serving import serving
from upwell import api
from upwell.errors import WrongUsage
from upwell.harvest.loop import Plan
from upwell.net.fetch import Manners
from upwell.store.archive import Archive, warc_files
from upwell.store.folder import open_folder
from upwell.table import parquet
from upwell.table.writers import FORMATS, read_keys, write

FAST = Manners(rate=0, retries=0)
PLAN = Plan(budget=40, browser="never")
MORE = Plan(budget=41, browser="never")
DEEP = b"[" * 200_000
CONTENTS = {
    "empty": b"",
    "bytes": bytes(range(256)) * 40,
    "list": b"[1, 2, {}]",
    "number": b"7",
    "null": b"null",
    "deep": DEEP,
    "cut": b'{"site": "x", "records": ',
    "wrong types": b'{"site": 7, "title": [], "records": {}, "size": "x", "checks": 1, "tables": [], "sources": 5, "version": "x", "pid": -1, "event": 1}',
    "wrong inside": b'{"size": {"low": "x"}, "checks": {"lower_bound": {}, "next_hour": 3}, "tables": {"a": "b"}, "sources": [1], "rules": [{"x": 1}]}',
    "nan": b'{"records": NaN, "size": {"low": NaN, "high": Infinity, "estimate": -Infinity}, "requests": 1e999}',
    "huge number": b'{"records": ' + b"9" * 5000 + b"}",
    "parquet": b"PAR1" + b"\xff" * 100 + b"PAR1",
}  # fmt: skip
FILES = (
    "summary.json",
    "source.json",
    "events.jsonl",
    "records.parquet",
    "datapackage.json",
    "checkpoint",
    "changes.parquet",
    "run.json",
    "summary.jsonl",
)


@pytest.fixture(scope="module")
def harvested(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a small harvest."""
    with hostile() as site:
        return api.harvest(site.url, out=tmp_path_factory.mktemp("harvested"), plan=PLAN, manners=FAST).folder


@pytest.mark.parametrize("file", FILES)
def test_every_verb_survives_a_damaged_file(
    file: str, harvested: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit codes are those of the documentation, errors are one line, and no exception reaches the user."""
    out = tmp_path / "out"
    folder = out / harvested.name
    shutil.copytree(harvested, folder)
    place = out / file if file in ("run.json", "summary.jsonl") else folder / file
    verbs: list[tuple[str | Path, ...]] = [
        ("status", out),
        ("explain", folder, "1"),
        ("export", folder, "--format", "csv", "-o", tmp_path / "csv"),
        ("search", "amber", out),
        ("sql", "SELECT count(*) FROM everything", out),
        ("extract", folder / "archive", "--source", folder / "source.json"),
    ]
    for content in CONTENTS.values():
        place.write_bytes(content)
        for verb in verbs:
            code, stderr = upwell_here(capsys, monkeypatch, *verb)
            assert code in (0, 1, 2, 3), (verb, content[:40], stderr)
            assert "Traceback" not in stderr
            assert not code or "upwell: " in stderr, (verb, content[:40], stderr)


@pytest.mark.parametrize(
    "file", ["summary.json", "source.json", "events.jsonl", "run.json", "records.parquet", "state.sqlite"]
)
def test_pages_of_a_damaged_harvest_are_shown(file: str, harvested: Path, tmp_path: Path) -> None:
    """No page of `upwell serve` fails with status 500."""
    out = tmp_path / "out"
    folder = out / harvested.name
    shutil.copytree(harvested, folder)
    place = out / file if file == "run.json" else folder / file
    paths = (
        "",
        "new",
        *(f"harvests/{folder.name}{page}" for page in ("", "/live", "/report", "/records", "/requests", "/explain")),
        "search?q=amber",
        "sql",
    )
    with serving(out) as server:
        for name, content in CONTENTS.items():
            place.write_bytes(content)
            for path in paths:
                joint = "&" if "?" in path else "?"
                try:
                    with urllib.request.urlopen(  # noqa: S310 # loopback
                        f"{server.url}{path}{joint}token={server.token}", timeout=20
                    ) as response:
                        status = response.status
                except urllib.error.HTTPError as error:
                    status = error.code
                    error.close()
                assert status < 500, (file, name, path)


@pytest.mark.parametrize(
    "name",
    ["archive/upwell-00000.warc.gz", "archive/upwell-00001.warc.gz", "archive", "state.sqlite", "checkpoint-words-0"],
)
def test_no_link_at_any_depth_is_written_through(name: str, tmp_path: Path) -> None:
    """The harvest is refused, and the target of the link is unchanged."""
    target = tmp_path / "target"
    target.mkdir() if name == "archive" else target.write_bytes(b"precious")
    folder = tmp_path / "out" / "h"
    (folder / name).parent.mkdir(parents=True)
    (folder / name).symlink_to(target)
    with pytest.raises(WrongUsage), open_folder(folder):
        pass
    assert not list(target.iterdir()) if target.is_dir() else target.read_bytes() == b"precious"


def test_a_link_made_after_the_check_is_not_followed(tmp_path: Path) -> None:
    """Files of the archive are opened without following links, also in place of its folder."""
    target = tmp_path / "target"
    target.write_bytes(b"precious")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "upwell-00000.warc.gz").symlink_to(target)
    with pytest.raises(OSError, match=r"symbolic|Not a directory"):
        Archive(tmp_path / "a")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "b").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match=r"symbolic|Not a directory"):
        Archive(tmp_path / "b")
    assert target.read_bytes() == b"precious"
    assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.parametrize("how", ["cut", "flipped", "cut at the start", "plain, cut", "plain, flipped"])
def test_a_damaged_archive_is_named_with_its_part(how: str, harvested: Path, tmp_path: Path) -> None:
    """`extract` reads what it can, says which bytes are damaged and how many pages were read, and exits with 3 (1 or 2 if nothing is left)."""
    (whole,) = warc_files(harvested / "archive")
    content = gzip.decompress(whole.read_bytes()) if how.startswith("plain") else whole.read_bytes()
    damaged = bytearray(content)
    if how.endswith("flipped"):
        at = content.find(b"WARC/1.1", len(content) // 2) if how.startswith("plain") else len(content) // 2
        damaged[at : at + 8] = b"\x00" * 8
    else:
        del damaged[len(content) // 50 if how == "cut at the start" else len(content) * 2 // 3 :]
    place = tmp_path / ("some.warc" if how.startswith("plain") else "another-name.warc.gz")
    place.write_bytes(damaged)
    done = upwell("extract", place, "--json")
    pages = len(done.stdout.splitlines())
    assert done.returncode == (3 if pages else done.returncode) != 0, done.stderr
    assert "damaged" in done.stderr
    assert not pages or f"{pages} pages were read" in done.stderr
    assert how == "cut at the start" or pages > 5
    assert upwell("extract", whole, "--json").returncode == 0


def test_other_archives_in_the_folder_are_left_alone(tmp_path: Path) -> None:
    """WARC files with other names, of other programs, do not disturb a harvest."""
    with hostile() as site:
        first = api.harvest(site.url, out=tmp_path, plan=PLAN, manners=FAST)
        for name in ("crawl.warc.gz", "upwell-x.warc.gz", "upwell.warc", "rec-2024-01-00001.warc.gz"):
            (first.folder / "archive" / name).write_bytes(b"something else")
        again = api.harvest(site.url, out=tmp_path, plan=MORE, manners=FAST)
    assert again.summary["records"] >= first.summary["records"]
    assert (first.folder / "archive" / "crawl.warc.gz").read_bytes() == b"something else"


NAMES = st.sampled_from(
    ["records_fts", "RECORDS_FTS", "records", "rank", "Rank", "rank_", "rowid", "oid", "_rowid_", "select", "FALSE", "true",
     "", " ", "a", "A", "a_2", 'a"b', "a=b", "content=x",
     "=1+1", "x" * 5000, "a\x00b", "\ud800", "ß", "SS", "İ", "i̇", "_key_", "c0", "sqlite_x", "[a]", "a;b", "a\nb", "unindexed", "held_rows"]
)  # fmt: skip


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    names=st.lists(NAMES | st.text(max_size=8), max_size=8, unique=True),
    value=st.text(max_size=5) | st.integers(-(10**25), 10**25),
)
def test_any_column_names_can_be_written(
    names: list[str], value: object, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """In every format, each column and its value are in the file."""
    folder = tmp_path_factory.mktemp("names")
    names = [name for name in names if name != "_key"]
    rows = [{"_key": "k", **dict.fromkeys(names, value)}]
    for format in FORMATS:
        path = write(rows, folder, format)
        if format in ("sqlite", "duckdb", "parquet", "jsonl"):
            assert read_keys(path) == ["k"]
        if format in ("parquet", "duckdb"):
            assert len(next(iter(parquet.read_values(path)))) == len(names) + 1
    with sqlite3.connect(folder / "records.sqlite") as db:
        assert len(db.execute("SELECT * FROM records").description) == len(names) + 1
        if any(not name.startswith("_") for name in names):
            assert db.execute("SELECT count(*) FROM records_fts").fetchone() == (1,)
    db.close()


@pytest.mark.parametrize("size", [1000, 20_000, 60_000, 200_000])
def test_a_full_disk_is_not_called_a_bug(size: int, tmp_path: Path) -> None:
    """The message names the disk, the exit code is 1, and the same command continues with what was received."""

    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    with hostile() as site:
        command = [
            sys.executable,
            "-m",
            "upwell.cli",
            "harvest",
            site.url,
            "-o",
            str(tmp_path),
            "--rate",
            "0",
            "--budget",
            "40",
            "--browser",
            "never",
        ]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=100, env=environment, preexec_fn=small_files
        )
        assert done.returncode == 1, done.stderr
        assert "bug" not in done.stderr
        assert "Traceback" not in done.stderr
        assert "free some space" in done.stderr
        received = len(site.received)
        assert subprocess.run(command, capture_output=True, timeout=100, env=environment).returncode == 0
        assert len(site.received) - received < 41  # what was received before is not requested again
    (summary,) = tmp_path.rglob("summary.json")
    assert json.loads(summary.read_text())["records"] > 0


def on_a_terminal(*arguments: str | Path) -> bytes:
    """Run the command line with a terminal as stdout and stderr; return what it shows."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "upwell.cli", *map(str, arguments)],
        stdout=theirs,
        stderr=theirs,
        stdin=subprocess.DEVNULL,
    )
    os.close(theirs)
    shown = b""
    try:
        while chunk := os.read(ours, 65536):
            shown += chunk
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    process.wait(60)
    return shown


def test_no_format_controls_the_terminal(tmp_path: Path, harvested: Path) -> None:
    """`upwell sql` in every format; CSV for a program is unchanged."""
    evil = "\x1b]0;owned\x07\x9b31m\u202e"
    query = f"SELECT '{evil}' AS \"a{evil}\""
    for format in ("csv", "json", "table"):
        shown = on_a_terminal("sql", query, harvested.parent, "--format", format)
        assert b"owned" in shown
        assert not [part for part in (b"\x1b]", b"\x07", "\x9b".encode(), "\u202e".encode()) if part in shown], format
    assert evil in upwell("sql", query, harvested.parent, "--format", "csv").stdout
