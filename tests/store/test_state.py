"""Errors of a state in a file that cannot be written; its contents are tested in `tests/store/conformance`."""

import random
import sqlite3
from pathlib import Path

import pytest

from upwell.errors import CannotKeep
from upwell.store.database import VERSION
from upwell.store.sqlite import is_locked
from upwell.store.state import State
from upwell.types import Outcome, Request, Response

ORIGIN = {"_source": "http://h/s", "_query": "q", "_page": "p1"}


def answer(request: Request, body: bytes = b"x", status: int = 200) -> Response:
    return Response(request=request, url=request.url, status=status, headers={"Content-Type": "text/html"}, body=body)


def test_errors_for_locked_damaged_and_missing_files_say_what_to_do(tmp_path: Path) -> None:
    """Nothing is changed."""
    path = tmp_path / "state.sqlite"
    with State(path) as state:
        state.set_note("a", "b")
        with pytest.raises(CannotKeep, match="another process"):
            State(path)
    (tmp_path / "bad.sqlite").write_bytes(b"not a database, but long enough to look at" * 100)
    with pytest.raises(CannotKeep, match="damaged"):
        State(tmp_path / "bad.sqlite")
    with pytest.raises(CannotKeep, match="writable"):
        State(tmp_path / "no" / "folder" / "state.sqlite")
    assert sqlite3.connect(path).execute("SELECT value FROM about WHERE name = 'a'").fetchone() == ("b",)


def test_a_state_that_is_written_can_be_read(tmp_path: Path) -> None:
    """Readers see what is committed, in the order of commits; only one process may write, and the right to do so ends with it."""
    path = tmp_path / "state.sqlite"
    with State(path) as state:
        assert is_locked(path)
        state.set_note("a", "1")
        with State(path, read_only=True) as reader:
            state.set_note("a", "2")
            assert reader.note("a") == "1"  # one moment, until it is closed
        with State(path, read_only=True) as reader:
            assert reader.note("a") == "2"
            assert len(reader) == 0
        with pytest.raises(CannotKeep, match="another process"):
            State(path)
        assert state.note("a") == "2"
    assert not is_locked(path)
    assert [each.name for each in tmp_path.iterdir()] == ["state.sqlite"]


def test_a_full_disk_keeps_what_was_stored(tmp_path: Path) -> None:
    """SQLite's limit on pages simulates the disk: the error says what to do, and stored data remain."""
    with State(tmp_path / "state.sqlite") as state:
        state._db.execute("PRAGMA max_page_count = 20")
        request = Request(url="http://h/")
        large = Outcome(response=answer(request, random.Random(0).randbytes(1_000_000)))  # no secrets
        with pytest.raises(CannotKeep, match="full"):
            state.store(request, large)
        assert state.note("version") == str(VERSION)
