"""Cut rules are learned from the candidate cuts of several answers, applied to each, and readable."""

import pytest

from tests.records.shapes import SHAPES, page, things
from upwell.page.tree import TagTree, read
from upwell.records.cut_rules import ScoredCut, ScoredPage, apply_rule, learn_rules
from upwell.records.cuts import Cut, candidate_cuts
from upwell.records.evidence import Evidence, score_cut
from upwell.records.leaves import split_leaves


def scored(tree: TagTree) -> ScoredPage:
    leaves = split_leaves(tree)
    evidence = Evidence(leaves)
    return ScoredPage(leaves, [ScoredCut(cut, score_cut(evidence, cut)) for cut in candidate_cuts(leaves)])


@pytest.mark.parametrize("shape", SHAPES)
def test_a_learned_rule_gives_the_records_of_the_best_candidate(shape: str) -> None:
    pages = [scored(page(shape, things(first))) for first in (0, 4, 8)]
    rule = learn_rules(pages)[0]
    for leaves, cuts in pages:
        best: Cut = max(cuts, key=lambda candidate: candidate.score).cut
        assert any(cut.has_same_records(best) for cut in apply_rule(leaves, rule))


def test_a_rule_is_readable() -> None:
    """It has paths as tags and classes, and the share of the records with each path below the container."""
    (rule,) = learn_rules([scored(page("definitions", things(first))) for first in (0, 4, 8)])
    assert (rule.container, rule.how, rule.leader) == ("html/body/dl", "is", "html/body/dl/dt")
    assert rule.share == {"dt/a": 1.0, "dd": 1.0}
    assert rule.longest == 2
    assert learn_rules([]) == ()
    assert apply_rule(split_leaves(read("<p>another page")), rule) == []
