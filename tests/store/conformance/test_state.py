"""Contents of a state, wherever it is stored: every test runs with SQLite and with PostgreSQL."""

import json
import random
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from tests.store.conformance.conftest import Place
from upwell.errors import CannotKeep
from upwell.store.database import ADDED_COLUMNS, VERSION, StateDatabase
from upwell.store.location import PostgresLocation, open_database
from upwell.store.read_only import ReadOnlyState
from upwell.store.state import ASKED_BY_NOTE, MAX_BATCH_RECORDS, MAX_BATCH_SECONDS, State
from upwell.types import PAGE_PREFIX, ArchivedBody, Decision, Outcome, Record, Request, Response, WeighedCandidate

ORIGIN = {"_source": "http://h/s", "_query": "q", "_page": "p1"}


def answer(request: Request, body: bytes = b"x", status: int = 200) -> Response:
    return Response(request=request, url=request.url, status=status, headers={"Content-Type": "text/html"}, body=body)


def records(**fields: str) -> list[Record]:
    return [Record(key=key, url=None, path="", text="", fields={"n": value}) for key, value in fields.items()]


@contextmanager
def written(place: Place) -> Iterator[StateDatabase]:
    """Open the tables of a state for a test that damages them."""
    db = open_database(place)
    try:
        yield db
    finally:
        db.close()


def test_outcomes_are_replayed_in_order(place: Place) -> None:
    """First the error, then the answer; after that nothing, or the answer again if it may be reused."""
    request = Request(url="http://h/?q=1", query="1")
    with State(place) as state:
        state.store(request, Outcome(error="down", sent=5))
        state.store(request, Outcome(response=answer(request, b"\xff\x00"), sent=2, bytes=9))
        assert state.replay(request) is None, "what this process stored is not replayed to it"
    with State(place) as state:
        first, second = state.replay(request), state.replay(request)
        assert first is not None
        assert second is not None
        assert second.response is not None
        assert (first.error, first.sent, second.response.body, second.bytes) == ("down", 5, b"\xff\x00", 9)
        assert (second.response.url, second.response.status) == (request.url, 200)
        assert second.response.headers == {"Content-Type": "text/html"}
        assert state.replay(request) is None
        again = state.replay(request, reuse=True)
        assert again is not None
        assert again.sent == 0
        assert state.replay(Request(url="http://h/?q=1", method="POST", body=b"a")) is None
        assert state.requests_sent() == 7


def test_an_error_page_is_not_reused_and_an_old_outcome_does_not_count(place: Place) -> None:
    """`reuse` returns successful answers only; `max_age` ignores older ones."""
    page = Request(url="http://h/404")
    with State(place) as state:
        state.store(page, Outcome(response=answer(page, status=404), sent=1))
        assert state.replay(page, reuse=True) is None
    with State(place) as state:
        assert state.replay(page, max_age=3600) is not None
    with written(place) as db:
        db.executemany("UPDATE outcomes SET at = at - ?", [(7200,)])
    with State(place) as state:
        assert state.replay(page, max_age=3600) is None
        assert state.replay(page) is not None


def test_trailing_errors_are_deleted_on_opening(place: Place) -> None:
    """Errors after the last answer are deleted, so that their requests are sent again; earlier errors stay."""
    failed_early, answered, failed_late, refused = (Request(url=f"http://h/{n}") for n in range(4))
    with State(place) as state:
        state.store(failed_early, Outcome(error="early"))
        state.store(answered, Outcome(response=answer(answered)))
        for _ in range(60):  # more than are read at a time
            state.store(failed_late, Outcome(error="late"))
        state.store(refused, Outcome(response=answer(refused, status=503)))
    with State(place) as state:
        assert state.replay(failed_early) is not None
        assert state.replay(answered) is not None
        assert state.replay(failed_late) is None
        assert state.replay(refused) is None
        assert state.replay(refused, reuse=True) is None


def test_a_state_with_only_errors_starts_anew(place: Place) -> None:
    """A harvest that never received an answer begins from the start."""
    request = Request(url="http://h/")
    with State(place) as state:
        state.store(request, Outcome(error="down"))
    with State(place) as state:
        assert state.replay(request) is None
        state.store(request, Outcome(response=answer(request)))
        assert state.replay(request, reuse=True) is not None


