"""Thor's page clustering: pages of one template form one cluster, by every signature that distinguishes templates."""

from dataclasses import replace

import numpy as np
import pytest

from upwell.page.tree import TagTree, read
from upwell.papers import thor
from upwell.papers.thor import ClusterParams, assign_pages, cluster_pages, extend_clusters, rank_clusters

LIST, NONE, BROKEN = range(3)


def answer(kind: int, i: int) -> TagTree:
    body = {
        LIST: "<ul class=hits>"
        + "".join(f"<li class=hit><a href=/{i}{j}>word{i}{j}</a><p>text" for j in range(2 + i % 5))
        + "</ul>",
        NONE: f"<p class=none>Nothing found for <i>word{i}</i>.</p><dl><dt>Try<dd>others</dl>",
        BROKEN: f"<blockquote class=error><pre>trace {i}</pre></blockquote>",
    }[kind]
    return read(
        f"<nav><a href=/>Home</a></nav><main>{body}</main>", url=f"http://h/{('s', 's', 'oops')[kind]}?q=word{i}"
    )


KINDS = [LIST] * 12 + [NONE] * 8 + [BROKEN] * 3
PAGES = [answer(kind, i) for i, kind in enumerate(KINDS)]


def matches_kinds(labels: tuple[int, ...]) -> bool:
    return len(set(zip(labels, KINDS, strict=True))) == len(set(labels)) == 3


@pytest.mark.parametrize("signature", ["tfidf-tags", "tfidf-classes", "tfidf-paths", "idf-classes"])
@pytest.mark.parametrize("distance", ["cosine", "euclidean"])
def test_structure_separates_three_templates(signature: str, distance: str) -> None:
    """With k given; Bisecting K-Means may divide a large cluster first."""
    params = ClusterParams(signature=signature, distance=distance, k=3)  # type: ignore[arg-type] # parametrized
    assert matches_kinds(cluster_pages(PAGES, params, rng=np.random.default_rng(1)).labels)
    labels = cluster_pages(PAGES, replace(params, algorithm="bisecting", k=5), rng=np.random.default_rng(1)).labels
    assert len(set(zip(labels, KINDS, strict=True))) == len(set(labels))


def test_the_silhouette_chooses_the_number_of_clusters() -> None:
    """Three templates form three clusters, equal pages one."""
    assert matches_kinds(cluster_pages(PAGES, rng=np.random.default_rng(0)).labels)
    assert set(cluster_pages([answer(NONE, 1)] * 5, rng=np.random.default_rng(0)).labels) == {0}


@pytest.mark.parametrize("signature", thor.SIGNATURES)
def test_every_signature_labels_every_page(signature: str) -> None:
    """Including for one page and for none."""
    for pages in ([], PAGES[:1], PAGES):
        assert len(
            cluster_pages(pages, ClusterParams(signature=signature), rng=np.random.default_rng(0)).labels
        ) == len(pages)


def test_the_same_seed_gives_the_same_labels() -> None:
    """Clustering is deterministic for a seed."""
    assert (
        cluster_pages(PAGES, rng=np.random.default_rng(7)).labels
        == cluster_pages(PAGES, rng=np.random.default_rng(7)).labels
    )


def test_later_pages_go_to_the_nearest_centre() -> None:
    """Thor §V-E: a page of a known template is assigned, a page of an unknown template is not."""
    known = cluster_pages(PAGES, rng=np.random.default_rng(0))
    assert assign_pages(known, [answer(LIST, 40), answer(NONE, 41)]) == [known.labels[0], known.labels[12]]
    unknown = read("<table class=t>" + "<tr class=r><td class=c>x" * 30 + "</table>")
    assert assign_pages(known, [unknown]) == [None]


def test_the_cluster_of_lists_ranks_first() -> None:
    """Thor §V-D: by distinct terms, fanout and size."""
    assert rank_clusters(PAGES, KINDS)[0] == LIST
    assert rank_clusters(PAGES, KINDS, top=1) == [LIST]
    assert rank_clusters(PAGES, KINDS, weights=(0.0, 1.0, 0.0))[0] == LIST
    assert len(rank_clusters(PAGES, KINDS)) == 3


def test_later_pages_join_or_all_are_clustered_again() -> None:
    """Thor §V-E: pages of known templates join; a few unknown pages get -1; many unknown pages cause a new clustering."""
    first = PAGES[:20]  # lists and answers without matches
    known = cluster_pages(first, rng=np.random.default_rng(0))
    joined = extend_clusters(known, first, [answer(LIST, 40), answer(NONE, 41)], rng=np.random.default_rng(0))
    assert joined.labels == (*known.labels, known.labels[0], known.labels[12])
    few = extend_clusters(
        known, first, [answer(LIST, i) for i in range(30, 39)] + PAGES[20:21], rng=np.random.default_rng(0)
    )
    assert few.labels[-1] == -1
    again = extend_clusters(known, first, PAGES[20:], rng=np.random.default_rng(0))
    assert matches_kinds(again.labels)


def test_the_published_quality_does_not_choose_k() -> None:
    """As printed, one cluster wins; with the mean similarity, the largest k wins."""
    params = ClusterParams(signature="tfidf-tags", most=5)
    printed = cluster_pages(PAGES, replace(params, criterion="printed"), rng=np.random.default_rng(0)).labels
    mean = cluster_pages(PAGES, replace(params, criterion="quality"), rng=np.random.default_rng(0)).labels
    assert (len(set(printed)), len(set(mean))) == (1, 5)


@pytest.mark.parametrize(
    "params",
    [
        ClusterParams(signature="tfidf-classes"),
        ClusterParams(signature="tfidf-classes", distance="euclidean"),
        ClusterParams(signature="raw-tags", distance="euclidean"),
    ],
)
def test_sparse_and_dense_vectors_give_the_same_clusters(
    params: ClusterParams, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Large matrices stay sparse."""
    dense = cluster_pages(PAGES, params, rng=np.random.default_rng(3)).labels
    monkeypatch.setattr(thor, "MAX_DENSE_CELLS", 0)
    assert cluster_pages(PAGES, params, rng=np.random.default_rng(3)).labels == dense


def test_raw_counts_keep_their_length_for_the_euclidean_distance() -> None:
    """Thor Table II: the Euclidean distance of raw counts separates long and short lists, the cosine does not."""
    pages = [read("<ul>" + f"<li>x{i}" * n + "</ul>") for i, n in enumerate([2] * 5 + [200] * 5)]
    labels = cluster_pages(
        pages, ClusterParams(signature="raw-tags", distance="euclidean", k=2), rng=np.random.default_rng(0)
    ).labels
    assert labels == (0,) * 5 + (1,) * 5
