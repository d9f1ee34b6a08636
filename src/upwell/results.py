"""Results of the verbs, one class each; `--json` prints `as_dict`, with the same keys in the same order.

verb        returns
forms       FormsOnPage
extract     ExtractedPage, one for each saved answer
cluster     ClusteredPage, one for each saved answer
links       LinksOfAnswers
blocks      PageBlocks, one for each page
entities    EntityPage, one for each saved page
queries     SuggestedQuery, one for each query
probe       ProbeSummary
status      FolderStatus, one for each harvest
export      Exported
harvest     upwell.Result, whose `summary` is a Summary: the content of `summary.json`
demo        upwell.Result and DemoTruth
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NotRequired, Protocol, TypedDict

if TYPE_CHECKING:
    from upwell.answers.argument_roles import ArgumentRole
    from upwell.answers.pager import NextPage
    from upwell.content.main_content import BlockType, Structure
    from upwell.content.page_kind import PageKind
    from upwell.errors import Wall
    from upwell.source.apply import ReadingChecks
    from upwell.types import Form, Kind, SearchInterface

__all__ = [
    "BlockOnPage",
    "ClusteredPage",
    "DemoTruth",
    "Details",
    "EntityPage",
    "Exported",
    "ExtractedPage",
    "ExtractedRecord",
    "FolderStatus",
    "FormsOnPage",
    "LinksOfAnswers",
    "MatchRegion",
    "PageBlocks",
    "PartOfArchive",
    "ProbeSummary",
    "Size",
    "SuggestedQuery",
    "Summary",
    "SummaryChecks",
    "VerbResult",
]


class VerbResult(Protocol):
    """Result of a verb."""

    def as_dict(self) -> dict[str, object]:
        """Return the result for JSON."""
        ...


@dataclass(frozen=True, kw_only=True)
class FormsOnPage:
    """The classified forms of a page, and its search interfaces, best first."""

    page: str  # URL or file, as given
    forms: tuple[Form, ...]
    interfaces: tuple[SearchInterface, ...]
    wall: Wall | None = None  # what the site shows instead of its pages

    def as_dict(self) -> dict[str, object]:
        interfaces = [
            {
                "method": interface.method,
                "url": interface.url,
                "query_field": interface.query_field,
                "fields": dict(interface.as_dict()["fields"]),
                "score": interface.score,
                "via": interface.via,
            }
            for interface in self.interfaces
        ]
        return {
            "page": self.page,
            "forms": [
                {"index": form.index, "kind": form.kind, "score": form.score, "query_field": form.query_field}
                for form in self.forms
            ],
            "search_interfaces": interfaces,
            "templates": interfaces,  # deprecated name of `search_interfaces`
            **({"wall": self.wall} if self.wall else {}),
        }


@dataclass(frozen=True, kw_only=True)
class MatchRegion:
    """Element of an answer that contains its matches."""

    path: str
    score: float  # share of the page's text that the matches have

    def as_dict(self) -> dict[str, object]:
        return {"path": self.path, "score": self.score}


@dataclass(frozen=True, kw_only=True)
class ExtractedRecord:
    """One match of an answer."""

    text: str
    fields: Mapping[str, str]  # as written in the page
    values: Mapping[str, object]  # the same, parsed as numbers, prices and dates if possible
    key: str
    path: str
    region: int = 1  # number of the list in the answer, if several were extracted

    def as_dict(self) -> dict[str, object]:
        row: dict[str, object] = {
            "text": self.text,
            "fields": dict(self.fields),
            "values": dict(self.values),
            "key": self.key,
            "path": self.path,
        }
        return row | {"region": self.region} if self.region > 1 else row


@dataclass(frozen=True, kw_only=True)
class ExtractedPage:
    """One saved answer: its kind, its cluster, its records."""

    page: str
    kind: Kind
    cluster: int  # -1: unlike all pages that were learned from
    pagelets: tuple[MatchRegion, ...]
    records: tuple[ExtractedRecord, ...]
    checks: ReadingChecks  # evidence for or against this reading

    def as_dict(self) -> dict[str, object]:
        return {
            "page": self.page,
            "kind": self.kind,
            "cluster": self.cluster,
            "pagelets": [pagelet.as_dict() for pagelet in self.pagelets],
            "records": [record.as_dict() for record in self.records],
            "checks": dict(self.checks),
        }


@dataclass(frozen=True, kw_only=True)
class ClusteredPage:
    """One saved answer and its cluster."""

    page: str
    cluster: int  # -1: fits no cluster of the earlier pages
    kind: Kind

    def as_dict(self) -> dict[str, object]:
        return {"page": self.page, "cluster": self.cluster, "kind": self.kind}


@dataclass(frozen=True, kw_only=True)
class LinksOfAnswers:
    """The links of a source's answers, by role."""

    next: Mapping[str, str]  # page → URL of its next page, if it is a link
    steps: Mapping[str, NextPage]  # page → request for its next page, if it is not a link
    query: str  # URL argument with the query; "" if none was found
    arguments: Mapping[str, ArgumentRole]  # URL argument → its role
    keep: tuple[str, ...]  # second-level URLs worth fetching, without equivalent ones
    dropped: int  # number of second-level URLs that would return nothing new

    def as_dict(self) -> dict[str, object]:
        return {
            "next": dict(self.next),
            "steps": {
                page: {"method": step.method, "url": step.url, "fields": list(step.fields), "via": step.via}
                for page, step in self.steps.items()
            },
            "query": self.query,
            "arguments": {
                name: {
                    "prevalence": argument.prevalence,
                    "role": argument.role,
                    "irrelevant": argument.irrelevant,
                    "why": argument.why,
                }
                for name, argument in self.arguments.items()
            },
            "keep": list(self.keep),
            "dropped": self.dropped,
        }