def test_records_are_merged_and_counted_once_per_page(place: Place) -> None:
    """A second sighting fills gaps; the same page again, as in a replay, changes nothing."""
    with State(place) as state:
        first = [Record(key="a", url=None, path="/x", text="", fields={"n": "1"})]
        second = [Record(key="a", url=None, path="/x", text="", fields={"n": "other", "m": "2"})]
        assert state.add(first, ORIGIN) == [True]
        assert state.add(second, {**ORIGIN, "_page": "p2"}) == [False]
        state.add(second, {**ORIGIN, "_page": "p2"})
        (row,) = state.rows()
        assert row == {
            "_key": "a", "_source": "http://h/s", "_url": None, "_query": "q", "_page": "p1", "_path": "/x", "_seen": 2, "_fetched": None, "n": "1", "m": "2",
        }  # fmt: skip


def test_a_key_twice_on_a_page_is_one_record(place: Place) -> None:
    """It is one sighting; the second fills the gaps of the first."""
    twice = [
        Record(key="a", url=None, path="", text="", fields=fields) for fields in ({"n": "1"}, {"n": "2", "m": "3"})
    ]
    with State(place) as state:
        assert state.add(twice, ORIGIN) == [True, False]
        (row,) = state.rows()
        assert (row["n"], row["m"], row["_seen"]) == ("1", "3", 1)


def test_rows_are_returned_in_the_order_of_arrival(place: Place) -> None:
    """With more rows than are read at a time, and keys in another order."""
    keys = [f"{(n * 7919) % 2503:05d}" for n in range(2500)]
    with State(place) as state:
        for start in range(0, 2500, 250):
            some = records(**dict.fromkeys(keys[start : start + 250], "x"))
            assert state.add(some, {**ORIGIN, "_page": str(start)}) == [True] * 250
        state.add(records(**{keys[3]: "y"}), {**ORIGIN, "_page": "later"})
        assert [row["_key"] for row in state.rows()] == keys
        assert len(state) == 2500


def test_fields_that_differ_between_queries_are_varying(place: Place) -> None:
    """A field that changes whenever another query returns the record varies; a constant one does not."""
    with State(place) as state:
        for number in range(8):
            found = [Record(key="a", url=None, path="", text="", fields={"score": str(number), "name": "n"})]
            state.add(found, {**ORIGIN, "_query": f"q{number}", "_page": f"p{number}"})
        assert state.varying() == {"http://h/s": {"score"}}


def test_fields_of_record_pages_are_stored_with_the_record(place: Place) -> None:
    """They have their own names, and a later run with other values keeps the old row in the history."""
    with State(place) as state:
        state.add(records(a="1", b="2"), ORIGIN)
        state.add_details("a", {"n": "long"})
        assert [row.get(PAGE_PREFIX + "n") for row in state.rows()] == ["long", None]
        state.start_next_run()
        state.add_details("a", {"n": "longer"})
        state.add_details("b", {"n": "first"})
        assert [row.get(PAGE_PREFIX + "n") for row in state.rows()] == ["longer", "first"]
        assert [kind for kind, _, _ in state.changes()] == ["changed"]


def test_a_later_run_finds_new_changed_and_unseen_records(place: Place) -> None:
    """A changed row replaces the old one, which is moved to the history; gone records leave the table."""
    with State(place) as state:
        state.add(records(a="a", b="b", c="c"), ORIGIN)
        state.start_next_run()
        state.add(records(a="A", b="b", d="d"), ORIGIN)
        assert state.keys_by_change() == {"new": ["d"], "changed": ["a"], "unchanged": ["b"], "unseen": ["c"]}
        assert state.last_sights() == {1: {"q": {"a", "b", "c"}}}
        assert state.keys_by_query(2) == {"q": {"a", "b", "d"}}
        state.move_to_history(["c"])
        state.move_to_history(["c"])  # it is gone already
        assert [(row["_key"], row["n"]) for row in state.rows()] == [("a", "A"), ("b", "b"), ("d", "d")]
        changes = [(kind, before.get("n"), now.get("n")) for kind, before, now in state.changes()]
        assert changes == [("new", None, "d"), ("changed", "a", "A"), ("gone", "c", None)]
    with State(place) as state:
        assert state.run_number == 2
        state.forget_records()
        assert (len(state), state.note("finished")) == (0, "")


