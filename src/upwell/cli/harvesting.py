"""The verbs that query a site: `forms`, `harvest`, `probe`, and `demo`, which starts the site that it harvests."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import typer

from upwell import api
from upwell.choose.plan import Plan
from upwell.cli import options
from upwell.cli.app import app
from upwell.cli.network import asks_sites, manners_of, values_for
from upwell.cli.printing import as_json_text, print_result, printable, table_lines, warn
from upwell.config import Settings
from upwell.errors import Crashed, Interrupted, UpwellError
from upwell.places import sites_of
from upwell.signals import PROGRAM_STARTED

if TYPE_CHECKING:
    from upwell.demo import Switches
    from upwell.harvest.files import Result
    from upwell.many_sites import SiteOutcome
    from upwell.results import DemoTruth
    from upwell.source.model import SourceModel

__all__ = ["Outcomes", "demo", "forms", "harvest", "learn", "print_harvest", "probe"]

FEW_SITES = 20  # up to this number each site is printed in full, with a table at the end; above it, one line per site
EARLY_STOPS = ("interrupted", "blocked", "forbidden")  # reasons to stop that lead to exit code 3
CHANGED = 4  # exit code for --exit-code if a refresh finds new, changed or gone records
PAUSE_SECONDS = 1.0  # of a server that waits for Ctrl-C; Windows does not interrupt a longer sleep in every case
SAMPLE_ROWS = 5  # rows of the table that `demo` prints


@dataclass
class Outcomes:
    """Printer of the outcomes of a harvest's sites; it keeps only what the exit code and the final table need."""

    sites: int
    as_json: bool
    left_out: int = 0  # lines of files that are no addresses
    results: "list[Result | UpwellError]" = field(default_factory=list)  # only for at most FEW_SITES sites
    ended: int = 0
    failed: int = 0
    is_interrupted: bool = False
    has_crashed: bool = False
    has_stopped_early: bool = False
    has_changed: bool = False
    records: int = 0
    requests: int = 0

    def add(self, outcome: "SiteOutcome") -> None:
        """Print the outcome of a site."""
        result, self.ended = outcome.result, self.ended + 1
        if self.sites <= FEW_SITES:
            self.results.append(result)
        if isinstance(result, UpwellError):
            self.failed += 1
            self.is_interrupted |= isinstance(result, Interrupted)
            self.has_crashed |= isinstance(result, Crashed)
            if self.sites > 1:
                warn(str(result))
            return
        self.has_stopped_early |= result.summary["stopped"] in EARLY_STOPS
        self.has_changed |= any(result.summary.get("refreshed", {}).get(kind) for kind in ("new", "changed", "gone"))
        self.records, self.requests = (
            self.records + result.summary["records"],
            self.requests + result.summary["requests"],
        )
        if self.sites <= FEW_SITES or self.as_json:
            print_harvest(result, self.as_json)
        else:
            print(
                printable(
                    f"{result.summary['site']}: {result.summary['statement']} Stopped: {result.summary['stopped']}."
                )
            )

    def close(self) -> int:
        """Print the totals of all sites and return the exit code; raise the error of a single site."""
        if self.sites == 1 and self.failed:
            raise next(result for result in self.results if isinstance(result, UpwellError))
        if self.sites > 1 and not self.as_json:
            self._print_all()
        if self.failed == self.ended:
            return 3 if self.is_interrupted or not self.ended else 1
        if self.has_crashed:
            return 1
        return 3 if self.failed or self.left_out or self.has_stopped_early or self.ended < self.sites else 0

    def _print_all(self) -> None:
        from upwell.cli.display import lines_of_many

        if self.sites <= FEW_SITES:
            print("\n".join(map(printable, lines_of_many(self.results))))
        else:
            print(f"{self.ended - self.failed:,} sites: {self.records:,} records, {self.requests:,} requests")
            if self.failed:
                print(f"{self.failed:,} of {self.ended:,} failed; the reasons are above and in summary.jsonl")
        if not_begun := self.sites - self.ended:
            print(f"{not_begun:,} of {self.sites:,} were not begun; the same command continues with them")


