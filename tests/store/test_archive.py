"""The archive as read by warcio: every exchange in order, each body once, and no incomplete record after a kill."""

import asyncio
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator

from upwell import api
from upwell.demo import Running, Switches, serve
from upwell.errors import WrongUsage
from upwell.harvest.loop import Plan
from upwell.net.fetch import Fetcher, Manners
from upwell.store import archive
from upwell.store import archive as archived_pages
from upwell.store.archive import Archive
from upwell.types import Request, Response


def answer(body: bytes, url: str = "http://x/find?q=a", query: str = "a") -> Response:
    headers = {"Content-Type": "text/html", "Content-Encoding": "gzip", "X-Odd": "Zürich\r\nX-Injected: 1"}
    request = Request(url=url, query=query)
    return Response(request=request, url=url, status=200, headers=headers, body=body)


def records(folder: Path) -> list[tuple[str, str, dict[str, str], bytes]]:
    """Return type, target, all WARC headers and content of every record, as read by warcio."""
    entries = []
    for path in archive.warc_files(folder):
        with path.open("rb") as file:
            for record in ArchiveIterator(file):
                headers = dict(record.rec_headers.headers)
                target = headers.get("WARC-Target-URI", "")
                entries.append((record.rec_type, target, headers, record.content_stream().read()))
    return entries


def test_each_exchange_is_request_response_and_query(tmp_path: Path) -> None:
    """WARC 1.1 with the decoded body, the request headers and the query."""
    with Archive(tmp_path) as writer:
        writer.write(answer(b"<p>first"), [("Host", "x"), ("User-Agent", "Upwell")])
    entries = records(tmp_path)
    assert [kind for kind, *_ in entries] == ["warcinfo", "response", "request", "metadata"]
    assert entries[1][3] == b"<p>first"
    assert entries[3][3] == b"query: a\r\n"
    assert entries[2][2]["WARC-Concurrent-To"] == entries[1][2]["WARC-Record-ID"] == entries[3][2]["WARC-Refers-To"]
    with archive.warc_files(tmp_path)[0].open("rb") as file:
        response, request = [r for r in ArchiveIterator(file) if r.rec_type in ("response", "request")]
    assert response.rec_headers.protocol == "WARC/1.1"
    assert response.http_headers.get_header("X-Archive-Orig-Content-Encoding") == "gzip"
    assert response.http_headers.get_header("X-Injected") is None
    assert request.http_headers.get_header("User-Agent") == "Upwell"
    assert request.http_headers.statusline == "/find?q=a HTTP/1.1"


def test_equal_bodies_are_archived_once_even_after_reopening(tmp_path: Path) -> None:
    """A second equal body becomes a revisit record that refers to the first, in this process and the next; the reader returns the body for both."""
    for url in ("http://x/1", "http://x/2", "http://x/3"):
        with Archive(tmp_path) as writer:
            writer.write(answer(b"<p>same", url, url[-1]), [])
    entries = [entry for entry in records(tmp_path) if entry[0] in ("response", "revisit")]
    assert [kind for kind, *_ in entries] == ["response", "revisit", "revisit"]
    assert {entry[2]["WARC-Refers-To"] for entry in entries[1:]} == {entries[0][2]["WARC-Record-ID"]}
    assert entries[2][2]["WARC-Refers-To-Target-URI"] == "http://x/1"
    saved = list(archived_pages.archived_pages(tmp_path))
    assert [(page.url, page.query, page.body) for page in saved] == [
        ("http://x/1", "1", b"<p>same"),
        ("http://x/2", "2", b"<p>same"),
        ("http://x/3", "3", b"<p>same"),
    ]


def test_files_are_rotated_by_size(tmp_path: Path) -> None:
    """A full file is followed by the next, and no page is lost between them."""
    with Archive(tmp_path, max_bytes=2000) as writer:
        for i in range(20):
            writer.write(answer(f"<p>{i}".encode(), f"http://x/{i}"), [])
    assert len(archive.warc_files(tmp_path)) > 2
    assert [page.url for page in archived_pages.archived_pages(tmp_path)] == [f"http://x/{i}" for i in range(20)]


def test_an_incomplete_last_record_is_removed(tmp_path: Path) -> None:
    """Wherever a killed process stopped, only the incomplete record is lost when the folder is opened, and new records follow."""
    with Archive(tmp_path / "whole") as writer:
        for i in range(3):
            writer.write(answer(f"<p>page {i}".encode(), f"http://x/{i}"), [])
    (file,) = archive.warc_files(tmp_path / "whole")
    whole = file.read_bytes()
    for cut in range(1, 1200, 37):
        folder = tmp_path / str(cut)
        folder.mkdir()
        (folder / file.name).write_bytes(whole[:-cut])
        with Archive(folder) as writer:
            writer.write(answer(b"<p>after", "http://x/after"), [])
        urls = [page.url for page in archived_pages.archived_pages(folder)]
        assert urls == [f"http://x/{i}" for i in range(len(urls) - 1)] + ["http://x/after"]
        assert len(records(folder)) >= 3


def test_the_fetcher_archives_redirects_and_robots_before_the_answer_is_used(tmp_path: Path, demo: Running) -> None:
    """Every exchange is archived under its own URL."""

    async def run() -> None:
        with Archive(tmp_path) as writer:
            async with Fetcher(Manners(rate=0), recorder=writer) as net:
                await net.fetch(Request(url=f"{demo.url}search?q=timbuktu", query="timbuktu"))

    asyncio.run(run())
    paths = [url.removeprefix(demo.url) for kind, url, *_ in records(tmp_path) if kind in ("response", "revisit")]
    assert paths[:2] == ["robots.txt", "search?q=timbuktu"]
    assert paths[2].startswith("city/")


def test_records_can_be_extracted_from_the_archive_of_a_harvest(tmp_path: Path) -> None:
    """The archive contains every exchange of the harvest, and `extract` reads its answers."""
    with serve(Switches(result_cap=60)) as site:
        result = api.harvest(site.url, out=tmp_path, plan=Plan(budget=60), manners=Manners(rate=0))
        sent = len(site.received)
    folder = result.folder / "archive"
    assert sum(kind in ("response", "revisit") for kind, *_ in records(folder)) == sent
    rows = list(api.extract(folder))
    assert sum(row.kind == "multi" for row in rows) > 10
    assert all(".warc.gz@" in row.page for row in rows)


def test_a_folder_without_pages_is_wrong_usage(tmp_path: Path) -> None:
    """The message says that HTML or WARC files are expected."""
    with pytest.raises(WrongUsage, match="WARC"):
        list(api.extract(tmp_path))
