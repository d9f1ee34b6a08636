"""Wisdom: the numbers printed in the paper, and invariants on any tree."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from upwell.page import tokens as terms
from upwell.page.tree import TagTree, read
from upwell.papers import wisdom
from upwell.papers.wisdom import Entropies, entropy, entropy_with_next_page


def test_entropy_reproduces_figure_5() -> None:
    """At equal total frequency, an evenly spread term has the weight of its IDF, a skewed one more."""
    assert 1 - entropy([2, 2, 2, 0], 4) == pytest.approx(0.207519, abs=1e-6)
    assert 1 - entropy([1, 1, 4, 0], 4) == pytest.approx(0.374185, abs=1e-6)
    assert np.log(4 / 3) / np.log(4) == pytest.approx(0.207519, abs=1e-6)


@given(st.lists(st.integers(0, 30), min_size=2, max_size=12))
def test_batch_and_incremental_entropy_are_the_same_numbers(frequencies: list[int]) -> None:
    """The recurrence of Appendix A, the two sums and the definition agree after every page."""
    table = Entropies()
    step, total = 0.0, 0
    for pages, tf in enumerate(frequencies, 1):
        if pages > 1:
            step = entropy_with_next_page(step, total, tf, pages - 1)
        total += tf
        table.add({"term": tf} if tf else {})
        assert table.entropy_of("term") == pytest.approx(entropy(frequencies[:pages], pages), abs=1e-9)
        assert step == pytest.approx(entropy(frequencies[:pages], pages), abs=1e-9)


def test_subtree_sums_reproduce_figure_7() -> None:
    """6 = 3 + (3 + 0) and 8 = 1 + (1 + 6)."""
    tree = read("<html><body><div><p></p><ul><li></li><li></li></ul></div>")
    own = {"div": 1, "p": 1, "ul": 3, "li": 3}
    values = np.array([own.get(tree.name(i), 0) for i in range(len(tree))])
    values[tree.row_at("/html/body/div/ul/li[2]") or 0] = 0
    held = tree.sum_rows(values)
    assert held[tree.row_at("/html/body/div/ul") or 0] == 6
    assert held[tree.row_at("/html/body/div") or 0] == 8


def test_scores_reproduce_figure_10() -> None:
    """Half of the anchors and nothing else: precision 1, recall 0.5; by characters, their share."""
    links = "".join(f"<li><a href=/{i}>{'x' * n}</a></li>" for i, n in enumerate((3, 3, 3, 2, 2, 2)))
    tree = read(f"<ul>{links}</ul>")
    items = [int(row) for row in tree.rows("li")]
    whole = [int(tree.rows("ul")[0])]
    assert wisdom.score_by_anchors(tree, whole, items[:3]) == (1.0, 0.5)
    assert wisdom.score_by_chars(tree, whole, items[:3]) == (1.0, 0.6)
    assert wisdom.score_by_anchors(tree, items[:3], whole) == (0.5, 1.0)


def naive_sii(tree: TagTree, feature: np.ndarray, row: int) -> float:
    values = [feature[i] for i in tree.children(row) if tree.name(i) not in wisdom.DUMMY_TAGS]
    total = sum(values)
    if len(values) < 2 or not total:
        return 0.0
    return float(-sum(v / total * np.log(v / total) for v in values if v > 0) / np.log(len(values)))


def test_structure_information_is_the_entropy_of_the_children() -> None:
    """Compare each row with the formula; <br> and <script> do not count as children."""
    tree = read("<div><p>one two</p><br><p>three</p><script>1</script><div><i>a</i><b>bbbb</b></div></div><p>alone</p>")
    feature = tree.chars.astype(float)
    values = wisdom.structure_information_index(tree, feature)
    assert [values[i] for i in range(len(tree))] == pytest.approx(
        [naive_sii(tree, feature, i) for i in range(len(tree))]
    )


def site_pages() -> list[TagTree]:
    """Return six articles with the same menu and footer."""
    words = ["harbour", "glacier", "orchard", "violin", "comet", "saffron"]
    pages = []
    for word in words:
        text = "".join(f"<p>{' '.join(f'{word}{i}{j}' for j in range(20))}.</p>" for i in range(6))
        menu = "".join(f"<li><a href=/{name}>{name}</a></li>" for name in ("home", "news", "sport", "about"))
        foot = (
            "<div id=foot><p>all rights reserved by the people of this very site who made it with much care</p></div>"
        )
        pages.append(
            read(f"<body><ul>{menu}</ul><div id=main><h1>{word} title</h1>{text}</div>{foot}", url="http://x/")
        )
    return pages


def test_the_article_excludes_text_repeated_on_the_site() -> None:
    """k-MIB finds the paragraphs, DSTM adds the title, the type constraint excludes menu and footer."""
    trees = site_pages()
    all_terms = [terms.terms_of(tree) for tree in trees]
    table = Entropies()
    for page_terms in all_terms:
        counts = np.bincount(page_terms.ids, minlength=len(page_terms.words)).tolist()
        table.add(dict(zip(page_terms.words, counts, strict=True)))
    tree = trees[0]
    rows = wisdom.informative_rows(tree, wisdom.coverage_tree(tree, all_terms[0], table), "article")
    text = "\n".join(tree.text(row) for row in rows)
    assert "harbour00" in text
    assert "harbour title" in text
    assert "harbour519" in text
    assert "rights reserved" not in text
    assert "sport" not in text


def test_anchor_precision_counts_the_terms_that_the_linked_page_has() -> None:
    """API is Σ 1/EN over shared terms, including numbers; 0 if the linked page shares no term."""
    index = read('<ul><li><a href="/1">course 4711 logic</a></li><li><a href="/2">more</a></li></ul>', url="http://x/")
    page_terms = terms.terms_of(index)
    table = Entropies()
    table.add({"course": 1, "4711": 1, "logic": 1, "more": 1})
    table.add({"course": 1, "4711": 1})
    table.add({"course": 1})
    first, second = (int(i) for i in index.rows("a"))
    values = wisdom.anchor_precision_index(index, page_terms, table, {first: {"course", "4711"}, second: {"words"}})
    assert values[first] == pytest.approx(1 / table.entropy_of("course") + 1 / table.entropy_of("4711"))
    assert values[second] == 0


def test_alen_is_used_if_the_linked_pages_are_unknown() -> None:
    """§4.4, Figure 21: without any API, the feature is the length of the anchors."""
    tree = read('<ul><li><a href="/1">first of all</a></li><li><a href="/2">second to none</a></li></ul>')
    coverage = wisdom.coverage_tree(tree, terms.terms_of(tree), Entropies())
    feature, _ = wisdom.feature_and_constraint(tree, coverage, "toc", wisdom.WisdomParams())
    assert feature is coverage.alen


def test_the_entropy_table_has_bounded_size() -> None:
    """Terms that occur on every page are never dropped."""
    table = Entropies(limit=1000)
    for i in range(300):
        table.add({"everywhere": 1, **{f"rare{i}-{j}": 1 for j in range(20)}})
    assert len(table.totals) <= 1000
    assert table.entropy_of("everywhere") == pytest.approx(1.0)
