"""Every exchange with a server as WARC 1.1 (ISO 28500:2017), so that any archive reader can open what a harvest was built from.

    response    the answer, or `revisit` where an earlier response had the same body
    request     what was sent for it
    metadata    the query that it answers, where there is one

The files are upwell-00000.warc.gz and so on, with one gzip member for each record; a new file is begun when one is full.

An exchange is handed to the operating system before its answer is used, and the state of the harvest refers to bodies by their place
here. A killed process leaves at most one torn record, at the end of the last file; `Archive` cuts it off when it opens the folder.
"""

import base64
import hashlib
import os
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from urllib.parse import urlsplit
from uuid import uuid4

from fastwarc.stream_io import FastWARCError, StreamError
from fastwarc.warc import ArchiveIterator, WarcRecordType

from upwell.model import ArchivedBody, Request, Response

__all__ = [
    "WARC_FILE_BYTES",
    "Archive",
    "files",
    "is_warc",
    "read_archived",
    "repair",
]

REVISIT_PROFILE = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"  # WARC 1.1 §6.7.2
GZIP_MAGIC = b"\x1f\x8b\x08"
MAX_CHUNK_BYTES = 1 << 20  # that are unpacked at a time while a file is checked
WARC_FILE_BYTES = 1_000_000_000  # of a file, after which the next is begun; WARC 1.1 Annex C: about 1 GB
GZIP_LEVEL = 4  # 2 to 3 % more bytes than zlib's default, 6, in 0.6 to 0.85 of its time
# Window in bits (16 more: with a gzip header) and memory level. A small record is packed as well with 30 KB of memory as with 270.
USUAL_MEMORY, SMALL_MEMORY, SMALL_BYTES = (16 + zlib.MAX_WBITS, zlib.DEF_MEM_LEVEL), (16 + 12, 5), 2048
# Headers that describe how the body was transferred. The body is archived after decoding, so they get another name.
TRANSFER_HEADERS = frozenset(("Content-Encoding", "Transfer-Encoding", "Content-Length"))


@dataclass(frozen=True, slots=True)
class _FirstCopy:
    """The response record that holds a body; later responses with the same body refer to it."""

    record_id: str
    url: str
    date: str
    place: ArchivedBody


class Archive:
    """A folder of WARC files that grows; used as the Fetcher's recorder, inside `with`."""

    def __init__(self, folder: Path, *, max_bytes: int = WARC_FILE_BYTES) -> None:
        self.folder, self.max_bytes = folder, max_bytes
        self._first_copies: dict[str, _FirstCopy] = {}  # by digest of the body
        folder.mkdir(parents=True, exist_ok=True)
        self.problems: list[
            str
        ] = []  # of files that are damaged: they are kept as they are, and what can be read of them is used
        existing = files(folder)
        is_damaged = False
        for path in existing:
            copies, last, is_read = _responses_in(path)
            # what was read to its end is whole up to its last response; what follows that may be torn
            if path == existing[-1] and not (is_read and _intact_bytes(path, last) == path.stat().st_size):
                is_damaged = _is_damaged(path)
                if not is_damaged:
                    repair(path)
                    copies, _, is_read = _responses_in(path)
            self._first_copies = copies | self._first_copies
            if not is_read or is_damaged:
                self.problems.append(
                    f"{path} is damaged; it is kept as it is, what can be read of it is used, the rest is asked again"
                )
        self._file_number = int(existing[-1].name.split("-")[1].split(".")[0]) if existing else -1
        self._path = existing[-1] if existing and not is_damaged else self._create_file()
        self._out = self._path.open("ab")

    def __enter__(self) -> "Archive":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._out.close()

    def write(self, response: Response, request_headers: Iterable[tuple[str, str]]) -> ArchivedBody:
        """Archives a response and the request that it answers; both are with the operating system when this returns.

        Returns where the body lies: in this response's record, or in the first one that had the same body.
        """
        request, date = response.request, _now()
        if self._out.tell() > self.max_bytes:
            os.fsync(self._out.fileno())  # so that a crash of the machine can tear only the last file
            self._out.close()
            self._path = self._create_file()
            self._out = self._path.open("ab")
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
            place = ArchivedBody(file=self._path.name, offset=self._out.tell(), digest=digest)
            first = self._first_copies[digest] = _FirstCopy(response_id, response.url, date, place)
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
        return first.place

    def read(self, place: ArchivedBody) -> bytes | None:
        """The body at a place; None if there is no such record any more, or if its body is not the one that was written."""
        found = read_archived(self.folder, place)
        return found[1] if found is not None else None

    def _create_file(self) -> Path:
        """Begins the next file with its `warcinfo` record."""
        self._file_number += 1
        path = self.folder / f"upwell-{self._file_number:05}.warc.gz"
        fields = {"WARC-Date": _now(), "WARC-Filename": path.name, "Content-Type": "application/warc-fields"}
        info = b"software: Upwell\r\nformat: WARC File Format 1.1\r\n"
        path.write_bytes(_record("warcinfo", _new_id(), _fields(fields), info))
        return path


