"""`--engine`: many WARC files in parallel, with a model learned from a sample and a table part per file."""

import json
from functools import partial
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.object_store import s3_server
from tests.offline.test_block_tables import write_site
from upwell import api
from upwell.errors import WrongUsage
from upwell.offline import many_archives as parts_module
from upwell.offline.many_archives import ENGINES, PartEngine
from upwell.store.archive import Archive, pages_in_file, sections, warc_files
from upwell.table import parquet
from upwell.types import Request, Response

WORDS = ["amber", "birch", "cedar", "dune", "ember", "fjord", "grove", "heath"]


def answer(first: int, count: int = 5) -> str:
    hits = "".join(
        f"<li class=hit><a href=/t/{n}>The {WORDS[n % 8]} report {n}</a> <b class=cost>$ {n}.50</b> <i class=day>{2000 + n % 20}-03-0{n % 9 + 1}</i></li>"
        for n in range(first, first + count)
    )
    return f"<ul class=menu><li>Home<li>About us</ul><p>{count} results</p><ul class=hits>{hits}</ul><p>Made here by us"


def record_page(n: int) -> str:
    facts = f"<tr><th>Cost<td>{n}.50<tr><th>Colour<td>{WORDS[n % 8]}<tr><th>Maker<td>{WORDS[n % 7]} and sons, no. {n}"
    return (
        f"<title>Report {n}</title><h1>The {WORDS[n % 8]} report {n}</h1><table>{facts}</table><p>All rights reserved"
    )


def archived(folder: Path, pages: list[str], per_file: int = 6) -> Path:
    """Write pages to WARC files with a few pages each."""
    for start in range(0, len(pages), per_file):
        with Archive(folder / f"part{start // per_file:02}") as archive:
            for number, text in enumerate(pages[start : start + per_file], start):
                request = Request(url=f"http://example.org/page/{number}", query=WORDS[number % 8])
                response = Response(
                    request=request,
                    url=request.url,
                    status=200,
                    headers={"Content-Type": "text/html; charset=utf-8"},
                    body=text.encode(),
                )
                archive.write(response, ())
    return folder


def rows(folder: Path, table: str) -> list[dict[str, object]]:
    return [row for file in sorted((folder / table).glob("*.parquet")) for row in parquet.read_values(file)]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write thirty answers to five files."""
    return archived(tmp_path_factory.mktemp("answers") / "archive", [answer(10 * k) for k in range(30)])


def test_all_engines_write_the_same_files(answers: Path, tmp_path: Path) -> None:
    """Local, processes and Ray write identical bytes, with the records of `extract` without parts."""
    written = {}
    for engine in ENGINES:
        out = tmp_path / engine
        parts = list(api.read_in_parts("extract", answers, out=out, engine=engine, workers=2))
        assert [part.pages for part in parts] == [6] * 5
        written[engine] = {path.name: path.read_bytes() for path in sorted((out / "records").iterdir())}
    assert written["local"] == written["processes"] == written["ray"]
    assert len(written["local"]) == 5
    list(api.extract(answers, table=tmp_path / "whole.parquet"))
    whole = list(parquet.read_values(tmp_path / "whole.parquet"))
    in_parts = rows(tmp_path / "local", "records")
    assert len(whole) == 150
    for one, part in zip(whole, in_parts, strict=True):
        assert {name: part.get(name) for name in one} == one


def test_finished_parts_are_kept(answers: Path, tmp_path: Path) -> None:
    """An existing part is not changed; a missing one is written again; a file that has grown is read again."""
    import shutil

    place, out = tmp_path / "archive", tmp_path / "out"
    shutil.copytree(answers, place)
    list(api.read_in_parts("extract", place, out=out, engine="local"))
    first = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in (out / "records").iterdir()}
    lost = sorted((out / "parts").iterdir())[2]
    lost.unlink()
    again = list(api.read_in_parts("extract", place, out=out, engine="local"))
    assert [part.was_done for part in again] == [True, True, False, True, True]
    for path in (out / "records").iterdir():
        content, changed = first[path.name]
        assert path.read_bytes() == content
        assert (path.stat().st_mtime_ns == changed) == (path.stem != lost.stem)
    archived(place, [answer(5000), *[answer(10 * k) for k in range(1)]], per_file=2)
    third = list(api.read_in_parts("extract", place, out=out, engine="local"))
    assert [part.was_done for part in third] == [False, True, True, True, True]
    assert third[0].rows == {"records": 40}  # the second of the two new pages is a revisit, read where its body lies
    (out / "parts" / lost.name).unlink()
    with pytest.raises(WrongUsage, match="contains results of `upwell extract`"):
        list(api.read_in_parts("entities", place, out=out, engine="local"))


@pytest.mark.parametrize("engine", ["local", "processes"])
def test_a_damaged_file_is_reported(engine: PartEngine, answers: Path, tmp_path: Path) -> None:
    """Its readable pages are kept; once repaired, it is read again."""
    import shutil

    place, out = tmp_path / "archive", tmp_path / "out"
    shutil.copytree(answers, place)
    broken = warc_files(place)[1]
    whole = broken.read_bytes()
    broken.write_bytes(whole[: len(whole) // 2] + b"\x00" * 400 + whole[len(whole) // 2 :])
    parts = list(api.read_in_parts("extract", place, out=out, engine=engine, workers=2))
    assert [bool(part.trouble) for part in parts] == [False, True, False, False, False]
    assert 0 < parts[1].rows["records"] < 30
    broken.write_bytes(whole)
    parts = list(api.read_in_parts("extract", place, out=out, engine=engine, workers=2))
    assert [part.was_done for part in parts] == [True, False, True, True, True]
    assert len(rows(out, "records")) == 150


def test_a_large_file_is_read_in_sections(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its parts together have all rows, including a revisit of a body in another section."""
    place = archived(tmp_path / "archive", [*[answer(10 * k) for k in range(60)], answer(0)], per_file=61)
    whole = list(api.read_in_parts("extract", place, out=tmp_path / "whole", engine="local"))
    monkeypatch.setattr(parts_module, "sections", partial(sections, size=4000))
    out = tmp_path / "sections"
    parts = list(api.read_in_parts("extract", place, out=out, workers=2))
    assert len(whole) == 1 < 4 <= len(parts)
    assert parts[0].file == whole[0].file
    assert all(part.file.startswith(f"{whole[0].file}@") for part in parts[1:])
    assert sum(part.pages for part in parts) == whole[0].pages == 61
    assert sorted(rows(out, "records"), key=str) == sorted(rows(tmp_path / "whole", "records"), key=str)
    (out / "parts" / f"{quote(parts[2].file, safe='')}.json").unlink()
    again = list(api.read_in_parts("extract", place, out=out, workers=2))
    assert [part.was_done for part in again] == [number != 2 for number in range(len(parts))]


