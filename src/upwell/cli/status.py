"""The verbs about existing harvests and settings: `status`, `export` and `config`."""

import json
from pathlib import Path
from typing import Any

import typer

from upwell import api
from upwell.cli import options
from upwell.cli.app import app, settings_of
from upwell.cli.network import option_name
from upwell.cli.printing import as_json_text, print_result, printable, warn
from upwell.config import SECRETS, Origin
from upwell.errors import UpwellError, WrongUsage

__all__ = ["config", "explain", "export", "schema", "status"]


@app.command(epilog="Example: upwell status harvest")
def status(folder: options.HarvestFolder = "harvest", as_json: options.Json = False) -> None:
    """List the harvests in a folder: records, coverage, and why each stopped.

    No request is sent. While a harvest of several sites runs, the number of waiting, running, finished and failed sites is printed.
    """
    from upwell.store.location import has_state_below
    from upwell.store.remote import is_remote

    run = api.run_status(folder)
    number = records = 0
    unreadable: list[str] = []
    if run is None or is_remote(folder) or has_state_below(Path(folder)):  # not yet if a run has just begun
        for harvest in api.status(folder, warn=unreadable.append):
            print_result(harvest, as_json)
            number, records = number + 1, records + harvest.records
    if number > 1 and not as_json:
        print(f"{number} harvests, {records:,} records")
    if run is not None and run.sites != 1:
        print_result(run, as_json)
    for reason in unreadable:
        warn(reason)
    if unreadable:
        raise typer.Exit(1)


@app.command(
    epilog="Example: upwell explain harvest/example.org\n\nExample: upwell explain harvest/example.org 30 --json"
)
def explain(folder: options.HarvestFolder, number: options.RequestNumber = None, as_json: options.Json = False) -> None:
    """Why was a request sent? Shows what was expected of it, what its answer had, the candidates compared, and the evidence for its records.

    Without a number, lists all requests with their yield, and a summary by kind.
    """
    from upwell.harvest.explain import lines

    result = api.explain(folder, number)
    for line in [as_json_text(result.as_dict())] if as_json else map(printable, lines(result)):
        print(line)


@app.command(
    epilog="Example: upwell export harvest/example.org -o table.xlsx\n\n"
    "Example: upwell export harvest/example.org --columns title,population=pop:int --plain -o cities.csv"
)
def export(
    folder: options.HarvestFolder,
    format: options.Format = "",
    out: options.ExportFile = None,
    exactly: options.Columns = None,
    columns: options.ChosenColumns = "",
    drop: options.Drop = "",
    schema: options.SchemaFile = None,
    plain: options.Plain = False,
    keep_formulas: options.KeepFormulas = False,
    as_json: options.Json = False,
) -> None:
    """Write the table of a harvest in another format, or with other columns. No request is sent.

    Without --format, the suffix of the file decides: table.xlsx is a workbook.
    """
    chosen = options.choice("--format", format, options.FORMATS) if format else None
    wanted = options.user_schema(columns, drop, schema, is_plain=plain)
    if exactly and wanted:
        raise WrongUsage("--column cannot be combined with --columns, --drop, --schema or --plain; use one of them")
    tables = api.export(
        folder, format=chosen, out=out, columns=exactly or (), schema=wanted, keep_formulas=keep_formulas, warn=warn
    )
    for exported in tables:
        print_result(exported, as_json)


@app.command(epilog="Example: upwell schema harvest/example.org > schema.json")
def schema(folder: options.HarvestFolder, out: options.SchemaOut = None) -> None:
    """Write the schema of a harvest: the names, types and fields of its columns, as JSON that can be edited.

    --schema of harvest and export reads it: later harvests then have exactly these columns.
    """
    text = json.dumps(api.schema_of(folder), ensure_ascii=False, indent=1)
    if out is None:
        print(text)
        return
    try:
        out.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise WrongUsage(f"{out} cannot be written ({error.strerror}); choose another with -o") from error
    print(f"schema written to {out}")


@app.command(epilog="Example: upwell config --show")
def config(context: typer.Context, show: options.ShowConfig = False, as_json: options.Json = False) -> None:
    """Show the options set by UPWELL_… variables and upwell.toml.

    Options on the command line take precedence over both.
    """
    parent = context.parent
    if parent is None:
        raise UpwellError("run it as `upwell config`")
    settings = settings_of(parent)  # type: ignore[arg-type] # the context of the app itself
    group: Any = parent.command
    values: dict[str, dict[str, object]] = {}
    for verb, command in group.commands.items():
        for parameter in command.params:
            name = option_name(parameter)
            if name and name not in ("help", "json", "show"):
                origin = settings.verbs.get(verb, {}).get(name)
                if origin is not None or show:
                    default = None if parameter.default is None else str(parameter.default)
                    values.setdefault(verb, {})[name] = _shown(name, origin or Origin(value=default, where="default"))
    for host, table in settings.sites.items():
        values[f'site "{host}"'] = {name: _shown(name, origin) for name, origin in table.items()}
    for message in settings.unknown:
        warn(message)
    if as_json:
        print(as_json_text({"file": str(settings.file) if settings.file else None, "options": values}))
        return
    print(f"file: {settings.file or 'no upwell.toml in this folder or above it'}")
    for place, rows in values.items():
        print(f"[{place}]")
        for name, shown in rows.items():
            print(printable(f"  {name} = {shown['value']}  ({shown['from']})"))  # type: ignore[index] # made by _shown


def _shown(name: str, origin: Origin) -> dict[str, object]:
    """Return the value of an option, hidden if it is a secret, and where it is set."""
    from upwell.net.access import REDACTED

    return {"value": REDACTED if name in SECRETS and origin.value else origin.value, "from": origin.where}