def test_a_run_does_not_replay_the_previous_run(place: Place) -> None:
    """A refresh sends its requests again; its outcomes are replayed to the next process."""
    request = Request(url="http://h/")
    with State(place) as state:
        state.store(request, Outcome(response=answer(request, b"old"), sent=1))
        state.start_next_run()
        assert state.replay(request, reuse=True) is None
        state.store(request, Outcome(response=answer(request, b"new"), sent=1))
        assert state.requests_sent() == 1
    with State(place) as state:
        outcome = state.replay(request)
        assert outcome is not None
        assert outcome.response is not None
        assert outcome.response.body == b"new"
        assert state.replay(request) is None


def test_records_have_the_keys_of_the_rows_that_asked(place: Place) -> None:
    """If queries come from rows of another harvest, each record has the keys of these rows."""
    with State(place) as state:
        state.set_note(ASKED_BY_NOTE, json.dumps({"q": ["row 1", "row 2"], "r": ["row 2", "row 3"]}))
        state.add(records(a="a"), ORIGIN)
        state.add(records(a="a", b="b"), {**ORIGIN, "_query": "r", "_page": "p2"})
        assert {row["_key"]: row["_asked_by"] for row in state.rows()} == {
            "a": ["row 1", "row 2", "row 3"],
            "b": ["row 2", "row 3"],
        }


def test_a_note_returns_the_last_stored_text(place: Place) -> None:
    """With any characters; missing notes have a default."""
    with State(place) as state:
        state.set_note("a", "first")
        state.set_note("a", "100 % of it’s “?” :name {x} \\ 漢字 \U0001f600")
    with State(place) as state:
        assert state.note("a") == "100 % of it’s “?” :name {x} \\ 漢字 \U0001f600"
        assert (state.note("b"), state.note("b", "default")) == ("", "default")


def test_texts_with_zero_bytes_are_stored(place: Place) -> None:
    """Fields, keys and errors with zero bytes do not stop a harvest, and can be read again."""
    with State(place) as state:
        strange = [Record(key="k\0", url=None, path="", text="", fields={"n": "a\0b"})]
        assert state.add(strange, ORIGIN) == [True]
        (row,) = state.rows()
        assert row["n"] == "a\0b"
        assert state.add(strange, {**ORIGIN, "_page": "p2"}) == [False]
        state.store(Request(url="http://h/\0"), Outcome(error="bad \0"))


def test_texts_are_sorted_by_their_bytes(place: Place) -> None:
    """The order of queries is the same in all databases, independent of the locale."""
    with State(place) as state:
        for number, query in enumerate(("b", "B", "a", "ä", "Z", "_")):
            state.add(records(a="a"), {**ORIGIN, "_query": query, "_page": str(number)})
        assert list(state.keys_by_query(1)) == ["B", "Z", "_", "a", "b", "ä"]


def test_a_failed_transaction_leaves_nothing(place: Place) -> None:
    """If one record of a page cannot be stored, none is."""
    with State(place) as state:
        bad = [*records(a="a"), Record(key="b", url=None, path="", text="", fields={"n": object()})]  # type: ignore[dict-item] # meant
        with pytest.raises(TypeError):
            state.add(bad, ORIGIN)
        assert len(state) == 0
        assert state.add(records(a="a"), ORIGIN) == [True]


def test_a_second_worker_gets_an_error(place: Place) -> None:
    """While one worker has the state open, another gets an error; afterwards it can open it."""
    with State(place) as state:
        state.set_note("a", "b")
        with pytest.raises(CannotKeep, match=r"is harvesting it already|another process"):
            State(place)
        state.set_note("a", "c")
    with State(place) as state:
        assert state.note("a") == "c"


