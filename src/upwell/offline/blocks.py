"""`upwell blocks`: informative blocks of the pages of one site, saved or crawled, and the tables written with `-o`."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from upwell.content import main_content
from upwell.content.main_text import MainText, find_main_text
from upwell.content.page_metadata import declared_metadata
from upwell.errors import WrongUsage
from upwell.net.access import split_credentials
from upwell.net.manners import Manners
from upwell.net.run import run_to_end
from upwell.offline.crawl import Follow, crawl
from upwell.offline.saved_pages import SavedPage, pages_at, sample_evenly
from upwell.page.tree import TagTree
from upwell.papers import wisdom
from upwell.places import address_of
from upwell.records.values import date_reader
from upwell.results import BlockOnPage, PageBlocks
from upwell.store.archive import Archive
from upwell.store.folder import refuse_links
from upwell.store.remote import is_remote, local_copy, open_output
from upwell.store.state import State
from upwell.table import writers

__all__ = [
    "ARTICLE_COLUMNS",
    "MAX_LEARNED_PAGES",
    "METHODS",
    "TOC_COLUMNS",
    "BlockReader",
    "blocks",
    "crawl_storage",
    "learn_reader",
    "page_blocks",
    "rows_of_blocks",
    "write_tables_at_end",
]


Row = dict[str, object]
ARTICLE_COLUMNS = ("title", "text", "date", "author", "address")
TOC_COLUMNS = ("page", "position", "title", "target")


@contextmanager
def crawl_storage(entrance: str, folder: Path | None) -> Iterator[tuple[State | None, Archive | None]]:
    """Open the state and the archive of a crawl in a folder; without a folder nothing is stored."""
    if folder is None:
        yield None, None
        return
    make_folder(folder)
    with State(folder / "crawl.sqlite") as state, Archive(folder / "archive") as archive:
        state.archive = archive
        if (stored_entrance := state.note("entrance", entrance)) != entrance:
            raise WrongUsage(f"{folder} contains pages crawled from {stored_entrance}; choose another folder with -o")
        state.set_note("entrance", entrance)
        yield state, archive


def make_folder(folder: Path) -> None:
    """Create an output folder; raise WrongUsage if that is impossible."""
    try:
        refuse_links(folder)
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WrongUsage(f"cannot write to {folder}: {error.strerror}; choose another folder with -o") from error


def rows_of_blocks(page: PageBlocks) -> tuple[list[Row], list[Row]]:
    """Return the article of a page, if any, and the entries of its tables of contents, as table rows."""
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


def write_tables_at_end(pages: Iterator[PageBlocks], folder: Path) -> Iterator[PageBlocks]:
    """Yield the pages; then write the tables of articles and of table-of-contents entries."""
    articles: list[Row] = []
    entries: list[Row] = []
    for page in pages:
        page_articles, page_entries = rows_of_blocks(page)
        articles += page_articles
        entries += page_entries
        yield page
    make_folder(folder)
    dates = date_reader({str(row["date"]) for row in articles if row["date"]})
    for row in articles if dates else ():
        row["date"] = dates.read(str(row["date"])) if dates and row["date"] else None
    for name, columns, rows in (("articles", ARTICLE_COLUMNS, articles), ("toc", TOC_COLUMNS, entries)):
        writers.write([{column: row[column] for column in columns} for row in rows], folder, name=name)


METHODS = ("upwell", "wisdom")
MAX_LEARNED_PAGES = 1000  # pages of a site used for learning; Wisdom §4.1: entropies stay within 0.1 beyond 200

BlockReader = Callable[[TagTree], tuple[main_content.Block, ...]]
MainReader = Callable[[TagTree], MainText]


def blocks(
    *places: str | Path,
    depth: int = 1,
    follow: Follow = "all",
    budget: int = 200,
    manners: Manners | None = None,
    method: str = "upwell",
    out: str | Path | None = None,
) -> Iterator[PageBlocks]:
    """Yield the informative blocks of each page of one site: saved pages (files and folders), or pages crawled from a URL.

    `method` is `upwell`, or `wisdom` for Wisdom as published, which finds whole subtrees and needs several pages of the site. `out` is a
    folder for two tables, `articles.parquet` and `toc.parquet`; fetched pages are stored there too, and an interrupted run continues.
    """
    if follow not in ("all", "toc"):
        raise WrongUsage(f"follow must be all or toc, not {follow!r}")
    if method not in METHODS:
        raise WrongUsage(f"method must be one of {', '.join(METHODS)}, not {method!r}")
    local_places = tuple(local_copy(place) if is_remote(place) else place for place in places)
    return _with_output(
        partial(_pages_with_blocks, local_places, depth, follow, budget, manners or Manners(), method), out
    )


def _with_output(pages: Callable[[Path | None], Iterator[PageBlocks]], out: str | Path | None) -> Iterator[PageBlocks]:
    """Yield the pages, and write tables if an output folder is given."""
    if out is None:
        yield from pages(None)
        return
    with open_output(out, resume=True) as folder:
        yield from write_tables_at_end(pages(folder), folder)


def _pages_with_blocks(
    places: tuple[str | Path, ...],
    depth: int,
    follow: Follow,
    budget: int,
    manners: Manners,
    method: str,
    out: Path | None,
) -> Iterator[PageBlocks]:
    if len(places) == 1 and not Path(places[0]).exists():
        address, access = split_credentials(address_of(str(places[0])), manners.access)
        with crawl_storage(address, out) as (state, archive):
            crawl_manners = replace(manners, access=access)
            crawled = run_to_end(crawl(address, depth, follow, budget, crawl_manners, state=state, archive=archive))
        find_blocks, find_main = _learn_readers(method, (tree for _, tree in crawled))
        for name, tree in crawled:
            yield page_blocks(name, tree, find_blocks(tree), find_main(tree))
        return
    sample = sample_evenly(_saved_pages(places), MAX_LEARNED_PAGES)
    find_blocks, find_main = _learn_readers(method, (page.tree(reveals=True) for page in sample))
    for page in _saved_pages(places):  # pages are read twice, so that memory does not grow with the site
        tree = page.tree(reveals=True)
        yield page_blocks(page.name, tree, find_blocks(tree), find_main(tree))


def _saved_pages(places: tuple[str | Path, ...]) -> Iterator[SavedPage]:
    """Yield the saved pages of all places; a file keeps the name under which it was given."""
    for place in places:
        path = Path(place)
        if not path.exists():
            raise WrongUsage(
                f"{place} is neither a saved page, nor a folder, nor a URL that begins with http:// or https://"
            )
        for page in pages_at(path):
            yield replace(page, name=str(place)) if path.is_file() and page.name == path.name else page


def learn_reader(method: str, trees: Iterable[TagTree]) -> BlockReader:
    """Learn a site from its pages; return a picklable function that finds the blocks of a page."""
    if method == "wisdom":
        return partial(_wisdom_blocks, site=wisdom.learn_site_entropies(trees))
    return partial(_own_blocks, site=main_content.learn_site(trees))


def _learn_readers(method: str, trees: Iterable[TagTree]) -> tuple[BlockReader, MainReader]:
    """Learn a site from its pages, read with their hidden text; return what finds the blocks and the main content of a page."""
    if method == "wisdom":
        entropies = wisdom.learn_site_entropies(tree.without_hidden_text() for tree in trees)
        return partial(_wisdom_blocks, site=entropies), find_main_text
    site = main_content.learn_site(trees)
    return partial(_own_blocks, site=site), partial(find_main_text, site=site)


def _own_blocks(tree: TagTree, *, site: main_content.LearnedSite) -> tuple[main_content.Block, ...]:
    return main_content.find_blocks(tree, site)


def _wisdom_blocks(tree: TagTree, *, site: wisdom.WisdomSite) -> tuple[main_content.Block, ...]:
    """Return the rows that Wisdom finds for each type as one block, scored by their share of the page's feature."""
    tree = tree.without_hidden_text()
    coverage = site.coverage(tree)
    blocks = []
    for kind in ("article", "toc"):
        rows = wisdom.informative_rows(tree, coverage, kind)
        if rows:
            feature, _ = wisdom.feature_and_constraint(tree, coverage, kind, wisdom.WisdomParams())
            score = round(float(feature[rows].sum() / feature[0]), 3)
            text = "\n".join(tree.text(row) for row in rows)
            blocks.append(
                main_content.Block(kind, main_content.lowest_common_row(tree, rows), text, score, tuple(rows))
            )
    return tuple(blocks)


def page_blocks(
    name: str, tree: TagTree, blocks: tuple[main_content.Block, ...], main: MainText | None = None
) -> PageBlocks:
    """Build the result for one page; a block that shows title, author or date is preferred to what the page declares."""
    shown = {block.type: block.text for block in blocks}
    declared = declared_metadata(tree)
    return PageBlocks(
        page=name,
        kind=main.kind if main else None,
        main=main.text if main else None,
        title=shown.get("title") or declared.title,
        author=declared.author or shown.get("author"),
        date=declared.date or shown.get("date"),
        structure=main_content.condensed_structure(tree, blocks),
        blocks=tuple(
            BlockOnPage(
                type=block.type,
                path=tree.path(block.row),
                text=block.text,
                score=block.score,
                links=tuple(main_content.linked_entries(tree, block)) if block.type == "toc" else (),
            )
            for block in blocks
        ),
    )
