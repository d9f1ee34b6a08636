"""WARC 1.1 archives (ISO 28500:2017): writing every exchange of a harvest, and reading the pages of any archive.

`Archive` writes files upwell-00000.warc.gz and so on, one gzip member per record:

    response    the answer, or `revisit` if an earlier response had the same body
    request     the request that was sent for it
    metadata    the query that it answers, if there is one

An exchange is handed to the operating system before its answer is used, and the state of the harvest refers to bodies by their location
here. A killed process leaves at most one torn record, at the end of the last file; `Archive` cuts it off when it opens the folder.

`archived_pages` reads pages back; `sections` splits a large file so that several processes can read it with `pages_in_file`.
"""

import base64
import hashlib
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from http import HTTPStatus
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import BinaryIO
from urllib.parse import urlsplit
from uuid import uuid4

from fastwarc.stream_io import FastWARCError, StreamError
from fastwarc.warc import ArchiveIterator, WarcRecord, WarcRecordType

from upwell.errors import WrongUsage
from upwell.store.safe_files import open_without_links
from upwell.types import ArchivedBody, Request, Response
from upwell.urls.hosts import is_valid

__all__ = [
    "SECTION_BYTES",
    "WARC_FILE_BYTES",
    "Archive",
    "ArchivedPage",
    "BodyLocations",
    "archived_pages",
    "damage",
    "is_warc",
    "pages_in_file",
    "read_archived",
    "repair",
    "sections",
    "warc_files",
]

REVISIT_PROFILE = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"  # WARC 1.1 §6.7.2
OWN_NAME = re.compile(r"upwell-\d{5}\.warc\.gz")  # other WARC files in the folder are left alone
GZIP_MAGIC = b"\x1f\x8b\x08"
MAX_CHUNK_BYTES = 1 << 20  # bytes decompressed at a time while a file is checked
WARC_FILE_BYTES = 1_000_000_000  # size after which the next file is begun; WARC 1.1 Annex C: about 1 GB
GZIP_LEVEL = 4  # measured: 2 to 3 % more bytes than zlib's default of 6, in 0.6 to 0.85 of its time
# Window in bits (16 more: with a gzip header) and memory level of zlib. For a small record 30 KB of memory compress as well as 270 KB.
USUAL_MEMORY, SMALL_MEMORY, SMALL_BYTES = (16 + zlib.MAX_WBITS, zlib.DEF_MEM_LEVEL), (16 + 12, 5), 2048
MAX_HEADER_BYTES = 1 << 16  # safety limit: header of a WARC record
MAX_QUERY_BYTES = 100_000  # read of a metadata record that holds a query
MAX_BODY_BYTES = 20_000_000  # larger records are skipped when reading; as `Manners.max_bytes`
SECTION_BYTES = 64_000_000  # size of a section of a large file: one or two minutes of work, the most that a kill costs
# Headers that describe how the body was transferred. The body is archived after decoding, so they are renamed.
TRANSFER_HEADERS = frozenset(("Content-Encoding", "Transfer-Encoding", "Content-Length"))


@dataclass(frozen=True, slots=True)
class _FirstCopy:
    """Response record that holds a body; later responses with the same body refer to it."""

    record_id: str
    url: str
    date: str
    location: ArchivedBody


