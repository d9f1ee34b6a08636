"""Run the measurements of one paper: `python -m benchmarks.papers thor`; plots are written to the folder `papers`, or to `-o`."""

import argparse
import importlib
from pathlib import Path

from benchmarks import papers
from benchmarks.corpora import CORPORA, require

PAPERS = ("entity", "thor", "wisdom", "yuan")
FORMER_NAMES = {"queries": "yuan"}


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers", description=__doc__)
    parser.add_argument("name", choices=[*PAPERS, *FORMER_NAMES], metavar="|".join(PAPERS), help="paper")
    parser.add_argument("-o", "--out", type=Path, default=Path("papers"), help="folder for the plots")
    wanted = parser.parse_args()
    require()
    wanted.out.mkdir(parents=True, exist_ok=True)
    for table in importlib.import_module(f"{papers.__name__}.{FORMER_NAMES.get(wanted.name, wanted.name)}").run(
        CORPORA, wanted.out
    ):
        print(table.text() + "\n", flush=True)


if __name__ == "__main__":
    main()
