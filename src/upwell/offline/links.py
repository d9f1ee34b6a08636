"""`upwell links`: where the saved answers of a source lead."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import urljoin

from upwell.answers.facets import urls_to_fetch
from upwell.answers.next_page import next_link_url, next_page
from upwell.answers.pager import NextPage
from upwell.answers.roles import learn_roles
from upwell.offline.saved_pages import SavedPage, pages_at
from upwell.page.tree import TagTree
from upwell.results import LinksOfAnswers
from upwell.store.remote import local_copy

__all__ = ["links"]


def links(path: str | Path, *, base_url: str = "") -> LinksOfAnswers:
    """Offline: the next page of each answer, the roles of URL arguments, and the second-level URLs worth fetching.

    `base_url` says where a file came from, or what the names of a folder are relative to, where `pages.jsonl` does not say.
    """
    here = local_copy(path)
    pages = [_with_url(page, here, base_url) for page in pages_at(here)]
    trees = [page.tree() for page in pages]
    queries = [page.query for page in pages]
    roles = learn_roles(trees, queries)
    to_fetch = urls_to_fetch(trees, roles, queries)
    linked = {
        page.name: url for page, tree in zip(pages, trees, strict=True) if (url := next_link_url(tree, page.query))
    }
    return LinksOfAnswers(
        next=linked,
        steps=_steps(pages, trees, linked),
        query=roles.query,
        arguments=roles.arguments,
        keep=tuple(to_fetch.by_partition.values()),
        dropped=to_fetch.dropped,
    )


def _with_url(page: SavedPage, path: Path, base_url: str) -> SavedPage:
    if page.url or not base_url:
        return page
    return replace(page, url=base_url if path.is_file() else urljoin(base_url, page.name))


def _steps(pages: Sequence[SavedPage], trees: Sequence[TagTree], linked: dict[str, str]) -> dict[str, NextPage]:
    """The next pages that no plain link leads to: what a browser would send for them."""
    steps: dict[str, NextPage] = {}
    for page, tree in zip(pages, trees, strict=True):
        step = next_page(tree, page.query) if page.name not in linked else None
        if step is not None:
            steps[page.name] = step
    return steps