def test_damaged_rows_are_ignored_and_requested_again(place: Place) -> None:
    """An unreadable body, head or record counts as never received; the rest stays."""
    pages = [Request(url=f"http://h/{n}") for n in range(3)]
    with State(place) as state:
        for page in pages:
            state.store(page, Outcome(response=answer(page), sent=1))
        state.add(records(a="a", b="b"), ORIGIN)
    with written(place) as db:
        db.executemany("UPDATE outcomes SET body = ? WHERE id = ?", [(b"no zlib", 1)])
        db.executemany("UPDATE outcomes SET head = ? WHERE id = ?", [("{broken", 2)])
        db.executemany("UPDATE records SET row = ? WHERE key = ?", [("{broken", "a")])
    with State(place) as state:
        assert [state.replay(page) is None for page in pages] == [True, True, False]
        assert [row["_key"] for row in state.rows()] == ["b"]


def test_bodies_missing_from_the_archive_are_requested_again(place: Place) -> None:
    """A file requests them again; a database also stores them, because another machine may continue."""

    class Lost:
        def read(self, place: ArchivedBody) -> bytes | None:
            return None

    request = Request(url="http://h/")
    archived = ArchivedBody(file="a.warc.gz", offset=7, digest="sha1:X")
    with State(place, Lost()) as state:
        response = Response(request=request, url=request.url, status=200, headers={}, body=b"x", archived=archived)
        state.store(request, Outcome(response=response, sent=1))
    with State(place, Lost()) as state:
        outcome = state.replay(request)
        assert (outcome is not None) == isinstance(place, PostgresLocation)


def test_a_newer_version_is_left_alone(place: Place) -> None:
    """Tables of a later version are not touched, and the message says what to do."""
    with State(place) as state:
        state.set_note("a", "b")
    set_version(place, 99)
    try:
        with pytest.raises(CannotKeep, match=r"newer Upwell \(version 99"):
            State(place)
    finally:
        set_version(place, VERSION)
    with State(place) as state:
        assert state.note("a") == "b"


def test_an_older_version_is_upgraded(place: Place) -> None:
    """Tables of version 1 get the later columns and keep their contents."""
    request = Request(url="http://h/")
    with State(place) as state:
        state.store(request, Outcome(response=answer(request, b"kept")))
    drop_columns(place)
    set_version(place, 1)
    with State(place) as state:
        outcome = state.replay(request)
        assert outcome is not None
        assert outcome.response is not None
        assert outcome.response.body == b"kept"
        assert outcome.response.archived is None


def test_a_request_is_stored_with_its_decision_and_its_yield(place: Place) -> None:
    """The highest number of new records counts; without a decision there is none; rereading everything starts from nothing."""
    chosen, other = WeighedCandidate("word", "lima\0", 2, 19.51, 200.0, 10.3, 80.0), WeighedCandidate("check", "cusco")
    decision = Decision(chosen, (other,), True, "http://h/s")
    request = Request(url="http://h/s?q=lima", query="lima", decision=decision)
    with State(place) as state:
        number = state.store(request, Outcome(response=answer(request), sent=2))
        plain = state.store(Request(url="http://h/robots.txt"), Outcome(error="down"))
        for records_read, new in ((20, 7), (20, 0)):
            state.note_yield(number, records_read, new)
        state.note_yield(0, 20, 20)  # a response that no state has stored
    with written(place) as db:
        first, second = ReadOnlyState(db).stored_requests()
        assert (first.number, first.method, first.url, first.sent, first.status) == (number, "GET", request.url, 2, 200)
        assert (first.decision, first.records, first.new) == (decision, 20, 7)
        assert (second.number, second.decision, second.records, second.error) == (plain, None, None, "down")
        assert not second.is_of_older_version
        assert list(ReadOnlyState(db).stored_requests(plain)) == [second]
        stored = ReadOnlyState(db).answer(number, NoBodies())
        assert stored is not None
        assert (stored.body, stored.number) == (b"x", number)
    with State(place) as state:
        state.forget_records()
    with written(place) as db:
        assert [stored.new for stored in ReadOnlyState(db).stored_requests(number)] == [None]


