"""Search over a million records relative to SQLite's FTS5, in one run.

The records are the names of the knowledge base and the lines of the texts next to the project. Bars: 20,000 records indexed per CPU
second; a ranked query of two words in a tenth of the time of FTS5; the memory of a searching process does not grow.

    python -m benchmarks.speed.search [--records N]
"""

import argparse
import gzip
import json
import random
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from benchmarks.corpora import CORPORA, require
from benchmarks.speed.table import Row, show
from upwell.combine.catalogue import harvests_at
from upwell.combine.search import parse_query, search_index
from upwell.combine.search_index import SearchIndex, open_index
from upwell.table import parquet

RECORDS = 1_000_000
INDEX_BAR = 20_000  # records per CPU second
QUERY_BAR = 0.1  # of the time of FTS5
QUERIES = 300
MEMORY_QUERIES = (200, 1000)  # queries between two measurements of memory
MEMORY_BAR = 1.1  # largest ratio of the second measurement to the first
MIN_LINE_CHARS = 20


def records(folder: Path) -> Iterator[dict[str, object]]:
    """Yield the names of the knowledge base, then the lines of the texts."""
    with gzip.open(folder / "knowledge" / "entities.tsv.gz", "rt", encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines):
            domain, _, rest = line.rstrip("\n").partition("\t")
            kind, _, name = rest.partition("\t")
            yield {"_key": f"e{number}", "domain": domain, "type": kind, "name": name, "number": number}
    for file in sorted((folder / "texts").glob("*.jsonl.gz")):
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            for text in map(json.loads, lines):
                for number, line in enumerate(str(text["text"]).split("\n")):
                    if len(line) >= MIN_LINE_CHARS:
                        yield {"_key": f"{text['id']}#{number}", "of": text["id"], "line": number, "text": line}


def queries(rows: list[dict[str, object]], count: int) -> list[tuple[str, str]]:
    """Draw pairs of words, each from one record, at random."""
    rng = random.Random(0)
    found: list[tuple[str, str]] = []
    while len(found) < count:
        row = rng.choice(rows)
        words = sorted(
            set(re.findall(r"[a-z]{3,}", str(row.get("name") or row.get("text")).lower())) - {"or", "and", "not"}
        )
        if len(words) > 1:
            first, second = rng.sample(words, 2)
            found.append((first, second))
    return found


def fts5(rows: list[dict[str, object]], path: Path) -> sqlite3.Connection:
    """Index the same texts with SQLite's full-text index, without accents, as ours."""
    db = sqlite3.connect(path)
    db.execute("CREATE VIRTUAL TABLE found USING fts5(text, tokenize='unicode61 remove_diacritics 2')")
    texts = (" ".join(str(v) for k, v in row.items() if k != "_key" and isinstance(v, str)) for row in rows)
    db.executemany("INSERT INTO found (text) VALUES (?)", ((text,) for text in texts))
    db.commit()
    return db


def rank(opened: SearchIndex, query: str) -> int:
    """Return the best ten records, ranked."""
    return len(opened.index.searcher().search(parse_query(query, opened).query, 10, count=False).hits)


def show_found(opened: SearchIndex, query: str) -> int:
    """Return the best ten records with their rows and snippets."""
    return len(search_index(opened, query, with_count=False))


RANKED = "SELECT rowid, rank FROM found WHERE found MATCH ? ORDER BY rank LIMIT 10"
SHOWN = "SELECT text, snippet(found, 0, '[', ']', '…', 20) FROM found WHERE found MATCH ? ORDER BY rank LIMIT 10"


def memory(folder: Path, asked: list[tuple[str, str]]) -> list[int]:
    """Return the private memory in KB of a new searching process, at each measurement."""
    code = """
import json, re, sys
from pathlib import Path
from upwell.combine.search import search_index
from upwell.combine.search_index import open_index
opened, (queries, looks) = open_index(sys.argv[1]), json.loads(sys.stdin.read())
for look in looks:
    for number in range(look):
        search_index(opened, " ".join(queries[number % len(queries)]))
    print(re.search(r"RssAnon:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
"""
    given = json.dumps([asked, MEMORY_QUERIES])
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)], input=given, capture_output=True, text=True, check=True
    )
    return [int(line) for line in done.stdout.split()]


def rows(wanted: int = RECORDS) -> Iterator[Row]:
    """Measure indexing, ranked queries and memory; the cost of showing results in addition to ranking is printed on stderr."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "site"
        folder.mkdir()
        held = list(islice(records(CORPORA), wanted))
        columns = list(dict.fromkeys(name for row in held for name in row))
        parquet.write(held, {name: name for name in columns}, folder / "records.parquet")
        opened = open_index(Path(scratch))
        started = time.process_time()
        updated = opened.update(harvests_at([scratch]))
        rate = updated.added / (time.process_time() - started)
        started = time.process_time()
        again = opened.update(harvests_at([scratch]))
        unchanged = time.process_time() - started
        started = time.process_time()
        db = fts5(held, Path(scratch) / "fts5.sqlite")
        reference = len(held) / (time.process_time() - started)
        asked = queries(held, QUERIES)
        print(
            f"{len(held):,} records; {again.added} were indexed the second time, in {1000 * unchanged:.0f} ms",
            file=sys.stderr,
        )
        print(f"records indexed a second of CPU: {rate:,.0f}, by FTS5 {reference:,.0f}", file=sys.stderr)
        yield Row(
            f"indexing a record; {INDEX_BAR:,} a second",
            f"{1e6 / rate:.0f} µs",
            f"{1e6 / INDEX_BAR:.0f} µs",
            INDEX_BAR / rate,
            1.0,
        )
        for name, between in (("both of two words", " "), ("one of two words", " OR ")):
            for what, ask_us, ask_them in ((f"{name}, ranked", rank, RANKED), (f"{name}, shown", show_found, SHOWN)):
                ours, theirs = _in_turns(opened, db, asked, between, ask_us, ask_them)
                times = [f"{1e3 * seconds / len(asked):.3f} ms" for seconds in (ours, theirs)]
                if ask_us is rank:
                    yield Row(f"searching for {what}; SQLite FTS5", times[0], times[1], ours / theirs, QUERY_BAR)
                else:
                    print(f"{what}: {times[0]}, FTS5 {times[1]}: {ours / theirs:.3f}", file=sys.stderr)
        first, second = memory(Path(scratch), asked)
        sizes = [f"{size / 1024:.0f} MB" for size in (second, first)]
        name = f"memory after {sum(MEMORY_QUERIES):,} searches; after {MEMORY_QUERIES[0]}"
        yield Row(name, sizes[0], sizes[1], second / first, MEMORY_BAR)


def _in_turns(
    opened: SearchIndex,
    db: sqlite3.Connection,
    asked: list[tuple[str, str]],
    between: str,
    ask_us: Callable[[SearchIndex, str], int],
    ask_them: str,
) -> tuple[float, float]:
    """Return the CPU seconds of both for the same queries."""
    ours = theirs = 0.0
    for one, other in asked:  # alternating, so that other programs on the machine slow both equally
        started = time.process_time()
        found = ask_us(opened, f"{one}{between}{other}")
        middle = time.process_time()
        best = db.execute(ask_them, (f'"{one}"{between}"{other}"',)).fetchall()
        theirs += time.process_time() - middle
        ours += middle - started
        assert found == len(best)
    return ours, theirs


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=RECORDS)
    require()
    return show(rows(parser.parse_args().records))


if __name__ == "__main__":
    sys.exit(main())
