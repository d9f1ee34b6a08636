"""Every request of a harvest can be explained: why it was sent, what was expected, what came, and why its records are records."""

import json
import logging
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastwarc.warc import ArchiveIterator, WarcRecordType

from tests.command import upwell
from upwell import api
from upwell.choose.expected_yield import KINDS
from upwell.choose.plan import Plan
from upwell.demo import Running, Switches, serve
from upwell.errors import WrongUsage
from upwell.harvest.events import Asked, Event
from upwell.harvest.explain import (
    FEATURE_MEANINGS,
    OLDER,
    PURPOSES,
    ExplainedRequest,
    RequestLog,
    explain_folder,
    lines,
    log_of_folder,
    sentences,
)
from upwell.net.fetch import Manners
from upwell.records.evidence import CUT_FEATURES
from upwell.store.database import ADDED_COLUMNS
from upwell.store.folder import open_folder
from upwell.table.writers import read_keys

FREE = Manners(rate=0)
CANDIDATE_KINDS = {*KINDS, "sort order"}


@pytest.fixture(scope="module")
def harvested(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, list[Asked], Running]]:
    """The folder of a small harvest of the demo site, and the answers that it reported."""
    asked: list[Asked] = []

    def observe(event: Event) -> None:
        if isinstance(event, Asked):
            asked.append(event)

    with serve() as site:
        result = api.harvest(
            site.url, out=tmp_path_factory.mktemp("explained"), plan=Plan(budget=70), manners=FREE, observe=observe
        )
        yield Path(result.folder), asked, site


def sent_urls(folder: Path) -> list[str]:
    """The URLs of the requests in the archive, in order."""
    urls = []
    for file in sorted((folder / "archive").glob("*.warc*")):
        with file.open("rb") as stream:
            records = ArchiveIterator(stream, record_types=WarcRecordType.request)
            urls += [str(record.headers["WARC-Target-URI"]) for record in records]
    return urls


def test_each_request_is_listed_once_with_its_purpose(harvested: tuple[Path, list[Asked], Running]) -> None:
    """As many as the archive has, in the same order; every kind is known."""
    folder, _, _ = harvested
    log = log_of_folder(folder)
    assert [explained.request.url for explained in log.requests] == sent_urls(folder)
    assert [explained.request.number for explained in log.requests] == list(range(1, len(log.requests) + 1))
    assert {explained.kind for explained in log.requests} <= CANDIDATE_KINDS | set(PURPOSES) - {OLDER, "other"}
    assert [explained.kind for explained in log.requests[:3]] == ["robots.txt", "start page", "trial query"]


def test_new_records_of_all_answers_are_the_records_held(harvested: tuple[Path, list[Asked], Running]) -> None:
    """Also where the answer to a trial or probe query was used again for the query itself."""
    folder, _, _ = harvested
    log = log_of_folder(folder)
    assert sum(explained.actual or 0 for explained in log.requests) == len(read_keys(folder / "records.parquet"))
    kinds = log.by_kind()
    assert sum(kind["requests"] for kind in kinds) == len(log.requests)
    assert {kind["kind"]: kind["actual"] for kind in kinds}["probe"] > 0


def test_the_chosen_candidate_has_the_highest_value(harvested: tuple[Path, list[Asked], Running]) -> None:
    """Of those that were compared; the first of the others is the runner-up."""
    compared = [explained for explained in log_of_folder(harvested[0]).requests if explained.others]
    assert len(compared) > 20
    for explained in compared:
        decision = explained.request.decision
        assert decision is not None
        values = [candidate.value or 0.0 for candidate in (decision.chosen, *decision.others)]
        assert decision.prefers_list or values == sorted(values, reverse=True)
        assert len(decision.others) <= 4
        assert decision.runner_up == decision.others[0]
        assert (decision.chosen.expected or 0) > 0
        assert "Without it," in next(sentences(explained))


def test_the_event_of_an_answer_has_its_decision(harvested: tuple[Path, list[Asked], Running]) -> None:
    """Kind, expectation, yield and runner-up, as the state stores them."""
    folder, asked, _ = harvested
    log = {explained.request.number: explained for explained in log_of_folder(folder).requests}
    compared = [event for event in asked if event.runner_up is not None]
    assert len(compared) > 20
    for event in compared:
        explained = log[event.number]
        assert (event.kind, event.page, event.new) == (explained.kind, explained.chosen.page, explained.actual)
        assert event.expected_new == pytest.approx(explained.chosen.expected, abs=1e-3)
        assert event.runner_up is not None
        assert event.runner_up.text == explained.others[0].text
    written = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    assert [line["runner_up"]["kind"] for line in written if line.get("runner_up")]


