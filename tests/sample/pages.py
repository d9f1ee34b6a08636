"""The saved pages of the sample, each with its truth."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "pages"
TRUTH = "truth.jsonl"


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page and its truth."""

    body: str
    url: str
    truth: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Site:
    """Pages that are read together: answers of one source, or pages of one site."""

    name: str
    pages: list[Page] = field(default_factory=list)

    @property
    def judgement(self) -> str:
        """What the truth is about: answers, pagers, totals, forms, articles, contents or entities."""
        return self.name.split("-")[0]


def load() -> dict[str, Site]:
    """Read all sites by name."""
    sites: dict[str, Site] = {}
    for line in (FOLDER / TRUTH).read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        body = (FOLDER / entry["file"]).read_text(encoding="utf-8")
        page = Page(body=body, url=entry["url"], truth=entry["truth"])
        sites.setdefault(entry["site"], Site(name=entry["site"])).pages.append(page)
    return sites


def lines_of(sites: Iterable[Site]) -> Iterator[tuple[str, str, str]]:
    """Yield file name, content and line of `truth.jsonl` of each page."""
    for site in sites:
        for n, page in enumerate(site.pages, 1):
            file = f"{site.name}-{n}.html" if len(site.pages) > 1 else f"{site.name}.html"
            entry = {"site": site.name, "file": file, "url": page.url, "truth": page.truth}
            yield file, page.body, json.dumps(entry, ensure_ascii=False)
