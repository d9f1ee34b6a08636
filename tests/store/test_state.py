"""The state of a harvest: what is remembered, what is merged, and what is said when it cannot be kept."""

import random
import sqlite3
from pathlib import Path

import pytest

from upwell.errors import CannotKeep
from upwell.model import Outcome, Record, Request, Response
from upwell.store.state import State

ABOUT = {"_source": "http://h/s", "_query": "q", "_page": "p1"}


def answer(request: Request, body: bytes = b"x", status: int = 200) -> Response:
    return Response(request=request, url=request.url, status=status, headers={"Content-Type": "text/html"}, body=body)


def test_outcomes_come_back_in_their_order(tmp_path: Path) -> None:
    """A request that failed and was sent again is recalled so; after the last outcome there is nothing, or the last answer."""
    path, request = tmp_path / "state.sqlite", Request(url="http://h/?q=1", query="1")
    with State(path) as state:
        state.store(request, Outcome(error="down", sent=5))
        state.store(request, Outcome(response=answer(request, b"\xff\x00"), sent=2, bytes=9))
    with State(path) as state:
        first, second = state.replay(request), state.replay(request)
        assert first is not None
        assert second is not None
        assert second.response is not None
        assert (first.error, first.sent, second.response.body, second.bytes) == ("down", 5, b"\xff\x00", 9)
        assert state.replay(request) is None
        again = state.replay(request, reuse=True)
        assert again is not None
        assert again.sent == 0
        assert state.replay(Request(url="http://h/?q=1", method="POST", body=b"a")) is None


def test_what_went_wrong_last_is_tried_again(tmp_path: Path) -> None:
    """Errors after the last answer are forgotten when the state is opened again, those before it are not."""
    path = tmp_path / "state.sqlite"
    one, two, three = (Request(url=f"http://h/{n}") for n in range(3))
    with State(path) as state:
        state.store(one, Outcome(error="early"))
        state.store(two, Outcome(response=answer(two)))
        state.store(three, Outcome(error="late"))
    with State(path) as state:
        assert state.replay(one) is not None
        assert state.replay(three) is None


def test_records_are_merged_and_counted_once_for_each_answer(tmp_path: Path) -> None:
    """A further sight fills gaps; the same sight again, as after a kill, changes nothing."""
    with State(tmp_path / "state.sqlite") as state:
        some = [Record(key="a", url=None, path="/x", text="", fields={"n": "1"})]
        more = [Record(key="a", url=None, path="/x", text="", fields={"n": "other", "m": "2"})]
        assert state.add(some, ABOUT) == [True]
        assert state.add(more, {**ABOUT, "_page": "p2"}) == [False]
        state.add(more, {**ABOUT, "_page": "p2"})
        (row,) = state.rows()
        assert row == {
            "_key": "a", "_source": "http://h/s", "_url": None, "_query": "q", "_page": "p1", "_path": "/x", "_seen": 2, "n": "1", "m": "2",
        }  # fmt: skip


def test_a_later_run_tells_new_changed_and_unseen() -> None:
    """What changed replaces what was held, which goes into the history; what is gone leaves the table."""
    with State() as state:
        state.add([Record(key=k, url=None, path="", text="", fields={"n": k}) for k in "abc"], ABOUT)
        state.start_next_run()
        state.add([Record(key=k, url=None, path="", text="", fields={"n": n}) for k, n in ("aA", "bb", "dd")], ABOUT)
        assert state.keys_by_change() == {"new": ["d"], "changed": ["a"], "unchanged": ["b"], "unseen": ["c"]}
        state.move_to_history(["c"])
        assert [(row["_key"], row["n"]) for row in state.rows()] == [("a", "A"), ("b", "b"), ("d", "d")]


def test_two_processes_a_damaged_file_and_a_place_that_is_none(tmp_path: Path) -> None:
    """Each is said with what to do about it, and nothing is changed."""
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


def test_a_full_disk_is_said(tmp_path: Path) -> None:
    """SQLite's own limit on pages stands in for the disk's: the error names the way out, and what was kept stays."""
    with State(tmp_path / "state.sqlite") as state:
        state._db.execute("PRAGMA max_page_count = 20")
        request = Request(url="http://h/")
        large = Outcome(response=answer(request, random.Random(0).randbytes(1_000_000)))  # no secrets
        with pytest.raises(CannotKeep, match="full"):
            state.store(request, large)
        assert state.note("version") == "2"
