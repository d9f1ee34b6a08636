"""The command line: the verbs of `upwell.api`, a progress display on stderr, results on stdout, exit codes as documented.

0 done · 1 it could not be done · 2 wrong usage · 3 stopped early, what there is was kept
"""

import json
import signal
import sys
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from upwell import api, options
from upwell.errors import UpwellError
from upwell.harvest.plan import Plan
from upwell.net.manners import Manners

if TYPE_CHECKING:
    from upwell.demo import Switches
    from upwell.harvest.files import Result
    from upwell.results import DemoTruth, VerbResult

__all__ = ["app", "main"]

COVERAGE = Plan().coverage

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
        print(f"upwell: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        print("upwell: interrupted before there was anything to keep", file=sys.stderr)
        sys.exit(3)


def _say_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"upwell {version('upwell')}")
        raise typer.Exit


@app.callback()
def upwell(
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """What holds for every verb."""


@app.command(epilog="Example: upwell forms https://example.org/ --json")
def forms(
    page: Annotated[str, typer.Argument(help="An address, or a saved HTML file.")],
    base_url: Annotated[str, typer.Option(help="Where a saved file came from.")] = "",
    rate: options.Rate = 1.0,
    contact: options.Contact = "",
    ignore_robots: options.IgnoreRobots = False,
    browser: options.Browse = "auto",
    as_json: options.Json = False,
) -> None:
    """How is this site asked? Judges every form of a page and gives the templates that follow, best first.

    At an address the templates are tried with a few queries, and pages around it are looked at where it has none.
    """
    manners = Manners(rate=rate, contact=contact, ignore_robots=ignore_robots)
    found = api.forms(
        page, base_url=base_url, manners=manners, browser=options.choice("--browser", browser, options.BROWSERS)
    )
    _print(found, as_json)


@app.command(
    epilog="Example: upwell harvest https://example.org/ -o harvest --budget 500\n\n"
    "Example: upwell harvest sites.txt --time 3600 --format sqlite --log events.jsonl"
)
def harvest(
    places: options.Places,
    out: options.Out = Path("harvest"),
    budget: options.Budget = 1000,
    seconds: options.Seconds = 0,
    size: options.Bytes = 0,
    coverage: options.Coverage = COVERAGE,
    goal: options.Goal = "complete",
    about: options.About = "",
    rate: options.Rate = 1.0,
    form: options.FormNumber = None,
    template: options.HowToAsk = "",
    source: options.SourceFile = None,
    words: options.Words = "",
    query_log: options.QueryLog = None,
    knowledge: options.KnowledgeBase = None,
    refresh: options.Refresh = False,
    format: options.Format = "parquet",
    log: options.EventLog = None,
    contact: options.Contact = "",
    ignore_robots: options.IgnoreRobots = False,
    browser: options.Browse = "auto",
    as_json: options.Json = False,
) -> None:
    """From a home page to a table: finds the form, probes, learns, harvests, says how much is held.

    Run again, the same command goes on where it was cut off, or further with a larger budget.
    """
    from upwell.progress import ProgressLine
    from upwell.source.model import load_all

    plan = Plan(
        budget=budget,
        seconds=seconds,
        bytes=size,
        coverage=coverage,
        goal=options.choice("--goal", goal, options.GOALS),
        about=about,
        form=form,
        template=template,
        models=load_all(_text(source)) if source else (),
        words=tuple(words.split()),
        refresh=refresh,
        browser=options.choice("--browser", browser, options.BROWSERS),
    )
    manners = Manners(rate=rate, contact=contact, ignore_robots=ignore_robots)
    sites = api.sites_of(places)
    stopped: list[str] = []
    with ProgressLine(budget, not as_json, log, len(sites)) as display:
        for found in api.harvest_all(
            sites,
            out=out,
            plan=plan,
            manners=manners,
            format=options.choice("--format", format, options.FORMATS),
            query_log=query_log,
            knowledge_base=knowledge,
            observe=display,
        ):
            if isinstance(found, UpwellError):
                if len(sites) == 1:
                    raise found
                print(f"upwell: {found}", file=sys.stderr)
                stopped.append("failed")
            else:
                _show(found, as_json)
                stopped.append(found.summary["stopped"])
    if stopped.count("failed") == len(stopped):
        raise typer.Exit(1)
    if any(why in ("interrupted", "blocked", "forbidden", "failed") for why in stopped):
        raise typer.Exit(3)


@app.command(
    epilog="Example: upwell extract saved-answers/ --json\n\nExample: upwell extract saved-answers/ --method thor --json"
)
def extract(
    path: Annotated[Path, typer.Argument(help="A folder of saved answers of one source.")],
    source: Annotated[Path | None, typer.Option(help="A source.json: apply it, learn nothing.")] = None,
    save: Annotated[Path | None, typer.Option(help="Where to keep what was learned (a source.json).")] = None,
    links: Annotated[
        bool, typer.Option("--links", help="Put the targets of a record's links behind its text.")
    ] = False,
    method: Annotated[
        str, typer.Option(help="upwell; thor: pagelets and objects as published; thor-tuned: with better settings.")
    ] = "upwell",
    as_json: options.Json = False,
) -> None:
    """Offline: what do these answers say? Learns from the pages of one source together, prints one result a page."""
    from upwell.source.model import load

    model = load(_text(source)) if source else None
    for row in api.extract(path, model=model, save=save, links=links, method=method, warn=_warn):
        _print(row, as_json)


def _warn(message: str) -> None:
    print(f"upwell: {message}", file=sys.stderr)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UpwellError(f"{path} cannot be read ({error}); `upwell extract --save` makes one") from error


@app.command(epilog="Example: upwell cluster saved-answers/ --signature tfidf-tags --json")
def cluster(
    path: Annotated[Path, typer.Argument(help="A folder of saved answers of one source.")],
    signature: Annotated[str, typer.Option(help=", ".join(options.SIGNATURES))] = "idf-classes",
    algorithm: Annotated[str, typer.Option(help="simple or bisecting.")] = "simple",
    distance: Annotated[str, typer.Option(help="cosine or euclidean.")] = "cosine",
    k: Annotated[int, typer.Option(min=0, help="Number of clusters; 0 lets the criterion choose.")] = 0,
    most: Annotated[int, typer.Option(min=1, help="The most clusters that the criterion may choose.")] = 6,
    restarts: Annotated[int, typer.Option(min=1, help="Starts of k-means, of which the best counts.")] = 10,
    criterion: Annotated[
        str, typer.Option(help="silhouette, or Thor's quality: quality (mean) or printed (sum).")
    ] = "silhouette",
    top: Annotated[
        int | None, typer.Option(min=1, help="Only pages of so many clusters, those likeliest to hold matches.")
    ] = None,
    known: Annotated[
        Path | None, typer.Option(help="A folder of earlier answers whose clusters these pages join.")
    ] = None,
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
    for row in api.cluster(path, params=params, top=top, known=known):
        _print(row, as_json)


@app.command(epilog="Example: upwell links saved-answers/ --json")
def links(
    path: Annotated[Path, typer.Argument(help="A folder of saved answers of one source, or one saved page.")],
    base_url: Annotated[str, typer.Option(help="Where it came from, if pages.jsonl does not say.")] = "",
    as_json: options.Json = False,
) -> None:
    """Offline: where do answers lead? The next page of each, the roles of URL arguments, and which URLs are worth fetching."""
    _print(api.links(path, base_url=base_url), as_json)


@app.command(epilog="Example: upwell probe https://example.org/ -o probe")
def probe(
    url: Annotated[str, typer.Argument(help="The site's home page, or the page with its search form.")],
    out: options.Out = Path("probe"),
    count: Annotated[int, typer.Option(min=1, help="Words to ask for at most; Thor asks 100.")] = 100,
    background: Annotated[int, typer.Option(min=1, help="Nonsense words; Thor asks 10.")] = 10,
    rate: options.Rate = 1.0,
    contact: options.Contact = "",
    ignore_robots: options.IgnoreRobots = False,
    as_json: options.Json = False,
) -> None:
    """Sends the probe queries and keeps the answers, in a folder that `upwell extract` reads; stops when the kinds are stable."""
    from upwell.progress import ProgressLine

    plan = Plan(probes=count, background=background, budget=2 * (count + background))
    manners = Manners(rate=rate, contact=contact, ignore_robots=ignore_robots)
    with ProgressLine(count + background, not as_json) as display:
        summary = api.probe(url, out=out, plan=plan, manners=manners, observe=display)
    print(_json(summary.as_dict()) if as_json else f"{summary.pages} answers kept in {out}")


@app.command(epilog="Example: upwell queries --snapshot texts.jsonl --limit 50 --json")
def queries(
    snapshot: Annotated[
        Path | None, typer.Option(help='Texts of the source: JSON Lines with "text", or Parquet.')
    ] = None,
    method: Annotated[
        str, typer.Option(help="random, frequency, cluster, packing, covering or overflow.")
    ] = "overflow",
    sampling: Annotated[
        str, typer.Option(help="Which words to look at: random, popular, optimal, auto or all.")
    ] = "all",
    size: Annotated[int, typer.Option(min=1, help="How many queries.")] = 150,
    limit: Annotated[
        int, typer.Option(min=0, help="Results that the source gives a query at most; 0 means no limit.")
    ] = 0,
    log: Annotated[Path | None, typer.Option(help="A query log: TSV or Parquet of query, url, clicks.")] = None,
    knowledge: Annotated[
        Path | None, typer.Option(help="A knowledge base: TSV or Parquet of domain, type, entity.")
    ] = None,
    site: Annotated[str, typer.Option(help="The host that queries from a log are for.")] = "",
    seed: Annotated[int, typer.Option(help="The same seed gives the same queries.")] = 0,
    as_json: options.Json = False,
) -> None:
    """Offline: chooses a dictionary of queries from texts, or generates queries from a log and a knowledge base."""
    from upwell.queries.select import Selection

    for row in api.queries(
        snapshot=snapshot,
        method=method,
        sampling=sampling,
        selection=Selection(size=size, limit=limit),
        log=log,
        knowledge_base=knowledge,
        site=site,
        seed=seed,
        warn=_warn,
    ):
        _print(row, as_json)


@app.command(
    epilog="Example: upwell blocks saved-pages/ --json\n\nExample: upwell blocks https://example.org/ --depth 2 --follow toc\n\n"
    "Example: upwell blocks saved-pages/ --method wisdom --json"
)
def blocks(
    places: Annotated[list[str], typer.Argument(help="Saved pages of one site (files, folders), or its address.")],
    depth: Annotated[int, typer.Option(min=0, help="How many links from the address to go.")] = 1,
    follow: Annotated[str, typer.Option(help="all links, or toc: only those of tables of contents.")] = "all",
    budget: Annotated[int, typer.Option(min=1, help="Pages to fetch at most.")] = 200,
    method: Annotated[str, typer.Option(help="upwell, or wisdom: subtrees as Wisdom finds them.")] = "upwell",
    rate: options.Rate = 1.0,
    contact: options.Contact = "",
    ignore_robots: options.IgnoreRobots = False,
    as_json: options.Json = False,
) -> None:
    """Which parts of ordinary pages inform? Articles with title, date and author, and tables of contents, a result a page."""
    manners = Manners(rate=rate, contact=contact, ignore_robots=ignore_robots)
    way = options.choice("--follow", follow, options.FOLLOWS)
    pages = 0
    for row in api.blocks(*places, depth=depth, follow=way, budget=budget, manners=manners, method=method):
        pages += 1
        _print(row, as_json)
    if pages == 1:
        print(
            "upwell: one page only, so what repeats through the site is not known; give more of its pages",
            file=sys.stderr,
        )


@app.command(
    epilog="Example: upwell demo -o demo-harvest\n\nExample: upwell demo --serve --set layout=table --set limit=100"
)
def demo(
    out: options.Out = Path("demo-harvest"),
    budget: options.Budget = 700,
    settings: Annotated[list[str] | None, typer.Option("--set", help="A switch of the site, as name=value.")] = None,
    serve_only: Annotated[
        bool, typer.Option("--serve", help="Only run the site, until Ctrl-C; with --json it then lists the requests.")
    ] = False,
    port: Annotated[int, typer.Option(help="Port for --serve; 0 means any free one.")] = 8000,
    as_json: options.Json = False,
) -> None:
    """Starts the bundled site of 34,000 cities and harvests it, with the true coverage beside the estimated one."""
    from upwell.demo import Switches
    from upwell.progress import ProgressLine

    switches = Switches.parse(settings or [])
    if serve_only:
        _serve(switches, port, as_json)
        return
    with ProgressLine(budget, not as_json) as display:
        result, truth = api.demo(out=out, switches=switches, plan=Plan(budget=budget), observe=display)
    _show(result, as_json, truth)


def _serve(switches: "Switches", port: int, as_json: bool) -> None:
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


def _show(result: "Result", as_json: bool, truth: "DemoTruth | None" = None) -> None:
    from upwell.display import lines_of_harvest

    if as_json:
        print(_json({**result.summary, "truth": truth.as_dict()} if truth else result.summary))
    else:
        print("\n".join(lines_of_harvest(result, truth)))


def _print(result: "VerbResult", as_json: bool) -> None:
    from upwell.display import lines

    for line in [_json(result.as_dict())] if as_json else lines(result):
        print(line)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


if __name__ == "__main__":
    main()
