"""What a harvest holds in memory, saved now and then: one that goes on reads only the answers that came after.

A checkpoint is a shortcut past the replay of the state (`store.state`), never a source of truth: where it is missing, of another version
or plan, or damaged, the answers are replayed from the first. It is a pickle that is read with a list of the classes that it may have:
values of the pure modules, which open nothing and send nothing, so that a folder from elsewhere can do no more than say wrong things.
"""

import hashlib
import io
import pickle
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import urlsplit

import numpy as np

from upwell.extract.values import Type
from upwell.harvest.events import Asked, Held, LateRow, Observer
from upwell.harvest.plan import Plan
from upwell.harvest.reader import Spent
from upwell.harvest.session import SourceSession
from upwell.model import PAGE
from upwell.site.discover import Discovery
from upwell.store.scratch import ScratchFile
from upwell.store.state import State
from upwell.store.typed import typed_fields

__all__ = ["Checkpoint", "events_before"]

FILE = "checkpoint"
DIGEST_BYTES = hashlib.sha256().digest_size  # at its beginning: SHA-256 of the rest
WORDS_FILE = "checkpoint-words-{}"  # what each source holds of the words of its records
MIN_REQUESTS = 200  # between two checkpoints
MAX_TOLD = 200  # requests from before a checkpoint that those who follow are told of
GROWTH = 0.1  # of the requests, between two: so that all of them cost a small share of the harvest
# Modules whose classes a checkpoint may have; all but the last line are pure (pyproject.toml: import-linter).
MODULES = (
    "upwell.answers.", "upwell.extract.", "upwell.key_set", "upwell.model", "upwell.page.", "upwell.queries.", "upwell.site.",
    "upwell.source.", "upwell.harvest.beginnings", "upwell.harvest.beliefs", "upwell.harvest.check_queries", "upwell.harvest.chooser",
    "upwell.harvest.coverage", "upwell.harvest.facet_questions", "upwell.harvest.ledger", "upwell.harvest.list_finder", "upwell.harvest.list_questions",
    "upwell.harvest.exports", "upwell.harvest.listing", "upwell.harvest.open_query", "upwell.harvest.page_steps", "upwell.harvest.proposers",
    "upwell.harvest.details", "upwell.harvest.reader", "upwell.harvest.session", "upwell.store.url_repository",
)  # fmt: skip
NAMES = {
    ("array", "_array_reconstructor"), ("array", "array"), ("collections", "Counter"), ("collections", "OrderedDict"),
    ("collections", "defaultdict"), ("collections", "deque"), ("numpy", "dtype"), ("numpy", "ndarray"),
    ("numpy._core.multiarray", "_reconstruct"), ("numpy._core.multiarray", "scalar"), ("numpy._core.numeric", "_frombuffer"),
    ("numpy.random._pcg64", "PCG64"), ("numpy.random._pickle", "__bit_generator_ctor"), ("numpy.random._pickle", "__generator_ctor"),
    ("numpy.random.bit_generator", "SeedSequence"), ("numpy.random.bit_generator", "__pyx_unpickle_SeedSequence"),
    ("builtins", "set"), ("builtins", "frozenset"), ("builtins", "int"), ("builtins", "list"), ("builtins", "dict"),
}  # fmt: skip
OWN_COLUMNS = ("_key", "_url", "_path", "_source", "_query", "_page", "_fetched")  # of a record when it comes
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
    """The checkpoint of one harvest, in its folder; `key` is what decides which questions are asked ("": none is kept)."""

    def __init__(self, folder: Path | None, key: str, state: State) -> None:
        self.folder, self.state = folder if key else None, state
        self.key = f"{key} {_versions()}" if key else ""
        self._saved_at = 0  # requests

    def scratch(self, number: int) -> ScratchFile:
        """Where a source puts away what it holds of words."""
        return ScratchFile(self.folder / WORDS_FILE.format(number) if self.folder else None)

    def save_if_due(
        self, discovery: Discovery, sessions: Sequence[SourceSession], sent: int, received: int, *, is_end: bool
    ) -> None:
        """Saves everything, between two requests, if enough was asked since, or the harvest is about to end."""
        if self.folder is None or not (is_end or sent - self._saved_at >= max(MIN_REQUESTS, GROWTH * sent)):
            return
        last = self.state.last_outcome()
        if sent == self._saved_at or last is None or not self.state.is_replayed:
            return
        self._saved_at = sent
        self.state.write_records()  # what it has read is not replayed
        held = sum(len(session.ledger) for session in sessions)
        partial = self.folder / f".{FILE}.part"
        with partial.open("wb") as file:
            file.write(bytes(DIGEST_BYTES))  # its place
            data = _Digested(file)
            pickler = _Pickler(data, sessions)
            pickler.dump((self.key, last, held))
            pickler.dump((discovery, list(sessions), sent, received))
            file.seek(0)
            file.write(data.digest.digest())
        partial.replace(self.folder / FILE)

    def load(
        self, *, plan: Plan, observe: Observer, spent: Callable[[], Spent]
    ) -> tuple[Discovery, list[SourceSession], int, int] | None:
        """What the last checkpoint of just this harvest has, as if its answers had been replayed; None where there is none."""
        if self.folder is None:
            return None
        try:
            data = memoryview((self.folder / FILE).read_bytes())
            if hashlib.sha256(data[DIGEST_BYTES:]).digest() != data[:DIGEST_BYTES]:
                return None
            anew = {"state": self.state, "plan": plan, "observe": observe, "spent": spent, "scratch": self.scratch}
            unpickler = _Unpickler(io.BytesIO(data[DIGEST_BYTES:]), anew, self.scratch)
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
        """Removes what is no longer needed: nothing is left to ask."""
        for file in (FILE, *(WORDS_FILE.format(number) for number in range(100))) if self.folder else ():
            path = (self.folder or Path()) / file
            if file != FILE and not path.exists():
                break
            path.unlink(missing_ok=True)


