"""The contract with users: verbs, help pages, JSON and exit codes."""

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
    """Examples are at the end; names of Python types and ranges of numbers do not appear."""
    shown = upwell(verb, "--help")
    assert shown.returncode == 0
    assert shown.stdout.startswith(f"Usage: upwell {verb} [OPTIONS]")
    assert f"\n  upwell {verb}" in shown.stdout.partition("\nExample")[2]
    for leak in ("<str>", "<list", "INTEGER", "RANGE", "x>=", "<=x", "[required]", "{"):
        assert leak not in shown.stdout.replace("{query}", "")


def test_help_lists_options_by_topic_and_every_verb_once() -> None:
    """`harvest` has many options, in sections; the help page of the app lists all verbs, also in sections."""
    sections = re.findall(r"^(\w.*):$", upwell("harvest", "--help").stdout, re.M)
    topics = ["What to harvest", "How far to go", "Table", "Politeness", "Access", "Engines and output"]
    assert sections == ["Arguments", *topics, "Examples"]
    listed = re.findall(r"^  ([a-z]+)  +[A-Z]", upwell("--help").stdout, re.M)
    assert sorted(listed) == sorted(VERBS)


def test_former_names_of_options_work_and_print_a_note(demo: Running, tmp_path: Path) -> None:
    """`--template` is now `--interface`: on the command line, with `=` and in upwell.toml."""
    address = f"{demo.url}search?q={{query}}"
    common = ("harvest", demo.url, "--rate", "0", "--budget", "20")
    for number, arguments in enumerate((("--template", address), (f"--template={address}",), ("--interface", address))):
        done = upwell(*common, "-o", str(number), *arguments, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert ("--template is deprecated; write --interface" in done.stderr) is (arguments[0] != "--interface")
    (tmp_path / "upwell.toml").write_text("[harvest]\ntemplate = 'https://example.org/no-placeholder'\n")
    done = upwell(*common, cwd=tmp_path)
    assert done.returncode == 2
    assert "--interface https://example.org/no-placeholder: give a URL with {query}" in done.stderr


def test_columns_of_a_harvest_can_be_chosen(demo: Running, tmp_path: Path) -> None:
    """`--columns` and `--drop` decide what the table has, and in which order."""
    options = ("--columns", "country,name", "--format", "csv", "--rate", "0", "--budget", "30")
    assert upwell("harvest", demo.url, "-o", "a", *options, cwd=tmp_path).returncode == 0
    (table,) = (tmp_path / "a").rglob("records.csv")
    names = table.read_text(encoding="utf-8").partition("\n")[0].strip().split(",")
    assert [name for name in names if not name.startswith("_")] == ["country", "name"]


def test_the_demo_reaches_everything_and_says_so(tmp_path: Path) -> None:
    """Five rows, the coverage statement and the truth, which agree; `--json` has the summary and the truth."""
    done = upwell("demo", "--port", "0", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["name", "country", "region", "population", "timezone", "also"]
    assert lines[7] == "(5 of 776 rows)"
    assert lines[9].startswith("776 records held, 100% of the 776")
    assert lines[10] == "in truth: 776 of 776 cities held, 100.0%"
    assert "upwell demo --hard" in lines[-1]
    hard = json.loads(upwell("demo", "--hard", "--budget", "40", "--port", "0", "--json", cwd=tmp_path).stdout)
    assert hard["truth"]["cities"] == 34_006
    assert hard["checks"]["lower_bound"]


def test_forms_as_json(demo: Running, tmp_path: Path) -> None:
    """The keys of the contract are in their order; URLs of a saved page are resolved against --base-url."""
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
    """stdout has one document, equal to summary.json; its keys are those that `upwell.results` declares."""
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
    """Lines of a file, then values of a column of another harvest, are sent before all other queries."""
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
    """A knowledge base that cannot be read is an error, also without a query log."""
    (tmp_path / "base.tsv").write_text("one cell\n")
    done = upwell("harvest", demo.url, "--knowledge", "base.tsv", "--rate", "0", cwd=tmp_path)
    assert done.returncode == 2
    assert "base.tsv has no row with domain, type, entity" in done.stderr


def test_extract_as_json(demo: Running, tmp_path: Path) -> None:
    """One line per page, in page order, with paths relative to the folder; an empty page is an error page, not a crash."""
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
    """2 for wrong usage, 1 for failure; stdout is empty, stderr has one clear message and no traceback."""
    done = upwell(*arguments, cwd=tmp_path)
    assert done.returncode == code
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_demo_serve_runs_until_ctrl_c_and_lists_its_requests() -> None:
    """`demo --serve` runs the site with a switch, and prints the received requests at the end."""
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