class Archive:
    """Folder of WARC files to which a harvest appends; used as the Fetcher's recorder, inside `with`."""

    def __init__(self, folder: Path, *, max_bytes: int = WARC_FILE_BYTES) -> None:
        self.folder, self.max_bytes = folder, max_bytes
        self._first_copies: dict[str, _FirstCopy] = {}  # by digest of the body
        folder.mkdir(parents=True, exist_ok=True)
        self.problems: list[str] = []  # messages about damaged files, which are left as they are
        existing = sorted(path for path in folder.iterdir() if OWN_NAME.fullmatch(path.name) and path.is_file())
        is_damaged = False
        for path in existing:
            copies, last_response, is_readable = _responses_in(path)
            # A readable file is intact up to its last response; the rest may be torn.
            if path == existing[-1] and not (is_readable and _intact_bytes(path, last_response) == path.stat().st_size):
                is_damaged = _is_damaged(path)
                if not is_damaged:
                    repair(path)
                    copies, _, is_readable = _responses_in(path)
            self._first_copies = copies | self._first_copies
            if not is_readable or is_damaged:
                self.problems.append(
                    f"{path} is damaged; it is left as it is: its readable part is used, and the other pages are requested again"
                )
        self._file_number = int(existing[-1].name[7:12]) if existing else -1
        self._path = existing[-1] if existing and not is_damaged else self._create_file()
        self._out = open(self._path, "ab", opener=open_without_links)  # noqa: SIM115 # closed in `__exit__`

    def __enter__(self) -> "Archive":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._out.close()

    def write(self, response: Response, request_headers: Iterable[tuple[str, str]]) -> ArchivedBody:
        """Archive a response and its request; both are handed to the operating system when this returns.

        Return the location of the body: in this response's record, or in the first one that had the same body.
        """
        request, date = response.request, _now()
        if self._out.tell() > self.max_bytes:
            os.fsync(self._out.fileno())  # so that a crash of the machine can damage only the last file
            self._out.close()
            self._path = self._create_file()
            self._out = open(self._path, "ab", opener=open_without_links)  # noqa: SIM115 # closed in `__exit__`
        digest = _digest(response.body)
        response_id = _new_id()
        common = _fields({"WARC-Target-URI": response.url, "WARC-Date": date})
        response_fields = (
            f"{common}WARC-Payload-Digest: {digest}\r\nContent-Type: application/http; msgtype=response\r\n"
        )
        head = _response_head(response)
        first = self._first_copies.get(digest) if response.body else None
        if first is None:
            records = _record("response", response_id, response_fields, head + response.body)
            location = ArchivedBody(file=self._path.name, offset=self._out.tell(), digest=digest)
            first = self._first_copies[digest] = _FirstCopy(response_id, response.url, date, location)
        else:
            response_fields += _fields(
                {
                    "WARC-Profile": REVISIT_PROFILE,
                    "WARC-Refers-To": first.record_id,
                    "WARC-Refers-To-Target-URI": first.url,
                    "WARC-Refers-To-Date": first.date,
                }
            )
            records = _record("revisit", response_id, response_fields, head)
        request_fields = (
            f"{common}WARC-Concurrent-To: {response_id}\r\nContent-Type: application/http; msgtype=request\r\n"
        )
        records += _record("request", _new_id(), request_fields, _request_bytes(request, request_headers))
        if request.query:
            query_fields = f"{common}WARC-Refers-To: {response_id}\r\nContent-Type: application/warc-fields\r\n"
            query = f"query: {' '.join(request.query.split())}\r\n".encode()
            records += _record("metadata", _new_id(), query_fields, query)
        self._out.write(records)
        self._out.flush()
        return first.location

    def read(self, location: ArchivedBody, /) -> bytes | None:
        """Return the body at a location; None if the record is missing or its body has changed."""
        archived = read_archived(self.folder, location)
        return archived[1] if archived is not None else None

    def _create_file(self) -> Path:
        """Begin the next file with its `warcinfo` record."""
        self._file_number += 1
        path = self.folder / f"upwell-{self._file_number:05}.warc.gz"
        fields = {"WARC-Date": _now(), "WARC-Filename": path.name, "Content-Type": "application/warc-fields"}
        info = b"software: Upwell\r\nformat: WARC File Format 1.1\r\n"
        with open(path, "xb", opener=open_without_links) as file:
            file.write(_record("warcinfo", _new_id(), _fields(fields), info))
        return path


def read_archived(folder: Path, location: ArchivedBody) -> tuple[str, bytes] | None:
    """Return Content-Type and body at a location of an archive; None if the record is missing or its body has changed."""
    if Path(location.file).name != location.file:
        return None
    try:
        with (folder / location.file).open("rb") as file:
            file.seek(location.offset)
            block: bytes = next(ArchiveIterator(file, parse_http=False)).reader.read()
    except (OSError, StopIteration, FastWARCError, StreamError):
        return None
    head, _, body = block.partition(b"\r\n\r\n")
    if _digest(body) != location.digest:
        return None
    fields = (line.partition(b":") for line in head.split(b"\r\n"))
    kind = next((value for name, _, value in fields if name.strip().lower() == b"content-type"), b"text/html")
    return kind.decode("latin-1").strip(), body


def warc_files(path: Path) -> list[Path]:
    """Return the WARC files at a path, sorted by name: the path itself, or the files below it."""
    if path.is_file():
        return [path] if is_warc(path.name) else []
    return sorted(file for file in path.rglob("*") if is_warc(file.name) and file.is_file())


