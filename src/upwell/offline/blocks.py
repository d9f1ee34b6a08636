"""`upwell blocks`: the informative blocks of the pages of one site, saved or crawled."""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from upwell.errors import WrongUsage
from upwell.extract import blocks as informative
from upwell.extract import wisdom
from upwell.net.manners import Manners
from upwell.offline import saved_pages as saved
from upwell.offline.crawl import Follow, crawl
from upwell.page.tree import TagTree, read
from upwell.results import BlockOnPage, PageBlocks

__all__ = ["METHODS", "blocks"]

METHODS = ("upwell", "wisdom")
LEARN_BLOCKS = 1000  # pages of a site that are learned from; Wisdom §4.1: entropies stay within 0.1 past 200

BlockReader = Callable[[TagTree], tuple[informative.Block, ...]]


def blocks(
    *places: str | Path,
    depth: int = 1,
    follow: Follow = "all",
    budget: int = 200,
    manners: Manners | None = None,
    method: str = "upwell",
) -> Iterator[PageBlocks]:
    """The informative blocks of the pages of one site, one result a page: saved pages (files and folders), or crawled from an address.

    `method` is ours, or `wisdom`: Wisdom as published, which finds whole subtrees and needs several pages of the site.
    """
    if follow not in ("all", "toc"):
        raise WrongUsage(f"follow {follow!r} is neither all nor toc")
    if method not in METHODS:
        raise WrongUsage(f"method {method!r} is none of {', '.join(METHODS)}")
    return _blocks(places, depth, follow, budget, manners or Manners(), method)


def _blocks(
    places: tuple[str | Path, ...],
    depth: int,
    follow: Follow,
    budget: int,
    manners: Manners,
    method: str,
) -> Iterator[PageBlocks]:
    if len(places) == 1 and str(places[0]).startswith(("http://", "https://")):
        crawled = asyncio.run(crawl(str(places[0]), depth, follow, budget, manners))
        find = _learn(method, (tree for _, tree in crawled))
        for name, tree in crawled:
            yield _result(name, tree, find(tree))
        return
    pages = [page for place in places for page in saved.pages(place)]
    step = max(1, len(pages) / LEARN_BLOCKS)
    sample = [pages[int(i * step)] for i in range(min(len(pages), LEARN_BLOCKS))]
    find = _learn(method, (read(body(), url=url) for _, body, url in sample))
    for name, body, url in pages:  # read again, so that memory does not grow with the site
        tree = read(body(), url=url)
        yield _result(name, tree, find(tree))


def _learn(method: str, trees: Iterable[TagTree]) -> BlockReader:
    """Learns a site from its pages; what comes back finds the blocks of a page."""
    if method == "wisdom":
        entropies = wisdom.learn_site(trees)
        return lambda tree: _wisdom_blocks(tree, entropies)
    site = informative.learn_blocks(trees)
    return lambda tree: informative.read_blocks(tree, site).blocks


def _wisdom_blocks(tree: TagTree, site: wisdom.WisdomSite) -> tuple[informative.Block, ...]:
    """The rows that Wisdom finds for each type, as one block; its score is the share of the page's feature that they hold."""
    coverage = site.coverage(tree)
    found = []
    for kind in ("article", "toc"):
        rows = wisdom.blocks(tree, coverage, kind)
        if rows:
            feature, _ = wisdom.constraint(tree, coverage, kind, wisdom.WisdomParams())
            score = round(float(feature[rows].sum() / feature[0]), 3)
            text = "\n".join(tree.text(row) for row in rows)
            found.append(informative.Block(kind, informative.common_row(tree, rows), text, score, tuple(rows)))
    return tuple(found)


def _result(name: str, tree: TagTree, found: tuple[informative.Block, ...]) -> PageBlocks:
    return PageBlocks(
        page=name,
        structure=informative.structure_of(tree, found),
        blocks=tuple(BlockOnPage(type=b.type, path=tree.path(b.row), text=b.text, score=b.score) for b in found),
    )
