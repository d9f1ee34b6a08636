"""Detection of changes of a source since it was learned."""

import pytest

from tests.records.shapes import FRAME, SHAPES, page, things
from upwell.page.tree import TagTree, read
from upwell.records.record_columns import OTHER_COLUMN
from upwell.source.apply import Reading, apply
from upwell.source.drift import DriftWatch
from upwell.source.learn import learn_source
from upwell.source.model import SourceModel
from upwell.types import Kind, Record


def test_changes_of_a_source_are_reported() -> None:
    """Answers that fit no rule, counts that disagree, and texts in no known column are reported; an unchanged source is not."""
    around, one = SHAPES["list"]

    def counted(first: int, markup: str = one, says: int = 6) -> TagTree:
        hits = "".join(markup.format(*thing) for thing in things(first))
        return read(FRAME.format(f"Results 1 - {says} of 80" + around.format(hits)), url="http://h/s?q=x")

    model = learn_source([counted(first) for first in (0, 4, 8)])
    assert model.agrees == 1.0
    reasons = []
    for pages in (
        [counted(k) for k in range(10)],
        [page("definitions", things(k)) for k in range(10)],
        [counted(k, says=9) for k in range(10)],
        [counted(k, one + "<i>New in {1}</i>") for k in range(10)],
    ):
        watch = DriftWatch(model)
        for tree in pages:
            watch.note(apply(model, tree), tree)
        reasons.append(watch.reason)
    assert reasons[0] == ""
    assert len(set(reasons)) == len(reasons)


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


@pytest.mark.parametrize(
    ("kinds", "fits", "is_drift"),
    [
        (["none"] * 4, 1.0, False),  # too few answers
        (["none"] * 6, 1.0, True),
        (["multi"] * 2 + ["none"] * 4, 0.5, False),  # a third of the answers, where half had records
        (["multi"] * 2 + ["none"] * 4, 0.9, True),
        (["none"] * 45 + ["multi"] * 28, 1.0, False),  # 22 of the last 50 are empty, though most of all are
        (["multi"] * 20 + ["none"] * 18, 1.0, False),  # most of the last 25 are empty, not of the last 50
        (["multi"] * 30 + ["none"] * 28, 1.0, True),  # 28 of the last 50, though most of all have records
    ],
)
def test_the_share_of_answers_with_records_is_compared(kinds: list[Kind], fits: float, is_drift: bool) -> None:
    watch = DriftWatch(SourceModel(fits=fits))
    for kind in kinds:
        watch.note(Reading(kind=kind))
    assert watch.fits_too_few is is_drift


@pytest.mark.parametrize(
    ("answers", "odd", "is_drift"), [(5, 8, True), (3, 10, False), (5, 4, False), (12, 4, False), (12, 6, True)]
)
def test_texts_in_no_known_column_are_drift_if_most_records_have_them(answers: int, odd: int, is_drift: bool) -> None:
    """Ten records an answer, of which `odd` say something new."""
    watch = DriftWatch(SourceModel(fits=0.1))
    records = tuple(
        Record(text="x", url=None, path="", fields={OTHER_COLUMN: "new"} if i < odd else {}, key=str(i))
        for i in range(10)
    )
    for _ in range(answers):
        watch.note(Reading(kind="multi", records=records))
    assert bool(watch.reason) is is_drift


def test_a_model_that_never_agreed_with_its_answers_is_reported() -> None:
    """No agreement at all is not the same as no statement."""
    page_of_twenty = read("<p>Results 1 – 20 of 300</p>", url="http://h/s?q=a")
    record = Record(key="a", url=None, path="", text="a")
    watch = DriftWatch(SourceModel(fits=1.0, agrees=0.0))
    for _ in range(5):
        watch.note(Reading(kind="multi", records=(record,)), page_of_twenty)

    assert watch.reason.startswith("none of the last 5 answers")
