"""Search over a million records beside SQLite's FTS5, in one run.

The records are the names of the knowledge base and the lines of the texts that lie beside the project. Bars: 20,000 records indexed in a
second of CPU; a ranked query of two words in a tenth of FTS5's time; the memory of a process that asks does not grow.

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
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from benchmarks.corpora import CORPORA, require
from upwell.store import parquet
from upwell.together.harvests import harvests_at
from upwell.together.search import search_index
from upwell.together.search_index import SearchIndex, open_index
from upwell.together.search_query import parse

INDEX_BAR = 20_000  # records a second of CPU
QUERY_BAR = 0.1  # of the time of FTS5
QUERIES = 300
MEMORY_QUERIES = (200, 1000)  # asked before each look at the memory of a process
MEMORY_BAR = 1.1  # what it has after the second look, of what it had after the first
MIN_LINE_CHARS = 20


def records(folder: Path) -> Iterator[dict[str, object]]:
    """The names of the knowledge base, then the lines of the texts."""
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
    """Pairs of words of one record each, drawn at random."""
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
    """The same texts in SQLite's full-text index, without accents, as ours."""
    db = sqlite3.connect(path)
    db.execute("CREATE VIRTUAL TABLE found USING fts5(text, tokenize='unicode61 remove_diacritics 2')")
    texts = (" ".join(str(v) for k, v in row.items() if k != "_key" and isinstance(v, str)) for row in rows)
    db.executemany("INSERT INTO found (text) VALUES (?)", ((text,) for text in texts))
    db.commit()
    return db


def rank(opened: SearchIndex, query: str) -> int:
    """The best ten records, ranked."""
    return len(opened.index.searcher().search(parse(query, opened).query, 10, count=False).hits)


def show(opened: SearchIndex, query: str) -> int:
    """The same with their rows and snippets."""
    return len(search_index(opened, query, with_count=False))


RANKED = "SELECT rowid, rank FROM found WHERE found MATCH ? ORDER BY rank LIMIT 10"
SHOWN = "SELECT text, snippet(found, 0, '[', ']', '…', 20) FROM found WHERE found MATCH ? ORDER BY rank LIMIT 10"


def memory(folder: Path, asked: list[tuple[str, str]]) -> list[int]:
    """What a fresh process that asks keeps for itself, in KB, at each look."""
    code = """
import json, re, sys
from pathlib import Path
from upwell.together.search import search_index
from upwell.together.search_index import open_index
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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    wanted = parser.parse_args().records
    require()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "site"
        folder.mkdir()
        rows = list(islice(records(CORPORA), wanted))
        columns = list(dict.fromkeys(name for row in rows for name in row))
        parquet.write(rows, {name: name for name in columns}, folder / "records.parquet")
        opened = open_index(Path(scratch))
        started = time.process_time()
        updated = opened.update(harvests_at([scratch]))
        rate = updated.added / (time.process_time() - started)
        started = time.process_time()
        again = opened.update(harvests_at([scratch]))
        unchanged = time.process_time() - started
        started = time.process_time()
        db = fts5(rows, Path(scratch) / "fts5.sqlite")
        reference = len(rows) / (time.process_time() - started)
        asked = queries(rows, QUERIES)
        print(
            f"{len(rows):,} records; indexed {updated.added:,} ({again.added} the second time, {1000 * unchanged:.0f} ms)"
        )
        print(f"{'indexing':<28}{rate:>10,.0f} records a CPU second (FTS5 {reference:,.0f}), bar {INDEX_BAR:,}")
        ratios = []
        for name, between in (("both of two words", " "), ("one of two words", " OR ")):
            for what, ask_us, ask_them in ((f"{name}, ranked", rank, RANKED), (f"{name}, shown", show, SHOWN)):
                ours = theirs = 0.0
                for one, other in asked:  # by turns, so that other work on the machine slows both alike
                    started = time.process_time()
                    found = ask_us(opened, f"{one}{between}{other}")
                    middle = time.process_time()
                    best = db.execute(ask_them, (f'"{one}"{between}"{other}"',)).fetchall()
                    theirs += time.process_time() - middle
                    ours += middle - started
                    assert found == len(best)
                ratio = ours / theirs
                bar = f", bar {QUERY_BAR}" if ask_us is rank else ""
                ratios += [ratio] if ask_us is rank else []
                print(
                    f"{what:<28}{1e3 * ours / len(asked):>10.3f} ms of CPU, FTS5 {1e3 * theirs / len(asked):.3f}: {ratio:.3f}{bar}"
                )
        first, second = memory(Path(scratch), asked)
        print(
            f"{'memory of a process':<28}{first / 1024:>10.0f} MB after {MEMORY_QUERIES[0]} queries, {second / 1024:.0f} MB after {sum(MEMORY_QUERIES)}"
        )
        kept = rate >= INDEX_BAR and max(ratios) <= QUERY_BAR and second <= MEMORY_BAR * first
        print(f"\nthe bars are {'kept' if kept else 'broken'}")
        return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
