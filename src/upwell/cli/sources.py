"""The verbs over several sources: `ask`, `search`, `sql`, `enrich`, `match` and `compare`."""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from upwell import api
from upwell.choose.plan import Plan
from upwell.cli import options
from upwell.cli.app import app
from upwell.cli.network import asks_sites, manners_of, values_for
from upwell.cli.printing import as_json_text, print_result, printable, printable_json, shortened, table_lines, warn
from upwell.errors import UpwellError, WrongUsage

if TYPE_CHECKING:
    from upwell.combine.merge import Finding
    from upwell.combine.search import Hit
    from upwell.combine.sql import QueryResult

__all__ = ["ask", "catalogue", "compare", "enrich", "match", "search", "sql"]

BOLD, PLAIN = "\x1b[1m", "\x1b[0m"  # terminal codes (ECMA-48 §8.3.117)
CLEAR = "\x1b[K"  # terminal code: erase to the end of the line (ECMA-48 §8.3.41)
MAX_FIELD = 60  # characters of a field in a line
MAX_FIELDS = 6  # fields of a record in a line
MAX_NAMED = 20  # sources with problems that are named; the others are only counted
STOPPED_EARLY = 3  # exit code
SOURCES_CHANGED = 4  # exit code
MAX_TABLE_ROWS = 10_000  # rows of an aligned table, which is laid out in memory; safety limit


@app.command(
    epilog="Example: upwell ask 'san juan' harvest\n\nExample: upwell ask lima a/source.json b/source.json --deadline 3 --json"
)
@asks_sites
def ask(
    context: typer.Context,
    query: options.Question,
    places: options.LearnedPlaces,
    pages: options.AnswerPages = 1,
    deadline: options.Deadline = 5.0,
    limit: options.Limit = 20,
    as_json: options.Json = False,
) -> None:
    """Query learned sources live, all at once, and merge their answers.

    One line per entity, with the sources that returned it. The requests are as polite as those of a harvest. Sources that are slow,
    broken or changed are named on stderr.
    """
    result = api.ask(
        query,
        places,
        pages=pages,
        deadline=deadline,
        manners=lambda address: manners_of(values_for(context, address), address, is_typed=False),
    )
    for finding in result.findings[:limit]:
        for line in [as_json_text(finding.as_dict())] if as_json else _finding_lines(finding):
            print(line)
    _name("did not answer", result.troubles)
    _name("looks different", result.drifts)
    answered = len(result.answers) - len(result.troubles)
    if not as_json:
        print(f"{len(result):,} entities from {answered:,} of {len(result.answers):,} sources", file=sys.stderr)
    if result.answers and not any(answer.pages for answer in result.answers):
        raise UpwellError("no source answered")


@app.command(epilog="Example: upwell catalogue check sources\n\nExample: upwell catalogue check sources harvest --json")
@asks_sites
def catalogue(
    context: typer.Context,
    action: options.CatalogueAction,
    places: options.LearnedPlaces,
    deadline: options.Deadline = 5.0,
    as_json: options.Json = False,
) -> None:
    """Check learned sources: ask each one a query that it answered before, and report those that no longer answer or look different.

    Exit code 4: a source changed; 1: a source did not answer.
    """
    if action != "check":
        raise WrongUsage(f"catalogue {action}: the only action is `check`")
    checks = api.check_sources(
        places,
        deadline=deadline,
        manners=lambda address: manners_of(values_for(context, address), address, is_typed=False),
    )
    for check in checks:
        line = f"{check.state:<8} {check.source}" + (f": {check.detail}" if check.detail else "")
        print(as_json_text(check.as_dict()) if as_json else printable(line))
    states = {check.state for check in checks}
    if "changed" in states:
        raise typer.Exit(SOURCES_CHANGED)
    if "failed" in states:
        raise UpwellError("a source did not answer")


def _finding_lines(finding: "Finding") -> Iterator[str]:
    values = [shortened(value, MAX_FIELD) for value in finding.fields.values()]
    yield printable(f"{finding.rank:>3}. {' · '.join(values[:MAX_FIELDS])}")
    for sighting in finding.sources:
        yield printable(f"     {sighting.source} (no. {sighting.rank}) {sighting.url or ''}".rstrip())


def _name(what: str, sources: Mapping[str, str]) -> None:
    """Warn of sources with a problem: name the first ones, count the others."""
    for source, why in list(sources.items())[:MAX_NAMED]:
        warn(f"{source} {what}: {why}")
    if len(sources) > MAX_NAMED:
        warn(f"{len(sources) - MAX_NAMED:,} more sources: {what}")


