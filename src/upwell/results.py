"""What the verbs return, one value each; `as_dict` is what `--json` prints, with the same keys in the same order.

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
harvest     upwell.Result, whose `summary` is a Summary: what `summary.json` holds
demo        upwell.Result and DemoTruth
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NotRequired, Protocol, TypedDict

if TYPE_CHECKING:
    from upwell.answers.argument_roles import ArgumentRole
    from upwell.answers.pager import NextPage
    from upwell.content.main_content import BlockType, Structure
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
    "PageBlocks",
    "Pagelet",
    "PartOfArchive",
    "ProbeSummary",
    "Size",
    "SuggestedQuery",
    "Summary",
    "SummaryChecks",
    "VerbResult",
]


class VerbResult(Protocol):
    """Anything that a verb returns."""

    def as_dict(self) -> dict[str, object]:
        """The result as JSON has it."""
        ...


@dataclass(frozen=True, kw_only=True)
class FormsOnPage:
    """The forms of a page as they were judged, and the search interfaces that follow, best first."""

    page: str  # the address or the file, as it was given
    forms: tuple[Form, ...]
    interfaces: tuple[SearchInterface, ...]

    def as_dict(self) -> dict[str, object]:
        return {
            "page": self.page,
            "forms": [
                {"index": form.index, "kind": form.kind, "score": form.score, "query_field": form.query_field}
                for form in self.forms
            ],
            "templates": [
                {
                    "method": interface.method,
                    "url": interface.url,
                    "query_field": interface.query_field,
                    "fields": dict(interface.as_dict()["fields"]),
                    "score": interface.score,
                    "via": interface.via,
                }
                for interface in self.interfaces
            ],
        }


@dataclass(frozen=True, kw_only=True)
class Pagelet:
    """Where the matches of an answer are."""

    path: str
    score: float  # share of the page's text that they hold

    def as_dict(self) -> dict[str, object]:
        return {"path": self.path, "score": self.score}


@dataclass(frozen=True, kw_only=True)
class ExtractedRecord:
    """One match of an answer."""

    text: str
    fields: Mapping[str, str]  # as the page writes them
    values: Mapping[str, object]  # the same as numbers, prices and dates, where they are such
    key: str
    path: str
    region: int = 1  # which list of the answer it is in, where several were looked for

    def as_dict(self) -> dict[str, object]:
        found: dict[str, object] = {
            "text": self.text,
            "fields": dict(self.fields),
            "values": dict(self.values),
            "key": self.key,
            "path": self.path,
        }
        return found | {"region": self.region} if self.region > 1 else found


@dataclass(frozen=True, kw_only=True)
class ExtractedPage:
    """One saved answer: its kind, its cluster, its records."""

    page: str
    kind: Kind
    cluster: int  # -1: like no page that was learned from
    pagelets: tuple[Pagelet, ...]
    records: tuple[ExtractedRecord, ...]
    checks: ReadingChecks  # what speaks for or against this reading

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
    """One saved answer and the cluster that it belongs to."""

    page: str
    cluster: int  # -1: fits no cluster of the earlier pages
    kind: Kind

    def as_dict(self) -> dict[str, object]:
        return {"page": self.page, "cluster": self.cluster, "kind": self.kind}


@dataclass(frozen=True, kw_only=True)
class LinksOfAnswers:
    """Where the answers of a source lead."""

    next: Mapping[str, str]  # page → address of its next page, where a link leads there
    steps: Mapping[str, NextPage]  # page → what to send for its next page, where no plain link does
    query: str  # the URL argument that carries the query; "" where none was found
    arguments: Mapping[str, ArgumentRole]  # URL argument → its role
    keep: tuple[str, ...]  # second-level addresses worth fetching, one for each thing that they ask for
    dropped: int  # second-level addresses that would bring nothing new

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
    """One informative block: what it is, where it stands, what it says, and how sure that is (0 … 1)."""

    type: BlockType
    path: str
    text: str
    score: float
    links: tuple[tuple[str, str], ...] = ()  # of a table of contents: title and address of each entry

    def as_dict(self) -> dict[str, object]:
        found: dict[str, object] = {"type": self.type, "path": self.path, "text": self.text, "score": self.score}
        if self.type == "toc":
            found["links"] = [{"title": title, "url": url} for title, url in self.links]
        return found


@dataclass(frozen=True, kw_only=True)
class PageBlocks:
    """The informative blocks of one page, and the tree that they form."""

    page: str
    structure: Structure | None
    blocks: tuple[BlockOnPage, ...]

    def as_dict(self) -> dict[str, object]:
        return {
            "page": self.page,
            "structure": self.structure.as_dict() if self.structure else None,
            "blocks": [block.as_dict() for block in self.blocks],
        }


@dataclass(frozen=True, kw_only=True)
class EntityPage:
    """One saved page that shows one thing."""

    page: str
    fields: Mapping[str, str | list[str] | None]  # as the page writes them; None where it has none
    template: int | None = None  # where the pages are of several templates: which, from 0

    def as_dict(self) -> dict[str, object]:
        template = {} if self.template is None else {"template": self.template}
        return {"page": self.page, "fields": dict(self.fields), **template}


@dataclass(frozen=True, kw_only=True)
class SuggestedQuery:
    """One query worth asking."""

    query: str
    expected: float  # new documents from a dictionary, clicks from a log, score of its type from a knowledge base
    type: str = ""  # domain/type of the entity, from a knowledge base

    def as_dict(self) -> dict[str, object]:
        return {"query": self.query, "expected": self.expected} | ({"type": self.type} if self.type else {})


@dataclass(frozen=True, kw_only=True)
class ProbeSummary:
    """What the probe queries brought."""

    site: str
    requests: int
    answers: Mapping[str, int]  # by kind
    stable: bool  # whether the kinds no longer changed when it ended
    interface: SearchInterface
    pages: int  # answers that were kept

    def as_dict(self) -> dict[str, object]:
        return {
            "site": self.site,
            "requests": self.requests,
            "answers": dict(self.answers),
            "stable": self.stable,
            "template": {
                "method": self.interface.method,
                "url": self.interface.url,
                "query_field": self.interface.query_field,
            },
            "pages": self.pages,
        }


@dataclass(frozen=True, kw_only=True)
class FolderStatus:
    """What the folder of one harvest holds."""

    folder: str | Path  # a path, or an address
    site: str
    about: str  # the query of --about
    records: int
    requests: int
    statement: str  # of its coverage, as of the last end
    stopped: str  # why it ended; "running" or "not finished" where it has not
    next_hour: Mapping[str, int]  # requests, and the records that they should bring
    files: tuple[str, ...]
    bytes: int  # of all files; at an address without those of the archive
    changed: str  # when, in ISO 8601

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
    """A table that was written."""

    file: str | Path  # a path, or an address
    records: int
    columns: int

    def as_dict(self) -> dict[str, object]:
        return {"file": str(self.file), "records": self.records, "columns": self.columns}


@dataclass(frozen=True, kw_only=True)
class DemoTruth:
    """What the demo site truly holds, and how much of it a harvest has."""

    cities: int
    held: int
    coverage: float

    def as_dict(self) -> dict[str, object]:
        return {"cities": self.cities, "held": self.held, "coverage": self.coverage}


class Size(TypedDict):
    """How many records there are: the estimate and the ends of its 95 % interval."""

    estimate: int
    low: int
    high: int


class SummaryChecks(TypedDict):
    """What the first source said about itself, compared with what came, and what the table looks like."""

    skipped: int
    limit: NotRequired[int | None]
    lower_bound: bool
    size_by: NotRequired[str]
    totals: NotRequired[bool]
    understands: NotRequired[dict[str, str]]
    relearned: NotRequired[int]
    next_100: NotRequired[int]
    next_hour: NotRequired[dict[str, int]]  # requests, and the records that they should bring
    filtered: NotRequired[dict[str, int]]
    robots: NotRequired[str]
    fill: dict[str, float]
    types: dict[str, str]


class Details(TypedDict):
    """Record pages: how many were read, the columns that they have beyond the lists', and the requests that the others need."""

    pages: int
    columns: list[str]
    requests: int
    left_out: dict[str, int]  # pages that say nothing of a record, by reason


class Summary(TypedDict):
    """`summary.json` of a harvest."""

    site: str
    title: str  # of its first page
    requests: int
    answers: dict[str, int]
    records: int
    overlap_rate: float
    size: Size
    coverage: float | None  # None: nothing bounds the size from above
    statement: str
    out_of_reach: list[str]
    checks: SummaryChecks
    details: Details
    tables: dict[str, int]  # kind of thing → rows
    stopped: str
    seconds: float
    bytes: int
    refreshed: NotRequired[dict[str, int]]
    sources: list[dict[str, object]]


@dataclass(frozen=True, kw_only=True)
class PartOfArchive:
    """One of many WARC files, as read by `--engine`: how many pages it has and how many rows each table got from it."""

    file: str
    pages: int
    rows: Mapping[str, int]  # by table
    elsewhere: int = 0  # pages that only refer to a body in another file, and have no rows
    trouble: str = ""  # why it was not read to its end; it is read again the next time
    was_done: bool = False  # an earlier run did it

    def as_dict(self) -> dict[str, object]:
        return {**vars(self), "rows": dict(self.rows)}
