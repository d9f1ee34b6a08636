"""`extract` over an archive of many WARC files in parts: CPU per page and peak memory of the largest process.

    python -m benchmarks.speed.archives FOLDER [--megabytes 1000] [--file-megabytes 64] [--engine processes] [--workers 2]

The archive is created once in FOLDER: answers of twenty records each, with a comment of incompressible noise, in place of the scripts and
pictures of real pages.
"""

import argparse
import base64
import random
import resource
import shutil
import time
from pathlib import Path

from upwell import api
from upwell.store.archive import Archive, warc_files
from upwell.types import Request, Response

RECORDS = 20
NOISE_BYTES = 15_000  # bytes of noise per page: about 17 KB compressed, with the records
WORDS = [f"{a}{b}{c}" for a in ("am", "bir", "ce", "du") for b in ("lo", "ri", "ta", "ne") for c in ("n", "ster", "x")]


def page(number: int, rng: random.Random) -> bytes:
    """Return one answer."""
    rows = "".join(
        f"<li class=hit><a href=/thing/{number * RECORDS + i}>{' '.join(rng.choices(WORDS, k=5))} {number * RECORDS + i}</a>"
        f"<b class=cost>$ {rng.randrange(100_000) / 100:.2f}</b><i class=day>{rng.randrange(1990, 2026)}-{rng.randrange(1, 13):02}-11</i>"
        f"<p class=text>{' '.join(rng.choices(WORDS, k=30))}</p></li>"
        for i in range(RECORDS)
    )
    noise = base64.b64encode(rng.randbytes(NOISE_BYTES)).decode()
    menu = "".join(f"<li><a href=/about/{word}>About {word}</a></li>" for word in WORDS[:20])
    return f"<!doctype html><title>Search</title><!-- {noise} --><ul class=menu>{menu}</ul><ul class=hits>{rows}</ul><p>Made here".encode()


def make(folder: Path, megabytes: int, of_file: int) -> int:
    """Create the archive unless it exists; return the number of its pages."""
    rng, number = random.Random(0), 0
    note = folder / "pages.txt"
    if note.is_file():
        return int(note.read_text())
    with Archive(folder / "archive", max_bytes=of_file * 1_000_000) as archive:
        size = 0
        while size < megabytes * 1_000_000:
            request = Request(url=f"http://example.org/?page={number}", query=WORDS[number % len(WORDS)])
            headers = {"Content-Type": "text/html"}
            archive.write(
                Response(request=request, url=request.url, status=200, headers=headers, body=page(number, rng)), ()
            )
            number += 1
            if number % 500 == 0:
                size = sum(file.stat().st_size for file in warc_files(folder))
    note.write_text(str(number))
    return number


def main() -> None:
    """Print pages, rows, CPU per page and peak memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--file-megabytes", type=int, default=64, help="of one WARC file")
    parser.add_argument("--engine", default="processes")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    before = time.process_time()
    pages = make(options.folder, options.megabytes, options.file_megabytes)
    made = time.process_time() - before
    size = sum(file.stat().st_size for file in warc_files(options.folder)) / 1e6
    print(
        f"archive: {len(warc_files(options.folder))} files, {size:,.0f} MB, {pages:,} pages (made in {made:.0f} CPU s)",
        flush=True,
    )
    out = options.folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    begun, here = time.monotonic(), time.process_time()
    parts = list(
        api.read_in_parts(
            "extract", options.folder / "archive", out=out, engine=options.engine, workers=options.workers
        )
    )
    here = time.process_time() - here
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = here + children.ru_utime + children.ru_stime
    rows = sum(part.rows["records"] for part in parts)
    done = sum(part.pages for part in parts)
    print(
        f"{options.engine}, {options.workers} workers: {done:,} pages, {rows:,} rows, {time.monotonic() - begun:.0f} s"
    )
    print(f"CPU: {1000 * cpu / done:.2f} ms a page, of which {1000 * here / done:.2f} in the process that learns")
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    print(
        f"peak resident memory: {own:.0f} MB of the process that learns, {children.ru_maxrss / 1000:.0f} MB of the largest worker"
    )
    size_out = sum(file.stat().st_size for file in (out / "records").iterdir()) / 1e6
    print(f"table: {size_out:,.0f} MB in {len(parts)} parts")


if __name__ == "__main__":
    main()
