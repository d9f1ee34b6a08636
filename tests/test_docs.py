"""The documentation matches the program.

Every ```console block of README.md, CONTRIBUTING.md and docs/ is run by bash: a line that begins with `$ ` is a command, and the lines
below it are its output on stdout, or on stderr if it fails. Every ```python block is run too. The blocks of a page run in order and in
one folder, with a demo site that is http://127.0.0.1:8000/ on the page and has a free port here. Only ports may differ. Commands that
cannot be run here are marked ```text; a block in any other shell language is an error.

`python -m tests.test_docs [PAGE…]` regenerates the output of all commands, or of those of some pages (`guide.md`); review it with `git
diff`.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import MISSING, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args
from urllib.parse import unquote, urlsplit

import pyarrow.parquet as pq
import pytest
import typer
from typer.testing import CliRunner

import upwell
from upwell import errors
from upwell.choose.plan import Reason
from upwell.cli import app, network
from upwell.demo import Running, serve
from upwell.harvest.explain import log_of_folder

ROOT = Path(__file__).parents[1]
PYPI = ROOT / "docs" / "pypi.md"  # the README as shown on PyPI
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES.remove(PYPI)
NAMES = [page.relative_to(ROOT).as_posix() for page in PAGES]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
LANGUAGES = {"console", "python", "text", "json"}
RUN = [page for page in PAGES if re.search(r"^```(console|python)$", page.read_text(), re.M)]
PORT = re.compile(r"(127\.0\.0\.1[:_])\d+")
MAX_README_LINES = 100


def transcript(page: Path, folder: Path) -> str:
    """Return the page with the current output of its commands."""
    commands = folder / "bin"
    commands.mkdir()
    (commands / "upwell").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m upwell.cli "$@"\n')
    (commands / "upwell").chmod(0o755)
    place = folder / "here"
    place.mkdir()
    environment = {
        **os.environ, "COLUMNS": "100", "OMP_NUM_THREADS": "1", "PATH": f"{commands}:{os.environ['PATH']}",
    }  # fmt: skip

    def ran(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, capture_output=True, text=True, cwd=place, env=environment)

    with serve() as site:
        port = urlsplit(site.url).port

        def again(block: re.Match[str]) -> str:
            language, text = block[1], re.sub(r"(127\.0\.0\.1[:_])8000\b", rf"\g<1>{port}", block[2])
            if language == "python":
                done = ran(sys.executable, "-c", text)
                assert done.returncode == 0, done.stderr
            if language != "console":
                return block[0]
            shown = ""
            for entry in re.split(r"^\$ ", text, flags=re.M)[1:]:
                command = entry.partition("\n")[0]
                done = ran("bash", "-c", command)
                shown += f"$ {command}\n{done.stderr if done.returncode else done.stdout}"
            shown = re.sub(rf"(127\.0\.0\.1[:_]){port}\b", r"\g<1>8000", shown)
            return block[0] if _without_ports(shown) == _without_ports(block[2]) else f"```console\n{shown}```"

        return FENCE.sub(again, page.read_text())


def _without_ports(text: str) -> str:
    return PORT.sub(r"\1PORT", text)


@pytest.mark.parametrize("page", RUN, ids=lambda page: page.name)
def test_commands_on_a_page_print_the_documented_output(page: Path, tmp_path: Path) -> None:
    """Run every command and every Python example of the page."""
    assert transcript(page, tmp_path) == page.read_text()


@pytest.mark.parametrize("name", NAMES)
def test_every_code_block_is_run_or_marked_as_text(name: str) -> None:
    """A block has a known language and is closed."""
    assert {block[1] for block in FENCE.finditer((ROOT / name).read_text())} <= LANGUAGES
    fences = re.findall(r"^ *```", (ROOT / name).read_text(), re.M)
    assert len(fences) == 2 * len(FENCE.findall((ROOT / name).read_text()))


# -- links and forbidden references ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_relative_links_have_an_existing_target(name: str) -> None:
    """Both the file and the heading exist."""
    text = FENCE.sub("", (ROOT / name).read_text())
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target:
            continue
        path, _, anchor = unquote(target).partition("#")
        file = ((ROOT / name).parent / path).resolve() if path else ROOT / name
        assert file.exists(), target
        assert not anchor or anchor in _anchors(file), target


def _anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub creates them."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", page.read_text()), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", NAMES)
def test_modules_that_a_page_names_exist(name: str) -> None:
    """`package/module.py` of the program, the benchmarks or the tests."""
    rooms = "|".join(path.name for path in (ROOT / "src" / "upwell").iterdir() if path.is_dir())
    named = re.findall(rf"`((?:{rooms}|benchmarks/\w+|tests/\w+)/\w+\.py)`", (ROOT / name).read_text())
    assert not [path for path in named if not ((ROOT / path).exists() or (ROOT / "src" / "upwell" / path).exists())]


def test_the_architecture_page_names_every_module() -> None:
    """Every module of the program is in docs/architecture.md."""
    source = ROOT / "src" / "upwell"
    named = set(re.findall(r"`([\w/]+\.py)`", (ROOT / "docs" / "architecture.md").read_text()))
    modules = {path.relative_to(source).as_posix() for path in source.rglob("*.py") if not path.name.startswith("__")}
    assert modules <= named


def test_no_file_cites_the_design_document() -> None:
    """The design document is not part of the project; docs/architecture.md describes the code."""
    citation = " §".join(("DESIGN", "")).encode()
    folders = ("src", "tests", "benchmarks", "docs", "scripts", ".ci")
    files = [path for path in ROOT.iterdir() if path.is_file()]
    files += [path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()]
    assert not [path for path in files if path.suffix != ".pyc" and citation in path.read_bytes()]


def test_readme_is_short() -> None:
    """The rest is in docs/."""
    assert len((ROOT / "README.md").read_text().splitlines()) <= MAX_README_LINES


# -- the reference -------------------------------------------------------------------------------------------------------

REFERENCE = (ROOT / "docs" / "reference.md").read_text()
VERBS = typer.main.get_command(app).commands  # type: ignore[attr-defined] # an app of several verbs is a group


def _section(heading: str) -> str:
    """Return the text below a heading of the reference, up to the next heading."""
    (found,) = re.findall(rf"^#+ {re.escape(heading)}\n(.*?)(?=^#|\Z)", REFERENCE, re.M | re.S)
    return str(found)


def _named(text: str) -> set[str]:
    """Return the texts in backticks, and the keys of JSON."""
    return set(re.findall(r"`([^`]+)`", FENCE.sub("", text))) | set(re.findall(r'"(\w+)":', text))


def _defaults(section: str) -> dict[str, str]:
    """Return the tables of a section: each name in the first column with the second column."""
    rows = re.findall(r"^\| (`.+?`) \| (.*?) ?\|", section, re.M)
    return {name: default for names, default in rows for name in re.findall(r"`([^`]+)`", names)}


@pytest.mark.parametrize("verb", VERBS)
def test_every_option_of_a_verb_is_in_the_reference(verb: str) -> None:
    """Each with its default, and no option that the verb does not have."""
    known = {
        name: "" if parameter.default is None or parameter.default is False else str(parameter.default)
        for parameter in VERBS[verb].params
        if not getattr(parameter, "hidden", False)  # a deprecated alias
        for name in parameter.opts
        if name.startswith("-")
    }
    told = {name: default for name, default in _defaults(_section(f"upwell {verb}")).items() if name.startswith("-")}
    shared = _defaults(_section("Options of all verbs that ask a site"))
    assert set(shared) == {f"--{name.replace('_', '-')}" for name in network.OPTIONS}
    if "--proxy" in known:
        assert told.keys().isdisjoint(shared)
        told |= shared
    assert told == known


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_is_in_the_guide_and_the_reference(verb: str) -> None:
    """An undocumented verb fails."""
    assert f"`upwell {verb}" in _section(f"upwell {verb}")
    assert f"upwell {verb} " in (ROOT / "docs" / "guide.md").read_text()


@pytest.mark.parametrize("options", [upwell.Plan, upwell.Manners, upwell.Switches])
def test_every_field_of_the_options_is_in_the_reference(options: type[Any]) -> None:
    """`upwell.Plan`, `upwell.Manners` and the switches of the demo site."""
    section = _section("upwell demo" if options is upwell.Switches else "Python")
    assert {field.name for field in fields(options)} <= _named(section)
    if options is upwell.Switches:
        told = _defaults(section)
        assert all(told[field.name] == str(field.default) for field in fields(options) if field.default is not MISSING)


def test_public_names_errors_events_and_reasons_are_in_the_reference() -> None:
    """Everything that a caller may use or receive."""
    python = " ".join(_named(_section("Python")))
    assert all(re.search(rf"\b{name}\b", python) for name in upwell.__all__)
    assert set(errors.__all__) <= {name.removeprefix("upwell.") for name in _named(_section("Exit codes"))}
    assert set(get_args(Reason)) <= _named(_section("summary.json"))
    for event in get_args(upwell.Event):
        assert {event.__name__.lower(), *(field.name for field in fields(event))} <= _named(_section("Events"))


# Objects whose keys are names of columns, reasons, operators, kinds of answers, pages or URL arguments.
FREE = ("answers", "fields", "fill", "filtered", "next", "steps", "tables", "types", "understands", "values")


def _keys(value: object) -> Iterator[str]:
    """Yield all keys of a JSON value, at any depth."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from () if name in FREE else _keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _keys(inner)