def print_harvest(result: "Result", as_json: bool, truth: "DemoTruth | None" = None) -> None:
    """Print the result of one site, for people or as JSON."""
    from upwell.cli.display import lines_of_harvest

    if as_json:
        print(as_json_text({**result.summary, "truth": truth.as_dict()} if truth else result.summary), flush=True)
    else:
        print("\n".join(map(printable, lines_of_harvest(result, truth))))


@app.command(epilog="Example: upwell forms https://example.org/ --json")
@asks_sites
def forms(
    context: typer.Context,
    page: options.Page,
    base_url: options.FileUrl = "",
    browser: options.Browser = "auto",
    as_json: options.Json = False,
) -> None:
    """Show the forms of a page and the search interfaces of the site, best first.

    For a URL, the search interfaces are tried with a few queries; if the page has none, pages that it links to are read as well.
    """
    values = values_for(context, page)
    result = api.forms(
        page,
        base_url=base_url,
        manners=manners_of(values, page),
        browser=options.choice("--browser", values["browser"], options.BROWSERS),
        warn=warn,
    )
    print_result(result, as_json)


@app.command(
    epilog="Example: upwell harvest https://example.org/ -o harvest --budget 500\n\n"
    "Example: upwell harvest https://example.org/ --details --budget 5000\n\n"
    "Example: upwell harvest sites.txt --time 3600 --format sqlite --log events.jsonl\n\n"
    "Example: upwell harvest https://example.org/ --columns title,author=by,year:int --plain --format csv\n\n"
    "Example: upwell harvest https://example.org/ --queries authors/example.com:author --knowledge base.tsv\n\n"
    "Example: upwell harvest sites.txt --engine processes --total-budget 100000 --json > ended.jsonl",
)
@asks_sites
def harvest(
    context: typer.Context,
    places: options.Places,
    out: options.Out = "harvest",
    budget: options.Budget = Plan.budget,
    seconds: options.Seconds = 0,
    size: options.Bytes = 0,
    coverage: options.Coverage = Plan.coverage,
    certify: options.Certify = Plan.certify,
    goal: options.Goal = "complete",
    about: options.About = "",
    form: options.FormNumber = None,
    interface: options.Interface = "",
    source: options.SourceFile = None,
    words: options.Words = "",
    queries: options.Queries = None,
    query_log: options.QueryLog = None,
    knowledge: options.KnowledgeForHarvest = None,
    details: options.Details = "",
    columns: options.ChosenColumns = "",
    drop: options.Drop = "",
    schema: options.SchemaFile = None,
    plain: options.Plain = False,
    pipe: options.Pipe = "",
    refresh: options.Refresh = False,
    exit_code: options.ExitCode = False,
    format: options.Format = "parquet",
    log: options.EventLog = None,
    browser: options.Browser = "auto",
    engine: options.Engine = "local",
    at_once: options.AtOnce = 0,
    state: options.StateAddress = "",
    retries: options.Retries = 2,
    total_budget: options.TotalBudget = 0,
    as_json: options.Json = False,
) -> None:
    """Harvest a site into a table, with a statement of how much of it is held.

    Upwell finds the search form, learns what the answers look like, and chooses the queries. The same command, run again,
    continues where it stopped; with a larger budget it continues further.
    """
    from upwell.cli.progress import ProgressLine
    from upwell.engines.processes import fork_ahead

    sites, left_out = options.checked_sites(places, warn)
    if engine in ("local", "processes"):
        fork_ahead()  # the progress line has a thread
    typed = _typed(places, context.params["allow"] or ())
    jobs = (
        _job(site, values_for(context, site), is_typed=site in typed, is_one_of_many=len(sites) > 1) for site in sites
    )
    outcomes = Outcomes(len(sites), as_json, left_out=left_out)
    with (
        ProgressLine(total_budget or _budget(context, sites), not as_json, log) as observe,
        RecordPipe(pipe) as on_record,
    ):
        api.harvest_each(
            list(jobs) if context.params["login"] else jobs,  # all logins come before the first request
            outcomes.add,
            out=out,
            format=options.choice("--format", format, options.FORMATS),
            queries=queries,
            query_log=query_log,
            knowledge_base=knowledge,
            running=api.RunOptions(
                engine=options.choice("--engine", engine, options.ENGINES),
                at_once=at_once,
                state=state,
                retries=retries if len(sites) > 1 else 0,
                total_budget=total_budget,
                sites=len(sites),
                started=PROGRAM_STARTED,
            ),
            observe=observe,
            on_record=on_record,
        )
    code = outcomes.close()
    raise typer.Exit(CHANGED if exit_code and not code and outcomes.has_changed else code)


