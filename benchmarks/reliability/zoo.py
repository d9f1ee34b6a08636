"""Harvests each application of the zoo from its home page and compares with its truth: `python -m benchmarks.reliability.zoo ZOO [NAME…]`.

ZOO is a copy of the zoo folder in which `setup.sh` was run. The budget is twice the ideal (records ÷ page size) and a little for finding
the way in, or what `--budget` says. Ideal page sizes are those of the applications' notes.
"""

import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.corpora import scorer
from benchmarks.papers import Table
from upwell import api
from upwell.errors import UpwellError
from upwell.harvest.loop import Plan
from upwell.net.fetch import Manners

HOMES = {  # home page, records on a page, whether a pager without limit reaches everything
    "datasette": ("http://127.0.0.1:8101/", 70.6, True),
    "calibreweb": ("http://127.0.0.1:8104/", 60, True),
    "trac": ("http://127.0.0.1:8105/env", 10, True),
    "verdaccio": ("http://127.0.0.1:8107/", 0, False),
    "mezzanine": ("http://127.0.0.1:8109/", 10, True),
    "omega": ("http://127.0.0.1:8201/", 10, True),
    "dokuwiki": ("http://127.0.0.1:8202/doku.php", 0, False),
    "mediawiki": ("http://127.0.0.1:8204/index.php", 20, True),
    "namazu": ("http://127.0.0.1:8206/", 20, True),
    "htdig": ("http://127.0.0.1:8207/", 10, False),
    "gitweb": ("http://127.0.0.1:8211/", 100, True),
    "fossil": ("http://127.0.0.1:8213/", 0, False),
}


def one(zoo: Path, name: str, budget: int, out: Path) -> list[str]:
    """One row of the table."""
    home, size, pager = HOMES[name]
    subprocess.run(["/bin/sh", "start.sh"], cwd=zoo / name, check=True, capture_output=True)
    truth = [json.loads(line) for line in (zoo / name / "truth.jsonl").open(encoding="utf-8")]
    started = time.process_time()
    try:
        result = api.harvest(home, out=out / name, plan=Plan(budget=budget), manners=Manners(rate=0))
    except UpwellError as error:
        return [name, f"{type(error).__name__}: {error}"[:100], *[""] * 9]
    score = scorer("harvest")
    found = score.score(score.records_in(result.folder), truth)
    summary = json.loads((result.folder / "summary.json").read_text())
    said, estimate = summary["coverage"], summary["size"]
    ideal = len(truth) / size if size else 0
    held = found["held"]
    low, high = (held / max(1, estimate[end]) for end in ("high", "low"))
    template = summary["sources"][0]["template"]
    return [
        name,
        f"{template['method']} {urlsplit(template['url']).path} {template['query_field']} ×{len(summary['sources'])}",
        f"{summary['requests']:,}",
        f"{found['records']:,}",
        f"{found['coverage']:.1%}",
        f"{said:.1%} ({min(1, low):.0%}–{min(1, high):.0%})",
        f"{found['precision']:.3f}",
        f"{found['duplicates']}",
        f"{summary['requests'] / ideal:.2f}" if ideal and pager else "",
        summary["stopped"],
        f"{time.process_time() - started:.0f}",
    ]


def main() -> None:
    """The table, a row as soon as it is there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("zoo", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--budget", type=int, default=2000)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for name in options.names or HOMES:
            rows.append(one(options.zoo, name, options.budget, options.out or Path(scratch)))
            print(" | ".join(rows[-1]), flush=True)
    print(
        Table(
            title="The zoo, from the home page",
            columns=[
                "application", "way in", "requests", "records", "true coverage", "said (interval)", "precision", "duplicates", "× ideal", "stopped", "CPU s",
            ],
            rows=rows,
        ).text()
    )  # fmt: skip


if __name__ == "__main__":
    main()