@dataclass(frozen=True, kw_only=True)
class BlockOnPage:
    """One informative block: type, path, text, and confidence (0 … 1)."""

    type: BlockType
    path: str
    text: str
    score: float
    links: tuple[tuple[str, str], ...] = ()  # of a table of contents: title and URL of each entry

    def as_dict(self) -> dict[str, object]:
        row: dict[str, object] = {"type": self.type, "path": self.path, "text": self.text, "score": self.score}
        if self.type == "toc":
            row["links"] = [{"title": title, "url": url} for title, url in self.links]
        return row


@dataclass(frozen=True, kw_only=True)
class PageBlocks:
    """The informative blocks of one page, and its structure."""

    page: str
    structure: Structure | None
    blocks: tuple[BlockOnPage, ...]
    kind: PageKind | None = None  # what kind of page it is
    main: str | None = None  # the whole main content as plain text, one block per line
    title: str | None = None
    author: str | None = None
    date: str | None = None

    def as_dict(self) -> dict[str, object]:
        return {
            "page": self.page,
            "kind": self.kind,
            "title": self.title,
            "author": self.author,
            "date": self.date,
            "main": self.main,
            "structure": self.structure.as_dict() if self.structure else None,
            "blocks": [block.as_dict() for block in self.blocks],
        }


@dataclass(frozen=True, kw_only=True)
class EntityPage:
    """One saved page that describes one entity."""

    page: str
    fields: Mapping[str, str | list[str] | None]  # as written in the page; None: missing
    template: int | None = None  # number of the page template, from 0, if the pages have several

    def as_dict(self) -> dict[str, object]:
        template = {} if self.template is None else {"template": self.template}
        return {"page": self.page, "fields": dict(self.fields), **template}


@dataclass(frozen=True, kw_only=True)
class SuggestedQuery:
    """A suggested query."""

    query: str
    expected: float  # expected new documents (snapshot), clicks (log), or score of its type (knowledge base)
    type: str = ""  # domain/type of the entity, for a knowledge base
    # share of the texts that this query and those before it should return, and results per distinct text (`curve`)
    hit_rate: float | None = None
    overlap_rate: float | None = None

    def as_dict(self) -> dict[str, object]:
        row: dict[str, object] = {"query": self.query, "expected": self.expected}
        if self.type:
            row["type"] = self.type
        return row if self.hit_rate is None else row | {"hit_rate": self.hit_rate, "overlap_rate": self.overlap_rate}


@dataclass(frozen=True, kw_only=True)
class ProbeSummary:
    """Result of the probe queries."""

    site: str
    requests: int
    answers: Mapping[str, int]  # by kind
    stable: bool  # the kinds of answers no longer changed
    interface: SearchInterface
    pages: int  # answers that were saved

    def as_dict(self) -> dict[str, object]:
        interface = {
            "method": self.interface.method,
            "url": self.interface.url,
            "query_field": self.interface.query_field,
        }
        return {
            "site": self.site,
            "requests": self.requests,
            "answers": dict(self.answers),
            "stable": self.stable,
            "search_interface": interface,
            "template": interface,  # deprecated name of `search_interface`
            "pages": self.pages,
        }