class RecordPipe:
    """Standard input of a command that receives each record as a line of JSON; without a command there is none."""

    def __init__(self, command: str) -> None:
        self._command = command
        self._process: subprocess.Popen[str] | None = None
        self._has_ended = False

    def __enter__(self) -> Callable[[Mapping[str, object]], None] | None:
        if not self._command:
            return None
        self._process = subprocess.Popen(self._command, shell=True, stdin=subprocess.PIPE, text=True, encoding="utf-8")  # noqa: S602 # the user typed it
        return self.write

    def write(self, row: Mapping[str, object]) -> None:
        """Write a record, unless the command has ended: the harvest continues without it."""
        if self._has_ended or self._process is None or self._process.stdin is None:
            return
        try:
            self._process.stdin.write(json.dumps(dict(row), ensure_ascii=False, default=str) + "\n")
            self._process.stdin.flush()
        except OSError:
            self._has_ended = True
            warn(f"--pipe {self._command}: the command ended; the harvest continues without it")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is None:
            return
        with suppress(OSError):  # the command has ended
            self._process.stdin.close()  # type: ignore[union-attr] # it is a pipe
        if (code := self._process.wait()) and not self._has_ended:
            warn(f"--pipe {self._command}: the command ended with exit code {code}")


def _typed(places: Sequence[str], allow: Sequence[str]) -> set[str]:
    """Return the sites that the user typed: not the lines of a file, unless --allow names the file."""
    return {*places, *(site for place in places if place in allow for site in sites_of([place]))}


def _budget(context: typer.Context, sites: Sequence[str]) -> int:
    """Return the sum of the sites' budgets; upwell.toml may set a different budget for some."""
    settings = context.obj
    if not isinstance(settings, Settings) or not settings.sites:
        return int(context.params["budget"]) * len(sites)
    return sum(int(values_for(context, site)["budget"]) for site in sites)


def _job(site: str, values: dict[str, Any], *, is_typed: bool, is_one_of_many: bool) -> api.Job:
    """Build the job of one site from the values of the options for it; of many sites, some may lack a column that was named."""
    columns, schema = (
        options.names(values["columns"]),
        options.schema_text(Path(values["schema"]) if values["schema"] else None),
    )
    if columns and is_one_of_many and not schema:
        columns, schema = (), json.dumps({"columns": columns})
    plan = Plan(
        budget=values["budget"],
        seconds=values["seconds"],
        bytes=values["size"],
        coverage=values["coverage"],
        certify=values["certify"],
        goal=options.choice("--goal", values["goal"], options.GOALS),
        about=values["about"],
        form=values["form"],
        search_interface=values["interface"],
        models=_models(Path(values["source"])) if values["source"] else (),
        words=tuple(values["words"].split()),
        details=options.details(values["details"]),
        columns=columns,
        drop=options.names(values["drop"]),
        schema=schema,
        plain=values["plain"],
        refresh=values["refresh"],
        browser=options.choice("--browser", values["browser"], options.BROWSERS),
    )
    manners = manners_of(values, site, is_typed=is_typed)
    return api.Job(url=site, plan=plan, manners=manners, is_listed=not is_typed)


def _models(file: Path) -> "tuple[SourceModel, ...]":
    """Load the source models of the file given with --source."""
    from upwell.source.model import load_all

    return load_all(options.source_text(file))


@app.command(epilog="Example: upwell learn https://example.org/ -o sources && upwell ask amber sources")
@asks_sites
def learn(
    context: typer.Context,
    url: options.HomePage,
    out: options.Out = "sources",
    budget: options.LearnBudget = 60,
    as_json: options.Json = False,
) -> None:
    """Learn how to query a site and how to read its answers, without harvesting it.

    About 30 requests. Afterwards `upwell ask` and the API of `upwell serve` query the site; `upwell harvest` with the same -o continues.
    """
    from upwell.cli.progress import ProgressLine

    manners = manners_of(values_for(context, url), url)
    with ProgressLine(budget, not as_json) as observe:
        result = api.harvest(url, out=out, plan=Plan(goal="learn", budget=budget), manners=manners, observe=observe)
    interfaces = [source["search_interface"] for source in result.summary["sources"]]
    file = result.folder / "source.json"
    about = {"source": str(file), "requests": result.summary["requests"], "records": result.summary["records"]}
    if as_json:
        print(as_json_text(about | {"interfaces": interfaces}))
    else:
        print(f"learned with {about['requests']} requests: {file}\nnext: upwell ask 'some words' {out}")


