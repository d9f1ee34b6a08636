"""The `upwell` command itself: the app that the verbs of the other modules are added to, and what stands before a verb."""

import signal
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

from upwell.cli.network import converted, option_name
from upwell.cli.options import HelpCommand, Verbose
from upwell.cli.printing import warn
from upwell.config import Settings, read_settings
from upwell.errors import UpwellError
from upwell.signals import end_program, leave, was_ended

__all__ = ["app", "main", "settings_of"]

INTERRUPTED = "interrupted; what was kept before is whole"


class _App(typer.Typer):
    """Typer app whose verbs have the help pages of `HelpCommand`."""

    def command(self, name: str | None = None, **settings: Any) -> Callable[[Any], Any]:
        return super().command(name, **{"cls": HelpCommand, **settings})


app = _App(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Brings up the data behind search boxes.\n\nExample: upwell harvest https://example.org/ -o harvest",
    epilog="Exit codes: 0 done, 1 could not be done, 2 wrong usage, 3 stopped early and kept what there is, "
    "4 with --exit-code a refresh found changes.",
)


def main() -> None:
    """The `upwell` command."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end_program)
    try:
        app()
    except SystemExit as end:  # Typer makes one of Ctrl-C, too, with a code of its own
        if not end.code or not was_ended():
            raise
        leave(INTERRUPTED)
    except UpwellError as error:
        warn(str(error))
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        leave(INTERRUPTED)


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        from upwell import __version__

        print(f"upwell {__version__}")
        raise typer.Exit


def settings_of(context: typer.Context) -> Settings:
    """What variables and upwell.toml say for the verbs of this app."""
    group: Any = context.command
    names = {
        verb: [name for parameter in command.params if (name := option_name(parameter))]
        for verb, command in group.commands.items()
    }
    return read_settings(names)


def _defaults(context: typer.Context, settings: Settings) -> dict[str, dict[str, Any]]:
    """The settings by verb and parameter, as Typer takes the defaults of verbs."""
    group: Any = context.command
    defaults: dict[str, dict[str, Any]] = {}
    for verb, command in group.commands.items():
        found = settings.verbs.get(verb, {})
        for parameter in command.params:
            name = option_name(parameter)
            if name in found:
                value, where = found[name].value, f"{found[name].where}: {name}"
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
    """The options that stand before a verb."""
    context.obj = settings_of(context)
    context.default_map = _defaults(context, context.obj)
