"""The verbs that ask a site: forms, harvest, probe, and demo, which brings its own site."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from upwell import api
from upwell.choose.plan import Plan
from upwell.cli import options
from upwell.cli.app import app
from upwell.cli.network import asks_sites, manners_of, values_for
from upwell.cli.printing import as_json_text, print_result, printable, warn
from upwell.config import Settings
from upwell.errors import Crashed, Interrupted, UpwellError

if TYPE_CHECKING:
    from upwell.demo import Switches
    from upwell.harvest.files import Result
    from upwell.many_sites import SiteOutcome
    from upwell.results import DemoTruth
    from upwell.source.model import SourceModel

__all__ = ["Outcomes", "demo", "forms", "harvest", "print_harvest", "probe"]

# --- What is printed of the sites of a harvest as they end, and the exit code that follows from all of them.

FEW_SITES = 20  # of more, each has one line, and there is no table at the end
EARLY_STOPS = ("interrupted", "blocked", "forbidden")  # reasons to stop that exit code 3 stands for


@dataclass
class Outcomes:
    """Prints what came of each site, and keeps no more of it than the exit code and a short table need."""

    sites: int
    as_json: bool
    results: "list[Result | UpwellError]" = field(default_factory=list)  # of a few sites, or the error of the only one
    ended: int = 0
    failed: int = 0
    is_interrupted: bool = False
    has_crashed: bool = False
    has_stopped_early: bool = False
    has_changed: bool = False
    records: int = 0
    requests: int = 0

    def add(self, outcome: "SiteOutcome") -> None:
        """Prints what came of a site."""
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
        """Prints what is said of all sites together; the exit code. An error of the only site is raised."""
        if self.sites == 1 and self.failed:
            raise next(result for result in self.results if isinstance(result, UpwellError))
        if self.sites > 1 and not self.as_json:
            self._print_all()
        if self.failed == self.ended:
            return 3 if self.is_interrupted or not self.ended else 1
        if self.has_crashed:
            return 1
        return 3 if self.failed or self.has_stopped_early or self.ended < self.sites else 0

    def _print_all(self) -> None:
        from upwell.cli.display import lines_of_many

        if self.sites <= FEW_SITES:
            print("\n".join(map(printable, lines_of_many(self.results))))
        else:
            print(f"{self.ended - self.failed:,} sites: {self.records:,} records, {self.requests:,} requests")
            if self.failed:
                print(
                    f"{self.failed:,} of {self.ended:,} could not be harvested; why is said above, and in summary.jsonl"
                )
        if not_begun := self.sites - self.ended:
            print(f"{not_begun:,} of {self.sites:,} were not begun; the same command goes on with them")


def print_harvest(result: "Result", as_json: bool, truth: "DemoTruth | None" = None) -> None:
    """What came of one site."""
    from upwell.cli.display import lines_of_harvest

    if as_json:
        print(as_json_text({**result.summary, "truth": truth.as_dict()} if truth else result.summary), flush=True)
    else:
        print("\n".join(map(printable, lines_of_harvest(result, truth))))


# --- (main part)

CHANGED = 4  # exit code of a refresh that found something new, changed or gone, where --exit-code asks for it


@app.command(epilog="Example: upwell forms https://example.org/ --json")
@asks_sites
def forms(
    context: typer.Context,
    page: options.Page,
    base_url: options.FileUrl = "",
    browser: options.Browser = "auto",
    as_json: options.Json = False,
) -> None:
    """How is this site asked? Judges every form of a page and gives the templates that follow, best first.

    At an address the templates are tried with a few queries, and pages around it are looked at where it has none.
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
    cls=options.HelpCommand,
    epilog="Example: upwell harvest https://example.org/ -o harvest --budget 500\n\n"
    "Example: upwell harvest https://example.org/ --details --budget 5000\n\n"
    "Example: upwell harvest sites.txt --time 3600 --format sqlite --log events.jsonl\n\n"
    "Example: upwell harvest https://example.org/ --queries authors/example.com:author --knowledge base.tsv\n\n"
    "Example: upwell harvest sites.txt --engine processes --at-once 200 --total-budget 100000 --json > ended.jsonl",
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
    goal: options.Goal = "complete",
    about: options.About = "",
    form: options.FormNumber = None,
    template: options.Template = "",
    source: options.SourceFile = None,
    words: options.Words = "",
    queries: options.Queries = None,
    query_log: options.QueryLog = None,
    knowledge: options.KnowledgeForHarvest = None,
    details: options.Details = "",
    columns: options.ChosenColumns = "",
    drop: options.Drop = "",
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
    """From a home page to a table: finds the form, probes, learns, harvests, says how much is held.

    Run again, the same command goes on where it was cut off, or further with a larger budget.
    """
    from upwell.cli.progress import ProgressLine

    sites = options.checked_sites(places)  # a hundred thousand addresses, but not as many jobs
    jobs = (_job(site, values_for(context, site)) for site in sites)
    outcomes = Outcomes(len(sites), as_json)
    with ProgressLine(total_budget or _budget(context, sites), not as_json, log) as observe:
        api.harvest_each(
            list(jobs) if context.params["login"] else jobs,  # who logs in does so before anything is asked
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
            ),
            observe=observe,
        )
    code = outcomes.close()
    raise typer.Exit(CHANGED if exit_code and not code and outcomes.has_changed else code)