def is_warc(name: str) -> bool:
    """Return True if a file name is that of a WARC file."""
    return name.endswith((".warc", ".warc.gz"))


def _responses_in(path: Path) -> tuple[dict[str, _FirstCopy], int, bool]:
    """Return the bodies in a file by digest, the offset of its last response, and whether it could be read to its end."""
    copies: dict[str, _FirstCopy] = {}
    last_response = 0
    try:
        with path.open("rb") as file:
            for record in ArchiveIterator(file, record_types=WarcRecordType.response, parse_http=False):
                headers, last_response = record.headers, record.stream_pos
                digest = headers.get("WARC-Payload-Digest") or ""
                location = ArchivedBody(file=path.name, offset=last_response, digest=digest)
                identity = headers["WARC-Record-ID"], headers["WARC-Target-URI"], headers["WARC-Date"]
                copies.setdefault(digest, _FirstCopy(*identity, location))
    except (FastWARCError, StreamError, OSError, KeyError):
        return copies, last_response, False
    return copies, last_response, True


def repair(path: Path) -> int:
    """Cut a torn record off the end of a file; return the number of bytes removed."""
    size, intact = path.stat().st_size, _intact_bytes(path)
    if intact < size:
        with open(path, "r+b", opener=open_without_links) as file:
            file.truncate(intact)
    return size - intact


def _intact_bytes(path: Path, start: int = 0) -> int:
    """Return the offset of the first gzip member from `start` on that is incomplete or damaged."""
    intact = start
    with path.open("rb") as file:
        while True:  # member by member
            file.seek(intact)
            inflater, bytes_read = zlib.decompressobj(16 + zlib.MAX_WBITS), 0
            try:
                while not inflater.eof and (chunk := file.read(1 << 16)):
                    while chunk:
                        bytes_read += len(chunk)
                        inflater.decompress(chunk, MAX_CHUNK_BYTES)
                        chunk, bytes_read = inflater.unconsumed_tail, bytes_read - len(inflater.unconsumed_tail)
            except zlib.error:
                return intact
            if not inflater.eof:
                return intact
            intact += bytes_read - len(inflater.unused_data)


def _is_damaged(path: Path) -> bool:
    """Return True if intact records follow an unreadable one: then it was not torn by a kill, and nothing may be cut off."""
    intact = _intact_bytes(path)
    with path.open("rb") as file:
        file.seek(intact + 1)
        rest = file.read()
    at = rest.find(GZIP_MAGIC)
    while at >= 0:
        start = intact + 1 + at
        if _intact_bytes(path, start) > start:
            return True
        at = rest.find(GZIP_MAGIC, at + 1)
    return False


def _record(kind: str, record_id: str, fields: str, block: bytes) -> bytes:
    """Return a record as a gzip member."""
    header = (
        f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: {record_id}\r\n{fields}Content-Length: {len(block)}\r\n\r\n"
    )
    record = header.encode("utf-8", "replace") + block + b"\r\n\r\n"
    memory = SMALL_MEMORY if len(record) <= SMALL_BYTES else USUAL_MEMORY
    compressor = zlib.compressobj(GZIP_LEVEL, zlib.DEFLATED, *memory)
    return compressor.compress(record) + compressor.flush()


def _fields(fields: Mapping[str, str]) -> str:
    """Format the header fields of a record, one per line."""
    return "".join([f"{name}: {value}".replace("\r", "").replace("\n", "") + "\r\n" for name, value in fields.items()])


def _new_id() -> str:
    return f"<urn:uuid:{uuid4()}>"


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _digest(body: bytes) -> str:
    return f"sha1:{base64.b32encode(hashlib.sha1(body, usedforsecurity=False).digest()).decode()}"


def _response_head(response: Response) -> bytes:
    """Return status line and headers of a response; transfer headers are renamed to X-Archive-Orig-…"""
    try:
        phrase = HTTPStatus(response.status).phrase
    except ValueError:
        phrase = "Unknown"
    lines = [f"HTTP/1.1 {response.status} {phrase}"]
    lines += [
        f"{'X-Archive-Orig-' if name in TRANSFER_HEADERS else ''}{name}: {value}"
        for name, value in response.headers.items()
    ]
    lines.append(f"Content-Length: {len(response.body)}")
    single_lines = (line.replace("\r", " ").replace("\n", " ") for line in lines)
    return ("\r\n".join(single_lines) + "\r\n\r\n").encode("utf-8", "replace")


