"""Explain the requests of a harvest: why each was sent, what its answer brought, and how its records were recognised (`upwell explain`).

The state stores the decision and the yield of each request. The evidence for the records of one answer is computed again: the stored
answer is read with the source model of `source.json`. Nothing is sent.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from upwell.answers.kind import judge_answer
from upwell.answers.totals import read_totals
from upwell.choose.expected_yield import GOOD_SHARE
from upwell.errors import InUse, WrongUsage
from upwell.harvest.reader import label
from upwell.logs import shown_url
from upwell.page.formats import read_page
from upwell.page.tree import TagTree
from upwell.records.evidence import cut_weights
from upwell.records.leaves import split_leaves
from upwell.source.apply import CutEvidence, apply, compare_cuts
from upwell.source.model import SourceModel, interface_entry, load_all
from upwell.source.paging import next_page_of
from upwell.store.archive import read_archived
from upwell.store.folder import harvest_folders
from upwell.store.read_only import ReadOnlyState, StateLocked, StoredRequest, open_read_only
from upwell.store.remote import local_copy
from upwell.types import ArchivedBody, Decision, Response, WeighedCandidate

__all__ = [
    "VALUE_MEANING",
    "AnswerEvidence",
    "ExplainedRequest",
    "Feature",
    "OtherCut",
    "RequestLog",
    "explain",
    "explain_folder",
    "lines",
    "log_of_folder",
    "purpose_of",
    "sentences",
]

MAX_FEATURES = 6  # features shown of a cut, those with the largest contribution
ROBOTS = "/robots.txt"
VISIT_TYPE = "what=seen-in-the-browser"  # in the content type of a stored browser visit
OLDER = "older version"  # kind of requests that were stored before decisions were

VALUE_MEANING = f"value: new in all, minus the records that as many requests would return at {GOOD_SHARE:.0%} of the best new/request"

# What a request is for, by its kind.
PURPOSES = {
    "robots.txt": "It asks which pages programs may request.",
    "start page": "It opens the address that was given.",
    "consent page": "It clicks through a page in front of the site.",
    "browser visit": "It shows a page in the browser, because its search needs JavaScript.",
    "trial query": "It tries a search interface: words must return items that nonsense does not.",
    "discovery": "It opens a page of the site to find its search interfaces.",
    "nonsense probe": "It asks for a made-up word, to learn what an answer without matches looks like.",
    "probe": "It asks for a word of the site, to learn what its answers look like.",
    "probe, next page": "It fetches a further page of a probe query, because few probe queries had matches.",
    "query dependence": "It repeats a query, to see if the records depend on the query at all.",
    "larger page": "It tries a setting that shows more records per page.",
    "page argument": "It changes an argument of the request, to find the one that turns pages.",
    "form page": "It fetches the page of the form again, because its token may have expired.",
    "model check": "It repeats a query that had matches, because recent answers had none: the site may have changed.",
    "index": "It fetches the file that contains all records.",
    "sitemap": "It reads a sitemap, which may list the pages of all records.",
    "list link": "It opens a link that may lead to a list of all records.",
    "record page": "It reads the page of a record for further fields.",
    "missing record": "It opens the page of a record that a query no longer returns, to see if the record is gone.",
    "given": "It is one of the queries that are asked before candidates are compared: those of --words, the probe queries, those of an "
    "earlier run, and queries for everything.",
    "check": "A check query was due: an independent word shows how complete a list is.",
    "list": "It fetches a list that contains records without a query.",
    "other": "No candidates were compared for it.",
    OLDER: "It was recorded by an older version of Upwell, which did not store decisions.",
}

# One-line meaning of each feature of a cut (`records.evidence`).
FEATURE_MEANINGS = {
    "ln_records": "number of records",
    "only_two": "there are only two records",
    "cover": "share of the page's text in records",
    "ln_held": "characters in records",
    "ln_chars": "characters per record",
    "ln_chars_squared": "characters per record, squared",
    "link_share": "share of the records' text in links",
    "with_link": "share of records with a link",
    "only_link": "share of records that are nothing but a link",
    "ln_unlinked": "text outside links per record",
    "deviation_chars": "records differ in length",
    "deviation_leaves": "records differ in their number of texts",
    "deviation_units": "records differ in their number of elements",
    "ln_units": "elements per record",
    "one_unit": "each record is one element",
    "gaps_between": "text between the records",
    "last_path": "records end with the same element",
    "leader_tag": "records begin with the same element",
    "begins_bold": "records begin with a heading, bold text or link",
    "bold_near_start": "a heading, bold text or link is near the start",
    "of_container": "records fill their container",
    "ln_containers": "number of containers",
    "alone_in_container": "each record has its own container",
    "text_before": "text before the first record",
    "text_after": "text after the last record",
    "numbered": "records are numbered",
    "states_range": "the page states a range of this length",
    "states_count": "the number of records occurs on the page",
    "same_separators": "the same separators before each record",
    "separated": "separators before records",
    "begins_block": "records begin a new block",
    "controls": "text in form controls",
    "changing": "text that other answers do not have",
    "cover_changing": "share of the changing text in records",
    "with_query": "records with a word of the query",
    "cover_query": "share of the query's words in records",
    "regular_classed": "records have the same elements, by class",
    "ln_paths_classed": "different elements per record, by class",
    "ln_repeats_classed": "repeated elements inside a record, by class",
    "rare_classed": "elements of a single record, by class",
    "regular_layout": "records have the same elements, by layout",
    "ln_paths_layout": "different elements per record, by layout",
    "ln_repeats_layout": "repeated elements inside a record, by layout",
    "rare_layout": "elements of a single record, by layout",
}


@dataclass(frozen=True, kw_only=True)
class Feature:
    """A feature of a cut, and its contribution to the score."""

    name: str
    meaning: str
    value: float
    weight: float

    @property
    def points(self) -> float:
        """Return the contribution to the score."""
        return self.weight * self.value

    def as_dict(self) -> dict[str, object]:
        """Return the feature as JSON has it."""
        return {
            "name": self.name,
            "value": round(self.value, 4),
            "weight": self.weight,
            "points": round(self.points, 2),
        }


@dataclass(frozen=True, kw_only=True)
class OtherCut:
    """A cut that was not chosen."""

    records: int
    container: str
    score: float
    rule: int | None  # number of the rule that leads to it, from 1; None: no rule does
    differences: tuple[Feature, ...]  # chosen cut minus this one, largest contribution first

    def as_dict(self) -> dict[str, object]:
        """Return the cut as JSON has it."""
        return {
            "records": self.records,
            "container": self.container,
            "score": round(self.score, 2),
            "rule": self.rule,
            "features": [feature.as_dict() for feature in self.differences],
        }


@dataclass(frozen=True, kw_only=True)
class AnswerEvidence:
    """How the source model reads one answer, and the evidence for its records."""

    kind: str  # multi, single, none or error
    why: str
    records: int
    container: str = ""  # path of the element that contains the records
    rule: int | None = None  # number of the rule that cut the answer, from 1
    rules: int = 0  # rules of the model
    leader: str = ""  # how the rule recognises the beginning of a record
    score: float = 0.0
    features: tuple[Feature, ...] = ()  # of the chosen cut, largest contribution first
    other_cuts: tuple[OtherCut, ...] = ()  # best first
    total: int | None = None  # matches that the page states
    next_url: str = ""  # of the next page; "": there is none
    next_via: str = ""  # how the next page was found: link, numbers, button …

    def as_dict(self) -> dict[str, object]:
        """Return the evidence as JSON has it."""
        return {
            "kind": self.kind,
            "why": self.why,
            "records": self.records,
            "container": self.container,
            "rule": self.rule,
            "leader": self.leader,
            "score": round(self.score, 2),
            "features": [feature.as_dict() for feature in self.features],
            "other_cuts": [cut.as_dict() for cut in self.other_cuts],
            "total": self.total,
            "next": {"url": self.next_url, "via": self.next_via} if self.next_url else None,
        }


@dataclass(frozen=True, kw_only=True)
class ExplainedRequest:
    """A request, the decision to send it, and what its answer brought."""

    request: StoredRequest
    answer: AnswerEvidence | None = None  # None: it was not read with the source model
    note: str = ""  # why the answer was not read
    last: int = 0  # number of the last request of the harvest

    @property
    def kind(self) -> str:
        """Return the kind of candidate, or the purpose of a request that no comparison chose."""
        return purpose_of(self.request)

    @property
    def chosen(self) -> WeighedCandidate:
        """Return the candidate that the request was sent for."""
        decision = self.request.decision
        return decision.chosen if decision else WeighedCandidate(self.kind, shown_url(self.request.url))

    @property
    def others(self) -> tuple[WeighedCandidate, ...]:
        """Return the best of the candidates that were compared with it."""
        return self.request.decision.others if self.request.decision else ()

    @property
    def actual(self) -> int | None:
        """Return the number of new records; None if the answer was not read for records."""
        return 0 if self.request.error and self.request.new is None else self.request.new

    def row(self) -> dict[str, object]:
        """Return the request as one line of the log."""
        return {
            "request": self.request.number,
            "kind": self.kind,
            "query": self.chosen.text,
            "page": self.chosen.page,
            "expected": self.chosen.expected,
            "actual": self.actual,
        }

    def as_dict(self) -> dict[str, object]:
        """Return the explanation as JSON has it."""
        stored = self.request
        return {
            **self.row(),
            "expected_total": self.chosen.total,
            "records": stored.records,
            "candidates": [
                {
                    "kind": candidate.kind,
                    "query": candidate.text,
                    "page": candidate.page,
                    "expected": candidate.expected,
                    "expected_total": candidate.total,
                    "pages": candidate.pages,
                    "value": candidate.value,
                    "chosen": candidate is self.chosen,
                }
                for candidate in (self.chosen, *self.others)
            ],
            "reason": reason_of(self),
            "run": stored.run,
            "method": stored.method,
            "url": shown_url(stored.url),
            "source": stored.decision.source if stored.decision else "",
            "time": datetime.fromtimestamp(stored.at, UTC).isoformat(timespec="seconds"),
            "status": stored.status or None,
            "error": stored.error,
            "sent": stored.sent,
            "bytes": stored.bytes,
            "answer": self.answer.as_dict() if self.answer else None,
            "note": self.note,
        }


@dataclass(frozen=True, kw_only=True)
class RequestLog:
    """All requests of a harvest, and their yield by kind."""

    requests: tuple[ExplainedRequest, ...]

    def by_kind(self) -> list[dict[str, Any]]:
        """Return requests, expected and actual new records of each kind, most requests first.

        `expected` and `compared` refer to the requests for which candidates were compared: the new records expected of them, and those
        that their answers had.
        """
        kinds: dict[str, dict[str, Any]] = {}
        for explained in self.requests:
            empty = {"kind": explained.kind, "requests": 0, "actual": 0, "expected": None, "compared": None}
            counted = kinds.setdefault(explained.kind, empty)
            counted["requests"] += 1
            counted["actual"] += explained.actual or 0
            if explained.chosen.expected is not None:
                counted["expected"] = round((counted["expected"] or 0.0) + explained.chosen.expected, 1)
                counted["compared"] = (counted["compared"] or 0) + (explained.actual or 0)
        return sorted(kinds.values(), key=lambda kind: -int(kind["requests"]))

    def as_dict(self) -> dict[str, object]:
        """Return the log as JSON has it."""
        return {"requests": [explained.row() for explained in self.requests], "kinds": self.by_kind()}


def explain(folder: str | Path, number: int | None = None) -> ExplainedRequest | RequestLog:
    """Explain request `number` of the harvest in a folder; without a number, return all requests with their yields.

    The folder may be a remote URL. Raise WrongUsage if it contains no harvest, or several, or the harvest has no such request.
    """
    harvests = list(harvest_folders(local_copy(folder, with_archive=number is not None)))
    if len(harvests) > 1:
        raise WrongUsage(f"{folder} contains {len(harvests)} harvests; choose one of {', '.join(map(str, harvests))}")
    return log_of_folder(harvests[0]) if number is None else explain_folder(harvests[0], number)


def log_of_folder(folder: Path) -> RequestLog:
    """Return the requests of the harvest in a local folder."""
    with _open(folder) as state:
        return RequestLog(requests=tuple(ExplainedRequest(request=stored) for stored in state.stored_requests()))


def explain_folder(folder: Path, number: int) -> ExplainedRequest:
    """Explain one request of the harvest in a local folder."""
    with _open(folder) as state:
        stored, last = next(state.stored_requests(number), None), state.last_number()
        if stored is None:
            if not last:
                raise WrongUsage(f"{folder} has no requests yet; run the harvest first")
            nearest = 1 if number < 1 else last
            raise WrongUsage(
                f"{folder} has no request {number}: its requests are numbered from 1 to {last}; the nearest is {nearest}"
            )
        response = state.answer(number, _Bodies(folder / "archive"))
    answer, note = None, ""
    if stored.error:
        note = f"There was no answer: {stored.error}"
    elif response is None:
        note = "The answer cannot be read from the archive."
    elif stored.records is None or purpose_of(stored) == "record page":
        note = "The answer was not read for records."
    elif (model := _model_for(folder, stored)) is None:
        note = "There is no source.json with a model to read the answer."
    else:
        answer = evidence_of(*model, response, stored)
        if answer.records != stored.records:
            note = (
                f"During the harvest {stored.records} records were read. The model of a list is not saved in source.json, "
                "a model may have been learned again since, and --about leaves out records."
            )
    return ExplainedRequest(request=stored, answer=answer, note=note, last=last)


class _Bodies:
    """Bodies in the archive of a folder, read only."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, location: ArchivedBody, /) -> bytes | None:
        archived = read_archived(self._folder, location)
        return archived[1] if archived is not None else None


