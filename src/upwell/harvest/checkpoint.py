"""Save the memory of a running harvest, so that continuing it reads only the answers received since.

A checkpoint is a shortcut past the replay of the state (`store.state`), never a source of truth: if it is missing, damaged, or from another version
or plan, all answers are replayed. The folder may come from elsewhere, so the file is data (`checkpoint_format`): it can at worst contain wrong
values of the declared types.
"""

import hashlib
import json
import logging
import os
import stat
import struct
import sys
import tempfile
import weakref
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from upwell.choose.plan import Plan
from upwell.discover.discovery import Discovery
from upwell.errors import CannotKeep
from upwell.harvest.checkpoint_format import BadCheckpoint, NotStorable, dump, load
from upwell.harvest.events import Asked, Held, LazyRow, Observer
from upwell.harvest.reader import BudgetUse
from upwell.harvest.session import SourceSession, plan_of_record_pages
from upwell.operating_system import PRIVATE_FLAGS, read_at, write_at
from upwell.records.values import ValueType
from upwell.source.model import interface_entry, load_all
from upwell.store.location import state_location
from upwell.store.safe_files import write_whole
from upwell.store.state import State
from upwell.table.value_types import typed_fields
from upwell.types import PAGE_PREFIX

__all__ = ["WRONG_VALUES", "Checkpoint", "CheckpointFailed", "ScratchFile", "held_before", "replayed_events"]

logger = logging.getLogger("upwell.store")

# Bytes that a harvest rarely needs, on disk instead of in memory; the checkpoint stores their size and checksum.

CHUNK_BYTES = 1 << 20  # read at a time


