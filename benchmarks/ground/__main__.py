"""Measure the whole grid of simulated sources, a part of it, or a source made of a file.

python -m benchmarks.ground                                          the grid: a table, and plots in the folder --plot
python -m benchmarks.ground --records things.jsonl.gz --json         one line per setting and seed
python -m benchmarks.ground --settings all cap200 --collections cities --seeds 1
python -m benchmarks.ground --random 300 --judge                     sources with settings drawn at random, by class
"""

import argparse
import json
import multiprocessing
import os
import sys
from pathlib import Path

from benchmarks.ground.collections import CHOSEN_ON, COLLECTIONS, JUDGED_ON
from benchmarks.ground.measure import RANDOM, SIZE, measure
from benchmarks.ground.report import plots, table, table_by_class
from benchmarks.ground.settings import SETTINGS


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.ground", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=Path, help="JSON Lines (gzip allowed): id, and texts")
    parser.add_argument("--collections", nargs="+", choices=list(COLLECTIONS), default=None)
    parser.add_argument("--settings", nargs="+", choices=list(SETTINGS), default=list(SETTINGS), metavar="NAME")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--random", type=int, default=0, help="draw so many settings at random instead of the grid")
    parser.add_argument("--certify", type=int, default=0, help="requests spent on the size when 75 %% are held")
    parser.add_argument("--first", type=int, default=0, help="seed of the first random setting")
    parser.add_argument("--judge", action="store_true", help="use the collections on which no constant was chosen")
    parser.add_argument(
        "--size", type=int, default=None, help=f"records of a collection; default: {SIZE}, or all of a file"
    )
    parser.add_argument("--json", action="store_true", help="one line per setting and seed on stdout")
    parser.add_argument("--out", type=Path, help="also write the lines to a file")
    parser.add_argument("--compare", "--beside", type=Path, help="lines of an earlier run to compare with")
    parser.add_argument("--plot", type=Path, help="folder for two plots")
    parser.add_argument("--no-oracle", action="store_true")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    split = list(JUDGED_ON if arguments.judge else CHOSEN_ON)
    names = [str(arguments.records)] if arguments.records else arguments.collections or split
    size = arguments.size if arguments.size is not None else 0 if arguments.records else SIZE
    tasks = [
        (name, setting, seed, size, not arguments.no_oracle, arguments.certify)
        for name in names
        for seed in range(arguments.seeds)
        for setting in arguments.settings
    ]
    if arguments.random:
        seeds = range(arguments.first, arguments.first + arguments.random)
        tasks = [
            (names[seed % len(names)], RANDOM, seed, 0, not arguments.no_oracle, arguments.certify) for seed in seeds
        ]
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    rows = []
    with multiprocessing.get_context("spawn").Pool(min(arguments.workers, len(tasks))) as pool:
        for number, row in enumerate(pool.imap(measure, tasks, chunksize=2)):
            rows.append(row)
            if arguments.out:
                with arguments.out.open("a" if number else "w") as kept:
                    kept.write(json.dumps(row) + "\n")
            if arguments.json:
                print(json.dumps(row), flush=True)
            if sys.stderr.isatty():
                print(f"\r{number + 1} of {len(tasks)} harvests", end="", file=sys.stderr)
    if not arguments.json:
        before = [json.loads(line) for line in arguments.compare.open()] if arguments.compare else []
        print(table_by_class(rows) if arguments.random else table(rows, before))
    for path in plots(rows, arguments.plot) if arguments.plot else ():
        print(path, file=sys.stderr)


if __name__ == "__main__":
    main()
