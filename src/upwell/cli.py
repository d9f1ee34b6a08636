"""The command line: the verbs of `upwell.api`, progress on stderr, results on stdout, exit codes as documented.

0 done · 1 it could not be done · 2 wrong usage · 3 stopped early, what there is was kept

A verb imports what only it needs, so that `--help` and the other verbs do not pay for it.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from upwell import api, options
from upwell.errors import Crashed, UpwellError
from upwell.harvest.plan import Plan
from upwell.net.manners import Manners
from upwell.printable import printable, printable_json

if TYPE_CHECKING:
    from upwell.demo import Switches
    from upwell.harvest.files import Result
    from upwell.results import DemoTruth, VerbResult

__all__ = ["app", "main"]

EARLY_STOPS = ("interrupted", "blocked", "forbidden")  # reasons to stop that exit code 3 stands for

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Brings up the data behind search boxes.\n\nExample: upwell harvest https://example.org/ -o harvest",
    epilog="Exit codes: 0 done, 1 could not be done, 2 wrong usage, 3 stopped early and kept what there is.",
)


def main() -> None:
    """The `upwell` command."""
    try:
        app()
    except UpwellError as error:
        _warn(str(error))
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        _warn("interrupted before there was anything to keep")
        sys.exit(3)


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        from importlib.metadata import version

        print(f"upwell {version('upwell')}")
        raise typer.Exit


@app.callback()
def upwell(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """The options that stand before a verb."""


@app.command(epilog="Example: upwell forms https://example.org/ --json")
def forms(
    page: options.Page,
    base_url: options.FileUrl = "",
    rate: options.Rate = 1.0,
    contact: options.Contact = "",
    ignore_robots: options.IgnoreRobots = False,
    browser: options.Browser = "auto",
    as_json: options.Json = False,
) -> None:
    """How is this site asked? Judges every form of a page and gives the templates that follow, best first.

    At an address the templates are tried with a few queries, and pages around it are looked at where it has none.
    """
    result = api.forms(
        page,
        base_url=base_url,
        manners=Manners(rate=rate, contact=contact, ignore_robots=ignore_robots),
        browser=options.choice("--browser", browser, options.BROWSERS),
    )
    _print(result, as_json)


@app.command(
    epilog="Example: upwell harvest https://example.org/ -o harvest --budget 500\n\n"
    "Example: upwell harvest sites.txt --time 3600 --format sqlite --log events.jsonl\n\n"
    "Example: upwell harvest https://example.org/ --queries authors/example.com:author --knowledge base.tsv"
)
def harvest(
    places: options.Places,
    out: options.Out = Path("harvest"),
    budget: options.Budget = Plan.budget,
    seconds: options.Seconds = 0,
    size: options.Bytes = 0,
    coverage: options.Coverage = Plan.coverage,
    goal: options.Goal = "complete",
    about: options.About = "",
    rate: options.Rate = 1.0,
    form: options.FormNumber = None,
    template: options.Template = "",
    source: options.SourceFile = None,
    words: options.Words = "",
    queries: options.Queries = None,
    query_log: options.QueryLog = None,
    knowledge: options.KnowledgeForHarvest = None,
    refresh: options.Refresh = False,
    format: options.Format = "parquet",
    log: options.EventLog = None,
    contact: options.Contact = "",
    ignore_robots: options.IgnoreRobots = False,
    browser: options.Browser = "auto",
    as_json: options.Json = False,
) -> None:
    """From a home page to a table: finds the form, probes, learns, harvests, says how much is held.

    Run again, the same command goes on where it was cut off, or further with a larger budget.
    """
    from upwell.progress import ProgressLine
    from upwell.source.model import load_all

    sites = api.sites_of(places)
    plan = Plan(
        budget=budget,
        seconds=seconds,
        bytes=size,
        coverage=coverage,
        goal=options.choice("--goal", goal, options.GOALS),
        about=about,
        form=form,
        template=template,
        models=load_all(options.source_text(source)) if source else (),
        words=tuple(words.split()),
        refresh=refresh,
        browser=options.choice("--browser", browser, options.BROWSERS),
    )
    with ProgressLine(budget * len(sites), not as_json, log) as observe:
        results = api.harvest_all(
            sites,
            out=out,
            plan=plan,
            manners=Manners(rate=rate, contact=contact, ignore_robots=ignore_robots),
            format=options.choice("--format", format, options.FORMATS),
            queries=queries,
            query_log=query_log,
            knowledge_base=knowledge,
            observe=observe,
        )
    raise typer.Exit(_print_harvests(results, as_json))


@app.command(
    epilog="Example: upwell extract saved-answers/ --json\n\nExample: upwell extract saved-answers/ --method thor --json"
)
def extract(
    path: options.AnswersFolder,
    source: options.KnownSource = None,
    save: options.SaveSource = None,
    links: options.WithLinks = False,
    method: options.ExtractMethod = "upwell",
    as_json: options.Json = False,
) -> None:
    """Offline: what do these answers say? Learns from the pages of one source together, prints one result a page."""
    from upwell.source.model import load

    model = load(options.source_text(source)) if source else None
    for page in api.extract(path, model=model, save=save, links=links, method=method, warn=_warn):
        _print(page, as_json)


@app.command(epilog="Example: upwell cluster saved-answers/ --signature tfidf-tags --json")
def cluster(
    path: options.AnswersFolder,
    signature: options.Signature = "idf-classes",
    algorithm: options.Algorithm = "simple",
    distance: options.Distance = "cosine",
    k: options.ClusterCount = 0,
    most: options.MaxClusters = 6,
    restarts: options.Restarts = 10,
    criterion: options.Criterion = "silhouette",
    top: options.TopClusters = None,
    known: options.EarlierAnswers = None,
    as_json: options.Json = False,
) -> None:
    """Offline: which answers were made by the same template? Groups the pages of one source and names their kinds."""
    from upwell.answers.clusters import ClusterParams

    params = ClusterParams(
        signature=options.choice("--signature", signature, options.SIGNATURES),
        algorithm=options.choice("--algorithm", algorithm, options.ALGORITHMS),
        distance=options.choice("--distance", distance, options.DISTANCES),
        k=k,
        most=most,
        restarts=restarts,
        criterion=options.choice("--criterion", criterion, options.CRITERIA),
    )
    for page in api.cluster(path, params=params, top=top, known=known):
        _print(page, as_json)


@app.command(epilog="Example: upwell links saved-answers/ --json")
def links(path: options.AnswersPath, base_url: options.AnswersUrl = "", as_json: options.Json = False) -> None:
    """Offline: where do answers lead? The next page of each, the roles of URL arguments, and which URLs are worth fetching."""
    _print(api.links(path, base_url=base_url), as_json)


@app.command(epilog="Example: upwell probe https://example.org/ -o probe")
def probe(
    url: options.HomePage,
    out: options.Out = Path("probe"),
    count: options.ProbeCount = 100,
    background: options.Background = 10,
    rate: options.Rate = 1.0,
    contact: options.Contact = "",
    ignore_robots: options.IgnoreRobots = False,
    as_json: options.Json = False,
) -> None:
    """Sends the probe queries and keeps the answers, in a folder that `upwell extract` reads; stops when the kinds are stable."""
    from upwell.progress import ProgressLine

    plan = Plan(probes=count, background=background, budget=2 * (count + background))
    manners = Manners(rate=rate, contact=contact, ignore_robots=ignore_robots)
    with ProgressLine(count + background, not as_json) as observe:
        summary = api.probe(url, out=out, plan=plan, manners=manners, observe=observe)
    print(_json(summary.as_dict()) if as_json else f"{summary.pages} answers kept in {out}")


@app.command(
    epilog="Example: upwell queries --snapshot texts.jsonl --limit 50 --json\n\n"
    "Example: upwell queries --snapshot harvest/example.org --column title --method cluster --distance cosine"
)
def queries(
    snapshot: options.Snapshot = None,
    columns: options.TextColumns = None,
    method: options.SelectionMethod = "overflow",
    sampling: options.Sampling = "all",
    size: options.QueryCount = 150,
    limit: options.ResultCap = 0,
    distance: options.WordDistance = "intersection",
    linkage: options.Linkage = "complete",
    delta: options.Delta = 0.6,
    log: options.LogFile = None,
    knowledge: options.KnowledgeFile = None,
    site: options.LogSite = "",
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Offline: chooses a dictionary of queries from texts, or generates queries from a log and a knowledge base."""
    from upwell.queries.select import Selection

    selection = Selection(
        size=size,
        limit=limit,
        distance=options.choice("--distance", distance, options.WORD_DISTANCES),
        linkage=options.choice("--linkage", linkage, options.LINKAGES),
        tolerance=delta,
    )
    suggested = api.queries(
        snapshot=snapshot,
        columns=columns or (),
        method=method,
        sampling=sampling,
        selection=selection,
        log=log,
        knowledge_base=knowledge,
        site=site,
        seed=seed,
        warn=_warn,
    )
    for query in suggested:
        _print(query, as_json)


