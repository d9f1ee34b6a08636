"""`upwell blocks`: the informative blocks of the pages of one site, saved or crawled."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from upwell.errors import WrongUsage
from upwell.extract import blocks as informative
from upwell.extract import wisdom
from upwell.net.access import split_credentials
from upwell.net.manners import Manners
from upwell.net.run import run_to_end
from upwell.offline.block_tables import kept_crawl, with_tables
from upwell.offline.crawl import Follow, crawl
from upwell.offline.saved_pages import SavedPage, pages_at, sample_evenly
from upwell.page.tree import TagTree
from upwell.places import address_of
from upwell.results import BlockOnPage, PageBlocks
from upwell.store.remote import is_remote, local_copy, output

__all__ = ["MAX_LEARNED_PAGES", "METHODS", "BlockReader", "blocks", "learn_reader", "page_blocks"]

METHODS = ("upwell", "wisdom")
MAX_LEARNED_PAGES = 1000  # pages of a site that are learned from; Wisdom §4.1: entropies stay within 0.1 past 200

BlockReader = Callable[[TagTree], tuple[informative.Block, ...]]


def blocks(
    *places: str | Path,
    depth: int = 1,
    follow: Follow = "all",
    budget: int = 200,
    manners: Manners | None = None,
    method: str = "upwell",
    out: str | Path | None = None,
) -> Iterator[PageBlocks]:
    """The informative blocks of the pages of one site, one result a page: saved pages (files and folders), or crawled from an address.

    `method` is ours, or `wisdom`: Wisdom as published, which finds whole subtrees and needs several pages of the site. `out` is a
    folder for two tables, `articles.parquet` and `toc.parquet`; pages that are fetched are kept there too, and a run that was stopped goes on.
    """
    if follow not in ("all", "toc"):
        raise WrongUsage(f"follow {follow!r} is neither all nor toc")
    if method not in METHODS:
        raise WrongUsage(f"method {method!r} is none of {', '.join(METHODS)}")
    here = tuple(local_copy(place) if is_remote(place) else place for place in places)
    return _kept(partial(_pages_with_blocks, here, depth, follow, budget, manners or Manners(), method), out)


def _kept(pages: Callable[[Path | None], Iterator[PageBlocks]], out: str | Path | None) -> Iterator[PageBlocks]:
    """Pages as they come, written to tables at a place if one is named."""
    if out is None:
        yield from pages(None)
        return
    with output(out, goes_on=True) as folder:
        yield from with_tables(pages(folder), folder)


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
        with kept_crawl(address, out) as (state, archive):
            polite = replace(manners, access=access)
            crawled = run_to_end(crawl(address, depth, follow, budget, polite, state=state, archive=archive))
        find = learn_reader(method, (tree for _, tree in crawled))
        for name, tree in crawled:
            yield page_blocks(name, tree, find(tree))
        return
    sample = sample_evenly(_saved_pages(places), MAX_LEARNED_PAGES)
    find = learn_reader(method, (page.tree() for page in sample))
    for page in _saved_pages(places):  # read again, so that memory does not grow with the site
        tree = page.tree()
        yield page_blocks(page.name, tree, find(tree))


def _saved_pages(places: tuple[str | Path, ...]) -> Iterator[SavedPage]:
    """The saved pages of all places; a file has the name by which it was given."""
    for place in places:
        path = Path(place)
        if not path.exists():
            raise WrongUsage(
                f"{place} is no saved page, no folder of them, and no address that begins with http:// or https://"
            )
        for page in pages_at(path):
            yield replace(page, name=str(place)) if path.is_file() and page.name == path.name else page


def learn_reader(method: str, trees: Iterable[TagTree]) -> BlockReader:
    """Learns a site from its pages; what comes back finds the blocks of a page, and can be pickled."""
    if method == "wisdom":
        return partial(_wisdom_blocks, site=wisdom.learn_site(trees))
    return partial(_own_blocks, site=informative.learn_blocks(trees))


def _own_blocks(tree: TagTree, *, site: informative.LearnedSite) -> tuple[informative.Block, ...]:
    return informative.read_blocks(tree, site).blocks


def _wisdom_blocks(tree: TagTree, *, site: wisdom.WisdomSite) -> tuple[informative.Block, ...]:
    """The rows that Wisdom finds for each type, as one block; its score is the share of the page's feature that they hold."""
    coverage = site.coverage(tree)
    found = []
    for kind in ("article", "toc"):
        rows = wisdom.informative_rows(tree, coverage, kind)
        if rows:
            feature, _ = wisdom.feature_and_constraint(tree, coverage, kind, wisdom.WisdomParams())
            score = round(float(feature[rows].sum() / feature[0]), 3)
            text = "\n".join(tree.text(row) for row in rows)
            found.append(informative.Block(kind, informative.common_row(tree, rows), text, score, tuple(rows)))
    return tuple(found)


def page_blocks(name: str, tree: TagTree, found: tuple[informative.Block, ...]) -> PageBlocks:
    """What is told of the blocks of a page."""
    return PageBlocks(
        page=name,
        structure=informative.structure_of(tree, found),
        blocks=tuple(
            BlockOnPage(
                type=block.type,
                path=tree.path(block.row),
                text=block.text,
                score=block.score,
                links=tuple(informative.entries_of(tree, block)) if block.type == "toc" else (),
            )
            for block in found
        ),
    )