@contextmanager
def _open(folder: Path) -> Iterator[ReadOnlyState]:
    try:
        with open_read_only(folder) as state:
            yield state
    except StateLocked as error:
        raise InUse(f"{folder} is being harvested; its requests can be explained when it has ended") from error


def _model_for(folder: Path, stored: StoredRequest) -> tuple[SourceModel, str] | None:
    """Return the model of the source that a request was sent to, and the field of its queries ("": they are part of the path)."""
    try:
        text = (folder / "source.json").read_text(encoding="utf-8")
        saved = json.loads(text)
        entries = saved if isinstance(saved, list) else [saved]
        models = load_all(text)
    except (OSError, ValueError, RecursionError, WrongUsage):
        return None
    source = stored.decision.source if stored.decision else ""
    interfaces = [interface_entry(entry) or {} for entry in entries]
    path = urlsplit(stored.url).path
    by_url = [i for i, interface in enumerate(interfaces) if source and interface.get("url") == source]
    by_path = [i for i, model in enumerate(models) if model.asked_at == path]
    number = next(iter((*by_url, *by_path)), 0)
    return models[number], str(interfaces[number].get("query_field", ""))


def evidence_of(model: SourceModel, query_field: str, response: Response, stored: StoredRequest) -> AnswerEvidence:
    """Read an answer with a source model, and collect the evidence for its records."""
    body, headers, url = response.body, response.headers, response.url
    if VISIT_TYPE in headers.get("Content-Type", ""):  # a visit of the browser is stored as JSON
        page = json.loads(body)
        body, headers, url = page["html"].encode(), {"Content-Type": "text/html; charset=utf-8"}, page["url"]
    tree = read_page(body, url, headers)
    text = stored.decision.chosen.text if stored.decision else ""
    query = "" if "://" in text else text
    asked_at = model.asked_at if query_field else urlsplit(url).path
    reading = apply(model, tree, status=response.status, asked_at=asked_at, query=query)
    leaves = split_leaves(tree)
    cuts = compare_cuts(model, leaves) if reading.kind == "multi" else []
    totals = None
    if reading.kind == "multi":
        totals = read_totals(tree, [record.text for record in reading.records], query, headers, model.frame)
    following = next_page_of(tree, reading, query, model.next_link)
    evidence = AnswerEvidence(
        kind=reading.kind,
        why=_why_kind(model, reading.kind, tree, response.status, query, asked_at, cuts),
        records=len(reading.records),
        container=reading.pagelet or "",
        rules=len(model.rules),
        total=totals.total if totals else None,
        next_url=following.url if following else "",
        next_via=following.via if following else "",
    )
    if not cuts:
        return evidence
    chosen, *others = cuts
    rule = model.rules[chosen.rule] if chosen.rule is not None else None
    return replace(
        evidence,
        rule=None if chosen.rule is None else chosen.rule + 1,
        leader=_leader(rule.how, rule.leader) if rule else "",
        score=chosen.score,
        features=_largest(chosen.features),
        other_cuts=tuple(
            OtherCut(
                records=len(other.cut),
                container=tree.path(int(other.cut.container[0])),
                score=other.score,
                rule=None if other.rule is None else other.rule + 1,
                differences=_largest({name: value - other.features[name] for name, value in chosen.features.items()}),
            )
            for other in others
        ),
    )


