"""The `upwell` command: the Typer app to which the other modules add their verbs, its help page and the options before a verb."""

import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from upwell.cli.network import converted, option_name
from upwell.cli.options import FORMER_NAMES, HelpCommand, Verbose
from upwell.cli.printing import warn
from upwell.config import Origin, Settings, read_settings
from upwell.errors import UpwellError
from upwell.signals import end_program, leave, was_ended
from upwell.store.safe_files import file_problem

__all__ = ["app", "main", "settings_of"]

INTERRUPTED = "interrupted; everything that was saved before is intact"
MAX_HELP_WIDTH = 100  # columns of `--help` on a wide terminal; Typer's own limit is 80

# Verbs by topic, as `upwell --help` lists them; a verb that is not named here follows under "Other verbs".
VERB_GROUPS = {
    "Harvest": ("harvest", "learn", "demo", "forms", "probe"),
    "Look at harvests": ("status", "explain", "export", "serve", "tokens", "mcp", "config"),
    "Combine sources": ("ask", "catalogue", "search", "sql", "match", "compare", "enrich"),
    "Read saved pages": ("extract", "entities", "blocks", "links", "cluster", "queries"),
}


class _HelpGroup(TyperGroup):
    """Group whose `--help` lists the verbs by topic."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write one section per topic."""
        named = [name for names in VERB_GROUPS.values() for name in names]
        groups = {**VERB_GROUPS, "Other verbs": tuple(name for name in self.commands if name not in named)}
        width = max(map(len, self.commands))
        for title, names in groups.items():
            verbs = [(name, self.commands[name]) for name in names if name in self.commands]
            rows = [(name.ljust(width), verb.get_short_help_str(formatter.width - width - 6)) for name, verb in verbs]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


class _App(typer.Typer):
    """Typer app whose verbs have the help pages of `HelpCommand`."""

    def command(self, name: str | None = None, **settings: Any) -> Callable[[Any], Any]:
        return super().command(name, **{"cls": HelpCommand, **settings})


app = _App(
    cls=_HelpGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"max_content_width": MAX_HELP_WIDTH},
    help="Harvest the data behind search boxes: one table per site, with a statement of how much of the site it holds.\n\n"
    "Example: upwell harvest https://example.org/ -o harvest",
    epilog="`upwell VERB --help` describes a verb. Exit codes: 0 done, 1 failed, 2 wrong usage, "
    "3 stopped early and kept the results so far, 4 changes found by a refresh with --exit-code.",
)


def main() -> None:
    """Run the `upwell` command."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end_program)
    try:
        app(prog_name="upwell")
    except SystemExit as end:  # Typer turns Ctrl-C into an exit with a code of its own
        if not end.code or not was_ended():
            raise
        leave(INTERRUPTED)
    except UpwellError as error:
        warn(str(error))
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        leave(INTERRUPTED)
    except Exception as error:
        if not (problem := file_problem(error)):
            raise
        warn(f"{problem}; choose another place, or change the permissions of this one")
        sys.exit(1)


def _print_version(is_wanted: bool) -> None:
    if not is_wanted:
        return
    from upwell import __version__
    from upwell.native import compiled

    print(f"upwell {__version__} (native code {'missing' if compiled is None else 'active'})", flush=True)
    if compiled is None:
        warn(
            "WARNING: the compiled module is missing or belongs to another version, so pages are read by much slower Python code."
        )
        warn("hint: install a wheel for your platform: pip install --force-reinstall upwell")
        warn(
            "hint: from a clone, install a C compiler and the Python headers, then run: pip install --force-reinstall -e ."
        )
    raise typer.Exit


def settings_of(context: typer.Context) -> Settings:
    """Return the settings of UPWELL_… variables and upwell.toml, with former names of options replaced by present ones."""
    group: Any = context.command
    names = {
        verb: [*filter(None, map(option_name, command.params)), *FORMER_NAMES.get(verb, ())]
        for verb, command in group.commands.items()
    }
    settings = read_settings(names)
    return replace(
        settings,
        verbs={verb: _renamed(table, FORMER_NAMES.get(verb, {})) for verb, table in settings.verbs.items()},
        sites={host: _renamed(table, FORMER_NAMES["harvest"]) for host, table in settings.sites.items()},
    )


def _renamed(table: Mapping[str, Origin], names: Mapping[str, str]) -> dict[str, Origin]:
    return {names.get(name, name): origin for name, origin in table.items()}


def _defaults(context: typer.Context, settings: Settings) -> dict[str, dict[str, Any]]:
    """Return the settings by verb and parameter, as Typer takes the defaults of verbs."""
    group: Any = context.command
    defaults: dict[str, dict[str, Any]] = {}
    for verb, command in group.commands.items():
        origins = settings.verbs.get(verb, {})
        for parameter in command.params:
            name = option_name(parameter)
            if name in origins:
                value, where = origins[name].value, f"{origins[name].where}: {name}"
                defaults.setdefault(verb, {})[parameter.name] = converted(context, parameter, value, where)
    return defaults


@app.callback()
def upwell(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    verbose: Verbose = 0,
) -> None:
    """Read the settings for all verbs."""
    context.obj = settings_of(context)
    context.default_map = _defaults(context, context.obj)
