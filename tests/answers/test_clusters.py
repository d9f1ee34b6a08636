"""Pages of one template form one cluster, by every signature that can tell templates apart."""

from dataclasses import replace

import numpy as np
import pytest

from upwell.answers import clusters
from upwell.answers.clusters import ClusterParams, assign, group, grow, rank
from upwell.page.tree import TagTree, read

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
def test_three_templates(signature: str, distance: str) -> None:
    """Structure tells the three apart, with the number of clusters given; bisecting may divide a large one first."""
    params = ClusterParams(signature=signature, distance=distance, k=3)  # type: ignore[arg-type] # parametrized
    assert matches_kinds(group(PAGES, params, rng=np.random.default_rng(1)).labels)
    labels = group(PAGES, replace(params, algorithm="bisecting", k=5), rng=np.random.default_rng(1)).labels
    assert len(set(zip(labels, KINDS, strict=True))) == len(set(labels))


def test_the_number_is_chosen() -> None:
    """The silhouette finds three clusters, and one where all pages are equal."""
    assert matches_kinds(group(PAGES, rng=np.random.default_rng(0)).labels)
    assert set(group([answer(NONE, 1)] * 5, rng=np.random.default_rng(0)).labels) == {0}


@pytest.mark.parametrize("signature", clusters.SIGNATURES)
def test_every_signature_labels_every_page(signature: str) -> None:
    """One label for each page, also where there is only one page or none."""
    for pages in ([], PAGES[:1], PAGES):
        assert len(group(pages, ClusterParams(signature=signature), rng=np.random.default_rng(0)).labels) == len(pages)


def test_the_seed_decides() -> None:
    """The same pages and the same seed give the same labels."""
    assert group(PAGES, rng=np.random.default_rng(7)).labels == group(PAGES, rng=np.random.default_rng(7)).labels


def test_later_pages_go_to_the_nearest_centre() -> None:
    """Thor §V-E: a later page of a known template is assigned, one of an unknown template is not."""
    known = group(PAGES, rng=np.random.default_rng(0))
    assert assign(known, [answer(LIST, 40), answer(NONE, 41)]) == [known.labels[0], known.labels[12]]
    unknown = read("<table class=t>" + "<tr class=r><td class=c>x" * 30 + "</table>")
    assert assign(known, [unknown]) == [None]


def test_lists_rank_first() -> None:
    """Distinct terms, fanout and size speak for the cluster with the matches."""
    assert rank(PAGES, KINDS)[0] == LIST
    assert rank(PAGES, KINDS, top=1) == [LIST]
    assert rank(PAGES, KINDS, weights=(0.0, 1.0, 0.0))[0] == LIST
    assert len(rank(PAGES, KINDS)) == 3


def test_later_pages_join_or_all_are_clustered_again() -> None:
    """Thor §V-E: pages of known templates keep the clusters; many of an unknown one make new clusters; a few are -1."""
    first = PAGES[:20]  # lists and answers without matches
    known = group(first, rng=np.random.default_rng(0))
    joined = grow(known, first, [answer(LIST, 40), answer(NONE, 41)], rng=np.random.default_rng(0))
    assert joined.labels == (*known.labels, known.labels[0], known.labels[12])
    few = grow(known, first, [answer(LIST, i) for i in range(30, 39)] + PAGES[20:21], rng=np.random.default_rng(0))
    assert few.labels[-1] == -1
    again = grow(known, first, PAGES[20:], rng=np.random.default_rng(0))
    assert matches_kinds(again.labels)


def test_thors_quality_does_not_choose() -> None:
    """As printed one cluster wins, with the mean similarity the most clusters: why the silhouette chooses."""
    params = ClusterParams(signature="tfidf-tags", most=5)
    printed = group(PAGES, replace(params, criterion="printed"), rng=np.random.default_rng(0)).labels
    mean = group(PAGES, replace(params, criterion="quality"), rng=np.random.default_rng(0)).labels
    assert (len(set(printed)), len(set(mean))) == (1, 5)


@pytest.mark.parametrize(
    "params",
    [
        ClusterParams(signature="tfidf-classes"),
        ClusterParams(signature="tfidf-classes", distance="euclidean"),
        ClusterParams(signature="raw-tags", distance="euclidean"),
    ],
)
def test_sparse_is_dense(params: ClusterParams, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages that are too many for an array form the same clusters."""
    dense = group(PAGES, params, rng=np.random.default_rng(3)).labels
    monkeypatch.setattr(clusters, "MAX_DENSE_CELLS", 0)
    assert group(PAGES, params, rng=np.random.default_rng(3)).labels == dense


def test_raw_counts_keep_their_length_for_the_euclidean_distance() -> None:
    """Thor Table II: a long list and a short one are apart by the Euclidean distance of raw counts, not by the cosine."""
    pages = [read("<ul>" + f"<li>x{i}" * n + "</ul>") for i, n in enumerate([2] * 5 + [200] * 5)]
    far = group(
        pages, ClusterParams(signature="raw-tags", distance="euclidean", k=2), rng=np.random.default_rng(0)
    ).labels
    assert far == (0,) * 5 + (1,) * 5
