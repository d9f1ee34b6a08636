"""Bodies are stored once: the state refers to the archive, and bodies missing there are requested again."""

import asyncio
import gzip
import shutil
import sqlite3
import zlib
from dataclasses import replace
from pathlib import Path
from socket import socket

import brotli
import pytest

from tests.net.raw_server import http_answer, raw_server
from upwell import api
from upwell.choose.plan import Plan
from upwell.demo import serve
from upwell.errors import CannotKeep
from upwell.net.fetch import Fetcher, Manners
from upwell.store.archive import Archive, warc_files
from upwell.store.database import ADDED_COLUMNS, VERSION
from upwell.store.folder import open_folder
from upwell.store.state import State
from upwell.table.writers import read_keys
from upwell.types import ArchivedBody, Outcome, Request, Response

FREE = Manners(rate=0, retries=0)


def page(number: int, body: bytes = b"") -> Response:
    """Return an answer with its own body, or with the given one."""
    request = Request(url=f"http://h/{number}", query=str(number))
    headers = {"Content-Type": "text/html", "Set-Cookie": "a=1, b=2"}
    return Response(request=request, url=request.url, status=200, headers=headers, body=body or b"<p>%d" % number * 50)


def store(folder: Path, *pages: Response) -> list[ArchivedBody]:
    """Archive pages and store them in the state like the Fetcher; return the locations of their bodies."""
    places = []
    with open_folder(folder) as (_, state, archive):
        for response in pages:
            places.append(archive.write(response, []))
            archived = replace(response, archived=places[-1])
            state.store(response.request, Outcome(response=archived, sent=1, bytes=len(response.body)))
    return places


def replay(folder: Path, *pages: Response) -> list[Response | None]:
    """Return what a reopened state has for the requests of the pages."""
    with open_folder(folder) as (_, state, _):
        outcomes = [state.replay(response.request) for response in pages]
    return [outcome.response if outcome is not None else None for outcome in outcomes]


def columns(folder: Path) -> list[tuple[str | None, bytes | None]]:
    """Return the archive file and the body of every outcome in a state."""
    db = sqlite3.connect(folder / "state.sqlite")
    rows = list(db.execute("SELECT archive_file, body FROM outcomes ORDER BY id"))
    db.close()
    return rows


def test_the_state_refers_to_the_archive_and_returns_the_same_answer(tmp_path: Path) -> None:
    """The state contains no body; headers, status, URL and body are returned unchanged."""
    pages = [page(number) for number in range(3)]
    store(tmp_path, *pages)
    assert columns(tmp_path) == [("upwell-00000.warc.gz", None)] * 3
    assert replay(tmp_path, *pages) == pages


def test_a_revisit_points_to_the_first_copy(tmp_path: Path) -> None:
    """Equal bodies share one location, also if the second arrives after the folder was reopened."""
    first, second, third = page(1, b"same"), page(2, b"same"), page(3, b"same")
    places = store(tmp_path, first, second) + store(tmp_path, third)
    assert places[0] == places[1] == places[2]
    assert replay(tmp_path, first, second, third) == [first, second, third]


def test_bodies_are_found_in_several_files(tmp_path: Path) -> None:
    """Locations name the file; a revisit record may refer from the last file to the first."""
    pages = [page(number) for number in range(12)] + [page(99, page(0).body)]
    with Archive(tmp_path, max_bytes=1500) as archive:
        places = [archive.write(response, []) for response in pages]
        assert [archive.read(place) for place in places] == [response.body for response in pages]
    assert {place.file for place in places} <= {file.name for file in warc_files(tmp_path)}
    assert len({place.file for place in places}) > 3
    assert places[-1].file == "upwell-00000.warc.gz"
    with Archive(tmp_path, max_bytes=1500) as archive:
        assert [archive.read(place) for place in places] == [response.body for response in pages]
        assert archive.write(page(100, page(5).body), []) == places[5]  # in a file that is not the last


def test_bodies_that_are_empty_or_look_like_headers_are_returned(tmp_path: Path) -> None:
    """The body begins after the first empty line of the record, whatever it contains."""
    empty = Response(request=Request(url="http://h/e"), url="http://h/e", status=204, headers={}, body=b"")
    odd = page(1, b"\r\n\r\nWARC/1.1\r\nContent-Length: 0\r\n\r\n\x1f\x8b\x00")
    store(tmp_path, empty, odd)
    assert replay(tmp_path, empty, odd) == [empty, odd]


@pytest.mark.parametrize("coding", ["gzip", "br"])
def test_a_compressed_page_is_archived_decoded(tmp_path: Path, coding: str) -> None:
    """The decoded body is archived and returned, with the headers that the server sent."""
    body = "<p>Zürich ".encode() * 500
    coded = gzip.compress(body) if coding == "gzip" else brotli.compress(body)

    async def fetch(url: str) -> Response:
        with open_folder(tmp_path) as (_, state, archive):
            async with Fetcher(FREE, recorder=archive, memory=state) as net:
                return await net.fetch(Request(url=f"{url}page"))

    def answer(client: socket, _: bytes) -> None:
        client.sendall(http_answer(coded, f"Content-Encoding: {coding}"))

    with raw_server(answer) as (url, heads):
        first, again = asyncio.run(fetch(url)), asyncio.run(fetch(url))
    assert len(heads) == 2  # robots.txt and the page, once each
    assert first == again
    assert (again.body, again.headers["Content-Encoding"]) == (body, coding)
    assert all(file and packed is None for file, packed in columns(tmp_path))