@app.command(epilog="Example: upwell probe https://example.org/ -o probe")
@asks_sites
def probe(
    context: typer.Context,
    url: options.HomePage,
    out: options.Out = "probe",
    count: options.ProbeCount = 100,
    background: options.Background = 10,
    as_json: options.Json = False,
) -> None:
    """Send probe queries and save the answers for `upwell extract`.

    Probing stops when the kinds of the answers no longer change.
    """
    from upwell.cli.progress import ProgressLine

    plan = Plan(probes=count, background=background, budget=Plan.budget + 2 * (count + background))
    manners = manners_of(values_for(context, url), url)
    with ProgressLine(count + background, not as_json) as observe:
        summary = api.probe(url, out=out, plan=plan, manners=manners, observe=observe)
    print(as_json_text(summary.as_dict()) if as_json else f"{summary.pages} answers saved in {out}")


@app.command(
    epilog="Example: upwell demo\n\nExample: upwell demo --hard --budget 1400\n\n"
    "Example: upwell demo --serve --set layout=table --set result_cap=100"
)
def demo(
    out: options.Out = "demo-harvest",
    budget: options.Budget = 700,
    hard: options.Hard = False,
    settings: options.DemoSettings = None,
    serve_only: options.ServeOnly = False,
    port: options.Port = 8000,
    as_json: options.Json = False,
) -> None:
    """Harvest the bundled site, and compare the table with its true content.

    By default the site has the 776 cities of Italy and Greece and lists them all for an empty query, so that a few dozen requests
    reach everything. With --hard it has 34,006 cities and returns at most 200 per query. --set changes settings of that hard site.
    """
    from upwell.cli.progress import ProgressLine
    from upwell.demo import SMALL_SITE, Switches
    from upwell.engines.processes import fork_ahead

    is_small = not (hard or settings)
    switches = Switches.parse(settings or [])
    if serve_only:
        _serve(switches, port, as_json)
        return
    fork_ahead()  # the site runs in a thread
    with ProgressLine(budget, not as_json) as observe:
        plan = Plan(budget=budget, coverage=1.0) if is_small else Plan(budget=budget)
        result, truth = api.demo(
            out=out, switches=SMALL_SITE if is_small else switches, plan=plan, observe=observe, port=port, warn=warn
        )
    if not as_json:
        _print_sample(result)
    print_harvest(result, as_json, truth)
    if is_small and not as_json:
        print("the hard case, 34,006 cities of which a query returns at most 200: upwell demo --hard")


def _print_sample(result: "Result") -> None:
    """Print some rows of a Parquet table, evenly spaced, in as many columns as the terminal has room for."""
    from shutil import get_terminal_size

    from upwell.table.parquet import read_values

    rows = list(read_values(result.records))
    count = min(SAMPLE_ROWS, len(rows))
    sample = [rows[number * len(rows) // count] for number in range(count)]
    names = list(result.summary["checks"]["types"])
    for line in table_lines(names, [[row.get(name) for name in names] for row in sample], get_terminal_size().columns):
        print(line)
    print(f"({count} of {len(rows):,} rows)\n")


def _serve(switches: "Switches", port: int, as_json: bool) -> None:
    """Run the demo site until Ctrl-C, then print the requests that it received."""
    from contextlib import suppress
    from dataclasses import asdict

    from upwell.demo import serve

    try:
        with serve(switches, port=port) as site:
            print(f"the demo site is at {site.url} (stop it with Ctrl-C)", file=sys.stderr, flush=True)
            with suppress(KeyboardInterrupt):
                while True:
                    time.sleep(PAUSE_SECONDS)
            for received in site.received if as_json else ():
                print(json.dumps(asdict(received)))
            print(f"{len(site.received)} requests received", file=sys.stderr)
    except OSError as error:
        raise UpwellError(f"port {port} cannot be used ({error.strerror}); choose another with --port") from error