def test_a_read_only_view_returns_rows_history_and_archive_locations(place: Place) -> None:
    """Rows, details, queries, history and locations in the archive, as used by the web interface."""
    request, digest = Request(url="http://h/%20?q=é"), "sha1:" + "A" * 32
    response = Response(
        request=request, url=request.url, status=200, headers={}, body=b"",
        archived=ArchivedBody(file="f", offset=3, digest=digest),
    )  # fmt: skip
    with State(place, archive=NoBodies()) as state:
        state.store(request, Outcome(response=response))
        state.add(records(a="1", b="1"), ORIGIN)
        state.add(records(a="1"), {**ORIGIN, "_query": "r", "_page": "p2"})
        state.add_details("a", {"n": "own"})
        state.start_next_run()
        state.add(records(a="2"), {**ORIGIN, "_query": "z", "_page": "p3"})
    with written(place) as db:
        window = ReadOnlyState(db)
        assert (window.records(), window.note("run")) == (2, "2")
        assert (window.row("a") or {})["n"] == "2"
        assert window.row("none") is None
        assert window.details("a") == {"n": "own"}
        assert window.sights("a") == ["z", "q", "r"]
        assert [(run, row["n"]) for run, row in window.history("a")] == [(2, "1")]
        assert window.archived("00" * 20) == ArchivedBody(file="f", offset=3, digest=digest)
        assert window.archived_at(request.url) == ArchivedBody(file="f", offset=3, digest=digest)
        assert window.archived_at("http://h/") is None
        assert window.pages_with_records() == ["p1", "p2", "p3"]


class NoBodies:
    """Archive that stores nothing."""

    def read(self, place: ArchivedBody) -> bytes | None:
        return None


def set_version(place: Place, version: int) -> None:
    if isinstance(place, PostgresLocation):
        with psycopg.connect(place.address) as db:
            db.execute("UPDATE upwell.about_tables SET version = %s", (version,))
    else:
        with sqlite3.connect(place) as file:
            file.execute("UPDATE about SET value = ? WHERE name = 'version'", (str(version),))
        file.close()


def drop_columns(place: Place) -> None:
    columns = [column for added in ADDED_COLUMNS.values() for _, column, _ in added]
    if isinstance(place, PostgresLocation):
        with psycopg.connect(place.address) as db:
            for column in columns:
                db.execute(f"ALTER TABLE upwell.all_outcomes DROP COLUMN {column} CASCADE")
            db.execute("ALTER TABLE upwell.sites DROP COLUMN token")
    else:
        with sqlite3.connect(place) as file:
            for column in columns:
                file.execute(f"ALTER TABLE outcomes DROP COLUMN {column}")
        file.close()


def test_errors_name_the_unusable_location(place: Place, tmp_path: Path) -> None:
    """Each says what to do about it."""
    if isinstance(place, PostgresLocation):
        with pytest.raises(CannotKeep, match=r"/nowhere.*does not exist.*run the same command again"):
            State(PostgresLocation(place.address.replace("/conformance", "/nowhere"), "s"))
    else:
        (tmp_path / "bad.sqlite").write_bytes(b"not a database, but long enough to look at" * 100)
        with pytest.raises(CannotKeep, match="damaged"):
            State(tmp_path / "bad.sqlite")
        with pytest.raises(CannotKeep, match="writable"):
            State(tmp_path / "no" / "folder" / "state.sqlite")


def test_a_page_may_have_more_records_than_one_statement(place: Place) -> None:
    """Each is new once, and known after that."""
    page = records(**{f"k{i}": str(i) for i in range(250)})
    with State(place) as state:
        assert state.add(page, ORIGIN) == [True] * 250
        assert state.add(page, {**ORIGIN, "_page": "p2"}) == [False] * 250
        assert [row["_seen"] for row in state.rows()] == [2] * 250


