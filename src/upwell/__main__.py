"""The `upwell` command, and `python -m upwell`: begins at once, so that a Ctrl-C while libraries are loaded is no traceback."""

from upwell.signals import leave

__all__ = ["main"]


def main() -> None:
    """Loads the command line and runs it."""
    try:
        from upwell.cli import main as run

        run()
    except KeyboardInterrupt:
        leave("interrupted before anything was asked")


if __name__ == "__main__":
    main()
