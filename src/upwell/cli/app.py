"""The `upwell` command itself: the app that the verbs of the other modules are added to, and what stands before a verb."""

import sys
from typing import Annotated

import typer

from upwell.cli.printing import warn
from upwell.errors import UpwellError

__all__ = ["app", "main"]

app = typer.Typer(
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
        warn(str(error))
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        warn("interrupted before there was anything to keep")
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
