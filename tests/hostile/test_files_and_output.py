"""Damaged files lose no data, output is safe, and every bad input gives a one-line error."""

import contextlib
import csv
import gzip
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hostile.site import hostile
from upwell import api, cli
from upwell.errors import Crashed, UpwellError, WrongUsage
from upwell.harvest import loop
from upwell.harvest.events import Event, Trouble
from upwell.harvest.loop import Plan
from upwell.net.fetch import Manners
from upwell.store.folder import folder_of, open_folder
from upwell.table.writers import write

FAST = Manners(rate=0, retries=0)
PLAN = Plan(budget=40, browser="never")
MORE = Plan(budget=41, browser="never")  # small enough that the harvest does not finish


def upwell(*arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    """Run the command line as a user does."""
    command = [sys.executable, "-m", "upwell.cli", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=100, env=os.environ | {"OMP_NUM_THREADS": "1"}
    )


def upwell_here(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str | Path
) -> tuple[int, str]:
    """Run the command line in this process, which is faster; return exit code and stderr. Uncaught errors fail the test."""
    monkeypatch.setattr(sys, "argv", ["upwell", *map(str, arguments)])
    try:
        cli.main()
        code = 0
    except SystemExit as end:
        code = int(end.code or 0)
    return code, capsys.readouterr().err


def test_damaged_archive_is_reported_and_its_requests_repeated(tmp_path: Path) -> None:
    """A damaged archive is named and left unchanged; the next run repeats the unreadable requests and has the same records."""
    troubles: list[str] = []

    def observe(event: Event) -> None:
        if isinstance(event, Trouble):
            troubles.append(event.skipped.reason)

    with hostile() as site:
        first = api.harvest(site.url, out=tmp_path, plan=PLAN, manners=FAST)
        (archive,) = (first.folder / "archive").glob("*.warc.gz")
        damaged = bytearray(archive.read_bytes())
        damaged[len(damaged) // 3] ^= 0xFF
        archive.write_bytes(damaged)
        again = api.harvest(site.url, out=tmp_path, plan=MORE, manners=FAST, observe=observe)
    assert archive.read_bytes() == damaged
    assert again.summary["records"] >= first.summary["records"]
    assert any("damaged" in reason for reason in troubles)


def test_internal_error_of_a_site_does_not_affect_other_sites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the code fails on one of three sites, the others are harvested, and the error is one line."""
    real = loop.run

    async def run(url: str, *arguments: object, **named: object) -> object:
        if url == second.url:
            raise ZeroDivisionError("a fault")
        return await real(url, *arguments, **named)  # type: ignore[arg-type] # handed on as they came

    monkeypatch.setattr(loop, "run", run)
    with hostile() as first, hostile() as second, hostile() as third:
        results = api.harvest_all([first.url, second.url, third.url], out=tmp_path, plan=PLAN, manners=FAST)
    assert [isinstance(result, UpwellError) for result in results] == [False, True, False]
    assert isinstance(results[1], Crashed)
    assert "\n" not in str(results[1])


def test_two_paths_of_one_host_are_two_harvests(tmp_path: Path) -> None:
    """Each path and each query has its own folder, in any order of runs."""
    with hostile() as site:
        site.pages["/other"] = lambda request: f"<html lang=en><p>amber granite</p>{site.form}</html>"
        results = api.harvest_all([site.url, f"{site.url}other"], out=tmp_path, plan=PLAN, manners=FAST)
        folders = [result.folder for result in results if not isinstance(result, UpwellError)]
        assert len(set(folders)) == 2
        again = api.harvest(f"{site.url}other", out=tmp_path, plan=PLAN, manners=FAST)
        assert again.folder == folders[1]
        about = api.harvest(site.url, out=tmp_path, plan=Plan(budget=40, browser="never", about="amber"), manners=FAST)
        assert about.folder not in folders


@pytest.mark.parametrize("address", ["http://../", "http://..", "http://./", "http://a%2F..%2Fb/", "http://..%2f/"])
def test_no_host_name_leads_out_of_the_folder(address: str, tmp_path: Path) -> None:
    """The folder of a host is always inside the output folder."""
    try:
        folder = folder_of(address, tmp_path / "out")
    except WrongUsage:
        return
    assert folder.resolve().parent == (tmp_path / "out").resolve()


def test_no_file_is_written_through_a_symbolic_link(tmp_path: Path) -> None:
    """A symbolic link in the folder of a harvest that points outside is refused."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for name in ("", "archive", "summary.json", ".records.csv.part"):
        folder = tmp_path / f"out{name}" / "h"
        folder.parent.mkdir()
        if name:
            folder.mkdir()
            (folder / name).symlink_to(elsewhere)
        else:
            folder.symlink_to(elsewhere)
        with pytest.raises(WrongUsage), open_folder(folder):
            pass
    assert not list(elsewhere.iterdir())


def test_passwords_in_urls_are_sent_and_never_shown(tmp_path: Path) -> None:
    """User and password are sent to their server, and written into no file, message or summary."""
    with hostile() as site:
        address = site.url.replace("http://", "http://someone:topsecret@")
        done = upwell(
            "harvest",
            address,
            "-o",
            tmp_path,
            "--rate",
            "0",
            "--budget",
            "30",
            "--browser",
            "never",
            "--format",
            "jsonl",
        )
        assert done.returncode == 0
        assert site.received[-1].headers.get("Authorization", "").startswith("Basic ")
        output = done.stdout + done.stderr + upwell("forms", address, "--rate", "0", "--browser", "never").stdout
    assert "topsecret" not in output
    for file in tmp_path.rglob("*"):
        if file.is_file():
            content = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
            assert b"topsecret" not in content, file


def test_escape_sequences_never_reach_the_terminal(tmp_path: Path) -> None:
    """Text of a page is shown without control characters."""
    evil = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e"
    page = tmp_path / "page.html"
    page.write_text(f"<title>{evil}</title><form action='/find{evil}'><input name='q{evil}' type=search><button>Search{evil}</button></form>"
                    f"<article><h1>News {evil}</h1><p>{'A long text that informs. ' * 40}{evil}</p></article>")  # fmt: skip
    for verb in ("forms", "blocks", "links"):
        for flag in ([], ["--json"]):
            done = upwell(verb, page, *flag)
            assert not set(done.stdout + done.stderr) & set("\x1b\x07\x9b\u202e"), verb
    done = upwell("forms", f"http://127.0.0.1:9/{evil}", "--rate", "0")
    assert not set(done.stderr) & set("\x1b\x07\x9b\u202e")


def test_csv_cells_are_not_formulas(tmp_path: Path) -> None:
    """A text that a spreadsheet would evaluate gets an apostrophe; numbers stay unchanged; an option disables it."""
    row = {"_key": "k", "a": "=HYPERLINK(1)", "b": "+1+1", "c": "-2", "d": "@SUM(A1)", "e": "-x", "f": "plain", "g": -3}
    with write([row], tmp_path, "csv").open(newline="") as table:
        (cells,) = csv.DictReader(table)
    assert [cells[name] for name in "abcdefg"] == ["'=HYPERLINK(1)", "'+1+1", "-2", "'@SUM(A1)", "'-x", "plain", "-3"]
    kept = write([{"a": "=HYPERLINK(1)"}], tmp_path, "csv", keep_formulas=True)
    assert "\n=HYPERLINK" in kept.read_text().replace("\r", "")


def test_column_names_that_sqlite_reserves(tmp_path: Path) -> None:
    """Columns named rank, rowid, select or with quotes are written and can be searched."""
    row = {"_key": "k", "rank": "first", "rowid": "7", "select": "a", 'a"b': "granite", "Rank": "x", "order": "y"}
    path = write([row], tmp_path, "sqlite")
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT rank FROM records").fetchone() == ("first",)
        assert db.execute("SELECT count(*) FROM records_fts WHERE records_fts MATCH 'granite first'").fetchone() == (1,)
    db.close()


@pytest.mark.parametrize("other", ["rank", "records_fts", "b"])
@pytest.mark.parametrize("name", ["true", "FALSE"])
def test_columns_named_like_booleans_are_indexed(name: str, other: str, tmp_path: Path) -> None:
    """Such names need quotes in places where SQLite itself forgets them."""
    write([{"_key": "a", name: "amber stone", other: "x"}], tmp_path, "sqlite")
    with contextlib.closing(sqlite3.connect(tmp_path / "records.sqlite")) as db:
        assert db.execute("SELECT count(*) FROM records_fts WHERE records_fts MATCH 'amber'").fetchone() == (1,)
        assert db.execute(f'SELECT "{name}" FROM records').fetchone() == ("amber stone",)  # noqa: S608 # ours


def test_links_with_spaces_are_sent_encoded(tmp_path: Path) -> None:
    """A link with spaces and non-ASCII letters is sent as a browser sends it."""
    with hostile(form="", around_home='<a href="/search page/öl?x=a b">Search</a>') as site:
        site.pages["/search page/öl"] = (
            f'<form action="/find"><input type="search" name="q"><button>Search</button></form>{"<p>amber</p>"}'
        )
        result = api.harvest(site.url, out=tmp_path, plan=PLAN, manners=FAST)
    assert result.summary["records"]
    assert any(request.target == "/search%20page/%C3%B6l?x=a%20b" for request in site.received)


@pytest.fixture(scope="module")
def harvested(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a small harvest."""
    folder = tmp_path_factory.mktemp("harvested")
    with hostile() as site:
        return api.harvest(site.url, out=folder, plan=PLAN, manners=FAST, format="jsonl").folder


BAD = {
    "bytes.bin": bytes(range(256)) * 40,
    "cut.jsonl.gz": gzip.compress(b'{"query": "a"}\n' * 1000)[:60],
    "empty.json": b"",
    "list.json": b"[1, 2, {}]",
    "deep.json": b"[" * 200_000,
    "wrong.json": b'{"version": "x", "rules": 7}',
    "bad.tsv": b"\xff\xfe\x00a\tb\n\x00\x00",
    "bad.csv": b'"unclosed\n' * 10 + b'"' + b"x" * 200_000,
    "bad.parquet": b"PAR1 nothing PAR1",
    "bad.sqlite": b"SQLite format 3\0 nothing",
    "bad.warc.gz": gzip.compress(b"WARC/1.1\r\nnothing\r\n\r\n")[:30],
    "bad.warc": b"WARC/1.0\r\nWARC-Type: response\r\nContent-Length: -5\r\n\r\n",
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_give_one_line_errors(
    name: str, tmp_path: Path, harvested: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each option that reads a file names the file and the problem in one line, or works with the file."""
    bad = tmp_path / name
    bad.write_bytes(BAD[name])
    site = "http://127.0.0.1:9/"
    common = ("-o", tmp_path / "out", "--rate", "0", "--browser", "never", "--budget", "3")
    attempts: list[tuple[str | Path, ...]] = [
        ("harvest", site, *common, "--query-log", bad),
        ("harvest", site, *common, "--knowledge", bad),
        ("harvest", site, *common, "--source", bad),
        ("harvest", site, *common, "--queries", bad),
        ("extract", bad),
        ("extract", harvested / "archive", "--source", bad),
        ("queries", "--snapshot", bad),
        ("queries", "--log", bad, "--site", "x"),
        ("harvest", bad, *common),
    ]
    folder = tmp_path / "pages"
    folder.mkdir()
    (folder / "a.html").write_text("<p>a</p>")
    shutil.copy(bad, folder / "pages.jsonl")
    attempts.append(("extract", folder))
    for attempt in attempts:
        code, stderr = upwell_here(capsys, monkeypatch, *attempt)
        assert code in (0, 1, 2, 3)
        assert not code or [line for line in stderr.splitlines() if line.startswith("upwell: ")], (attempt, stderr)


@pytest.mark.parametrize(
    "address",
    ["http://x:99999/", "http://[broken/", "http://:80/", "http:///a", "ftp://x/", "http://x:abc/", "nothing"],
)
def test_bad_urls_give_one_line_errors(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An invalid URL gives a one-line error."""
    verbs = (
        ("harvest", address, "-o", tmp_path),
        ("forms", address),
        ("probe", address, "-o", tmp_path),
        ("blocks", address),
    )
    for verb in verbs:
        code, stderr = upwell_here(capsys, monkeypatch, *verb)
        assert code in (1, 2)
        assert len(stderr.strip().splitlines()) == 1, (verb, stderr)


def test_damaged_rows_of_a_state_are_requested_again(tmp_path: Path) -> None:
    """A state with damaged rows does not fail: their requests are repeated."""
    with hostile() as site:
        first = api.harvest(site.url, out=tmp_path, plan=PLAN, manners=FAST, format="jsonl")
        with sqlite3.connect(first.folder / "state.sqlite") as db:
            db.execute("UPDATE outcomes SET head = 'nonsense' WHERE id % 3 = 0")
            db.execute("UPDATE records SET row = '{' WHERE rowid = 2")
        db.close()
        again = api.harvest(site.url, out=tmp_path, plan=MORE, manners=FAST, format="jsonl")
    assert again.summary["records"] >= first.summary["records"] - 1
    assert json.loads(again.records.read_text().splitlines()[0])
