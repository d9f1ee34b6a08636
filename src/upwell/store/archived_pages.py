"""The pages in WARC files, of a harvest or of any other archive; a large file can be read in sections, each by another process."""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit

from fastwarc.stream_io import FastWARCError, StreamError
from fastwarc.warc import ArchiveIterator, WarcRecord, WarcRecordType

from upwell.errors import WrongUsage
from upwell.store.archive import GZIP_MAGIC, files

__all__ = ["SECTION_BYTES", "ArchivedPage", "BodyPlaces", "pages", "pages_of_file", "sections"]

BodyPlaces = dict[str, tuple[Path, int]]  # digest of a body → the file and the offset of its response

MAX_QUERY_BYTES = 100_000  # of the metadata that hold a query
MAX_BODY_BYTES = 20_000_000  # of a page in WARC, as `Manners.max_bytes`: a larger one is passed over
SECTION_BYTES = (
    64_000_000  # of a large file that are read at one go: a minute or two of work, so that a kill costs no more
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedPage:
    """One answer of an archive: its name in outputs, the query that it answers, and what is needed to read it as a page."""

    page: str
    url: str
    query: str
    status: int
    headers: dict[str, str]
    body: bytes


def pages(path: Path, root: Path | None = None) -> Iterator[ArchivedPage]:
    """The answers in the WARC files at a path, in the order in which they came; a revisit has the body that it refers to.

    A page is named by its file, relative to `root`, and its record's offset: `archive/upwell-00000.warc.gz@1234`. Left out are
    redirects, robots.txt and what is not text (pictures, archives).
    """
    places: BodyPlaces = {}
    for file in files(path):
        name = file.relative_to(root or (path if path.is_dir() else path.parent)).as_posix()
        yield from pages_of_file(file, name, places)


def pages_of_file(
    file: Path, name: str, places: BodyPlaces, start: int = 0, end: int | None = None
) -> Iterator[ArchivedPage]:
    """The same for one file, or for its records from one offset to another; `places` has where earlier bodies lie, and gets those of this file.

    A body is held only while its page is: that of a revisit is read again where it lies. The query is said in a record after the response.
    """
    kinds = WarcRecordType.response | WarcRecordType.revisit | WarcRecordType.metadata
    page, page_id = None, ""
    try:
        with file.open("rb") as stream:
            stream.seek(start)
            for record in ArchiveIterator(stream, record_types=kinds, max_content_length=MAX_BODY_BYTES):
                if record.record_type == WarcRecordType.metadata:
                    if page is not None and record.headers.get("WARC-Refers-To") == page_id:
                        page = replace(page, query=_query(record) or page.query)
                    continue
                if page is not None:
                    yield page
                    page = None
                if end is not None and record.stream_pos >= end:
                    return
                if record.is_http:
                    page, page_id = _page(record, file, name, places, start), record.headers["WARC-Record-ID"]
    except (FastWARCError, StreamError, OSError, KeyError, ValueError) as error:
        if page is not None:
            yield page
        raise WrongUsage(f"{file} cannot be read as WARC ({error})") from error
    if page is not None:
        yield page


def _page(record: WarcRecord, file: Path, name: str, places: BodyPlaces, start: int) -> ArchivedPage | None:
    """The page of a record; None where it is no page. Bodies before `start` are looked for when a revisit refers to one."""
    digest = record.headers.get("WARC-Payload-Digest") or ""
    if record.record_type == WarcRecordType.revisit:
        if start and digest not in places:
            places |= {known: place for known, place in _places_before(file, start).items() if known not in places}
            places.setdefault(digest, (file, -1))  # it is in another file: nobody looks again
        body = _body_at(*places[digest]) if digest in places else b""
    else:
        body = record.reader.read()
        if digest:
            places[digest] = file, record.stream_pos
    url, http = record.headers["WARC-Target-URI"], record.http_headers
    status = int(http.status_code or 0)
    headers = {str(field).title(): str(value) for field, value in http.items()}
    content_type = headers.get("Content-Type", "text/html")
    if 300 <= status < 400 or urlsplit(url).path == "/robots.txt" or not _is_text(content_type):
        return None
    return ArchivedPage(
        page=f"{name}@{record.stream_pos}", url=url, query="", status=status, headers=headers, body=body
    )


def _places_before(file: Path, end: int) -> BodyPlaces:
    """Where the bodies in a file before an offset lie."""
    places: BodyPlaces = {}
    with file.open("rb") as stream:
        for record in ArchiveIterator(stream, record_types=WarcRecordType.response, parse_http=False):
            if record.stream_pos >= end:
                break
            if digest := record.headers.get("WARC-Payload-Digest"):
                places[digest] = file, record.stream_pos
    return places


def _body_at(file: Path, offset: int) -> bytes:
    """The body of the response at a place of a file; nothing where that cannot be read."""
    try:
        with file.open("rb") as stream:
            stream.seek(offset)
            body: bytes = next(ArchiveIterator(stream, max_content_length=MAX_BODY_BYTES)).reader.read()
            return body
    except (OSError, StopIteration, FastWARCError, StreamError):
        return b""


def _query(record: WarcRecord) -> str:
    """The query that a metadata record says; "" where it says none."""
    text: str = record.reader.read(MAX_QUERY_BYTES).decode("utf-8", "replace")
    return text.removeprefix("query: ").strip() if text.startswith("query: ") else ""


def _is_text(content_type: str) -> bool:
    return any(part in content_type for part in ("html", "json", "xml", "text/"))


def sections(file: Path, size: int = SECTION_BYTES) -> list[tuple[int, int]]:
    """The offsets between which a file can be read by itself, about so many bytes each: those of responses, each a gzip member."""
    starts, end = [0], file.stat().st_size
    while file.name.endswith(".gz") and (start := _response_from(file, starts[-1] + size)) < end:
        starts.append(start)
    return list(pairwise([*starts, end]))


def _response_from(file: Path, offset: int) -> int:
    """Where the first response begins from an offset on; the size of the file where there is none."""
    kinds = WarcRecordType.response | WarcRecordType.revisit
    with file.open("rb") as stream:
        while (offset := _record_from(stream, offset)) >= 0:
            stream.seek(offset)
            try:
                return int(next(ArchiveIterator(stream, record_types=kinds, parse_http=False)).stream_pos)
            except (FastWARCError, StreamError):
                offset += 1
            except StopIteration:
                break
    return file.stat().st_size


def _record_from(stream: BinaryIO, offset: int) -> int:
    """Where the first gzip member begins from an offset on that is a record of WARC; -1 where there is none."""
    while True:
        stream.seek(offset)
        chunk = stream.read(1 << 20)
        at = chunk.find(GZIP_MAGIC)
        while at >= 0:
            try:
                if zlib.decompressobj(16 + zlib.MAX_WBITS).decompress(chunk[at : at + 1000], 5) == b"WARC/":
                    return offset + at
            except zlib.error:
                pass  # the same three bytes by chance
            at = chunk.find(GZIP_MAGIC, at + 1)
        if len(chunk) < 1 << 20:
            return -1
        offset += len(chunk) - 1000  # one may begin at the end of the chunk