@app.command(
    epilog="Example: upwell search 'country:peru population:>100000' harvest\n\n"
    "Example: upwell search '\"san juan\"' harvest --facet country --json"
)
def search(
    query: options.SearchQuery,
    folders: options.HarvestFolders = None,
    limit: options.Limit = 10,
    offset: options.Offset = 0,
    sites: options.Sites = None,
    facets: options.Facets = None,
    index: options.IndexFolder = None,
    as_json: options.Json = False,
) -> None:
    """Search the records of all harvests, by words and by columns, best first.

    The index is built on first use and updated when a table changes.
    """
    result = api.open(*(folders or ())).search(
        query,
        limit=limit,
        offset=offset,
        sites=sites or (),
        facets=facets or (),
        index=index,
        tell=_last_line,
    )
    _last_line("")
    for hit in result:
        for line in [as_json_text(hit.as_dict())] if as_json else _hit_lines(hit, sys.stdout.isatty()):
            print(line)
    if facets and as_json:
        print(as_json_text({"facets": result.facets, "count": result.count}))
    for trouble in result.troubles:
        warn(trouble)
    if as_json:
        return
    for name, values in result.facets.items():
        print(printable(f"{name}: " + ", ".join(f"{value} ({count:,})" for value, count in values.items())))
    print(f"{result.count:,} of {result.records:,} records match", file=sys.stderr)


def _hit_lines(hit: "Hit", is_terminal: bool) -> Iterator[str]:
    fields = [shortened(value, MAX_FIELD) for name, value in hit.record.items() if not name.startswith("_")]
    yield printable(f"{hit.score:6.2f}  {' · '.join(fields[:MAX_FIELDS])}")
    highlight = hit.highlight
    if highlight.text:
        pieces, position = [], 0
        for start, end in highlight.marks:
            pieces += [printable(highlight.text[position:start]), BOLD * is_terminal]
            pieces += [printable(highlight.text[start:end]), PLAIN * is_terminal]
            position = end
        text = "".join([*pieces, printable(highlight.text[position:])])
        yield f"        {printable(highlight.column)}: {text}"
    yield printable(f"        {hit.site} {hit.record.get('_url') or ''}".rstrip())


@app.command(
    epilog="Example: upwell sql 'SELECT country, count(*) FROM everything GROUP BY 1 ORDER BY 2 DESC' harvest\n\n"
    "Example: upwell sql 'SELECT * FROM example_org' harvest --format parquet -o rows.parquet"
)
def sql(
    query: options.SqlQuery,
    folders: options.HarvestFolders = None,
    format: options.SqlFormat = "table",
    out: options.SqlFile = None,
    as_json: options.Json = False,
) -> None:
    """Query the tables of all harvests in SQL (DuckDB).

    There is a table for each site, a view `everything` with the columns of all sites aligned, and a view `same_as` of matching records.
    The query can only read these: other files and URLs are out of reach.
    """
    from upwell.store.remote import open_output, without_credentials

    chosen = options.choice("--format", "json" if as_json else format, options.SQL_FORMATS)
    if chosen == "parquet" and out is None:
        raise WrongUsage("--format parquet needs a file: name it with -o")
    answer = api.open(*(folders or ())).sql(query)
    if out is not None:
        with open_output(out) as path:
            _write(answer, path, chosen)
        print(without_credentials(out), file=sys.stderr)
        return
    for line in _lines(answer, chosen):
        # CSV is data if a program reads it; on a terminal it must not control the terminal
        print(printable(line) if chosen == "csv" and sys.stdout.isatty() else line)


def _lines(answer: "QueryResult", format: str) -> Iterator[str]:
    if format == "json":
        for row in answer.rows():
            yield printable_json(json.dumps(row, ensure_ascii=False, default=str))
    elif format == "csv":
        from upwell.table.writers import csv_lines

        yield from csv_lines(answer.columns, answer)
    else:
        rows = answer.first(MAX_TABLE_ROWS + 1)
        yield from table_lines(answer.columns, rows[:MAX_TABLE_ROWS])
        if len(rows) > MAX_TABLE_ROWS:
            warn(f"only the first {MAX_TABLE_ROWS:,} rows are shown; use --format csv or json for all")


def _write(answer: "QueryResult", path: Path, format: str) -> None:
    from upwell.table.writers import write

    try:
        if format in ("csv", "parquet"):
            write(answer.rows(), path.parent, format, file=path, columns=answer.columns)  # type: ignore[arg-type] # one of the two
        else:
            path.write_text("".join(f"{line}\n" for line in _lines(answer, format)), encoding="utf-8")
    except OSError as error:
        raise WrongUsage(f"{path} cannot be written ({error.strerror}); choose another with -o") from error


