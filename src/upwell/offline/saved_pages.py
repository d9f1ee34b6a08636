"""Pages that were saved: HTML files with what `pages.jsonl` says of them, else JSON files, else the responses in WARC files."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from upwell.errors import WrongUsage
from upwell.page.data import read_page
from upwell.page.tree import TagTree
from upwell.store import archive, archived_pages

__all__ = ["SavedPage", "pages_at", "sample_evenly", "saved_page"]

OWN_FILES = ("source.json", "summary.json", "datapackage.json")  # what Upwell itself writes beside saved answers
REPORT = "report.html"  # the same, where it lies beside a summary


@dataclass(frozen=True, kw_only=True)
class SavedPage:
    """One saved page; its bytes are read when they are wanted, so that many pages can be listed."""

    name: str  # relative to the folder; of a response in WARC: the file and its place in it
    load: Callable[[], bytes]
    url: str = ""  # "" where nobody knows
    query: str = ""  # the same
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)

    def tree(self) -> TagTree:
        """The page as a tree; JSON is read like a page."""
        return read_page(self.load(), self.url, self.headers)


def pages_at(path: Path) -> Iterator[SavedPage]:
    """The saved pages at a path, a file or a folder, in the order of their names; in WARC in the order in which they came."""
    if not path.exists():
        raise WrongUsage(f"{path} is neither a saved page nor a folder of them")
    files = _page_files(path)
    if not files and not archive.files(path):
        raise WrongUsage(
            f"{path} has no .html files, no .json files and no WARC; this wants saved pages of one source or site"
        )
    known = _pages_jsonl(path)
    for file in files:
        name = file.relative_to(path).as_posix() if path.is_dir() else file.name
        about = known.get(name, {})
        yield SavedPage(name=name, load=file.read_bytes, url=about.get("url") or "", query=about.get("query") or "")
    for response in () if files else archived_pages.pages(path):
        yield saved_page(response)


def saved_page(response: archived_pages.ArchivedPage) -> SavedPage:
    """A response of an archive as a saved page."""
    return SavedPage(
        name=response.page,
        load=partial(bytes, response.body),
        url=response.url,
        query=response.query,
        status=response.status,
        headers=response.headers,
    )


def sample_evenly(pages: Iterable[SavedPage], max_pages: int) -> list[SavedPage]:
    """At most so many of the pages, evenly spread over them; memory does not grow with their number."""
    sampled: list[SavedPage] = []
    step = 1
    for number, page in enumerate(pages):
        if number % step == 0:
            sampled.append(page)
        if len(sampled) > max_pages:
            sampled, step = sampled[::2], 2 * step
    return sampled


def _page_files(path: Path) -> list[Path]:
    """The file itself, unless it is WARC; the HTML files of a folder, else its JSON files."""
    if path.is_file():
        return [] if archive.files(path) else [path]
    files = sorted(file for file in path.rglob("*") if file.is_file() and not _is_own(file))
    html = [file for file in files if file.suffix.lower() in (".html", ".htm")]
    return html or [file for file in files if file.suffix.lower() == ".json"]


def _is_own(file: Path) -> bool:
    """Whether Upwell itself has written a file."""
    return file.name in OWN_FILES or (file.name == REPORT and file.with_name("summary.json").is_file())


def _pages_jsonl(folder: Path) -> dict[str, dict[str, str]]:
    """What `pages.jsonl` says of the pages of a folder, by their names, where there is one."""
    path = folder / "pages.jsonl"
    if not path.is_file():
        return {}
    try:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        return {row["page"]: row for row in rows}
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise WrongUsage(f'{path} is not JSON Lines with a "page" in each line ({error})') from error