class ScratchFile:
    """Append-only file at a path, or without a name; an unnamed file is removed by the system when the process ends.

    It is created when the first bytes are appended.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._file = -1  # file descriptor
        self.size = 0
        self.check = 0  # CRC-32 of all bytes

    def append(self, data: bytes) -> int:
        """Append bytes and return their offset."""
        offset = self.size
        try:
            if self._file < 0:
                self._open(os.O_RDWR | os.O_CREAT | os.O_TRUNC)
            while self.size < offset + len(data):
                self.size += write_at(self._file, data[self.size - offset :], self.size)
        except OSError as error:
            raise CannotKeep(f"{self._path or tempfile.gettempdir()} cannot be written: {error.strerror}") from error
        self.check = zlib.crc32(data, self.check)
        return offset

    def read(self, offset: int, size: int) -> bytes:
        """Return bytes at an offset; raise ValueError if they were not written."""
        if not 0 <= offset <= offset + size <= self.size:
            raise ValueError(f"no {size} bytes at {offset} in a file of {self.size}")
        return read_at(self._file, size, offset)

    def reopen(self, size: int, check: int) -> bool:
        """Reopen the bytes written by an earlier process; return True if they are unchanged."""
        if not size:
            return True
        try:
            self._open(os.O_RDWR)
            os.ftruncate(self._file, size) if os.fstat(self._file).st_size >= size else None
            for offset in range(0, size, CHUNK_BYTES):
                self.check = zlib.crc32(read_at(self._file, min(CHUNK_BYTES, size - offset), offset), self.check)
        except OSError:
            return False
        self.size = size
        return self.check == check

    def _open(self, flags: int) -> None:
        if self._path is None:
            with tempfile.TemporaryFile(buffering=0) as file:
                self._file = os.dup(file.fileno())
        else:
            self._file = os.open(self._path, flags | PRIVATE_FLAGS, 0o600)
        weakref.finalize(self, os.close, self._file)


CHECKPOINT_FILE = "checkpoint"
DIGEST_BYTES = hashlib.sha256().digest_size  # SHA-256 of the rest, at the start of the file
WORDS_FILE = "checkpoint-words-{}"  # record words of each source
MAX_SOURCES = 100  # safety limit: sources of a site
MIN_REQUESTS = 200  # requests between two checkpoints, at least
MAX_REPLAYED_REQUESTS = 200  # requests from before the checkpoint that are reported to observers
MIN_GROWTH = 0.1  # growth of the requests between two checkpoints, which bounds their total cost; not swept
MAGIC = b"upwell checkpoint 2\n"  # start of the file, with the version of the format; then the digest
LENGTHS = struct.Struct("<QQ")  # bytes of the header (what the checkpoint is for) and of the objects
MAX_BYTES = 1 << 30  # safety limit: a larger file is not read; 12,000 records take 4 MB
PROVENANCE_COLUMNS = ("_key", "_url", "_path", "_source", "_query", "_page", "_fetched")  # of a new record


# What a harvest raises if values of the right types do not fit together, as in a checkpoint that somebody made up.
WRONG_VALUES = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    AssertionError,
    MemoryError,
)


class CheckpointFailed(Exception):
    """A harvest failed after it was continued from a checkpoint, which is removed; the next attempt replays all answers."""


class Checkpoint:
    """Checkpoint of one harvest in its folder; `key` determines which queries are sent ("": no checkpoints)."""

    def __init__(self, folder: Path | None, key: str, state: State) -> None:
        self.folder, self.state = folder if key else None, state
        self.key = f"{key} {_code_version()}" if key else ""
        self._saved_at = 0  # number of requests

    def scratch(self, number: int) -> ScratchFile:
        """Return the file for the record words of a source."""
        return ScratchFile(self.folder / WORDS_FILE.format(number) if self.folder else None)

    def save_if_due(
        self, discovery: Discovery, sessions: Sequence[SourceSession], sent: int, received: int, *, is_end: bool
    ) -> None:
        """Save everything between two requests if enough were sent since the last checkpoint, or the harvest is about to end."""
        if self.folder is None or not (is_end or sent - self._saved_at >= max(MIN_REQUESTS, MIN_GROWTH * sent)):
            return
        last = self.state.last_outcome()
        if sent == self._saved_at or last is None or not self.state.is_replayed:
            return
        self._saved_at = sent
        self.state.write_records()  # answers before the checkpoint are not replayed
        held = sum(len(session.ledger) for session in sessions)
        outside = {
            id(blobs): (number, blobs.size, blobs.check)
            for number, session in enumerate(sessions)
            if isinstance(blobs := session.chooser.words.blobs, ScratchFile)
        }
        try:
            objects = dump((discovery, list(sessions), sent, received), outside)
        except NotStorable as error:
            logger.info("no checkpoint: %s", error)
            return
        header = dump((self.key, last, held), {})
        data = LENGTHS.pack(len(header), len(objects)) + header + objects
        try:
            write_whole(self.folder / CHECKPOINT_FILE, MAGIC + hashlib.sha256(data).digest() + data)
        except IsADirectoryError as error:
            logger.info("no checkpoint: %s", error)
            return
        logger.info("checkpoint after %d requests, %d records", sent, held)

    def load(
        self, *, plan: Plan, observe: Observer, spent: Callable[[], BudgetUse]
    ) -> tuple[Discovery, list[SourceSession], int, int] | None:
        """Return the contents of the last checkpoint of this harvest, as if its answers had been replayed; None if there is none."""
        if self.folder is None:
            return None
        process_values = {
            "state": self.state,
            "plan": plan,
            "observe": observe,
            "spent": spent,
            "scratch": self.scratch,
        }
        try:
            header, objects = self._read()
            key, last, held = load(header, {}, self._words)
            if key != self.key or not self._is_state(last, held):
                return None
            discovery, sessions, sent, received = load(objects, process_values, self._words)
            _check(discovery, sessions, sent, received)
        except (BadCheckpoint, OSError, ValueError) as error:
            logger.info("the checkpoint is not used: %s", error)
            return None
        for session in sessions:
            session.details.plan = plan_of_record_pages(session.reader.interface, plan)
        self.state.skip_replay(last[0])
        self._saved_at = sent
        return discovery, sessions, sent, received

    def _read(self) -> tuple[memoryview, memoryview]:
        """Return header and objects of the file; raise BadCheckpoint if it is damaged or of another version."""
        file = os.open((self.folder or Path()) / CHECKPOINT_FILE, os.O_RDONLY | PRIVATE_FLAGS)
        with os.fdopen(file, "rb") as stream:
            about = os.fstat(file)
            if not stat.S_ISREG(about.st_mode) or about.st_size > MAX_BYTES:
                raise BadCheckpoint("not a file, or too large")
            content = memoryview(stream.read(MAX_BYTES))
        data = content[len(MAGIC) + DIGEST_BYTES :]
        if (
            content[: len(MAGIC)] != MAGIC
            or content[len(MAGIC) : len(MAGIC) + DIGEST_BYTES] != hashlib.sha256(data).digest()
        ):
            raise BadCheckpoint("damaged, or of another version")
        if len(data) < LENGTHS.size or len(data) != LENGTHS.size + sum(lengths := LENGTHS.unpack(data[: LENGTHS.size])):
            raise BadCheckpoint("its parts have other lengths")
        return data[LENGTHS.size : LENGTHS.size + lengths[0]], data[LENGTHS.size + lengths[0] :]

    def _is_state(self, last: object, held: object) -> bool:
        """Return True if the state has the answers and records from before the checkpoint."""
        if not (isinstance(last, tuple) and len(last) == 2 and type(last[0]) is int and type(last[1]) is float):
            return False
        return self.state.has_outcome(*last) and type(held) is int and len(self.state) >= held

    def _words(self, number: object, size: object, check: object) -> ScratchFile:
        """Return the record words of a source; raise BadCheckpoint if they have changed."""
        if not (
            type(number) is int and type(size) is int and type(check) is int and 0 <= number < MAX_SOURCES and size >= 0
        ):
            raise BadCheckpoint("the record words have another description")
        words = self.scratch(number)
        if not words.reopen(size, check):
            raise BadCheckpoint("the record words have changed")
        return words

    def remove(self) -> None:
        """Remove the checkpoint once nothing is left to send."""
        for file in (
            (CHECKPOINT_FILE, *(WORDS_FILE.format(number) for number in range(MAX_SOURCES))) if self.folder else ()
        ):
            path = (self.folder or Path()) / file
            if file != CHECKPOINT_FILE and not path.exists():
                break
            with suppress(IsADirectoryError):
                path.unlink(missing_ok=True)


def _check(discovery: object, sessions: object, sent: object, received: object) -> None:
    """Raise BadCheckpoint if these are not the objects of a harvest."""
    are_sessions = (
        type(sessions) is list and sessions and all(isinstance(session, SourceSession) for session in sessions)
    )
    if not (isinstance(discovery, Discovery) and are_sessions and type(sent) is int and type(received) is int):
        raise BadCheckpoint("the objects are not those of a harvest")


def replayed_events(
    state: State, sessions: Sequence[SourceSession], *, has_all_records: bool
) -> Iterator[Asked | Held]:
    """Yield events from before the checkpoint for observers: some requests of each source, and all records or the first."""
    for session in sessions:
        ledger = session.ledger
        sizes = {requests: statement for requests, _, statement in ledger.sizes}
        for requests, held, matches in ledger.curve[:: max(1, len(ledger.curve) // MAX_REPLAYED_REQUESTS)]:
            statement = sizes.get(requests)
            yield Asked(
                site=urlsplit(ledger.interface.url).netloc,
                query="",
                requests=requests,
                answers=dict(ledger.answers),
                records=held,
                overlap_rate=matches / max(1, held),
                size=statement.size if statement else None,
                lower_bound=statement is not None and statement.is_lower_bound,
                state=statement.state if statement else "",
                size_by=statement.by if statement else "",
                source=ledger.interface.url,
            )
    types = {session.ledger.interface.url: session.ledger.model.columns.types for session in sessions}
    for row in state.rows():
        if any(row["_key"] in session.ledger.held for session in sessions):
            yield Held(row=LazyRow(partial(_event_row, row, types.get(str(row["_source"]), {}))))
            if not has_all_records:
                return


def held_before(folder: Path) -> Iterator[Held]:
    """Yield an event for each record of a finished harvest, as they were reported when they were new."""
    text = (folder / "source.json").read_text(encoding="utf-8")
    saved = json.loads(text)
    entries = [interface_entry(model) for model in (saved if isinstance(saved, list) else [saved])]
    types = {
        str(entry["url"]): model.columns.types for entry, model in zip(entries, load_all(text), strict=True) if entry
    }
    with State(state_location(folder), read_only=True) as state:
        for row in state.rows():
            yield Held(row=LazyRow(partial(_event_row, row, types.get(str(row["_source"]), {}))))


def _event_row(row: Mapping[str, Any], types: Mapping[str, ValueType]) -> dict[str, object]:
    """Return a stored record as it was reported when it was new."""
    fields = {name: value for name, value in row.items() if not name.startswith(("_", PAGE_PREFIX))}
    return {**{name: row[name] for name in PROVENANCE_COLUMNS}, **typed_fields(fields, types)}


@cache
def _code_version() -> str:
    """Return the version of Python, NumPy and this code, which must match that of a checkpoint."""
    code = hashlib.sha256()
    for file in sorted(Path(__file__).parents[1].rglob("*.py")):
        code.update(file.read_bytes())
    return f"{sys.version_info[:3]} {np.__version__} {code.hexdigest()}"
