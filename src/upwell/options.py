"""The options of the command line that several verbs have, or that one verb has too many of: their names, bounds and help."""

from pathlib import Path
from typing import Annotated

import typer

from upwell.errors import WrongUsage
from upwell.site.discover import Browser
from upwell.store.records import FORMATS

__all__ = [
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
    "browse",
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
Format = Annotated[str, typer.Option(help=f"{', '.join(FORMATS)}.")]
EventLog = Annotated[Path | None, typer.Option(help="Where to write every event, as JSON Lines.")]
Places = Annotated[
    list[str], typer.Argument(help="Home pages of sites, or pages with a search form, or a file with one a line.")
]


def browse(said: str) -> Browser:
    """The value of --browser, if it is one."""
    if said in ("auto", "never", "always"):
        return said  # type: ignore[return-value] # mypy does not narrow a str by `in`
    raise WrongUsage(f"--browser {said}: it is auto, never or always")