class _Digested:
    """A file that is written, and the digest of what was."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self.digest = file, hashlib.sha256()

    def write(self, data: bytes, /) -> int:
        """Writes bytes."""
        self.digest.update(data)
        return self._file.write(data)


class _Pickler(pickle.Pickler):
    """Pickles sessions without what each process has anew."""

    def __init__(self, file: _Digested, sessions: Sequence[SourceSession]) -> None:
        super().__init__(file, protocol=5)
        setting = sessions[0].setting
        names = ("state", "plan", "observe", "spent", "scratch")
        self._anew: dict[int, tuple[object, ...]] = {id(getattr(setting, name)): (name,) for name in names}
        for number, session in enumerate(sessions):
            blobs = session.chooser.words.blobs
            if isinstance(blobs, ScratchFile):
                self._anew[id(blobs)] = ("words", number, blobs.size, blobs.check)

    def reducer_override(self, value: object) -> Any:
        """Unlike `persistent_id` not asked about every text and number, which would take as long as all the rest."""
        return (_anew, self._anew[id(value)]) if id(value) in self._anew else NotImplemented


def _anew(*values: object) -> object:
    """Stands in a checkpoint for what each process has anew; `_Unpickler` knows what that is."""
    raise pickle.UnpicklingError(f"no process has {values}")


class _Unpickler(pickle.Unpickler):
    """Reads values of the listed classes, and nothing else."""

    def __init__(self, file: io.BytesIO, anew: Mapping[str, object], scratch: Callable[[int], ScratchFile]) -> None:
        super().__init__(file)
        self.anew, self.scratch = anew, scratch
        self._words: dict[int, ScratchFile] = {}

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == (__name__, _anew.__name__):
            return self._anew
        found = super().find_class(module, name) if (module, name) in NAMES or module.startswith(MODULES) else None
        if found is None or ((module, name) not in NAMES and not isinstance(found, type)):
            raise pickle.UnpicklingError(f"a checkpoint has no {module}.{name}")
        return found

    def _anew(self, name: str, *values: Any) -> Any:
        if name != "words":
            return self.anew[name]
        number, size, check = map(int, values)
        if number not in self._words:
            self._words[number] = self.scratch(number)
            if not self._words[number].take_up(size, check):
                raise pickle.UnpicklingError("the words are not as they were left")
        return self._words[number]


def events_before(state: State, sessions: Sequence[SourceSession], *, has_all_records: bool) -> Iterator[Asked | Held]:
    """What came until the checkpoint, for those that follow the harvest: some requests of each source, and all records or the first."""
    for session in sessions:
        ledger = session.ledger
        sizes = {requests: statement for requests, _, statement in ledger.sizes}
        for requests, held, matches in ledger.curve[:: max(1, len(ledger.curve) // MAX_TOLD)]:
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
            yield Held(row=LateRow(partial(_row_when_it_came, row, types.get(str(row["_source"]), {}))))
            if not has_all_records:
                return


def _row_when_it_came(row: Mapping[str, Any], types: Mapping[str, Type]) -> dict[str, object]:
    """A record of the table as those were told of it who followed."""
    fields = {name: value for name, value in row.items() if not name.startswith(("_", PAGE))}
    return {**{name: row[name] for name in OWN_COLUMNS}, **typed_fields(fields, types)}


@cache
def _versions() -> str:
    """What a checkpoint must have been written by: this Python, this NumPy, and just this code."""
    code = hashlib.sha256()
    for file in sorted(Path(__file__).parents[1].rglob("*.py")):
        code.update(file.read_bytes())
    return f"{sys.version_info[:3]} {np.__version__} {code.hexdigest()}"