def test_every_key_and_column_of_a_harvest_is_in_the_reference(demo: Running, tmp_path: Path) -> None:
    """summary.json at any depth, source.json, the columns of the table, and the files themselves."""
    manners = upwell.Manners(rate=0)
    upwell.harvest(demo.url, out=tmp_path, plan=upwell.Plan(budget=40), manners=manners)
    result = upwell.harvest(demo.url, out=tmp_path, plan=upwell.Plan(budget=40, refresh=True), manners=manners)
    summary = json.loads((result.folder / "summary.json").read_text())
    assert "refreshed" in summary
    assert set(_keys(summary)) <= _named(_section("summary.json"))
    assert set(json.loads((result.folder / "source.json").read_text())) <= _named(_section("source.json"))
    columns = pq.read_schema(result.records).names
    assert {name for name in columns if name.startswith("_")} <= _named(_section("Columns of the table"))
    number = next(e.request.number for e in log_of_folder(Path(result.folder)).requests if e.others)
    for arguments in ([], [str(number)]):
        explained = CliRunner().invoke(app, ["explain", str(result.folder), *arguments, "--json"])
        assert set(_keys(json.loads(explained.stdout))) <= _named(_section("upwell explain"))
    files = _section("Files of a harvest")
    assert not [path.name for path in result.folder.iterdir() if path.name not in files]