def read_archived(folder: Path, place: ArchivedBody) -> tuple[str, bytes] | None:
    """The Content-Type and the body at a place of an archive; None if it cannot be read, or is not what was written."""
    if Path(place.file).name != place.file:
        return None
    try:
        with (folder / place.file).open("rb") as file:
            file.seek(place.offset)
            block: bytes = next(ArchiveIterator(file, parse_http=False)).reader.read()
    except (OSError, StopIteration, FastWARCError, StreamError):
        return None
    head, _, body = block.partition(b"\r\n\r\n")  # the HTTP headers, and what follows them
    if _digest(body) != place.digest:
        return None
    fields = (line.partition(b":") for line in head.split(b"\r\n"))
    kind = next((value for name, _, value in fields if name.strip().lower() == b"content-type"), b"text/html")
    return kind.decode("latin-1").strip(), body


def files(path: Path) -> list[Path]:
    """The WARC files at a path, sorted by name: the path itself, or those below it."""
    if path.is_file():
        return [path] if is_warc(path.name) else []
    return sorted(file for file in path.rglob("*") if is_warc(file.name) and file.is_file())


def is_warc(name: str) -> bool:
    """Whether a file is WARC, by its name."""
    return name.endswith((".warc", ".warc.gz"))


def _responses_in(path: Path) -> tuple[dict[str, _FirstCopy], int, bool]:
    """The bodies of a file that later responses can refer to, where its last response begins, and whether it could be read to its end."""
    copies: dict[str, _FirstCopy] = {}
    last = 0
    try:
        with path.open("rb") as file:
            for record in ArchiveIterator(file, record_types=WarcRecordType.response, parse_http=False):
                headers, last = record.headers, record.stream_pos
                digest = headers.get("WARC-Payload-Digest") or ""
                known = headers["WARC-Record-ID"], headers["WARC-Target-URI"], headers["WARC-Date"]
                copies.setdefault(digest, _FirstCopy(*known, ArchivedBody(file=path.name, offset=last, digest=digest)))
    except (FastWARCError, StreamError, OSError, KeyError):
        return copies, last, False
    return copies, last, True


def repair(path: Path) -> int:
    """Cuts a torn record off the end of a file; returns the number of bytes removed."""
    size, intact = path.stat().st_size, _intact_bytes(path)
    if intact < size:
        with path.open("r+b") as file:
            file.truncate(intact)
    return size - intact


def _intact_bytes(path: Path, start: int = 0) -> int:
    """Where the first gzip member begins that does not end as it should, counted from the beginning of the file."""
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
    """Whether whole records follow one that cannot be read: then it was not torn by a kill, and nothing may be cut off."""
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
    """One record as a gzip member."""
    own = (
        f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: {record_id}\r\n{fields}Content-Length: {len(block)}\r\n\r\n"
    )
    record = own.encode("utf-8", "replace") + block + b"\r\n\r\n"
    memory = SMALL_MEMORY if len(record) <= SMALL_BYTES else USUAL_MEMORY
    packer = zlib.compressobj(GZIP_LEVEL, zlib.DEFLATED, *memory)
    return packer.compress(record) + packer.flush()


def _fields(fields: Mapping[str, str]) -> str:
    """Fields of a record, each on its line."""
    return "".join([f"{name}: {value}".replace("\r", "").replace("\n", "") + "\r\n" for name, value in fields.items()])


def _new_id() -> str:
    return f"<urn:uuid:{uuid4()}>"


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _digest(body: bytes) -> str:
    return f"sha1:{base64.b32encode(hashlib.sha1(body, usedforsecurity=False).digest()).decode()}"


def _response_head(response: Response) -> bytes:
    """Status line and headers of a response; transfer headers keep their values as X-Archive-Orig-…"""
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
    one_line_each = (line.replace("\r", " ").replace("\n", " ") for line in lines)
    return ("\r\n".join(one_line_each) + "\r\n\r\n").encode("utf-8", "replace")


def _request_bytes(request: Request, headers: Iterable[tuple[str, str]]) -> bytes:
    parts = urlsplit(request.url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    lines = [f"{request.method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8", "replace") + request.body
