"""Every exchange as WARC 1.1 (ISO 28500:2017), so that any archive reader can open what a harvest was built from.

    request    what was sent; `response` what came, or `revisit` where the same bytes had come before; `metadata` the query
    file       upwell-00000.warc.gz …, one gzip member a record, a new file when one is full

A record is with the operating system before its answer is used, and the state of the harvest holds no bodies but the places
where they lie here. A process that is killed leaves at most one torn record, at the end of the last file; `Archive` cuts it off
when it opens the folder again.
"""

import base64
import gzip
import hashlib
import io
import os
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from urllib.parse import urlsplit
from uuid import uuid4

from fastwarc.stream_io import FastWARCError, StreamError
from fastwarc.warc import ArchiveIterator, WarcRecord, WarcRecordType

from upwell.errors import WrongUsage
from upwell.model import ArchivedBody, Request, Response

__all__ = ["Archive", "Saved", "files", "pages", "repair"]

REVISIT = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"  # WARC 1.1 §6.7.2
# Fields that describe how the body travelled; it is kept as it was after decoding.
LEVEL = 6  # of gzip: its own default
TRAVEL = frozenset(("Content-Encoding", "Transfer-Encoding", "Content-Length"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """One archived answer: its name in outputs, and what `page.tree.read` wants."""

    page: str
    url: str
    query: str
    status: int
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class _FirstCopy:
    """The response record that holds a body; later responses with the same body refer to it."""

    record_id: str
    url: str
    date: str
    place: ArchivedBody


class Archive:
    """A folder of WARC files that grows; used as the Fetcher's recorder, inside `with`."""

    def __init__(self, folder: Path, *, max_bytes: int = 1_000_000_000) -> None:  # WARC 1.1 Annex C: about 1 GB a file
        self.folder, self.max_bytes = folder, max_bytes
        self._first_copies: dict[str, _FirstCopy] = {}  # by digest of the body
        folder.mkdir(parents=True, exist_ok=True)
        known = files(folder)
        for path in known:
            if path == known[-1]:
                repair(path)
            self._index(path)
        self._number = int(known[-1].name.split("-")[1].split(".")[0]) if known else -1
        self._path = known[-1] if known else self._next()
        self._out = self._path.open("ab")

    def __enter__(self) -> "Archive":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._out.close()

    def write(self, response: Response, sent: Iterable[tuple[str, str]]) -> ArchivedBody:
        """Keeps a response and the request that it answers; they are with the operating system when this returns.

        Returns where the body lies: in this response's record, or in the first one that had the same body.
        """
        request, date = response.request, datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        if self._out.tell() > self.max_bytes:
            os.fsync(self._out.fileno())  # so that a crash of the machine can tear the last file only
            self._out.close()
            self._path = self._next()
            self._out = self._path.open("ab")
        digest = _digest(response.body)
        answer_id, request_id = f"<urn:uuid:{uuid4()}>", f"<urn:uuid:{uuid4()}>"
        head = _head(response)
        first = self._first_copies.get(digest) if response.body else None
        common = {"WARC-Target-URI": response.url, "WARC-Date": date}
        kept = {**common, "WARC-Payload-Digest": digest, "Content-Type": "application/http; msgtype=response"}
        if first is None:
            record = self._record(WarcRecordType.response, answer_id, kept, head + response.body)
            place = ArchivedBody(file=self._path.name, offset=self._out.tell(), digest=digest)
            first = self._first_copies[digest] = _FirstCopy(answer_id, response.url, date, place)
        else:
            kept |= {
                "WARC-Profile": REVISIT,
                "WARC-Refers-To": first.record_id,
                "WARC-Refers-To-Target-URI": first.url,
                "WARC-Refers-To-Date": first.date,
            }
            record = self._record(WarcRecordType.revisit, answer_id, kept, head)
        asked = {**common, "WARC-Concurrent-To": answer_id, "Content-Type": "application/http; msgtype=request"}
        record += self._record(WarcRecordType.request, request_id, asked, _sent(request, sent))
        if request.query:
            about = {**common, "WARC-Refers-To": answer_id, "Content-Type": "application/warc-fields"}
            fields = f"query: {' '.join(request.query.split())}\r\n".encode()
            record += self._record(WarcRecordType.metadata, f"<urn:uuid:{uuid4()}>", about, fields)
        self._out.write(record)
        self._out.flush()
        return first.place

    def read(self, place: ArchivedBody) -> bytes | None:
        """The body at a place; None where it is not there any more, or is not the one that was written."""
        try:
            with (self.folder / place.file).open("rb") as file:
                file.seek(place.offset)
                block: bytes = next(ArchiveIterator(file, parse_http=False)).reader.read()
        except (OSError, StopIteration, FastWARCError, StreamError):
            return None
        body = block.partition(b"\r\n\r\n")[2]  # behind the HTTP headers
        return body if _digest(body) == place.digest else None

    def _next(self) -> Path:
        self._number += 1
        path = self.folder / f"upwell-{self._number:05}.warc.gz"
        about = {"WARC-Date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), "WARC-Filename": path.name}
        fields = b"software: Upwell\r\nformat: WARC File Format 1.1\r\n"
        kind = {"Content-Type": "application/warc-fields"}
        path.write_bytes(self._record(WarcRecordType.warcinfo, f"<urn:uuid:{uuid4()}>", {**about, **kind}, fields))
        return path

    @staticmethod
    def _record(kind: WarcRecordType, identity: str, fields: dict[str, str], block: bytes) -> bytes:
        """One record as a gzip member of its own."""
        record = WarcRecord()
        record.init_headers(record_type=kind)
        record.headers["WARC-Record-ID"] = identity
        for name, value in fields.items():
            record.headers[name] = value.replace("\r", "").replace("\n", "")
        record.set_bytes_content(block)
        out = io.BytesIO()
        record.write(out)
        return gzip.compress(out.getvalue(), LEVEL)

    def _index(self, path: Path) -> None:
        """Takes up which bodies a file holds."""
        with path.open("rb") as file:
            for record in ArchiveIterator(file, record_types=WarcRecordType.response, parse_http=False):
                headers = record.headers
                digest = headers.get("WARC-Payload-Digest") or ""
                place = ArchivedBody(file=path.name, offset=record.stream_pos, digest=digest)
                copy = _FirstCopy(headers["WARC-Record-ID"], headers["WARC-Target-URI"], headers["WARC-Date"], place)
                self._first_copies.setdefault(digest, copy)


def files(path: Path) -> list[Path]:
    """The WARC files that a path means: itself, or those below it, in the order of their names."""
    if path.is_file():
        return [path] if path.name.endswith((".warc", ".warc.gz")) else []
    return sorted(file for file in path.rglob("*") if file.name.endswith((".warc", ".warc.gz")) and file.is_file())


def repair(path: Path) -> int:
    """Cuts a torn record off the end of a file; how many bytes were cut."""
    size, whole = path.stat().st_size, 0
    with path.open("rb") as file:
        while True:  # member by member: the first that does not end is the torn one
            file.seek(whole)
            inflater, read = zlib.decompressobj(16 + zlib.MAX_WBITS), 0
            try:
                while not inflater.eof and (piece := file.read(1 << 20)):
                    inflater.decompress(piece)
                    read += len(piece)
            except zlib.error:
                break
            if not inflater.eof:
                break
            whole += read - len(inflater.unused_data)
    if whole < size:
        with path.open("r+b") as file:
            file.truncate(whole)
    return size - whole


def pages(path: Path, root: Path | None = None) -> Iterator[Saved]:
    """The answers of the WARC files at a path, in the order in which they came; a revisit has the bytes that it stands for.

    A page's name is the file's, relative to `root`, with the record's place in it: `archive/upwell-00000.warc.gz@1234`.
    What is not text (pictures, archives), robots.txt and redirects are passed over.
    """
    bodies: dict[str, bytes] = {}
    for file in files(path):
        name = file.relative_to(root or (path if path.is_dir() else path.parent)).as_posix()
        queries = _queries(file)
        try:
            with file.open("rb") as opened:
                for record in ArchiveIterator(opened, record_types=WarcRecordType.response | WarcRecordType.revisit):
                    if not record.is_http:
                        continue
                    digest = record.headers.get("WARC-Payload-Digest") or ""
                    body = record.reader.read()
                    if record.record_type == WarcRecordType.revisit:
                        body = bodies.get(digest, b"")
                    elif digest:
                        bodies[digest] = body
                    url, http = record.headers["WARC-Target-URI"], record.http_headers
                    status = int(http.status_code or 0)
                    headers = {str(k).title(): str(v) for k, v in http.items()}
                    kind = headers.get("Content-Type", "text/html")
                    if 300 <= status < 400 or urlsplit(url).path == "/robots.txt" or not _is_text(kind):
                        continue
                    yield Saved(
                        page=f"{name}@{record.stream_pos}",
                        url=url,
                        query=queries.get(record.headers["WARC-Record-ID"], ""),
                        status=status,
                        headers=headers,
                        body=body,
                    )
        except (FastWARCError, StreamError) as error:
            raise WrongUsage(f"{file} cannot be read as WARC ({error})") from error


def _queries(file: Path) -> dict[str, str]:
    """What each response was the answer to, by its record's id."""
    found = {}
    with file.open("rb") as opened:
        for record in ArchiveIterator(opened, record_types=WarcRecordType.metadata, parse_http=False):
            text = record.reader.read().decode("utf-8", "replace")
            if text.startswith("query: "):
                found[record.headers.get("WARC-Refers-To") or ""] = text.removeprefix("query: ").strip()
    return found


def _digest(body: bytes) -> str:
    return f"sha1:{base64.b32encode(hashlib.sha1(body, usedforsecurity=False).digest()).decode()}"


def _is_text(content_type: str) -> bool:
    return any(part in content_type for part in ("html", "json", "xml", "text/"))


def _head(response: Response) -> bytes:
    """Status line and headers of a response; what described its travel keeps its value under another name."""
    try:
        said = HTTPStatus(response.status).phrase
    except ValueError:
        said = "Unknown"
    lines = [f"HTTP/1.1 {response.status} {said}"]
    lines += [
        f"{'X-Archive-Orig-' if name in TRAVEL else ''}{name}: {value}" for name, value in response.headers.items()
    ]
    lines.append(f"Content-Length: {len(response.body)}")
    return ("\r\n".join(line.replace("\r", " ").replace("\n", " ") for line in lines) + "\r\n\r\n").encode(
        "utf-8", "replace"
    )


def _sent(request: Request, headers: Iterable[tuple[str, str]]) -> bytes:
    parts = urlsplit(request.url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    lines = [f"{request.method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8", "replace") + request.body
