"""The verbs that read saved pages: `extract`, `entities`, `cluster`, `links`, `queries`, and `blocks`, which can also fetch them."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from upwell import api
from upwell.cli import options
from upwell.cli.app import app
from upwell.cli.network import asks_sites, manners_of, values_for
from upwell.cli.printing import print_result, warn
from upwell.errors import WrongUsage

if TYPE_CHECKING:
    from upwell.results import VerbResult
    from upwell.table.user_schema import UserSchema

__all__ = ["blocks", "cluster", "entities", "extract", "links", "queries"]

STOPPED_EARLY = 3  # exit code


@app.command(
    epilog="Example: upwell extract saved-answers/ --json\n\n"
    "Example: upwell extract saved-answers/ --regions 2 -o tables/\n\nExample: upwell extract saved-answers/ --method thor --json"
)
def extract(
    path: options.AnswersFolder,
    source: options.KnownSource = None,
    save: options.SaveSource = None,
    links: options.WithLinks = False,
    method: options.ExtractMethod = "upwell",
    regions: options.Regions = 1,
    out: options.TableFile = None,
    format: options.Format = "parquet",
    columns: options.ChosenColumns = "",
    drop: options.Drop = "",
    schema: options.SchemaFile = None,
    plain: options.Plain = False,
    engine: options.PartEngine = "",
    workers: options.PartWorkers = 0,
    as_json: options.Json = False,
) -> None:
    """Extract the records of saved answers of one source.

    The structure is learned from all pages together; one result is printed per page. With --engine, many WARC files are read at once: one
    result is printed per file, and the folder of -o receives a part of the table for each.
    """
    from upwell.source.model import load

    model = load(options.source_text(source)) if source else None
    wanted = _schema_of_table(columns, drop, schema, is_plain=plain, out=out)
    if engine:
        others = {
            "--columns, --drop, --schema or --plain": wanted,
            "--save": save,
            "--links": links,
            "--regions": regions > 1,
            "--method": method != "upwell",
        }
        _read_in_parts(
            "extract", [path], out, engine, workers, model, {**others, "--format": format != "parquet"}, as_json
        )
        return
    pages = api.extract(
        path,
        model=model,
        save=save,
        links=links,
        method=method,
        regions=regions,
        table=out,
        format=options.choice("--format", format, options.FORMATS),
        schema=wanted,
        warn=warn,
    )
    _print_pages(pages, as_json, path)


def _schema_of_table(columns: str, drop: str, schema: Path | None, *, is_plain: bool, out: str | None) -> "UserSchema":
    """Return the schema that the options ask for; it needs a table."""
    wanted = options.user_schema(columns, drop, schema, is_plain=is_plain)
    if wanted and out is None:
        raise WrongUsage("--columns, --drop, --schema and --plain are about the table: choose a place for it with -o")
    return wanted


def _print_pages(pages: "Iterable[VerbResult]", as_json: bool, *places: str) -> None:
    """Print the results of saved pages; name damaged parts of archives, and exit with 3 if there are any."""
    number = 0
    for page in pages:
        number += 1
        print_result(page, as_json)
    _end_if_damaged(number, *places)


def _end_if_damaged(pages: int, *places: str) -> None:
    from upwell.store.archive import damage

    damaged = [part for place in places if Path(place).exists() for part in damage(Path(place))]
    for part in damaged:
        warn(part)
    if damaged:
        warn(f"{pages:,} pages were read")
        raise typer.Exit(STOPPED_EARLY)


@app.command(
    epilog="Example: upwell entities saved-pages/ --json\n\n"
    "Example: upwell entities saved-pages/ -o table --format csv --save columns.json"
)
def entities(
    path: options.RecordPages,
    out: options.TableFolder = None,
    format: options.Format = "parquet",
    columns: options.ChosenColumns = "",
    drop: options.Drop = "",
    schema: options.SchemaFile = None,
    plain: options.Plain = False,
    model: options.KnownEntities = None,
    save: options.SaveEntities = None,
    engine: options.PartEngine = "",
    workers: options.PartWorkers = 0,
    as_json: options.Json = False,
) -> None:
    """Extract a table from saved pages that each describe one entity.

    The columns are learned from all pages together; one result is printed per page. With --engine, many WARC files are read at once: one
    result is printed per file, and the folder of -o receives a part of the table for each.
    """
    from upwell.records.entity_model import load_model

    known = load_model(options.source_text(model, "upwell entities --save")) if model else None
    wanted = _schema_of_table(columns, drop, schema, is_plain=plain, out=out)
    if engine:
        others = {
            "--save": save, "--format": format != "parquet", "--columns, --drop, --schema or --plain": wanted,
        }  # fmt: skip
        _read_in_parts("entities", [path], out, engine, workers, known, others, as_json)
        return
    table_format = options.choice("--format", format, options.FORMATS)
    pages = api.entities(path, model=known, save=save, out=out, format=table_format, schema=wanted, warn=warn)
    _print_pages(pages, as_json, path)


def _read_in_parts(
    verb: str,
    places: list[str],
    out: str | None,
    engine: str,
    workers: int,
    model: object,
    others: Mapping[str, object],
    as_json: bool,
) -> None:
    """Print a result for each WARC file; exit with 3 if one is broken. `others` are options that --engine does not support."""
    if out is None or len(places) > 1:
        raise WrongUsage("--engine reads one folder of WARC files and needs a folder for the tables: choose it with -o")
    if given := [name for name, value in others.items() if value]:
        raise WrongUsage(f"{', '.join(given)} cannot be combined with --engine; leave one of them out")
    chosen = options.choice("--engine", engine, options.PART_ENGINES)
    is_whole = True
    for part in api.read_in_parts(verb, places[0], out=out, engine=chosen, workers=workers, model=model, warn=warn):
        print_result(part, as_json)
        if part.trouble:
            is_whole = False
            warn(f"{part.file}: {part.trouble}; the same command tries this file again")
    raise typer.Exit(0 if is_whole else STOPPED_EARLY)


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
    """Group saved answers by page template, and name the kind of each group."""
    from upwell.papers.thor import ClusterParams

    params = ClusterParams(
        signature=options.choice("--signature", signature, options.SIGNATURES),
        algorithm=options.choice("--algorithm", algorithm, options.ALGORITHMS),
        distance=options.choice("--distance", distance, options.DISTANCES),
        k=k,
        most=most,
        restarts=restarts,
        criterion=options.choice("--criterion", criterion, options.CRITERIA),
    )
    _print_pages(api.cluster(path, params=params, top=top, known=known), as_json, path)


@app.command(epilog="Example: upwell links saved-answers/ --json")
def links(path: options.AnswersPath, base_url: options.AnswersUrl = "", as_json: options.Json = False) -> None:
    """Find next pages, URLs worth fetching and the roles of URL arguments in saved answers."""
    _print_pages([api.links(path, base_url=base_url)], as_json, path)


@app.command(
    epilog="Example: upwell queries --snapshot texts.jsonl --result-cap 50 --json\n\n"
    "Example: upwell queries --snapshot harvest/example.org --column title --method cluster --distance cosine"
)
def queries(
    snapshot: options.Snapshot = None,
    columns: options.TextColumns = None,
    method: options.SelectionMethod = "overflow",
    sampling: options.Sampling = "all",
    size: options.QueryCount = 150,
    result_cap: options.ResultCap = 0,
    distance: options.WordDistance = "intersection",
    linkage: options.Linkage = "complete",
    delta: options.Delta = 0.6,
    log: options.LogFile = None,
    knowledge: options.KnowledgeFile = None,
    site: options.LogSite = "",
    seed: options.Seed = 0,
    curve: options.Curve = False,
    as_json: options.Json = False,
) -> None:
    """Choose queries from texts, or generate them from a query log and a knowledge base."""
    from upwell.papers.yuan import Selection

    selection = Selection(
        size=size,
        result_cap=result_cap,
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
        curve=curve,
        warn=warn,
    )
    for query in suggested:
        print_result(query, as_json)


@app.command(
    epilog="Example: upwell blocks saved-pages/ --json\n\nExample: upwell blocks https://example.org/ --depth 2 --follow toc\n\n"
    "Example: upwell blocks https://example.org/ -o articles\n\nExample: upwell blocks saved-pages/ --method wisdom --json"
)
@asks_sites
def blocks(
    context: typer.Context,
    places: options.PagesOrAddress,
    depth: options.Depth = 1,
    follow: options.Follow = "all",
    budget: options.PageBudget = 200,
    method: options.BlockMethod = "upwell",
    out: options.BlockTables = None,
    engine: options.PartEngine = "",
    workers: options.PartWorkers = 0,
    as_json: options.Json = False,
) -> None:
    """Find the main content and the tables of contents of ordinary pages.

    Articles have a title, a date and an author. One result is printed per page. With --engine, many WARC files are read at once: one
    result is printed per file, and the folder of -o receives a part of the tables for each.
    """
    if engine:
        _read_in_parts("blocks", places, out, engine, workers, None, {"--method": method != "upwell"}, as_json)
        return
    results = api.blocks(
        *places,
        depth=depth,
        follow=options.choice("--follow", follow, options.FOLLOWS),
        budget=budget,
        manners=manners_of(values_for(context, places[0]), places[0]),
        method=method,
        out=out,
    )
    pages = 0
    for page in results:
        pages += 1
        print_result(page, as_json)
    if pages == 1:
        warn("with one page only, parts that repeat on every page cannot be recognized; give more pages of the site")
    _end_if_damaged(pages, *places)
