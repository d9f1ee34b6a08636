"""The `upwell` command and `python -m upwell`: runs each verb in a supervised process, and handles Ctrl-C while libraries are loading."""

import sys

from upwell.signals import leave

__all__ = ["main"]

HARVESTING = ("harvest", "learn", "demo")  # these verbs read pages in a process that they supervise themselves
# Verbs that read pages; what the others read are tables of the user, which may be large.
READING = (
    "forms",
    "probe",
    "ask",
    "catalogue",
    "enrich",
    "blocks",
    "extract",
    "entities",
    "cluster",
    "links",
    "explain",
)


def main() -> None:
    """Load the command line and run it."""
    verb = next((argument for argument in sys.argv[1:] if not argument.startswith("-")), "")
    try:
        if verb and verb not in HARVESTING and "--help" not in sys.argv:
            from upwell.supervision import run_command

            run_command(_run, has_memory_limit=verb in READING)
        _run()
    except KeyboardInterrupt:
        leave("interrupted before any request was sent")


def _run() -> None:
    from upwell.cli import main as run

    run()


if __name__ == "__main__":
    main()
