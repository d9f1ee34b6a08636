"""Table view of the web interface with a million rows: CPU of the server for a page, a filter and a facet, relative to the bare DuckDB
query.

    python -m benchmarks.speed.table_page [--rows 1000000]
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import urlopen

import duckdb

from benchmarks.speed.table import Row, show
from upwell.store.folder import open_folder

ROWS = 1_000_000
PAGES = {
    "first page": ("records", {}, "SELECT * FROM read_parquet('{file}') LIMIT 50"),
    "filter": ("records", {"is:kind": "kind 7"}, "SELECT * FROM read_parquet('{file}') WHERE kind = 'kind 7' LIMIT 50"),
    "count of the filter": (
        "records",
        {"is:kind": "kind 7"},
        "SELECT COUNT(*) FROM read_parquet('{file}') WHERE kind = 'kind 7'",
    ),
    "range and sort": (
        "records",
        {"min:price": "500", "sort": "price"},
        "SELECT * FROM read_parquet('{file}') WHERE price >= 500 ORDER BY price LIMIT 50",
    ),
    "words": (
        "records",
        {"q": "thing 77777"},
        "SELECT * FROM read_parquet('{file}') WHERE title ILIKE '%77777%' OR kind ILIKE '%77777%' OR note ILIKE '%77777%' LIMIT 50",
    ),
    "facet": (
        "facet",
        {"column": "kind"},
        "SELECT kind, COUNT(*) FROM read_parquet('{file}') GROUP BY kind ORDER BY 2 DESC LIMIT 12",
    ),
}


def write_harvest(folder: Path, rows: int) -> Path:
    """Write a harvest whose table has a number of rows."""
    with open_folder(folder / "large.example") as (place, _, _):
        pass
    file = place / "records.parquet"
    duckdb.connect().execute(
        f"COPY (SELECT 'http://large.example/' || i AS _key, 'title of thing ' || i AS title, 'kind ' || (i % 40) AS kind, "  # noqa: S608 # our own numbers
        f"(i * 7919 % 100000) / 100.0 AS price, DATE '2000-01-01' + CAST(i % 9000 AS INTEGER) AS day, "
        f"repeat('words ' || (i % 977) || ' ', 8) AS note FROM range({rows}) t(i)) TO '{file}' (FORMAT parquet, COMPRESSION zstd)"
    )
    summary = {
        "site": "large.example",
        "title": "Large",
        "records": rows,
        "requests": 1,
        "stopped": "budget",
        "tables": {"records": rows},
    }
    (place / "summary.json").write_text(json.dumps(summary))
    return file


def cpu_of(process: int) -> float:
    """Return the CPU seconds of a process so far (Linux)."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def best(measure: Callable[[], float], times: int = 5) -> float:
    return min(measure() for _ in range(times))


def rows(count: int = ROWS) -> Iterator[Row]:
    """Compare each page of the table with the bare query."""
    with tempfile.TemporaryDirectory() as scratch:
        file = write_harvest(Path(scratch), count)
        command = [sys.executable, "-m", "upwell", "serve", scratch, "--port", "0", "--json"]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            assert server.stdout is not None
            base = json.loads(server.stdout.readline())["url"]
            print(f"{count:,} rows, {file.stat().st_size / 1e6:.0f} MB; CPU, the best of five", file=sys.stderr)
            for name, (page, arguments, query) in PAGES.items():
                address = f"{base}harvests/large.example/{page}?{urlencode(arguments)}"

                def of_server(address: str = address) -> float:
                    before = cpu_of(server.pid)
                    urlopen(address).read()  # noqa: S310 # our own server
                    return cpu_of(server.pid) - before

                def of_duckdb(query: str = query) -> float:
                    before = time.process_time()
                    with duckdb.connect(config={"threads": 2}) as database:
                        database.execute(query.format(file=file)).fetchall()
                    return time.process_time() - before

                served, bare = best(of_server), best(of_duckdb)
                times = [f"{1000 * seconds:.0f} ms" for seconds in (served, bare)]
                yield Row(
                    f"the table in the browser, {name}; DuckDB alone",
                    times[0],
                    times[1],
                    served / max(bare, 0.001),
                    math.inf,
                )
        finally:
            server.terminate()
            server.wait(30)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    sys.exit(show(rows(parser.parse_args().rows)))
