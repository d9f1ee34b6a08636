"""The verbs about several tables: match and compare."""

from upwell import api, options
from upwell.cli.app import app
from upwell.cli.printing import as_json_text, print_result, warn
from upwell.printable import printable

__all__ = ["compare", "match"]


@app.command(
    epilog="Example: upwell match harvest/example.org harvest/example.com --json\n\n"
    "Example: upwell match a.jsonl b.csv --columns"
)
def match(
    a: options.TableA, b: options.TableB, columns: options.MatchColumns = False, as_json: options.Json = False
) -> None:
    """Which rows of two tables are the same thing? A line a pair with how probable it is; no labels, no settings."""
    if columns:
        print_result(api.match_columns(a, b), as_json)
        return
    pairs = 0
    for pair in api.match(a, b):
        pairs += 1
        text = as_json_text(pair.as_dict()) if as_json else printable(f"{pair.score:.2f}  {pair.a}  {pair.b}")
        print(text)
    if not pairs:
        warn("no row of the one is the same thing as a row of the other, as far as they show")


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
    """What do several sources say? One table of all things, who has what, where they differ, how large the field is; and a report."""
    chosen = options.choice("--format", format, options.FORMATS)
    print_result(api.compare(*places, out=out, format=chosen), as_json)