@dataclass(frozen=True, kw_only=True)
class FolderStatus:
    """Status of the folder of one harvest."""

    folder: str | Path  # path or URL
    site: str
    about: str  # the query of --about
    records: int
    requests: int
    statement: str  # coverage statement of the last run
    stopped: str  # why it ended, or "running", "not finished", or "failed"
    next_hour: Mapping[str, int]  # requests, and the new records expected from them
    files: tuple[str, ...]
    bytes: int  # of all files; for a URL without the archive
    changed: str  # time of the last change, ISO 8601

    def as_dict(self) -> dict[str, object]:
        return {
            "folder": str(self.folder),
            "site": self.site,
            "about": self.about,
            "records": self.records,
            "requests": self.requests,
            "statement": self.statement,
            "stopped": self.stopped,
            "next_hour": dict(self.next_hour),
            "files": list(self.files),
            "bytes": self.bytes,
            "changed": self.changed,
        }


@dataclass(frozen=True, kw_only=True)
class Exported:
    """An exported table."""

    file: str | Path  # path or URL
    records: int
    columns: int

    def as_dict(self) -> dict[str, object]:
        return {"file": str(self.file), "records": self.records, "columns": self.columns}


@dataclass(frozen=True, kw_only=True)
class DemoTruth:
    """True number of cities of the demo site, and the coverage of a harvest."""

    cities: int
    held: int
    coverage: float

    def as_dict(self) -> dict[str, object]:
        return {"cities": self.cities, "held": self.held, "coverage": self.coverage}


class Size(TypedDict):
    """Number of records: the estimate and the ends of its 95 % interval."""

    estimate: int
    low: int
    high: int


class SummaryChecks(TypedDict):
    """Statements of the first source about itself that can be compared with the harvest, and figures of the table."""

    skipped: int
    result_cap: NotRequired[int | None]  # None: unknown
    limit: NotRequired[int | None]  # deprecated name of `result_cap`
    lower_bound: bool
    size_by: NotRequired[str]
    state: NotRequired[str]  # exact, estimated, at least or unknown
    views: NotRequired[list[str]]  # what the size of the first source rests on
    # words that were not asked, the most records that they are expected to return, and what the next request is
    unasked: NotRequired[dict[str, float]]
    totals: NotRequired[bool]
    understands: NotRequired[dict[str, str]]
    relearned: NotRequired[int]
    repeated: NotRequired[int]
    next_100: NotRequired[int]
    next_hour: NotRequired[dict[str, int]]  # requests, and the new records expected from them
    filtered: NotRequired[dict[str, int]]
    robots: NotRequired[str]
    fill: dict[str, float]
    types: dict[str, str]


class Details(TypedDict):
    """Record pages: number read, columns that only they have, and requests needed for the others."""

    pages: int
    columns: list[str]
    requests: int
    left_out: dict[str, int]  # pages without data about a record, by reason


class Summary(TypedDict):
    """`summary.json` of a harvest."""

    site: str
    title: str  # of its first page
    requests: int
    answers: dict[str, int]
    records: int
    overlap_rate: float
    size: Size
    coverage: float | None  # None: the size has no upper bound
    size_state: NotRequired[str]  # exact, estimated, at least or unknown
    statement: str
    out_of_reach: list[str]
    checks: SummaryChecks
    details: Details
    tables: dict[str, int]  # kind of entity → rows
    stopped: str
    seconds: float
    bytes: int
    refreshed: NotRequired[dict[str, int]]
    sources: list[dict[str, object]]


def read_summary(folder: Path) -> dict[str, Any]:
    """Return `summary.json` of a harvest, a `Summary`; raise ValueError if it is damaged or a value is not of its declared type."""
    from upwell.declared import fits  # imported here because it loads NumPy

    try:
        loaded = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if not fits(Summary)(loaded):
        raise ValueError("an entry is missing or of another type")
    for source in loaded["sources"]:
        interface = source.get("search_interface", source.get("template"))
        if not fits(SummaryChecks)(
            {**loaded["checks"], **_mapping(source.get("checks", {})), **_mapping(interface or {})}
        ):
            raise ValueError("an entry of a source is of another type")
    return dict(loaded)


def _mapping(value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise ValueError("an entry of a source is of another type")
    return value


@dataclass(frozen=True, kw_only=True)
class PartOfArchive:
    """One of many WARC files that `--engine` reads: number of its pages, and rows written per table."""

    file: str
    pages: int
    rows: Mapping[str, int]  # by table
    elsewhere: int = 0  # revisit records without rows: their bodies are in another file
    trouble: str = ""  # why it was not read completely; the next run reads it again
    was_done: bool = False  # it was read by an earlier run

    def as_dict(self) -> dict[str, object]:
        return {**vars(self), "rows": dict(self.rows)}
