"""The `upwell` command and `python -m upwell`; handles Ctrl-C while libraries are loading."""

from upwell.signals import leave

__all__ = ["main"]


def main() -> None:
    """Load the command line and run it."""
    try:
        from upwell.cli import main as run

        run()
    except KeyboardInterrupt:
        leave("interrupted before any request was sent")


if __name__ == "__main__":
    main()