def _request_bytes(request: Request, headers: Iterable[tuple[str, str]]) -> bytes:
    parts = urlsplit(request.url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    lines = [f"{request.method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8", "replace") + request.body


def damage(path: Path) -> list[str]:
    """Return a sentence about each part of the WARC files at a path that cannot be read."""
    sentences = []
    for file in warc_files(path):
        for start, end in _damaged_parts(file):
            sentences.append(
                f"{file} is damaged from byte {start:,} to byte {end:,}; the pages in this part are missing"
            )
    return sentences


def _damaged_parts(file: Path) -> Iterator[tuple[int, int]]:
    """Yield the parts of a file that cannot be read; after each, reading continues with the next record."""
    size, start = file.stat().st_size, 0
    with file.open("rb") as stream:
        is_compressed = stream.read(len(GZIP_MAGIC)) == GZIP_MAGIC
        while start < size:
            intact = _intact_bytes(file, start) if is_compressed else _intact_plain_bytes(stream, start, size)
            if intact >= size:
                return
            after = _record_from(stream, intact + 1) if is_compressed else _plain_record_from(stream, intact + 1)
            yield intact, after if after >= 0 else size
            start = after if after >= 0 else size


def _intact_plain_bytes(stream: BinaryIO, start: int, size: int) -> int:
    """Return the offset of the first record from `start` on of an uncompressed file that is cut or has no valid header."""
    while start < size:
        stream.seek(start)
        head = stream.read(MAX_HEADER_BYTES)
        if not head.strip(b"\r\n"):
            return size
        stripped = head.lstrip(b"\r\n")
        end = stripped.find(b"\r\n\r\n")
        length = re.search(rb"(?im)^content-length:[ \t]*(\d{1,15})[ \t]*\r?$", stripped[: end + 2])
        if not stripped.startswith(b"WARC/") or end < 0 or length is None:
            return start
        after = start + len(head) - len(stripped) + end + 4 + int(length[1])
        if after > size:
            return start
        start = after
    return size


def _plain_record_from(stream: BinaryIO, offset: int) -> int:
    """Return the offset of the first record of an uncompressed file from an offset on; -1 if there is none."""
    while True:
        stream.seek(offset)
        chunk = stream.read(1 << 20)
        if (at := chunk.find(b"WARC/1.")) >= 0:
            return offset + at
        if len(chunk) < 1 << 20:
            return -1
        offset += len(chunk) - 10


BodyLocations = dict[str, tuple[Path, int]]  # digest of a body → file and offset of its response


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedPage:
    """Answer read from an archive: its name in outputs, the query that it answers, and the response."""

    page: str
    url: str
    query: str
    status: int
    headers: dict[str, str]
    body: bytes


def archived_pages(path: Path, root: Path | None = None) -> Iterator[ArchivedPage]:
    """Yield the answers in the WARC files at a path in order of arrival; a revisit gets the body that it refers to.

    A page is named by its file, relative to `root`, and its record's offset: `archive/upwell-00000.warc.gz@1234`. Redirects, robots.txt
    and files that are not text (images, archives) are left out.
    """
    bodies: BodyLocations = {}
    for file in warc_files(path):
        name = file.relative_to(root or (path if path.is_dir() else path.parent)).as_posix()
        yield from pages_in_file(file, name, bodies)


def pages_in_file(
    file: Path, name: str, bodies: BodyLocations, start: int = 0, end: int | None = None
) -> Iterator[ArchivedPage]:
    """Yield the answers in one file, or in the part of it between two offsets.

    `bodies` has the locations of earlier bodies; those of this file are added. Bodies are not kept in memory: that of a revisit is read
    again from its location. The query is in a metadata record after the response.
    """
    parts = list(_damaged_parts(file)) if end is None and not start else []
    if not parts:
        yield from _pages_between(file, name, bodies, start, end)
        return
    found = False
    for first, last in pairwise((0, *(offset for part in parts for offset in part), file.stat().st_size)):
        if (first, last) in parts or first == last:
            continue
        with suppress(WrongUsage):  # the reader looks ahead into the damaged part
            for page in _pages_between(file, name, bodies, first, last):
                found = True
                yield page
    if not found:
        raise WrongUsage(f"{file} cannot be read as WARC (it is damaged)")


def _pages_between(file: Path, name: str, bodies: BodyLocations, start: int, end: int | None) -> Iterator[ArchivedPage]:
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
                    page, page_id = _page(record, file, name, bodies, start), record.headers.get("WARC-Record-ID") or ""
    except (FastWARCError, StreamError, OSError, KeyError, ValueError) as error:
        if page is not None:
            yield page
        raise WrongUsage(f"{file} cannot be read as WARC ({error})") from error
    if page is not None:
        yield page


def _page(record: WarcRecord, file: Path, name: str, bodies: BodyLocations, start: int) -> ArchivedPage | None:
    """Return the page of a record, or None if it is not a page; bodies before `start` are located when a revisit refers to one."""
    digest = record.headers.get("WARC-Payload-Digest") or ""
    if record.record_type == WarcRecordType.revisit:
        if start and digest not in bodies:
            earlier = _bodies_before(file, start)
            bodies |= {known: location for known, location in earlier.items() if known not in bodies}
            bodies.setdefault(digest, (file, -1))  # in another file: do not search again
        body = _body_at(*bodies[digest]) if digest in bodies else b""
    else:
        body = record.reader.read()
        if digest:
            bodies[digest] = file, record.stream_pos
    url, http = record.headers["WARC-Target-URI"], record.http_headers
    status = int(http.status_code or 0)
    headers = {str(field).title(): str(value) for field, value in http.items()}
    content_type = headers.get("Content-Type", "text/html")
    if 300 <= status < 400 or not is_valid(url) or urlsplit(url).path == "/robots.txt" or not _is_text(content_type):
        return None
    return ArchivedPage(
        page=f"{name}@{record.stream_pos}", url=url, query="", status=status, headers=headers, body=body
    )


def _bodies_before(file: Path, end: int) -> BodyLocations:
    """Return the locations of the bodies in a file before an offset."""
    bodies: BodyLocations = {}
    with file.open("rb") as stream:
        for record in ArchiveIterator(stream, record_types=WarcRecordType.response, parse_http=False):
            if record.stream_pos >= end:
                break
            if digest := record.headers.get("WARC-Payload-Digest"):
                bodies[digest] = file, record.stream_pos
    return bodies


def _body_at(file: Path, offset: int) -> bytes:
    """Return the body of the response at an offset of a file; empty if it cannot be read."""
    try:
        with file.open("rb") as stream:
            stream.seek(offset)
            body: bytes = next(ArchiveIterator(stream, max_content_length=MAX_BODY_BYTES)).reader.read()
            return body
    except (OSError, StopIteration, FastWARCError, StreamError):
        return b""


def _query(record: WarcRecord) -> str:
    """Return the query in a metadata record; "" if there is none."""
    text: str = record.reader.read(MAX_QUERY_BYTES).decode("utf-8", "replace")
    return text.removeprefix("query: ").strip() if text.startswith("query: ") else ""


def _is_text(content_type: str) -> bool:
    return any(part in content_type for part in ("html", "json", "xml", "text/"))


def sections(file: Path, size: int = SECTION_BYTES) -> list[tuple[int, int]]:
    """Split a file into sections of about `size` bytes that can be read independently; each begins with a response."""
    starts, end = [0], file.stat().st_size
    while file.name.endswith(".gz") and (start := _response_from(file, starts[-1] + size)) < end:
        starts.append(start)
    return list(pairwise([*starts, end]))


def _response_from(file: Path, offset: int) -> int:
    """Return the offset of the first response from an offset on; the size of the file if there is none."""
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
    """Return the offset of the first WARC record from an offset on; -1 if there is none."""
    while True:
        stream.seek(offset)
        chunk = stream.read(1 << 20)
        at = chunk.find(GZIP_MAGIC)
        while at >= 0:
            try:
                if zlib.decompressobj(16 + zlib.MAX_WBITS).decompress(chunk[at : at + 1000], 5) == b"WARC/":
                    return offset + at
            except zlib.error:
                pass  # the magic number by chance
            at = chunk.find(GZIP_MAGIC, at + 1)
        if len(chunk) < 1 << 20:
            return -1
        offset += len(chunk) - 1000  # a record may begin at the end of the chunk
