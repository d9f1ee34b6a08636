"""Append a measurement to the history of the benchmarks: `python -m benchmarks.history NAME FIGURE COMMAND [--date YYYY-MM-DD --commit ID]`.

`make docs` plots each name over its measurements. A line has the date, the commit, the machine and the command, so that a figure can be
measured again and is only compared with figures of like machines.
"""

import argparse
import json
import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path

__all__ = ["append", "machine"]

ROOT = Path(__file__).parents[1]
HISTORY = Path(__file__).with_name("history.jsonl")


def machine() -> str:
    """Return system, processor and number of cores, without the name of the machine."""
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"


def commit() -> str:
    """Return the commit that is checked out; with + if files differ from it."""

    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()  # noqa: S607

    return git("rev-parse", "--short", "HEAD") + ("+" if git("status", "--porcelain", "--untracked-files=no") else "")


def append(name: str, figure: float, command: str, *, file: Path = HISTORY, date: str = "", at: str = "") -> None:
    """Append a measurement."""
    line = {
        "name": name,
        "figure": figure,
        "command": command,
        "date": date or datetime.now(UTC).date().isoformat(),
        "commit": at or commit(),
        "machine": machine(),
    }
    with file.open("a", encoding="utf-8") as out:
        out.write(json.dumps(line, ensure_ascii=False) + "\n")


def main() -> None:
    """Append the measurement that the command line names."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("name")
    options.add_argument("figure", type=float)
    options.add_argument("command")
    options.add_argument("--date", default="", help="of the measurement, if it was not today")
    options.add_argument("--commit", default="", help="that was measured, if it is not the present one")
    chosen = options.parse_args()
    append(chosen.name, chosen.figure, chosen.command, date=chosen.date, at=chosen.commit)


if __name__ == "__main__":
    main()