def test_sections_begin_at_responses(answers: Path) -> None:
    """Wherever a file is split, its sections contain each page once, with its query; bytes that look like a gzip header are ignored."""
    (file,) = warc_files(answers)[:1]
    whole = list(pages_in_file(file, "f", {}))
    for size in (1, 300, 1000, 100_000):
        cut = sections(file, size)
        assert [page for start, end in cut for page in pages_in_file(file, "f", {}, start, end)] == whole
        assert len(cut) == (1 if size == 100_000 else len(cut)) <= len(whole) + 1
    assert all(page.query for page in whole)


def test_values_that_do_not_fit_the_type_are_kept(tmp_path: Path) -> None:
    """A price that cannot be parsed is in `_other`."""
    pages = [answer(10 * k) for k in range(28)]
    model_pages = archived(
        tmp_path / "archive", [*pages[:27], pages[27].replace("$ 272.50", "on request")], per_file=28
    )
    from upwell.offline import many_archives as parts

    before = parts.SAMPLED_PAGES["extract"]
    parts.SAMPLED_PAGES["extract"] = 20  # sample_evenly takes every second page: not the last
    try:
        list(api.read_in_parts("extract", model_pages, out=tmp_path / "out", engine="local"))
    finally:
        parts.SAMPLED_PAGES["extract"] = before
    (odd,) = [row for row in rows(tmp_path / "out", "records") if row.get("cost") is None]
    assert odd["_other"] == "cost: on request"
    assert str(odd["title"]).endswith("amber report 272")


def test_entities_and_blocks(tmp_path: Path) -> None:
    """Record pages become parts of one table; articles and tables of contents become two tables."""
    things = archived(tmp_path / "things", [record_page(n) for n in range(24)])
    list(api.read_in_parts("entities", things, out=tmp_path / "e", engine="processes", workers=2))
    found = rows(tmp_path / "e", "entities")
    assert [row["cost"] for row in found] == [n + 0.5 for n in range(24)]
    assert {row["colour"] for row in found} == set(WORDS)
    write_site(tmp_path / "site")
    pages = [path.read_text() for path in sorted((tmp_path / "site").iterdir())]
    paper = archived(tmp_path / "paper", pages, per_file=3)
    list(api.read_in_parts("blocks", paper, out=tmp_path / "b", engine="local"))
    assert len(rows(tmp_path / "b", "articles")) == 6
    assert [row["position"] for row in rows(tmp_path / "b", "toc")][:6] == [1, 2, 3, 4, 5, 6]


def test_archives_and_parts_in_an_object_store(answers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each process downloads its file and uploads its part; the parts are those of a local folder."""
    from upwell.store.remote import RemoteFolder, local_copy

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with s3_server(monkeypatch, "bucket"):
        remote = RemoteFolder("s3://bucket/warc", tmp_path)
        for file in warc_files(answers):
            remote.put(file.relative_to(answers).as_posix(), file)
        parts = list(api.read_in_parts("extract", "s3://bucket/warc", out="s3://bucket/out", workers=2))
        assert sum(part.rows["records"] for part in parts) == 150
        list(api.read_in_parts("extract", answers, out=tmp_path / "here", engine="local"))
        there = local_copy("s3://bucket/out")
        assert rows(there, "records") == rows(tmp_path / "here", "records")
        again = list(api.read_in_parts("extract", "s3://bucket/warc", out="s3://bucket/out", workers=2))
        assert all(part.was_done for part in again)


def test_the_command_line(answers: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line per file; incompatible options are rejected."""
    from upwell.cli import app

    with pytest.raises(SystemExit) as end:
        app(["extract", str(answers), "-o", str(tmp_path / "out"), "--engine", "local", "--json"])
    assert end.value.code == 0
    assert [json.loads(line)["pages"] for line in capsys.readouterr().out.splitlines()] == [6] * 5
    with pytest.raises(WrongUsage, match="--regions cannot be combined with --engine"):
        app(["extract", str(answers), "-o", "x", "--engine", "local", "--regions", "2"], standalone_mode=False)
