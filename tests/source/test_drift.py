"""Detection of changes of a source since it was learned."""

from tests.records.shapes import FRAME, SHAPES, page, things
from upwell.page.tree import TagTree, read
from upwell.source.apply import Reading, apply
from upwell.source.drift import DriftWatch
from upwell.source.learn import learn_source
from upwell.source.model import SourceModel
from upwell.types import Kind


def test_changes_of_a_source_are_reported() -> None:
    """Answers that fit no rule, counts that disagree, and texts in no known column are reported; an unchanged source is not."""
    around, one = SHAPES["list"]

    def counted(first: int, markup: str = one, says: int = 6) -> TagTree:
        hits = "".join(markup.format(*thing) for thing in things(first))
        return read(FRAME.format(f"Results 1 - {says} of 80" + around.format(hits)), url="http://h/s?q=x")

    model = learn_source([counted(first) for first in (0, 4, 8)])
    assert model.agrees == 1.0
    for pages, word in (
        ([counted(k) for k in range(10)], ""),
        ([page("definitions", things(k)) for k in range(10)], "have records"),
        ([counted(k, says=9) for k in range(10)], "show as many"),
        ([counted(k, one + "<i>New in {1}</i>") for k in range(10)], "no known column"),
    ):
        watch = DriftWatch(model)
        for tree in pages:
            watch.note(apply(model, tree), tree)
        assert word in watch.reason
        assert bool(watch.reason) == bool(word)


def test_fewer_answers_with_records_are_reported() -> None:
    """Less than half of the share at learning, in at least five answers."""
    model = SourceModel(fits=0.8)
    few: list[Kind] = ["multi", "none", "none", "none", "none", "none"]
    most: list[Kind] = ["multi", "multi", "multi", "multi", "multi", "none"]
    for kinds, is_drift in ((few, True), (most, False), (few[1:5], False)):
        watch = DriftWatch(model)
        for kind in kinds:
            watch.note(Reading(kind=kind))
        assert watch.fits_too_few is is_drift


def test_drift_is_judged_in_a_window_that_can_be_reset() -> None:
    """With a full window required, as in a harvest, old answers drop out; learning again resets it."""
    watch = DriftWatch(SourceModel(fits=1.0), window=6, min_answers=6)
    kinds: list[Kind] = ["multi", "multi", "multi", "none", "none"]
    for kind in kinds:
        watch.note(Reading(kind=kind))
        assert not watch.fits_too_few
    for expected in (False, True):  # three of six, two of six
        watch.note(Reading(kind="none"))
        assert watch.fits_too_few == expected
    watch.reset(SourceModel(fits=0.5))
    assert watch.reason == ""
    for kind in (*kinds[1:], kinds[-1]):
        watch.note(Reading(kind=kind))
    assert not watch.fits_too_few
