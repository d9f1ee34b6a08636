"""Save the memory of a running harvest, so that continuing it reads only the answers received since.

A checkpoint is a shortcut past the replay of the state (`store.state`), never a source of truth: if it is missing, damaged, or from another version
or plan, all answers are replayed. It is a pickle that is read with an allow list of classes: values of the pure modules, which open and send
nothing, so that a folder from elsewhere can at worst contain wrong values.
"""

import hashlib
import io
import logging
import os
import pickle
import sys
import tempfile
import weakref
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import urlsplit

import numpy as np

from upwell.choose.plan import Plan
from upwell.discover.discovery import Discovery
from upwell.errors import CannotKeep
from upwell.harvest.events import Asked, Held, LazyRow, Observer
from upwell.harvest.reader import BudgetUse
from upwell.harvest.session import SourceSession
from upwell.records.values import ValueType
from upwell.store.state import State
from upwell.table.value_types import typed_fields
from upwell.types import PAGE_PREFIX

__all__ = ["Checkpoint", "ScratchFile", "replayed_events"]

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
                self.size += os.pwrite(self._file, data[self.size - offset :], self.size)
        except OSError as error:
            raise CannotKeep(f"{self._path or tempfile.gettempdir()} cannot be written: {error.strerror}") from error
        self.check = zlib.crc32(data, self.check)
        return offset

    def read(self, offset: int, size: int) -> bytes:
        """Return bytes at an offset."""
        return os.pread(self._file, size, offset)

    def reopen(self, size: int, check: int) -> bool:
        """Reopen the bytes written by an earlier process; return True if they are unchanged."""
        if not size:
            return True
        try:
            self._open(os.O_RDWR)
            os.ftruncate(self._file, size) if os.fstat(self._file).st_size >= size else None
            for offset in range(0, size, CHUNK_BYTES):
                self.check = zlib.crc32(self.read(offset, min(CHUNK_BYTES, size - offset)), self.check)
        except OSError:
            return False
        self.size = size
        return self.check == check

    def _open(self, flags: int) -> None:
        if self._path is None:
            with tempfile.TemporaryFile(buffering=0) as file:
                self._file = os.dup(file.fileno())
        else:
            self._file = os.open(self._path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        weakref.finalize(self, os.close, self._file)


CHECKPOINT_FILE = "checkpoint"
DIGEST_BYTES = hashlib.sha256().digest_size  # SHA-256 of the rest, at the start of the file
WORDS_FILE = "checkpoint-words-{}"  # record words of each source
MIN_REQUESTS = 200  # requests between two checkpoints, at least
MAX_REPLAYED_REQUESTS = 200  # requests from before the checkpoint that are reported to observers
MIN_GROWTH = 0.1  # growth of the requests between two checkpoints, which bounds their total cost; not swept
# Modules whose classes a checkpoint may contain; all but the last line are pure (pyproject.toml: import-linter).
ALLOWED_MODULES = (
    "upwell.answers.", "upwell.arrays.", "upwell.choose.", "upwell.discover.", "upwell.lexicon.", "upwell.page.", "upwell.papers.", "upwell.records.",
    "upwell.source.", "upwell.table.", "upwell.types", "upwell.urls.",
    "upwell.harvest.list_finder", "upwell.harvest.reader", "upwell.harvest.record_pages", "upwell.harvest.session",
)  # fmt: skip
ALLOWED_NAMES = {
    ("array", "_array_reconstructor"), ("array", "array"), ("collections", "Counter"), ("collections", "OrderedDict"),
    ("collections", "defaultdict"), ("collections", "deque"), ("numpy", "dtype"), ("numpy", "ndarray"),
    ("numpy._core.multiarray", "_reconstruct"), ("numpy._core.multiarray", "scalar"), ("numpy._core.numeric", "_frombuffer"),
    ("numpy.random._pcg64", "PCG64"), ("numpy.random._pickle", "__bit_generator_ctor"), ("numpy.random._pickle", "__generator_ctor"),
    ("numpy.random.bit_generator", "SeedSequence"), ("numpy.random.bit_generator", "__pyx_unpickle_SeedSequence"),
    ("builtins", "set"), ("builtins", "frozenset"), ("builtins", "int"), ("builtins", "list"), ("builtins", "dict"),
}  # fmt: skip
PROVENANCE_COLUMNS = ("_key", "_url", "_path", "_source", "_query", "_page", "_fetched")  # of a new record
UNREADABLE = (
    pickle.UnpicklingError,
    EOFError,
    OSError,
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    AttributeError,
    ImportError,
)


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
        partial = self.folder / f".{CHECKPOINT_FILE}.part"
        with partial.open("wb") as file:
            file.write(bytes(DIGEST_BYTES))  # placeholder for the digest
            data = _DigestWriter(file)
            pickler = _Pickler(data, sessions)
            pickler.dump((self.key, last, held))
            pickler.dump((discovery, list(sessions), sent, received))
            file.seek(0)
            file.write(data.digest.digest())
        partial.replace(self.folder / CHECKPOINT_FILE)
        logger.info("checkpoint after %d requests, %d records", sent, held)

    def load(
        self, *, plan: Plan, observe: Observer, spent: Callable[[], BudgetUse]
    ) -> tuple[Discovery, list[SourceSession], int, int] | None:
        """Return the contents of the last checkpoint of this harvest, as if its answers had been replayed; None if there is none."""
        if self.folder is None:
            return None
        try:
            data = memoryview((self.folder / CHECKPOINT_FILE).read_bytes())
            if hashlib.sha256(data[DIGEST_BYTES:]).digest() != data[:DIGEST_BYTES]:
                return None
            process_values = {
                "state": self.state,
                "plan": plan,
                "observe": observe,
                "spent": spent,
                "scratch": self.scratch,
            }
            unpickler = _Unpickler(io.BytesIO(data[DIGEST_BYTES:]), process_values, self.scratch)
            key, last, held = unpickler.load()
            if key != self.key or not self.state.has_outcome(*last) or len(self.state) < held:
                return None
            discovery, sessions, sent, received = unpickler.load()
        except UNREADABLE:
            return None
        self.state.skip_replay(last[0])
        self._saved_at = sent
        return discovery, sessions, sent, received

    def remove(self) -> None:
        """Remove the checkpoint once nothing is left to send."""
        for file in (CHECKPOINT_FILE, *(WORDS_FILE.format(number) for number in range(100))) if self.folder else ():
            path = (self.folder or Path()) / file
            if file != CHECKPOINT_FILE and not path.exists():
                break
            path.unlink(missing_ok=True)


class _DigestWriter:
    """Writer that computes the digest of what it writes."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self.digest = file, hashlib.sha256()

    def write(self, data: bytes, /) -> int:
        """Write bytes."""
        self.digest.update(data)
        return self._file.write(data)


class _Pickler(pickle.Pickler):
    """Pickler of sessions without the values that each process creates anew."""

    def __init__(self, file: _DigestWriter, sessions: Sequence[SourceSession]) -> None:
        super().__init__(file, protocol=5)
        context = sessions[0].context
        names = ("state", "plan", "observe", "spent", "scratch")
        self._process_values: dict[int, tuple[object, ...]] = {id(getattr(context, name)): (name,) for name in names}
        for number, session in enumerate(sessions):
            blobs = session.chooser.words.blobs
            if isinstance(blobs, ScratchFile):
                self._process_values[id(blobs)] = ("words", number, blobs.size, blobs.check)

    def reducer_override(self, value: object) -> Any:
        """Replace process values; unlike `persistent_id` this is not called for every text and number, which would double the time."""
        return (
            (_process_value, self._process_values[id(value)]) if id(value) in self._process_values else NotImplemented
        )


def _process_value(*values: object) -> object:
    """Stand in a checkpoint for a value that each process creates; resolved by `_Unpickler`."""
    raise pickle.UnpicklingError(f"no value of this process is called {values}")


class _Unpickler(pickle.Unpickler):
    """Unpickler that accepts only the allowed classes."""

    def __init__(
        self, file: io.BytesIO, process_values: Mapping[str, object], scratch: Callable[[int], ScratchFile]
    ) -> None:
        super().__init__(file)
        self.process_values, self.scratch = process_values, scratch
        self._words: dict[int, ScratchFile] = {}

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == (__name__, _process_value.__name__):
            return self._process_value
        value = (
            super().find_class(module, name)
            if (module, name) in ALLOWED_NAMES or module.startswith(ALLOWED_MODULES)
            else None
        )
        if value is None or ((module, name) not in ALLOWED_NAMES and not isinstance(value, type)):
            raise pickle.UnpicklingError(f"a checkpoint may not contain {module}.{name}")
        return value

    def _process_value(self, name: str, *values: Any) -> Any:
        if name != "words":
            return self.process_values[name]
        number, size, check = map(int, values)
        if number not in self._words:
            self._words[number] = self.scratch(number)
            if not self._words[number].reopen(size, check):
                raise pickle.UnpicklingError("the record words have changed")
        return self._words[number]


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
                source=ledger.interface.url,
            )
    types = {session.ledger.interface.url: session.ledger.model.columns.types for session in sessions}
    for row in state.rows():
        if any(row["_key"] in session.ledger.held for session in sessions):
            yield Held(row=LazyRow(partial(_event_row, row, types.get(str(row["_source"]), {}))))
            if not has_all_records:
                return


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
