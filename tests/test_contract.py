"""The contract with the outside: verbs, JSON and exit codes."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import NotRequired, get_origin, get_type_hints
from urllib.request import urlopen

import pytest

from upwell.cli import app
from upwell.demo import Running, serve
from upwell.results import Size, Summary, SummaryChecks

VERBS = [command.callback.__name__ for command in app.registered_commands if command.callback]


def upwell(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "COLUMNS": "100", "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, "-m", "upwell.cli", *arguments], capture_output=True, text=True, cwd=cwd, env=environment
    )


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_an_example(verb: str) -> None:
    """What `--help` shows; that it is documented is in `test_docs`."""
    shown = upwell(verb, "--help")
    assert shown.returncode == 0
    assert f"Example: upwell {verb}" in shown.stdout


def test_forms_as_json(demo: Running, tmp_path: Path) -> None:
    """The forms of a live page, with the keys of the contract in their order; a saved page is read relative to its address."""
    live = upwell("forms", demo.url, "--json")
    assert live.returncode == 0
    result = json.loads(live.stdout)
    assert list(result) == ["page", "forms", "search_interfaces", "templates"]
    assert [form["kind"] for form in result["forms"]] == ["search", "login", "mailing list"]
    assert list(result["forms"][0]) == ["index", "kind", "score", "query_field"]
    assert result["templates"] == result["search_interfaces"], "the former name, for one release"
    assert list(result["search_interfaces"][0]) == ["method", "url", "query_field", "fields", "score", "via"]
    (tmp_path / "page.html").write_text('<form action="find"><input name="q"><button>Search</button></form>')
    saved = upwell("forms", str(tmp_path / "page.html"), "--base-url", "https://example.org/dir/", "--json")
    assert json.loads(saved.stdout)["search_interfaces"][0]["url"] == "https://example.org/dir/find"


def test_harvest_as_json_is_the_summary(demo: Running, tmp_path: Path) -> None:
    """One document on stdout, nothing else there, the same as the file; its keys are those that `upwell.results` declares."""
    done = upwell("harvest", demo.url, "-o", str(tmp_path), "--rate", "0", "--budget", "60", "--json")
    assert done.returncode == 0
    (file,) = tmp_path.glob("*/summary.json")
    summary = json.loads(done.stdout)
    assert summary == json.loads(file.read_text())
    for part, declared in ((summary, Summary), (summary["checks"], SummaryChecks), (summary["size"], Size)):
        hints = get_type_hints(declared, include_extras=True)
        required = {name for name, hint in hints.items() if get_origin(hint) is not NotRequired}
        assert required <= set(part) <= set(hints)
    assert file.parent.name == demo.url.removeprefix("http://").rstrip("/").replace(":", "_")


def test_a_harvest_asks_the_queries_of_a_file_first(tmp_path: Path) -> None:
    """Whole lines, several words each, before anything else of the plan; then the values of a column of that harvest."""
    (tmp_path / "queries.txt").write_text("# cities\nsan juan\n\nnew york\n")
    common = ("--rate", "0", "--budget", "30")
    with serve() as site:
        assert upwell("harvest", site.url, "-o", "a", "--queries", "queries.txt", *common, cwd=tmp_path).returncode == 0
        asked = [seen.query for seen in site.received]
        assert asked.index("q=san juan") < asked.index("q=new york") < asked.index("q=e")  # e is a broad question
        already = len(site.received)
        assert upwell("harvest", site.url, "-o", "b", "--queries", "a:country", *common, cwd=tmp_path).returncode == 0
        assert "q=United States" in [seen.query for seen in site.received[already:]]


def test_a_knowledge_base_alone_is_read(demo: Running, tmp_path: Path) -> None:
    """Without a log too: a base that cannot be read is said, and not passed over."""
    (tmp_path / "base.tsv").write_text("one cell\n")
    done = upwell("harvest", demo.url, "--knowledge", "base.tsv", "--rate", "0", cwd=tmp_path)
    assert done.returncode == 2
    assert "base.tsv has no row with domain, type, entity" in done.stderr


def test_extract_as_json(demo: Running, tmp_path: Path) -> None:
    """A line a page in page order, named relative to the folder; an empty page is an error page, not a crash."""
    for i, word in enumerate(("spain", "san", "lima", "asia")):
        with urlopen(f"{demo.url}search?q={word}") as answer:  # noqa: S310 # our own server
            (tmp_path / f"{i}.html").write_bytes(answer.read())
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "empty.html").touch()
    done = upwell("extract", str(tmp_path), "--json")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["page"] for row in rows] == ["0.html", "1.html", "2.html", "3.html", "sub/empty.html"]
    assert [row["kind"] for row in rows] == ["multi", "multi", "multi", "multi", "error"]
    assert all(list(row) == ["page", "kind", "cluster", "pagelets", "records", "checks"] for row in rows)
    assert len(rows[0]["records"]) == 20


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("harvest",), 2, "Missing argument"),
        (("harvest", "no-address"), 2, "http://"),
        (("harvest", "http://127.0.0.1:9/", "--queries", "none.txt"), 2, "none.txt does not exist"),
        (("harvest", "http://127.0.0.1:9/", "--queries", ".:title"), 2, "not the folder of a finished harvest"),
        (("queries", "--snapshot", "none"), 2, "neither a file nor a folder"),
        (("queries", "--snapshot", ".", "--distance", "far"), 2, "--distance far: must be intersection, cosine or"),
        (("queries", "--snapshot", ".", "--delta", "1.5"), 2, "Invalid value for '--delta'"),
        (("forms", "no-such-file.html"), 2, "neither a file nor an address"),
        (("extract", "."), 2, "no HTML, JSON or WARC files"),
        (("demo", "--set", "layout=round"), 2, "layout"),
        (("harvest", "http://127.0.0.1:9/", "--rate", "0"), 1, "did not answer"),
    ],
)
def test_exit_codes_and_messages(arguments: tuple[str, ...], code: int, message: str, tmp_path: Path) -> None:
    """2 for wrong usage, 1 for what could not be done; stdout stays empty, stderr has one clear line and no traceback."""
    done = upwell(*arguments, cwd=tmp_path)
    assert done.returncode == code
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_demo_serve_runs_until_ctrl_c_and_lists_its_requests() -> None:
    """The site by command line, with a switch, and what it received."""
    command = [sys.executable, "-m", "upwell.cli", "demo", "--serve", "--port", "0", "--set", "layout=table", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        (url,) = re.findall(r"http://[\d.:]+/", running.stderr.readline())
        with urlopen(f"{url}search?q=lima") as answer:  # noqa: S310 # our own server
            assert b"<table class=" in answer.read()
        running.send_signal(signal.SIGINT)
        listed, _ = running.communicate(timeout=30)
    assert [json.loads(line)["path"] for line in listed.splitlines()] == ["/search"]
    assert running.returncode == 0
