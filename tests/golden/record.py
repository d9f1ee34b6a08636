"""Save answers of the demo site as the server sends them: `python -m tests.golden --record`.

Nothing depends on the port: requests and saved URLs use the host `demo.example`.
"""

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from upwell.demo import Switches, serve
from upwell.demo.cities import search
from upwell.demo.switches import Layout

__all__ = ["HOST", "RecordedPage", "record", "recorded_pages"]

HOST = "demo.example"
PAGE_SIZE = 10
# file name, query, page number: words that match many cities, few, one and none, and a second page
REQUESTS = (
    ("spain", "spain", 1),
    ("spain-2", "spain", 2),
    ("georgia", "georgia", 1),
    ("victoria", "victoria", 1),
    ("lima", "lima", 1),
    ("york", "york", 1),
    ("timbuktu", "timbuktu", 1),
    ("nonsense", "qqqqxxxx", 1),
)


@dataclass(frozen=True)
class RecordedPage:
    """One answer, with its line of `pages.jsonl`."""

    name: str
    body: bytes
    about: dict[str, object]


def recorded_pages(layout: Layout) -> Iterator[RecordedPage]:
    """Return the answers of the demo site in one layout; always the same bytes."""
    with serve(Switches(layout=layout, page_size=PAGE_SIZE)) as site:
        for name, query, page in REQUESTS:
            arguments = {"q": query} | ({"page": str(page)} if page > 1 else {})
            request = Request(f"{site.url}search?{urlencode(arguments)}", headers={"Host": HOST})  # noqa: S310 # our own server
            with urlopen(request) as answer:  # noqa: S310 # our own server
                body, url, status, kind = answer.read(), answer.url, answer.status, answer.headers.get_content_type()
            file = f"{name}.{'json' if kind == 'application/json' else 'html'}"
            shown = search(query)[(page - 1) * PAGE_SIZE : page * PAGE_SIZE]
            about: dict[str, object] = {
                "page": file,
                "url": url.replace(site.url, f"http://{HOST}/"),
                "query": query,
                "status": status,
                "has_next": len(search(query)) > page * PAGE_SIZE,
                "cities": [[city.id, city.name, city.population] for city in shown],
            }
            yield RecordedPage(file, body, about)


def record(layout: Layout, folder: Path) -> None:
    """Rewrite `inputs/` of a layout's folder."""
    inputs = folder / "inputs"
    shutil.rmtree(inputs, ignore_errors=True)
    inputs.mkdir(parents=True)
    pages = list(recorded_pages(layout))
    for page in pages:
        (inputs / page.name).write_bytes(page.body)
    lines = [json.dumps(page.about, ensure_ascii=False) for page in pages]
    (inputs / "pages.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