def _budget(context: typer.Context, sites: Sequence[str]) -> int:
    """Requests of all sites together; upwell.toml may have other budgets for some."""
    settings = context.obj
    if not isinstance(settings, Settings) or not settings.sites:
        return int(context.params["budget"]) * len(sites)
    return sum(int(values_for(context, site)["budget"]) for site in sites)


def _job(site: str, values: dict[str, Any]) -> api.Job:
    """One site with the plan and the manners that the options ask for there."""
    plan = Plan(
        budget=values["budget"],
        seconds=values["seconds"],
        bytes=values["size"],
        coverage=values["coverage"],
        goal=options.choice("--goal", values["goal"], options.GOALS),
        about=values["about"],
        form=values["form"],
        search_interface=values["template"],
        models=_models(Path(values["source"])) if values["source"] else (),
        words=tuple(values["words"].split()),
        details=options.details(values["details"]),
        refresh=values["refresh"],
        browser=options.choice("--browser", values["browser"], options.BROWSERS),
    )
    return api.Job(url=site, plan=plan, manners=manners_of(values, site))


def _models(file: Path) -> "tuple[SourceModel, ...]":
    """The models of --source."""
    from upwell.source.model import load_all

    return load_all(options.source_text(file))


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
    """Sends the probe queries and keeps the answers, in a folder that `upwell extract` reads; stops when the kinds are stable."""
    from upwell.cli.progress import ProgressLine

    plan = Plan(probes=count, background=background, budget=Plan.budget + 2 * (count + background))
    manners = manners_of(values_for(context, url), url)
    with ProgressLine(count + background, not as_json) as observe:
        summary = api.probe(url, out=out, plan=plan, manners=manners, observe=observe)
    print(as_json_text(summary.as_dict()) if as_json else f"{summary.pages} answers kept in {out}")


@app.command(
    epilog="Example: upwell demo -o demo-harvest\n\nExample: upwell demo --serve --set layout=table --set limit=100"
)
def demo(
    out: options.Out = "demo-harvest",
    budget: options.Budget = 700,
    settings: options.DemoSettings = None,
    serve_only: options.ServeOnly = False,
    port: options.Port = 8000,
    as_json: options.Json = False,
) -> None:
    """Starts the bundled site of 34,000 cities and harvests it, with the true coverage beside the estimated one."""
    from upwell.cli.progress import ProgressLine
    from upwell.demo import Switches

    switches = Switches.parse(settings or [])
    if serve_only:
        _serve(switches, port, as_json)
        return
    with ProgressLine(budget, not as_json) as observe:
        plan = Plan(budget=budget)
        result, truth = api.demo(out=out, switches=switches, plan=plan, observe=observe, port=port, warn=warn)
    print_harvest(result, as_json, truth)


def _serve(switches: "Switches", port: int, as_json: bool) -> None:
    """Runs the demo site until Ctrl-C, then lists the requests that it received."""
    import signal
    from contextlib import suppress
    from dataclasses import asdict

    from upwell.demo import serve

    try:
        with serve(switches, port=port) as site:
            print(f"the demo site is at {site.url} (Ctrl-C ends it)", file=sys.stderr, flush=True)
            with suppress(KeyboardInterrupt):
                signal.pause()
            for received in site.received if as_json else ():
                print(json.dumps(asdict(received)))
            print(f"{len(site.received)} requests received", file=sys.stderr)
    except OSError as error:
        raise UpwellError(f"port {port} cannot be used ({error.strerror}); name another with --port") from error
