"""The options of the command line that several verbs have, or that one verb has too many of: their names, bounds and help."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from upwell.errors import WrongUsage

if TYPE_CHECKING:  # the rooms that define these choices load numpy
    from upwell.answers.clusters import Algorithm, Criterion, Distance
    from upwell.harvest.plan import Goal as GoalName
    from upwell.offline.crawl import Follow
    from upwell.site.discover import Browser
    from upwell.store.records import Format as FormatName

__all__ = [
    "ALGORITHMS",
    "BROWSERS",
    "CRITERIA",
    "DISTANCES",
    "FOLLOWS",
    "FORMATS",
    "GOALS",
    "SIGNATURES",
    "About",
    "Browse",
    "Budget",
    "Bytes",
    "Contact",
    "Coverage",
    "EventLog",
    "FormNumber",
    "Format",
    "Goal",
    "HowToAsk",
    "IgnoreRobots",
    "Json",
    "KnowledgeBase",
    "Out",
    "Places",
    "QueryLog",
    "Rate",
    "Refresh",
    "Seconds",
    "SourceFile",
    "Words",
    "choice",
]

Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout and nothing else there.")]
Out = Annotated[Path, typer.Option("-o", "--out", help="Folder for the results.")]
Budget = Annotated[int, typer.Option(min=1, help="Requests to send at most.")]
Rate = Annotated[float, typer.Option(min=0, help="Requests a second and host; 0 means no limit, on loopback only.")]
Contact = Annotated[str, typer.Option(help="Your address, sent along so that the host's owner can reach you.")]
Browse = Annotated[str, typer.Option("--browser", help="auto, never or always: whether to look with JavaScript.")]
IgnoreRobots = Annotated[bool, typer.Option("--ignore-robots", help="For a site of your own only.")]
Seconds = Annotated[float, typer.Option("--time", min=0, help="Seconds to go on at most; 0 means no limit.")]
Bytes = Annotated[int, typer.Option("--bytes", min=0, help="Bytes to receive at most; 0 means no limit.")]
Coverage = Annotated[float, typer.Option(min=0.01, max=1.0, help="Share of the estimated size that is enough.")]
Goal = Annotated[str, typer.Option(help="complete, or representative: many different queries, first pages only.")]
About = Annotated[str, typer.Option(help="Only what matches this, beyond the source's limit of results.")]
FormNumber = Annotated[int | None, typer.Option(help="Which form of the page to use (see `upwell forms`).")]
HowToAsk = Annotated[str, typer.Option(help="How to ask: an address with {query} where the query goes.")]
SourceFile = Annotated[Path | None, typer.Option(help="A source.json: what answers look like is not learned.")]
Words = Annotated[str, typer.Option(help="Words that the source knows, separated by spaces.")]
QueryLog = Annotated[
    Path | None, typer.Option(help="A query log (TSV or Parquet of query, url, clicks): its queries come first.")
]
KnowledgeBase = Annotated[
    Path | None, typer.Option(help="A knowledge base (TSV or Parquet of domain, type, entity), for the log.")
]
Refresh = Annotated[
    bool, typer.Option("--refresh", help="Ask again what a finished harvest holds: new, changed, gone.")
]
Format = Annotated[str, typer.Option(help="parquet, csv, jsonl, sqlite.")]
EventLog = Annotated[Path | None, typer.Option(help="Where to write every event, as JSON Lines.")]
Places = Annotated[
    list[str], typer.Argument(help="Home pages of sites, or pages with a search form, or a file with one a line.")
]


# The words that some options take. mypy holds those with a type against the rooms that define them, tests/test_start.py the others.
BROWSERS: tuple[Browser, ...] = ("auto", "never", "always")
GOALS: tuple[GoalName, ...] = ("complete", "representative")
FORMATS: tuple[FormatName, ...] = ("parquet", "csv", "jsonl", "sqlite")
FOLLOWS: tuple[Follow, ...] = ("all", "toc")
SIGNATURES = (
    "idf-classes", "tfidf-tags", "raw-tags", "tfidf-classes", "tfidf-paths", "tfidf-content", "raw-content", "keywords",
    "tags+keywords", "tags+content", "url", "size", "random",
)  # fmt: skip
ALGORITHMS: tuple[Algorithm, ...] = ("simple", "bisecting")
DISTANCES: tuple[Distance, ...] = ("cosine", "euclidean")
CRITERIA: tuple[Criterion, ...] = ("silhouette", "quality", "printed")

Word = TypeVar("Word", bound=str)


def choice(option: str, value: str, choices: Sequence[Word]) -> Word:
    """The value of an option that takes one of a few words.

    >>> choice("--goal", "complete", GOALS)
    'complete'
    >>> choice("--goal", "all", GOALS)
    Traceback (most recent call last):
    upwell.errors.WrongUsage: --goal all: it is complete or representative
    """
    for word in choices:
        if word == value:
            return word
    raise WrongUsage(f"{option} {value}: it is {', '.join(choices[:-1])} or {choices[-1]}")
