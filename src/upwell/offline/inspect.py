"""Analysis of saved answers without extracting records: `upwell cluster` groups pages by template, `upwell links` finds next pages and URL roles."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import urljoin

import numpy as np

from upwell.answers.answer import Answer
from upwell.answers.argument_roles import learn_roles
from upwell.answers.facets import urls_to_fetch
from upwell.answers.next_page import next_link_url, next_page
from upwell.answers.pager import NextPage
from upwell.errors import WrongUsage
from upwell.offline.saved_pages import SavedPage, pages_at
from upwell.page.tree import TagTree
from upwell.papers import thor
from upwell.results import ClusteredPage, LinksOfAnswers
from upwell.source.apply import apply
from upwell.source.learn import learn_source
from upwell.store.remote import local_copy

__all__ = ["cluster", "links"]


def cluster(
    folder: str | Path,
    *,
    params: thor.ClusterParams | None = None,
    top: int | None = None,
    known: str | Path | None = None,
) -> Iterator[ClusteredPage]:
    """Yield the cluster and the kind of each saved answer.

    `top` yields only the clusters most likely to contain matches (Thor §V-D). `known` is a folder of earlier answers of the source
    whose clusters the pages join (§V-E); cluster -1 means that a page fits none and there are too few such pages to cluster again.
    """
    earlier = list(pages_at(local_copy(known))) if known else []
    pages = list(pages_at(local_copy(folder)))
    earlier_trees, trees = [page.tree() for page in earlier], [page.tree() for page in pages]
    rng = np.random.default_rng(0)
    clustering = thor.cluster_pages(earlier_trees or trees, params, rng=rng)
    if earlier and not len(clustering.centres):
        raise WrongUsage(
            f"signature {clustering.signature!r} has no centres that pages could join; use another signature with --known"
        )
    if earlier:
        clustering = thor.extend_clusters(clustering, earlier_trees, trees, params, rng=rng)
    all_trees = [*earlier_trees, *trees]
    kept_clusters = thor.rank_clusters(all_trees, clustering.labels, top=top)
    queries = [page.query for page in (*earlier, *pages)]
    model = learn_source([Answer(tree, query) for tree, query in zip(all_trees, queries, strict=True)])
    for page, tree, label in zip(pages, trees, clustering.labels[len(earlier) :], strict=True):
        if label in kept_clusters:
            yield ClusteredPage(
                page=page.name, cluster=label, kind=apply(model, tree, asked_at=model.asked_at, query=page.query).kind
            )


def links(path: str | Path, *, base_url: str = "") -> LinksOfAnswers:
    """Return the next page of each answer, the roles of URL arguments, and the second-level URLs worth fetching.

    `base_url` is the URL of a file, or the base of a folder's relative names, if `pages.jsonl` does not contain URLs.
    """
    local_path = local_copy(path)
    pages = [_with_url(page, local_path, base_url) for page in pages_at(local_path)]
    trees = [page.tree() for page in pages]
    queries = [page.query for page in pages]
    roles = learn_roles(trees, queries)
    to_fetch = urls_to_fetch(trees, roles, queries)
    next_urls = {
        page.name: url for page, tree in zip(pages, trees, strict=True) if (url := next_link_url(tree, page.query))
    }
    return LinksOfAnswers(
        next=next_urls,
        steps=_steps(pages, trees, next_urls),
        query=roles.query,
        arguments=roles.arguments,
        keep=tuple(to_fetch.by_partition.values()),
        dropped=to_fetch.dropped,
    )


def _with_url(page: SavedPage, path: Path, base_url: str) -> SavedPage:
    if page.url or not base_url:
        return page
    return replace(page, url=base_url if path.is_file() else urljoin(base_url, page.name))


def _steps(pages: Sequence[SavedPage], trees: Sequence[TagTree], next_urls: dict[str, str]) -> dict[str, NextPage]:
    """Return the next pages that no plain link leads to, as requests a browser would send."""
    steps: dict[str, NextPage] = {}
    for page, tree in zip(pages, trees, strict=True):
        step = next_page(tree, page.query) if page.name not in next_urls else None
        if step is not None:
            steps[page.name] = step
    return steps
