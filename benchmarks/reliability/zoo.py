"""Harvest real applications from their home pages and compare with their true contents: `python -m benchmarks.reliability.zoo ZOO [NAME…]`.

ZOO is a folder with one folder per application, which contains `start.sh` and `truth.jsonl` and in which `setup.sh` was run. The column
“× ideal” is the number of requests divided by the ideal number, records ÷ page size. Page sizes are from the notes of the applications.
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

APPLICATIONS = {  # home page, records per page (0: unknown), whether the pages of one query can reach everything
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
    "plone": ("http://127.0.0.1:8111/Plone", 10, True),
    "devpi": ("http://127.0.0.1:8103/", 0, False),
    "wordpress": ("http://127.0.0.1:8205/", 10, True),
    "kiwix": ("http://127.0.0.1:8210/", 0, False),
    "redmine": ("http://127.0.0.1:8209/", 0, False),
    "tiddlywiki": ("http://127.0.0.1:8110/", 0, False),
    "kerko": ("http://127.0.0.1:8305/", 20, True),
    "hyperkitty": ("http://127.0.0.1:8215/", 10, True),
    "evershop": ("http://127.0.0.1:8310/", 0, False),
    "vitepress": ("http://127.0.0.1:8307/", 0, False),
    "mlflow": ("http://127.0.0.1:8312/", 0, False),
    "webforms": ("http://127.0.0.1:8401/", 0, False),
    "datatables": ("http://127.0.0.1:8402/", 0, False),
    "railsjobs": ("http://127.0.0.1:8404/", 0, False),
    "graphql": ("http://127.0.0.1:8409/", 0, False),
    "rt": ("http://127.0.0.1:8403/", 0, False),
}


def harvest_row(zoo: Path, name: str, budget: int, out: Path) -> list[str]:
    """Harvest one application and return its row of the table."""
    home, page_size, pages_reach_all = APPLICATIONS[name]
    subprocess.run(["/bin/sh", "start.sh"], cwd=zoo / name, check=True, capture_output=True)
    truth = [json.loads(line) for line in (zoo / name / "truth.jsonl").open(encoding="utf-8")]
    started = time.process_time()
    try:
        running = api.RunOptions(engine="inline")  # its CPU time is measured
        result = api.harvest(home, out=out / name, plan=Plan(budget=budget), manners=Manners(rate=0), running=running)
    except UpwellError as error:
        return [name, f"{type(error).__name__}: {error}"[:100], *[""] * 9]
    score = scorer("harvest")
    figures = score.score(score.records_in(result.folder), truth)
    summary = json.loads((result.folder / "summary.json").read_text())
    stated_coverage, size = summary["coverage"], summary["size"]
    ideal = len(truth) / page_size if page_size else 0
    held = figures["held"]
    low, high = (held / max(1, size[end]) for end in ("high", "low"))
    template = summary["sources"][0]["template"]
    return [
        name,
        f"{template['method']} {urlsplit(template['url']).path} {template['query_field']} ×{len(summary['sources'])}",
        f"{summary['requests']:,}",
        f"{figures['records']:,}",
        f"{figures['coverage']:.1%}",
        f"at most {min(1, high):.0%}"
        if stated_coverage is None
        else f"{stated_coverage:.1%} ({min(1, low):.0%}–{min(1, high):.0%})",
        f"{figures['precision']:.3f}",
        f"{figures['duplicates']}",
        f"{summary['requests'] / ideal:.2f}" if ideal and pages_reach_all else "",
        summary["stopped"],
        f"{time.process_time() - started:.0f}",
    ]


def main() -> None:
    """Print each row as soon as it is available, then the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("zoo", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--budget", type=int, default=2000)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for name in options.names or APPLICATIONS:
            rows.append(harvest_row(options.zoo, name, options.budget, options.out or Path(scratch)))
            print(" | ".join(rows[-1]), flush=True)
    print(
        Table(
            title="Applications, harvested from the home page",
            columns=[
                "application", "interface", "requests", "records", "true coverage", "stated (interval)", "precision", "duplicates", "× ideal",
                "stopped", "CPU s",
            ],
            rows=rows,
        ).text()
    )  # fmt: skip


if __name__ == "__main__":
    main()