def test_answers_lost_from_the_end_of_the_archive_are_requested_again(tmp_path: Path) -> None:
    """After a crash of the machine the archive may be shorter than the state expects: these answers count as never received."""
    pages = [page(number) for number in range(6)]
    places = store(tmp_path / "whole", *pages)
    (file,) = warc_files(tmp_path / "whole")
    whole = file.read_bytes()
    for length in range(places[2].offset, len(whole), 41):
        folder = tmp_path / str(length)
        shutil.copytree(tmp_path / "whole", folder)
        (folder / "archive" / file.name).write_bytes(whole[:length])
        answers = replay(folder, *pages)
        intact = sum(answer is not None for answer in answers)
        assert answers == pages[:intact] + [None] * (6 - intact)
        assert intact >= 2
        # records archived later at the same location are not mistaken for the lost ones
        later = [page(number) for number in range(20, 26)]
        store(folder, *later)
        assert replay(folder, *pages, *later) == answers + later


def test_damage_inside_the_archive_is_noticed(tmp_path: Path) -> None:
    """A body with another digest than the stored one is not returned."""
    places = store(tmp_path, page(0), page(1))
    (file,) = warc_files(tmp_path)
    with Archive(tmp_path / "archive") as archive:
        wrong = ArchivedBody(file=places[0].file, offset=places[0].offset, digest=places[1].digest)
        assert archive.read(wrong) is None
        assert archive.read(ArchivedBody(file="upwell-00007.warc.gz", offset=0, digest="")) is None
        whole = file.read_bytes()
        for position in range(places[0].offset, places[1].offset):
            file.write_bytes(whole[:position] + bytes([whole[position] ^ 0xFF]) + whole[position + 1 :])
            assert archive.read(places[0]) in (None, page(0).body)
            assert archive.read(places[1]) == page(1).body
        file.write_bytes(whole[: places[0].offset + 10] + bytes(100) + whole[places[0].offset + 110 :])
        assert archive.read(places[0]) is None


def test_without_an_archive_the_body_is_in_the_state(tmp_path: Path) -> None:
    """Pages in the browser are not archived, and a state without an archive cannot read from one."""
    elsewhere = ArchivedBody(file="upwell-00000.warc.gz", offset=0, digest="sha1:X")
    plain, other = page(1), replace(page(2), archived=elsewhere)
    with State(tmp_path / "state.sqlite") as state:
        state.store(plain.request, Outcome(response=plain))
        state.store(other.request, Outcome(response=other))
    assert [file for file, _ in columns(tmp_path)] == [None, None]
    assert replay(tmp_path, plain, other) == [plain, other]


def test_a_harvest_without_its_archive_sends_its_requests_again(tmp_path: Path) -> None:
    """Without the archive every request is sent again and the table is the same; without its end, only the requests whose answers were there."""
    with serve() as site:
        first = api.harvest(site.url, out=tmp_path, plan=Plan(budget=40), manners=FREE)
        sent, keys = len(site.received), read_keys(first.records)
        shutil.rmtree(first.folder / "archive")
        api.harvest(site.url, out=tmp_path, plan=Plan(budget=40), manners=FREE)
        assert len(site.received) == sent  # nothing was left to request, so nothing was replayed
        again = api.harvest(site.url, out=tmp_path, plan=Plan(budget=41), manners=FREE)
        assert len(site.received) == 2 * sent + 1
        assert set(keys) <= set(read_keys(again.records))
        keys = read_keys(again.records)
        (file,) = warc_files(first.folder / "archive")
        file.write_bytes(file.read_bytes()[: file.stat().st_size * 9 // 10])
        third = api.harvest(site.url, out=tmp_path, plan=Plan(budget=42), manners=FREE)
        assert 1 < len(site.received) - 2 * sent < sent / 2
        assert set(keys) <= set(read_keys(third.records))


def test_a_state_of_version_1_is_upgraded(tmp_path: Path) -> None:
    """Its bodies are read where they are; new ones are stored in the archive."""
    old, new = page(1), page(2)
    store(tmp_path, old)
    db = sqlite3.connect(tmp_path / "state.sqlite")
    for _, name, _ in (column for added in ADDED_COLUMNS.values() for column in added):
        db.execute(f"ALTER TABLE outcomes DROP COLUMN {name}")
    db.execute("UPDATE outcomes SET body = ?", (zlib.compress(old.body, 1),))
    db.execute("UPDATE about SET value = '1' WHERE name = 'version'")
    db.commit()
    db.close()
    assert replay(tmp_path, old) == [old]
    store(tmp_path, new)
    assert [file is None for file, _ in columns(tmp_path)] == [True, False]
    assert replay(tmp_path, old, new) == [old, new]


def test_a_state_of_a_later_version_is_left_alone(tmp_path: Path) -> None:
    """The message says which version wrote it and what to do."""
    path = tmp_path / "state.sqlite"
    with State(path) as state:
        state.set_note("version", str(VERSION + 1))
    with pytest.raises(CannotKeep, match="newer Upwell"):
        State(path)
    assert sqlite3.connect(path).execute("SELECT value FROM about WHERE name = 'version'").fetchone() == (
        str(VERSION + 1),
    )