def test_one_answer_is_explained_by_evidence(harvested: tuple[Path, list[Asked], Running]) -> None:
    """The rule that cut it, the features that speak for it, the next best cut, the total and the next page."""
    folder, _, _ = harvested
    number = next(e.request.number for e in log_of_folder(folder).requests if e.actual and e.chosen.page == 2)
    explained = explain_folder(folder, number)
    answer = explained.answer
    assert answer is not None
    assert (answer.kind, answer.records, answer.rule) == ("multi", explained.request.records, 1)
    assert "li.city" in answer.leader
    assert answer.features[0].points > 0
    assert answer.score > answer.other_cuts[0].score
    assert answer.total is not None
    assert answer.total > answer.records
    assert "page=3" in answer.next_url
    text = "\n".join(lines(explained))
    assert f"Request {number}:" in text
    assert "records begin with the same element" in text
    assert not explained.note


def test_an_answer_without_records_and_other_requests_are_explained(
    harvested: tuple[Path, list[Asked], Running],
) -> None:
    """Why an answer is empty; and that robots.txt was not read for records."""
    folder, _, _ = harvested
    empty = next(e.request.number for e in log_of_folder(folder).requests if e.request.records == 0)
    answer = explain_folder(folder, empty).answer
    assert answer is not None
    assert answer.kind in ("none", "error")
    assert "no rule of the model matches it" in answer.why
    assert next(sentences(explain_folder(folder, 1))) == PURPOSES["robots.txt"]


def test_every_feature_has_a_meaning() -> None:
    """In words, for people."""
    assert set(FEATURE_MEANINGS) == set(CUT_FEATURES)


def test_json_of_the_command(harvested: tuple[Path, list[Asked], Running], tmp_path: Path) -> None:
    """The keys of the contract, and those of the list."""
    folder, _, _ = harvested
    number = next(e.request.number for e in log_of_folder(folder).requests if e.others)
    told = json.loads(upwell("explain", str(folder), str(number), "--json", cwd=tmp_path).stdout)
    assert {"request", "kind", "expected", "actual", "candidates"} <= set(told)
    assert (told["request"], told["candidates"][0]["chosen"]) == (number, True)
    assert [candidate["chosen"] for candidate in told["candidates"][1:]] == [False] * (len(told["candidates"]) - 1)
    listed = json.loads(upwell("explain", str(folder), "--json", cwd=tmp_path).stdout)
    assert set(listed["requests"][0]) == {"request", "kind", "query", "page", "expected", "actual"}
    assert set(listed["kinds"][0]) == {"kind", "requests", "expected", "actual", "compared"}
    shown = upwell("explain", str(folder), cwd=tmp_path).stdout.splitlines()
    assert shown[0].split() == ["request", "kind", "query", "page", "expected", "new"]
    assert len(shown) == len(listed["requests"]) + len(listed["kinds"]) + 3


def test_wrong_numbers_and_folders_are_named(harvested: tuple[Path, list[Asked], Running], tmp_path: Path) -> None:
    """What there is instead."""
    folder, _, _ = harvested
    last = len(log_of_folder(folder).requests)
    with pytest.raises(WrongUsage, match=rf"no request 9999: .* from 1 to {last}; the nearest is {last}"):
        api.explain(folder, 9999)
    assert upwell("explain", str(folder), "0", cwd=tmp_path).returncode == 2
    with pytest.raises(WrongUsage, match="not the folder of a harvest"):
        api.explain(tmp_path)
    for name in ("a", "b"):
        with open_folder(tmp_path / name) as (_, state, _):
            state.set_note("x", "y")
    with pytest.raises(WrongUsage, match=r"contains 2 harvests; choose one of .*/a, .*/b"):
        api.explain(tmp_path)
    with pytest.raises(WrongUsage, match="no requests yet"):
        api.explain(tmp_path / "a", 1)
    with open_folder(tmp_path / "a"), pytest.raises(WrongUsage, match="no requests yet"):  # also while it is harvested
        api.explain(tmp_path / "a", 1)


def test_a_state_of_an_older_version_is_explained_as_far_as_it_goes(tmp_path: Path) -> None:
    """It is not changed by reading; a harvest upgrades it, goes on with it and stores decisions from there on."""
    with serve() as site:
        result = api.harvest(site.url, out=tmp_path, plan=Plan(budget=30), manners=FREE)
        path = Path(result.folder) / "state.sqlite"
        db = sqlite3.connect(path)
        for _, name, _ in ADDED_COLUMNS[3]:
            db.execute(f"ALTER TABLE outcomes DROP COLUMN {name}")
        db.execute("UPDATE about SET value = '3' WHERE name = 'version'")
        db.commit()
        db.close()
        log = api.explain(result.folder)
        assert isinstance(log, RequestLog)
        assert {explained.kind for explained in log.requests} == {"robots.txt", OLDER}
        old = api.explain(result.folder, 20)
        assert isinstance(old, ExplainedRequest)
        assert "older version" in next(sentences(old))
        api.harvest(site.url, out=tmp_path, plan=Plan(budget=50), manners=FREE)
    kinds = [explained.kind for explained in log_of_folder(Path(result.folder)).requests]
    assert kinds[1:30] == [OLDER] * 29
    assert OLDER not in kinds[30:]


