"""Runs one paper's measurements: `python -m benchmarks.papers thor`; plots go to the folder `papers` (-o names another)."""

import argparse
import importlib
import pkgutil
from pathlib import Path

from benchmarks import papers
from benchmarks.corpora import CORPORA, require


def main() -> None:
    known = sorted(m.name for m in pkgutil.iter_modules(papers.__path__) if not m.name.startswith("_"))
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers", description=__doc__)
    parser.add_argument("name", choices=known, help="which paper")
    parser.add_argument("-o", "--out", type=Path, default=Path("papers"), help="folder for the plots")
    wanted = parser.parse_args()
    require()
    wanted.out.mkdir(parents=True, exist_ok=True)
    for table in importlib.import_module(f"{papers.__name__}.{wanted.name}").run(CORPORA, wanted.out):
        print(table.text() + "\n", flush=True)


if __name__ == "__main__":
    main()