def _why_kind(
    model: SourceModel,
    kind: str,
    tree: TagTree,
    status: int,
    query: str,
    asked_at: str,
    cuts: Sequence[CutEvidence],
) -> str:
    """Say why an answer is of a kind."""
    if status >= 400:
        return f"its status is {status}"
    if kind == "multi":
        return "a rule of the model matches it" if cuts else "it has links that answers without matches do not have"
    if kind == "single":
        return f"its path is {urlsplit(tree.url).path}, not {asked_at} as for lists of matches"
    verdict = judge_answer(model.empty, tree, query, records=0)
    return f"no rule of the model matches it ({verdict.reason or 'no text'})"


LEADER_TESTS = {"is": "is", "has": "contains", "begins": "begins with", "after": "follows"}


def _leader(how: str, leader: str) -> str:
    """Describe how a rule recognises the first element of a record."""
    return f"the first element of each record {LEADER_TESTS[how]} {leader or 'a text'}"


def _largest(features: Mapping[str, float]) -> tuple[Feature, ...]:
    """Return the features with the largest contribution."""
    weights = cut_weights()
    weighed = [
        Feature(
            name=name, meaning=FEATURE_MEANINGS.get(name, name.replace("_", " ")), value=value, weight=weights[name]
        )
        for name, value in features.items()
    ]
    largest = sorted(weighed, key=lambda feature: -abs(feature.points))[:MAX_FEATURES]
    return tuple(feature for feature in largest if round(feature.points, 1))