@app.command(
    epilog="Example: upwell blocks saved-pages/ --json\n\nExample: upwell blocks https://example.org/ --depth 2 --follow toc\n\n"
    "Example: upwell blocks saved-pages/ --method wisdom --json"
)
def blocks(
    places: options.PagesOrAddress,
    depth: options.Depth = 1,
    follow: options.Follow = "all",
    budget: options.PageBudget = 200,
    method: options.BlockMethod = "upwell",
    rate: options.Rate = 1.0,
    contact: options.Contact = "",
    ignore_robots: options.IgnoreRobots = False,
    as_json: options.Json = False,
) -> None:
    """Which parts of ordinary pages inform? Articles with title, date and author, and tables of contents, a result a page."""
    found = api.blocks(
        *places,
        depth=depth,
        follow=options.choice("--follow", follow, options.FOLLOWS),
        budget=budget,
        manners=Manners(rate=rate, contact=contact, ignore_robots=ignore_robots),
        method=method,
    )
    pages = 0
    for page in found:
        pages += 1
        _print(page, as_json)
    if pages == 1:
        _warn("one page only, so what repeats through the site is not known; give more of its pages")


@app.command(
    epilog="Example: upwell demo -o demo-harvest\n\nExample: upwell demo --serve --set layout=table --set limit=100"
)
def demo(
    out: options.Out = Path("demo-harvest"),
    budget: options.Budget = 700,
    settings: options.DemoSettings = None,
    serve_only: options.ServeOnly = False,
    port: options.Port = 8000,
    as_json: options.Json = False,
) -> None:
    """Starts the bundled site of 34,000 cities and harvests it, with the true coverage beside the estimated one."""
    from upwell.demo import Switches
    from upwell.progress import ProgressLine

    switches = Switches.parse(settings or [])
    if serve_only:
        _serve(switches, port, as_json)
        return
    with ProgressLine(budget, not as_json) as observe:
        result, truth = api.demo(out=out, switches=switches, plan=Plan(budget=budget), observe=observe)
    _print_harvest(result, as_json, truth)


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