def test_every_json_key_of_a_verb_is_in_the_reference(demo: Running, tmp_path: Path) -> None:
    """The output of the verbs with --json; the keys of a URL argument are checked without its name."""
    texts, saved = tmp_path / "texts.jsonl", str(tmp_path / "saved")
    texts.write_text('{"text": "lima peru"}\n{"text": "cusco peru"}\n')
    commands = {
        "forms": [demo.url, "--rate", "0"],
        "probe": [demo.url, "--rate", "0", "-o", saved, "--count", "20", "--background", "3"],
        "extract": [saved],
        "cluster": [saved],
        "links": [saved],
        "entities": [saved],
        "blocks": [demo.url, "--depth", "0", "--rate", "0"],
        "queries": ["--snapshot", str(texts)],
    }
    for verb, arguments in commands.items():
        done = CliRunner().invoke(app, [verb, *arguments, "--json"])
        assert done.exit_code == 0, done.output
        printed = [json.loads(line) for line in done.stdout.splitlines()]
        for line in printed:
            if verb == "links":
                line["arguments"] = list(line["arguments"].values())
            assert set(_keys(line)) <= _named(_section(f"upwell {verb}")), verb


def without_relative_links(text: str) -> str:
    """Replace links into the repository by their texts, because they would be broken on PyPI."""
    return re.sub(r"\[([^\]]+)\]\((?!https?:)[^)]+\)", r"\1", text)


def test_the_description_on_pypi_is_the_readme() -> None:
    """Without relative links; `python -m tests.test_docs` regenerates it."""
    assert PYPI.read_text() == without_relative_links((ROOT / "README.md").read_text())


if __name__ == "__main__":
    for page in [path for path in RUN if path.name in sys.argv[1:] or not sys.argv[1:]]:
        with TemporaryDirectory() as scratch:
            page.write_text(transcript(page, Path(scratch)))
    PYPI.write_text(without_relative_links((ROOT / "README.md").read_text()))