# Sentences for people, shared by the command line and the web page.


def purpose_of(stored: StoredRequest) -> str:
    """Return the kind of candidate of a request, or its purpose if no comparison chose it."""
    if stored.decision is not None:
        return stored.decision.chosen.kind
    if urlsplit(stored.url).path == ROBOTS:
        return "robots.txt"
    return OLDER if stored.is_of_older_version else "other"


def reason_of(explained: ExplainedRequest) -> str:
    """Say in one or two sentences why a request was sent."""
    decision: Decision | None = explained.request.decision
    if decision is None or decision.chosen.expected is None:
        return PURPOSES.get(explained.kind, PURPOSES["other"])
    if decision.prefers_list:
        reason = "It continues a list of everything, which is read first as long as it is expected to return nearly as much as the best candidate."
    else:
        reason = "It had the highest value of the candidates that were compared."
    runner_up = decision.runner_up
    if runner_up is None:
        return f"{reason} There was no other candidate."
    return f"{reason} Without it, {label(runner_up)} would have been next."


def sentences(explained: ExplainedRequest) -> Iterator[str]:
    """Yield the explanation of a request as sentences: the decision, then its answer."""
    yield from _decision_sentences(explained)
    yield from _answer_sentences(explained)


def _decision_sentences(explained: ExplainedRequest) -> Iterator[str]:
    stored, chosen = explained.request, explained.chosen
    yield reason_of(explained)
    if chosen.expected is not None:
        total = (
            f", {chosen.total:,.0f} on its {chosen.pages:,.0f} remaining pages" if chosen.total and chosen.pages else ""
        )
        yield f"Expected: {chosen.expected:,.1f} new records per request{total}."
    if stored.sent > 1:
        yield f"It took {stored.sent} requests, with redirects and retries."
    if stored.records is not None and explained.kind != "record page":
        yield f"Actual: {explained.actual or 0:,} new records, of {stored.records:,} on the page."