def _print_harvests(results: Sequence["Result | UpwellError"], as_json: bool) -> int:
    """Prints what came of each site; the exit code of all. An error of the only site is raised."""
    failed = [result for result in results if isinstance(result, UpwellError)]
    if len(results) == len(failed) == 1:
        raise failed[0]
    for result in results:
        if isinstance(result, UpwellError):
            _warn(str(result))
        else:
            _print_harvest(result, as_json)
    if len(failed) == len(results) or any(isinstance(result, Crashed) for result in failed):
        return 1
    stopped_early = [r for r in results if not isinstance(r, UpwellError) and r.summary["stopped"] in EARLY_STOPS]
    return 3 if failed or stopped_early else 0


def _print_harvest(result: "Result", as_json: bool, truth: "DemoTruth | None" = None) -> None:
    from upwell.display import lines_of_harvest

    if as_json:
        print(_json({**result.summary, "truth": truth.as_dict()} if truth else result.summary))
    else:
        print("\n".join(map(printable, lines_of_harvest(result, truth))))


def _print(result: "VerbResult", as_json: bool) -> None:
    from upwell.display import lines

    for line in [_json(result.as_dict())] if as_json else map(printable, lines(result)):
        print(line)


def _json(value: object) -> str:
    return printable_json(json.dumps(value, ensure_ascii=False))


def _warn(message: str) -> None:
    print(f"upwell: {printable(message)}", file=sys.stderr)


if __name__ == "__main__":
    main()
