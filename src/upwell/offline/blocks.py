"""`upwell blocks`: the informative blocks of the pages of one site, saved or crawled."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from upwell.errors import WrongUsage
from upwell.extract import blocks as informative
from upwell.net.fetch import Manners
from upwell.offline import saved_pages as saved
from upwell.offline.crawl import crawl
from upwell.page.tree import TagTree, read

__all__ = ["blocks"]

LEARN_BLOCKS = 1000  # pages of a site that are learned from; Wisdom §4.1: entropies stay within 0.1 past 200


def blocks(
    *places: str | Path,
    depth: int = 1,
    follow: Literal["all", "toc"] = "all",
    budget: int = 200,
    manners: Manners | None = None,
) -> Iterator[dict[str, object]]:
    """The informative blocks of the pages of one site, one result a page: saved pages (files and folders), or crawled from an address."""
    if follow not in ("all", "toc"):
        raise WrongUsage(f"follow {follow!r} is neither all nor toc")
    if len(places) == 1 and str(places[0]).startswith(("http://", "https://")):
        crawled = asyncio.run(crawl(str(places[0]), depth, follow, budget, manners or Manners()))
        site = informative.learn_blocks(tree for _, tree in crawled)
        for name, tree in crawled:
            yield _blocks_of(name, tree, site)
        return
    pages = [page for place in places for page in saved.pages(place)]
    step = max(1, len(pages) / LEARN_BLOCKS)
    sample = [pages[int(i * step)] for i in range(min(len(pages), LEARN_BLOCKS))]
    site = informative.learn_blocks(read(body(), url=url) for _, body, url in sample)
    for name, body, url in pages:  # read again, so that memory does not grow with the site
        yield _blocks_of(name, read(body(), url=url), site)


def _blocks_of(name: str, tree: TagTree, site: informative.Site) -> dict[str, object]:
    found = informative.read_blocks(tree, site).blocks
    structure = informative.structure_of(tree, found)
    return {
        "page": name,
        "structure": structure.as_dict() if structure else None,
        "blocks": [{"type": b.type, "path": tree.path(b.row), "text": b.text, "score": b.score} for b in found],
    }