def _answer_sentences(explained: ExplainedRequest) -> Iterator[str]:
    yield from _evidence_sentences(explained.answer) if explained.answer else ()
    if explained.note:
        yield explained.note


def _evidence_sentences(answer: AnswerEvidence) -> Iterator[str]:
    records = f" with {answer.records:,} records" if answer.records else ""
    yield f"The answer is of kind {answer.kind}{records}: {answer.why}."
    if answer.rule is not None:
        yield f"Rule {answer.rule} of {answer.rules} cut it: {answer.leader}, in {answer.container}."
    if answer.features:
        yield f"The cut scores {answer.score:,.1f}. Largest contributions: {_contributions(answer.features)}."
    if answer.other_cuts:
        other = answer.other_cuts[0]
        by = f"by rule {other.rule}" if other.rule is not None else "that no rule makes"
        yield (
            f"The best other cut, {by}, has {other.records:,} pieces in {other.container} and scores {other.score:,.1f}. "
            f"Largest differences: {_contributions(other.differences)}."
        )
    if answer.total is not None:
        yield f"The page states {answer.total:,} matches."
    if answer.kind == "multi":
        found = {
            "link": "a link",
            "numbers": "the numbered links",
            "button": "a button",
            "more": "a “load more” address",
        }
        via = found.get(answer.next_via, answer.next_via)
        yield f"Next page, found by {via}: {answer.next_url}" if answer.next_url else "It has no next page."