def test_pages_written_together_give_the_same_tables(place: Place) -> None:
    """Random pages of two runs, some of them repeated as in a replay, give the same tables as when each is written immediately."""
    rng = random.Random(3)
    pages = []
    for number in range(120):
        names = rng.sample(("n", "m", "o", "p"), rng.randint(1, 4))
        found = [
            Record(key=f"k{rng.randrange(60)}", url=None, path=str(at), text="", fields={n: str(rng.randrange(3)) for n in names})
            for at in range(rng.randint(0, 9))
        ]  # fmt: skip
        origin = {**ORIGIN, "_source": f"s{number % 2}", "_query": f"q{rng.randrange(8)}", "_page": f"p{number}"}
        pages.append((found, origin))
        if rng.random() < 0.2:
            pages.append(rng.choice(pages))
    kept = []
    for is_later in (False, True):
        with State(place) as state:
            if is_later:
                state.start_next_run()
                state.forget_records()
            start = state.run_number
            for found, origin in pages:
                state.add_later(found, origin) if is_later else state.add(found, origin)
                if origin["_page"] == "p80" and state.run_number == start:
                    state.start_next_run()
            sights = {query: sorted(keys) for query, keys in state.keys_by_query(state.run_number).items()}
            changes, by_change = list(state.changes()), state.keys_by_change()
            kept.append((list(state.rows()), state.varying(), sights, changes, by_change))
    assert kept[0] == kept[1]


def test_pending_records_are_visible_and_written_on_close(place: Place) -> None:
    """They are visible to every reader, and written when the state is closed, however the harvest ended."""
    with State(place) as state:
        state.add_later(records(a="1"), ORIGIN)
        assert len(state) == 1
        state.add_later(records(b="2"), ORIGIN)
        assert [row["_key"] for row in state.rows()] == ["a", "b"]
        state.add_later(records(a="1", c="3"), {**ORIGIN, "_page": "p2"})
        assert state.add(records(c="3"), {**ORIGIN, "_page": "p3"}) == [False]
    failed = State(place)
    failed.add_later(records(d="4"), {**ORIGIN, "_page": "p4"})
    failed.__exit__(ValueError, ValueError("of the harvest"), None)
    with State(place) as state:
        assert [(row["_key"], row["_seen"]) for row in state.rows()] == [("a", 2), ("b", 1), ("c", 2), ("d", 1)]
        state.add_later(records(**{f"k{n}": "x" for n in range(MAX_BATCH_RECORDS)}), {**ORIGIN, "_page": "p5"})
        state._db.close()  # as in a kill
    with State(place) as state:
        assert len(state) == 4 + MAX_BATCH_RECORDS


def test_records_are_written_within_a_second(place: Place) -> None:
    """For readers of a slow harvest: if it sends one request per second, each page is written immediately."""
    with State(place) as state:
        state.add_later(records(a="1"), ORIGIN)
        assert not state._unwritten
        state.add_later(records(b="2"), ORIGIN)
        assert len(state._unwritten) == 1
        state._written_at -= MAX_BATCH_SECONDS
        state.add_later(records(c="3"), ORIGIN)
        assert not state._unwritten


def test_an_unreadable_answer_is_never_returned_again(place: Place) -> None:
    """Neither by a later process, nor for reuse, nor in the next run, nor to readers; other answers are, and its cost still counts."""
    bad, good = Request(url="http://h/?q=bad"), Request(url="http://h/?q=good")
    with State(place) as state:
        number = state.store(bad, Outcome(response=answer(bad), sent=2, bytes=9))
        state.store(good, Outcome(response=answer(good)))
    with State(place) as state:
        state.mark_unreadable(number, "it hangs")
    with State(place) as state:
        outcome = state.replay(bad)
        assert outcome == Outcome(error="it hangs", sent=2, bytes=9, is_unreadable=True)
        assert state.replay(bad, reuse=True) == Outcome(error="it hangs", sent=0, bytes=0, is_unreadable=True)
        assert (replayed := state.replay(good)) is not None
        assert replayed.response is not None
        assert state.is_replayed
        state.start_next_run()
        assert (outcome := state.replay(bad)) is not None
        assert outcome.is_unreadable
        assert state.replay(good) is None
    with written(place) as db:
        reader = ReadOnlyState(db)
        assert reader.unreadable_urls() == {bad.url}
        assert reader.answer(number, archive=None) is None  # type: ignore[arg-type] # the body is in the state
        assert reader.answer(number + 1, archive=None) is not None  # type: ignore[arg-type] # the same