@app.command(epilog="Example: upwell enrich books/example.org:author authors/example.com/source.json --budget 500")
@asks_sites
def enrich(
    context: typer.Context,
    place: options.ColumnPlace,
    source: options.LearnedSource,
    out: options.EnrichedFolder = None,
    budget: options.Budget = Plan.budget,
    format: options.Format = "parquet",
    as_json: options.Json = False,
) -> None:
    """Query a source for each value of a column, and add the fields of the best match.

    The same command, run again, continues where it stopped; with a larger budget it continues further.
    """
    from upwell.combine.learned_source import load_sources, source_files

    interface = load_sources(source_files([source])[0])[0].interface
    address = interface.page or interface.url
    result = api.enrich(
        place,
        source,
        out=out,
        budget=budget,
        manners=manners_of(values_for(context, address), address, is_typed=False),
        format=options.choice("--format", format, options.FORMATS),
        tell=_last_line,
    )
    _last_line("")
    if as_json:
        print(as_json_text(result.as_dict()))
    else:
        columns = ", ".join(result.columns) or "no columns"
        print(printable(f"{result.found:,} of {result.rows:,} rows enriched by {columns}"))
        values = f"{result.asked:,} of {result.values:,} values queried"
        print(f"stopped: {result.stopped} after {result.requests:,} requests; {values}")
        print(f"rows: {result.file}")
    if result.stopped in ("interrupted", "blocked"):
        raise typer.Exit(STOPPED_EARLY)


def _last_line(word: str) -> None:
    """Replace the last line of the terminal; print nothing if stderr is not a terminal."""
    if sys.stderr.isatty():
        print(f"\r{CLEAR}{printable(word)}", end="", file=sys.stderr, flush=True)


@app.command(
    epilog="Example: upwell match harvest/example.org harvest/example.com --json\n\n"
    "Example: upwell match a.jsonl b.csv --columns\n\nExample: upwell match a.jsonl --clusters"
)
def match(
    a: options.TableA,
    b: options.TableB = None,
    columns: options.MatchColumns = False,
    clusters: options.Clusters = False,
    as_json: options.Json = False,
) -> None:
    """Find the rows of two tables, or of one, that describe the same entity.

    One line per pair, with its probability. No labels or settings are needed. With one table, its duplicates are found, and the score is
    a similarity.
    """
    if b is None:
        if columns:
            raise WrongUsage("--columns needs two tables")
        _print_duplicates(a, clusters, as_json)
        return
    if clusters:
        raise WrongUsage("--clusters is for one table: upwell match A --clusters")
    if columns:
        print_result(api.match_columns(a, b), as_json)
        return
    scores = []
    for pair in api.match(a, b):
        scores.append(pair.score)
        print(as_json_text(pair.as_dict()) if as_json else printable(f"{pair.score:.2f}  {pair.a}  {pair.b}"))
    if not scores:
        warn("no row of one table matches a row of the other")
    elif not as_json:
        print(
            f"{len(scores):,} pairs; about {sum(scores):,.0f} of them are right by their probabilities", file=sys.stderr
        )


def _print_duplicates(table: str, clusters: bool, as_json: bool) -> None:
    """Print the duplicates of one table, as pairs or clusters."""
    from upwell.combine.catalogue import duplicates

    found = duplicates(table)
    for cluster in found:
        if clusters:
            keys = "  ".join(map(str, cluster.keys))
            print(as_json_text(cluster.as_dict()) if as_json else printable(f"{cluster.score:.2f}  {keys}"))
            continue
        for pair in cluster.pairs():
            print(as_json_text(pair.as_dict()) if as_json else printable(f"{pair.score:.2f}  {pair.a}  {pair.b}"))
    if not found:
        warn("no two rows of the table are similar enough to be the same")
    elif not as_json:
        rows = sum(len(cluster.keys) for cluster in found)
        print(f"{rows:,} rows are {len(found):,} entities", file=sys.stderr)


@app.command(
    epilog="Example: upwell compare harvest/example.org harvest/example.com -o compared\n\n"
    "Example: upwell compare a.parquet b.csv c.jsonl --json"
)
def compare(
    places: options.TablesToCompare,
    out: options.ComparisonFolder = "compared",
    format: options.Format = "parquet",
    as_json: options.Json = False,
) -> None:
    """Compare several sources: merged table, overlap, differences, size of the field.

    Each entity becomes one row of the merged table; a report shows which source has which entities and where values differ.
    """
    chosen = options.choice("--format", format, options.FORMATS)
    print_result(api.compare(*places, out=out, format=chosen), as_json)