def _contributions(features: Sequence[Feature]) -> str:
    return ", ".join(f"{feature.meaning} {feature.points:+.1f}" for feature in features)


# Lines for the command line.

QUERY_CHARS = 50  # of a query or URL in the list of requests


def lines(result: ExplainedRequest | RequestLog) -> Iterator[str]:
    """Yield an explanation, or the list of requests, as lines of text."""
    yield from _log_lines(result) if isinstance(result, RequestLog) else _request_lines(result)


def _log_lines(log: RequestLog) -> Iterator[str]:
    rows = [
        (
            f"{explained.request.number}",
            explained.kind,
            _shortened(explained.chosen.text),
            f"{explained.chosen.page}",
            _decimal(explained.chosen.expected),
            "-" if explained.actual is None else f"{explained.actual:,}",
        )
        for explained in log.requests
    ]
    yield from _columns(
        ("request", "kind", "query", "page", "expected", "new"), rows, "right left left right right right"
    )
    yield ""
    kinds = [
        (
            f"{kind['requests']:,}",
            str(kind["kind"]),
            f"{kind['actual']:,}",
            _decimal(kind["expected"]),
            "-" if kind["compared"] is None else f"{kind['compared']:,}",
        )
        for kind in log.by_kind()
    ]
    names = ("requests", "kind", "new", "expected after comparison", "new after comparison")
    yield from _columns(names, kinds, "right left right right right")


def _request_lines(explained: ExplainedRequest) -> Iterator[str]:
    stored = explained.request
    yield f"Request {stored.number}: {label(explained.chosen)}"
    yield f"  {stored.method} {shown_url(stored.url)}"
    yield from (f"  {sentence}" for sentence in _decision_sentences(explained))
    if explained.others:
        yield "Candidates compared, the chosen one first:"
        yield from (f"  {line}" for line in _candidate_lines(explained))
    answer = list(_answer_sentences(explained))
    if answer:
        yield "Answer:"
        yield from (f"  {sentence}" for sentence in answer)


def _candidate_lines(explained: ExplainedRequest) -> Iterator[str]:
    rows = [
        (
            _decimal(candidate.expected),
            _decimal(candidate.total, 0),
            _decimal(candidate.pages, 0),
            _decimal(candidate.value, 0),
            label(candidate),
        )
        for candidate in (explained.chosen, *explained.others)
    ]
    yield from _columns(
        ("new/request", "new in all", "pages", "value", "candidate"), rows, "right right right right left"
    )
    yield VALUE_MEANING


def _columns(names: Sequence[str], rows: Sequence[Sequence[str]], sides: str) -> Iterator[str]:
    """Yield the lines of a table whose columns are aligned to the given sides."""
    widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)]
    for row in (names, *rows):
        cells = zip(row, widths, sides.split(), strict=True)
        yield "  ".join(
            cell.rjust(width) if side == "right" else cell.ljust(width) for cell, width, side in cells
        ).rstrip()


def _decimal(number: float | None, places: int = 1) -> str:
    return "-" if number is None else f"{number:,.{places}f}"


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= QUERY_CHARS else line[: QUERY_CHARS - 1] + "…"
