"""What `upwell blocks -o DIR` keeps: a table of articles, a table of what the tables of contents list, and the pages that were fetched."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from upwell.errors import WrongUsage
from upwell.extract.dates import reader_of
from upwell.results import PageBlocks
from upwell.store import records
from upwell.store.archive import Archive
from upwell.store.folder import refuse_links
from upwell.store.state import State

__all__ = ["ARTICLE", "ENTRY", "kept_crawl", "rows_of_blocks", "with_tables"]

Row = dict[str, object]
ARTICLE = ("title", "text", "date", "author", "address")
ENTRY = ("page", "position", "title", "target")


@contextmanager
def kept_crawl(entrance: str, folder: Path | None) -> Iterator[tuple[State | None, Archive | None]]:
    """The state and the archive of a crawl in a folder; without a folder nothing is kept."""
    if folder is None:
        yield None, None
        return
    make_folder(folder)
    with State(folder / "crawl.sqlite") as state, Archive(folder / "archive") as archive:
        state.archive = archive
        if (before := state.note("entrance", entrance)) != entrance:
            raise WrongUsage(f"{folder} holds the pages from {before}; name another folder with -o")
        state.set_note("entrance", entrance)
        yield state, archive


def make_folder(folder: Path) -> None:
    """Makes a folder to write to; says so where it cannot be."""
    try:
        refuse_links(folder)
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WrongUsage(f"cannot write to {folder}: {error.strerror}; name another folder with -o") from error


def rows_of_blocks(page: PageBlocks) -> tuple[list[Row], list[Row]]:
    """The article of a page, if it has one, and what its tables of contents list."""
    texts = {block.type: block.text for block in page.blocks}
    articles: list[Row] = []
    if "article" in texts:
        fields: Row = {"title": texts.get("title"), "date": texts.get("date"), "author": texts.get("author")}
        articles.append(fields | {"text": texts["article"], "address": page.page})
    links = [link for block in page.blocks for link in block.links]
    entries: list[Row] = [
        {"page": page.page, "position": position, "title": title, "target": target}
        for position, (title, target) in enumerate(links, 1)
    ]
    return articles, entries


def with_tables(pages: Iterator[PageBlocks], folder: Path) -> Iterator[PageBlocks]:
    """The pages, and at their end the tables of their articles and of what they list."""
    articles: list[Row] = []
    entries: list[Row] = []
    for page in pages:
        of_page = rows_of_blocks(page)
        articles += of_page[0]
        entries += of_page[1]
        yield page
    make_folder(folder)
    dates = reader_of({str(row["date"]) for row in articles if row["date"]})
    for row in articles if dates else ():
        row["date"] = dates.read(str(row["date"])) if dates and row["date"] else None
    for name, columns, rows in (("articles", ARTICLE, articles), ("toc", ENTRY, entries)):
        records.write([{column: row[column] for column in columns} for row in rows], folder, name=name)
