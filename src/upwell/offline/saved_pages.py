"""Saved pages: HTML files described by `pages.jsonl`, else JSON files, else responses in WARC files."""

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from upwell.errors import UpwellError, WrongUsage
from upwell.page.formats import read_page
from upwell.page.tree import TagTree
from upwell.store import archive
from upwell.store.location import has_state
from upwell.store.read_only import StateLocked, open_read_only
from upwell.urls.hosts import is_valid

__all__ = ["SavedPage", "pages_at", "sample_evenly", "saved_page"]

OWN_FILES = ("source.json", "summary.json", "datapackage.json")  # files that Upwell writes next to saved answers
REPORT = "report.html"  # also written by Upwell if there is a summary next to it


@dataclass(frozen=True, kw_only=True)
class SavedPage:
    """Saved page; its body is loaded on demand, so that many pages can be listed."""

    name: str  # path relative to the folder; for a WARC response, file name and offset
    load: Callable[[], bytes]
    url: str = ""  # "" if unknown
    query: str = ""  # "" if unknown
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)

    def tree(self, *, reveals: bool = False) -> TagTree:
        """Parse the page; JSON is parsed like a page. `reveals` keeps hidden text."""
        return read_page(self.load(), self.url, self.headers, reveals=reveals)


def pages_at(path: Path) -> Iterator[SavedPage]:
    """Yield the saved pages at a path, a file or a folder: files by name, WARC responses in file order."""
    if not path.exists():
        raise WrongUsage(f"{path} does not exist; give a saved page or a folder of saved pages")
    files = _page_files(path)
    if not files and not archive.warc_files(path):
        raise WrongUsage(f"{path} has no HTML, JSON or WARC files; give saved pages of one source or site")
    details = _pages_jsonl(path)
    for file in files:
        name = file.relative_to(path).as_posix() if path.is_dir() else file.name
        entry = details.get(name, {})
        url = entry.get("url") or ""
        yield SavedPage(
            name=name, load=file.read_bytes, url=url if is_valid(url) else "", query=entry.get("query") or ""
        )
    unreadable = set() if files else _unreadable_urls(path)
    for response in () if files else archive.archived_pages(path):
        if response.url not in unreadable:
            yield saved_page(response)


def _unreadable_urls(path: Path) -> set[str]:
    """Return the URLs of an archive of a harvest whose answers ended the process that read them."""
    for folder in (path, *path.parents[:2]):
        if folder.is_dir() and has_state(folder):
            with suppress(UpwellError, StateLocked, sqlite3.Error), open_read_only(folder) as state:
                return state.unreadable_urls()
    return set()


def saved_page(response: archive.ArchivedPage) -> SavedPage:
    """Convert an archived response into a saved page."""
    return SavedPage(
        name=response.page,
        load=partial(bytes, response.body),
        url=response.url,
        query=response.query,
        status=response.status,
        headers=response.headers,
    )


def sample_evenly(pages: Iterable[SavedPage], max_pages: int) -> list[SavedPage]:
    """Return at most `max_pages` pages, evenly spread; memory does not grow with the number of pages."""
    sampled: list[SavedPage] = []
    step = 1
    for number, page in enumerate(pages):
        if number % step == 0:
            sampled.append(page)
        if len(sampled) > max_pages:
            sampled, step = sampled[::2], 2 * step
    return sampled


def _page_files(path: Path) -> list[Path]:
    """Return the file itself unless it is WARC; for a folder, its HTML files, else its JSON files."""
    if path.is_file():
        return [] if archive.warc_files(path) else [path]
    files = sorted(file for file in path.rglob("*") if file.is_file() and not _is_own(file))
    html = [file for file in files if file.suffix.lower() in (".html", ".htm")]
    return html or [file for file in files if file.suffix.lower() == ".json"]


def _is_own(file: Path) -> bool:
    """Return True if Upwell wrote the file."""
    return file.name in OWN_FILES or (file.name == REPORT and file.with_name("summary.json").is_file())


def _pages_jsonl(folder: Path) -> dict[str, dict[str, str]]:
    """Return the entries of `pages.jsonl` by page name; empty if there is no such file."""
    path = folder / "pages.jsonl"
    if not path.is_file():
        return {}
    try:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        return {row["page"]: row for row in rows}
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise WrongUsage(f'{path} is not JSON Lines with a "page" in each line ({error})') from error
