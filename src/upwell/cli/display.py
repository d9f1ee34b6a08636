"""Results of verbs as lines of text for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import singledispatch
from typing import TYPE_CHECKING

from upwell.combine.match_results import ColumnPairs, Comparison
from upwell.errors import UpwellError
from upwell.harvest.run_log import RunStatus
from upwell.report.sentences import unasked_sentence
from upwell.results import (
    ClusteredPage,
    DemoTruth,
    Details,
    EntityPage,
    Exported,
    ExtractedPage,
    FolderStatus,
    FormsOnPage,
    LinksOfAnswers,
    PageBlocks,
    PartOfArchive,
    SuggestedQuery,
    VerbResult,
)

if TYPE_CHECKING:
    from upwell.harvest.files import Result

__all__ = ["lines", "lines_of_harvest", "lines_of_many"]

MAX_SAMPLED = (
    10  # largest number of record pages that a harvest reads without --details, answers that were record pages included
)
MAX_FAILURES = 10  # failed sites of a run that are listed
MAX_NAMES = 6  # column names, or differences between sources, that are listed
MAX_TEXT = 90  # characters of a text that are printed


@singledispatch
def lines(result: VerbResult) -> Iterator[str]:
    """Yield the lines for a result; one implementation per type of result."""
    raise NotImplementedError(f"no lines are defined for {type(result).__name__}")


@lines.register
def _(result: FormsOnPage) -> Iterator[str]:
    for form in result.forms:
        field = f", query field {form.query_field}" if form.query_field else ""
        yield f"form {form.index}: {form.kind} ({form.score:.2f}){field}"
    for interface in result.interfaces:
        field = f" with {interface.query_field}=…" if interface.query_field else ""
        yield f"ask: {interface.method} {interface.url}{field} (found by {interface.via})"
    if not result.interfaces:
        yield "no search interface found on this page"


@lines.register
def _(result: ExtractedPage) -> Iterator[str]:
    agreement = {True: ", as many as the page states", False: ", the page states another number", None: ""}
    yield f"{result.page}: {result.kind}, {len(result.records)} records{agreement[result.checks['count']]}"


@lines.register
def _(result: ClusteredPage) -> Iterator[str]:
    yield f"{result.page}: cluster {result.cluster}, {result.kind}"


@lines.register
def _(result: LinksOfAnswers) -> Iterator[str]:
    for name, argument in result.arguments.items():
        irrelevant = ", irrelevant" if argument.irrelevant else ""
        yield f"{name}: {argument.role}{irrelevant} ({argument.why or 'no evidence'})"
    yield f"further pages: {len(result.next)} by link, {len(result.steps)} by other means"
    yield f"second-level URLs: {len(result.keep)} to fetch, {result.dropped} dropped"


@lines.register
def _(result: PageBlocks) -> Iterator[str]:
    yield f"{result.page}: {result.kind}" if result.kind else f"{result.page}:"
    for block in result.blocks:
        yield f"  {block.type:<8} {' '.join(block.text.split())[:MAX_TEXT]}"


@lines.register
def _(result: EntityPage) -> Iterator[str]:
    yield f"{result.page}:"
    for name, value in result.fields.items():
        text = "; ".join(value) if isinstance(value, list) else value
        if text:
            yield f"  {name}: {' '.join(text.split())[:MAX_TEXT]}"


@lines.register
def _(result: SuggestedQuery) -> Iterator[str]:
    curve = "" if result.hit_rate is None else f"\t{result.hit_rate}\t{result.overlap_rate}"
    yield f"{result.query}\t{result.expected}{curve}"


@lines.register
def _(result: FolderStatus) -> Iterator[str]:
    about = f" about {result.about}" if result.about and not result.statement else ""
    yield f"{result.folder}: {result.statement or f'{result.records:,} records{about} held'}"
    ended = {"running": "running,", "not finished": "not finished,", "failed": "failed after"}
    stopped = ended.get(result.stopped, f"stopped: {result.stopped} after")
    yield f"  {stopped} {result.requests:,} requests{' so far' if stopped == 'running,' else ''}; {result.bytes / 1e6:,.1f} MB, changed {result.changed}"
    if result.next_hour.get("records") and result.stopped == "budget":
        more = result.next_hour
        yield f"  another {more['requests']:,} requests should bring about {more['records']:,} more"
    yield f"  {', '.join(result.files)}"


@lines.register
def _(result: PartOfArchive) -> Iterator[str]:
    rows = ", ".join(f"{count:,} rows of {name}" for name, count in result.rows.items())
    yield f"{result.file}: {result.pages:,} pages, {rows}{' (read by an earlier run)' if result.was_done else ''}"


@lines.register
def _(result: RunStatus) -> Iterator[str]:
    waiting = f"{result.waiting:,} waiting, " if result.waiting is not None else ""
    sites = f"{result.sites:,} sites: " if result.sites is not None else ""
    ended = f"{result.done:,} done, {result.stopped:,} stopped early, {result.failed:,} failed"
    yield f"run {result.run}: {sites}{waiting}{result.running:,} running, {ended}"
    yield f"  {result.records:,} records, {result.requests:,} requests in the sites that ended; started {result.started}, last active {result.updated}"
    for line in result.failures[:MAX_FAILURES]:
        yield f"  failed: {line['url']}: {line['reason']}"
    if len(result.failures) > MAX_FAILURES:
        yield f"  and {len(result.failures) - MAX_FAILURES:,} more, in summary.jsonl"


@lines.register
def _(result: Exported) -> Iterator[str]:
    yield f"{result.records:,} records with {result.columns} columns: {result.file}"


@lines.register
def _(result: ColumnPairs) -> Iterator[str]:
    for a, b in result.pairs:
        yield f"{a} = {b}"
    if not result.pairs:
        yield "no column of one table matches a column of the other"


@lines.register
def _(result: Comparison) -> Iterator[str]:
    yield result.size.statement()
    for source in result.sources:
        again = f", {source.duplicates:,} duplicates" if source.duplicates else ""
        yield f"{source.name}: {source.rows:,} rows, {source.only_here:,} only here{again}"
    for names, things in result.overlap.items():
        if len(names) > 1:
            yield f"{things:,} in {' and '.join(names)}"
    for column in result.agreement:
        yield f"{column.column}: {column.agree / column.compared:.0%} of {column.compared:,} agree"
    for difference in result.differences[:MAX_NAMES]:
        values = ", ".join(f"{value[:MAX_TEXT]} ({source})" for source, value in difference.values.items())
        yield f"  {difference.column}: {values}"
    for file in (result.table, result.report):
        if file:
            yield f"written: {file}"


def lines_of_harvest(result: Result, truth: DemoTruth | None = None) -> Iterator[str]:
    """Yield the lines for the result of a harvest; with `truth`, that of the demo site and the true coverage."""
    summary = result.summary
    if result.was_finished:
        yield "this plan is finished: nothing was sent, and these are the results so far"
    yield summary["statement"]
    if truth:
        yield f"in truth: {truth.held:,} of {truth.cities:,} cities held, {truth.coverage:.1%}"
    if refreshed := summary.get("refreshed"):
        yield "since the last run: " + ", ".join(f"{number:,} {kind}" for kind, number in refreshed.items())
    yield f"stopped: {summary['stopped']} after {summary['requests']:,} requests, overlap rate {summary['overlap_rate']}"
    if not summary["records"] and summary["stopped"] == "budget":
        yield "all requests were used to learn how the site answers; a larger budget will bring records"
    if unasked := unasked_sentence(summary):
        yield unasked
    if (more := summary["checks"].get("next_hour")) and more["records"] and summary["stopped"] == "budget":
        yield f"another {more['requests']:,} requests should bring about {more['records']:,} more"
    elif result.was_finished and summary["stopped"] != "budget" and truth is None:
        yield "a larger budget would bring no more; --refresh looks for changes"
    if truth is None and (line := _details(summary["details"])):  # `demo` has no option --details
        yield line
    place = result.address or result.folder
    yield f"records: {place}/{result.records.name}"
    yield f"report:  {place}/{result.report.name}"


def lines_of_many(results: Sequence[Result | UpwellError]) -> Iterator[str]:
    """Yield a table of several sites with records, coverage, requests and reason to stop, and the number that failed."""
    done = [result.summary for result in results if not isinstance(result, UpwellError)]
    width = max((len(summary["site"]) for summary in done), default=len("total"))
    yield ""
    yield f"{'site':<{width}}  {'records':>9}  {'held':>8}  {'requests':>8}  ended"
    for summary in sorted(done, key=lambda summary: -summary["records"]):
        share = "at least" if summary["coverage"] is None else f"{summary['coverage']:.0%}"
        held = f"{summary['records']:>9,}  {share:>8}  {summary['requests']:>8,}"
        yield f"{summary['site']:<{width}}  {held}  {summary['stopped']}"
    records, requests = sum(summary["records"] for summary in done), sum(summary["requests"] for summary in done)
    yield f"{'total':<{width}}  {records:>9,}  {'':>8}  {requests:>8,}"
    if failed := len(results) - len(done):
        yield f"{failed} of {len(results)} failed; the reasons are above"


def _details(details: Details) -> str:
    """Describe the columns that record pages have added, or would add."""
    names, waiting = details["columns"], details["requests"]
    some = ", ".join(names[:MAX_NAMES]) + (", …" if len(names) > MAX_NAMES else "")
    if not names:
        return ""
    if details["pages"] > MAX_SAMPLED:
        more = f"; about {waiting:,} more requests to read all" if waiting else ""
        return f"{details['pages']:,} record pages read, which add {some}{more}"
    if not waiting:
        return ""
    return f"record pages would add {some} (+{len(names)} column{'s' if len(names) > 1 else ''}, about {waiting:,} requests): --details"