def test_a_killed_harvest_stores_each_decision_once(tmp_path: Path) -> None:
    """After SIGKILL and another start, the list is that of a harvest that nobody disturbed."""
    with serve(Switches(latency=0.01)) as site:
        whole = api.harvest(site.url, out=tmp_path / "whole", plan=Plan(budget=60), manners=FREE)
        command = [
            sys.executable,
            "-m",
            "upwell.cli",
            "harvest",
            site.url,
            "-o",
            str(tmp_path / "killed"),
            "--rate",
            "0",
        ]
        for requests in (15, 35):
            process = subprocess.Popen(
                [*command, "--budget", "60"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            events = tmp_path / "killed" / Path(whole.folder).name / "events.jsonl"
            while process.poll() is None and not (events.exists() and _requests(events) >= requests):
                time.sleep(0.01)
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        subprocess.run([*command, "--budget", "60"], check=True, capture_output=True)
    logs = [log_of_folder(folder) for folder in (Path(whole.folder), events.parent)]
    rows = [[explained.row() for explained in log.requests] for log in logs]
    assert rows[0] == rows[1]
    decisions = [[explained.request.decision for explained in log.requests] for log in logs]
    assert decisions[0] == decisions[1]


def _requests(events: Path) -> int:
    lines = [line for line in events.read_text().splitlines() if line.startswith('{"event": "asked"')]
    return int(json.loads(lines[-1])["requests"]) if lines and lines[-1].endswith("}") else 0


# -- the log ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def plain_logger() -> Iterator[None]:
    """The logger as before, after a command has shown it on stderr."""
    logger = logging.getLogger("upwell")
    handlers, level = list(logger.handlers), logger.level
    yield
    logger.handlers[:], logger.level = handlers, level
    logger.manager._clear_cache()  # type: ignore[attr-defined] # levels are cached


@pytest.mark.usefixtures("plain_logger")
@pytest.mark.parametrize("before", [True, False])
def test_the_log_names_components_and_decisions(demo: Running, tmp_path: Path, before: bool) -> None:
    """One line for each request, with -v before or after the verb; stdout has the result only."""
    verb = ["harvest", demo.url, "-o", "out", "--rate", "0", "--budget", "40", "--json"]
    done = upwell(*(["-v", *verb] if before else [*verb, "-v"]), cwd=tmp_path)
    assert done.returncode == 0
    json.loads(done.stdout)
    for name in ("discover", "records", "choose", "harvest", "engines"):
        assert f" upwell.{name}: " in done.stderr
    assert " upwell.net: " not in done.stderr
    (folder,) = (tmp_path / "out").iterdir()
    compared = [e for e in log_of_folder(folder).requests if e.others]
    for explained in compared:
        assert f"upwell.choose: request {explained.request.number}: {explained.kind}" in done.stderr


@pytest.mark.usefixtures("plain_logger")
def test_secrets_are_not_logged(tmp_path: Path) -> None:
    """Neither tokens nor passwords, of headers, cookies, proxies or addresses."""
    from upwell.logs import shown_url

    secrets = ("hunter2hunter2", "t0ken-t0ken-t0ken", "c00kie-c00kie", "pr0xy-pr0xy")
    (tmp_path / "cookies.txt").write_text(
        f"# Netscape HTTP Cookie File\n127.0.0.1\tFALSE\t/\tFALSE\t0\tsid\t{secrets[2]}\n"
    )
    with serve() as site:
        url = site.url.replace("http://", f"http://me:{secrets[0]}@")
        free = ["--rate", "0", "--budget", "20", "-vv"]
        done = upwell("harvest", url, "-o", "out", *free, "--cookies", "cookies.txt", cwd=tmp_path)
        other = upwell("harvest", site.url, "-o", "other", *free, "--token", secrets[1], cwd=tmp_path)
        dead = upwell(
            "forms", site.url, "--rate", "0", "--proxy", f"http://me:{secrets[3]}@127.0.0.1:9", "-vv", cwd=tmp_path
        )
    assert " upwell.net: GET http://127.0.0.1" in done.stderr
    assert " upwell.net: GET http://127.0.0.1" in other.stderr
    assert "attempt 1 of" in dead.stderr
    assert not [secret for secret in secrets if secret in done.stderr + other.stderr + dead.stderr]
    assert shown_url("http://h/a?password=x&q=1&access_token=y") == "http://h/a?password=…&q=1&access_token=…"


def test_a_library_logs_nothing_unless_asked(demo: Running, tmp_path: Path) -> None:
    """A program that uses Upwell decides what is shown."""
    code = f"import upwell; upwell.harvest({demo.url!r}, out={str(tmp_path)!r}, plan=upwell.Plan(budget=20), manners=upwell.Manners(rate=0))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")
