"""Saved pages at a path: HTML files, with what `pages.jsonl` says of them, or the answers of WARC files."""

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from upwell.errors import WrongUsage
from upwell.page.data import read_page
from upwell.page.tree import TagTree
from upwell.store import archive
from upwell.store.archive import Saved

__all__ = ["answers", "pages", "sample", "saved_at", "tree_of"]

OWN = ("source.json", "summary.json")  # what Upwell itself leaves beside saved answers


def answers(root: Path) -> tuple[list[str], list[TagTree], list[str]]:
    """The saved answers at a path: their names, trees and queries ("" where they are not known)."""
    saved = list(saved_at(root))
    return [page.page for page in saved], [tree_of(page) for page in saved], [page.query for page in saved]


def sample(root: Path, most: int) -> list[Saved]:
    """At most so many of the saved answers at a path, evenly spread over them; memory does not grow with their number."""
    kept: list[Saved] = []
    step = 1
    for i, page in enumerate(saved_at(root)):
        if i % step == 0:
            kept.append(page)
        if len(kept) > most:
            kept, step = kept[::2], 2 * step
    return kept


def tree_of(page: Saved) -> TagTree:
    """A saved answer as a tree; JSON is read like a page."""
    return read_page(page.body, page.url, page.headers)


def pages(place: str | Path) -> list[tuple[str, Callable[[], bytes], str]]:
    """The name, a way to read it, and the address of each saved page of a place: a page, a folder of pages, or WARC."""
    root = Path(place)
    if root.is_file() and root.suffix.lower() in (".html", ".htm"):
        return [(str(place), root.read_bytes, "")]
    found = sorted(p for p in root.rglob("*") if p.suffix.lower() in (".html", ".htm") and p.is_file())
    if not found and archive.files(root):
        return [(saved.page, partial(bytes, saved.body), saved.url) for saved in archive.pages(root)]
    if not found and root.is_file():
        return [(str(place), root.read_bytes, "")]
    if not found:
        raise WrongUsage(
            f"{place} is no page, no folder with .html files or WARC, and no address that begins with http:// or https://"
        )
    known = _pages_file(root)
    names = [p.relative_to(root).as_posix() for p in found]
    return [
        (name, path.read_bytes, known.get(name, {}).get("url") or "") for name, path in zip(names, found, strict=True)
    ]


def saved_at(root: Path) -> Iterator[Saved]:
    """The saved pages at a path: HTML files below it, with what `pages.jsonl` says of them; else JSON files; else the answers of its WARC files."""
    files = sorted(p for p in root.rglob("*") if p.is_file()) if root.is_dir() else [root] if root.is_file() else []
    known = _pages_file(root)
    found = [p for p in files if p.suffix.lower() in (".html", ".htm")]
    found = found or [p for p in files if p.suffix.lower() == ".json" and p.name not in OWN]
    if not found and not archive.files(root):
        raise WrongUsage(
            f"{root} has no .html files, no .json files and no WARC; this wants saved answers of one source"
        )
    for path in found:
        name = path.relative_to(root).as_posix() if root.is_dir() else path.name
        said = known.get(name, {})
        url, query = said.get("url") or "", said.get("query") or ""
        yield Saved(page=name, url=url, query=query, status=200, headers={}, body=path.read_bytes())
    if not found:
        yield from archive.pages(root)


def _pages_file(root: Path) -> dict[str, dict[str, str]]:
    """What `pages.jsonl` says of the pages of a folder, where there is one."""
    path = root / "pages.jsonl"
    if not path.is_file():
        return {}
    try:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        return {row["page"]: row for row in rows}
    except (ValueError, KeyError, TypeError) as error:
        raise WrongUsage(f'{path} is not JSON Lines with a "page" in each line ({error})') from error
