"""Regions of a form's value space: split until no answer is cut off, and whole only if nothing is missing."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from upwell.choose.region_candidates import RegionCandidates
from upwell.types import FormFilter

STATES = tuple(f"state {i}" for i in range(8))
FILTERS = (
    FormFilter(("state",), "choice", STATES),
    FormFilter(("kind",), "choice", ("a", "b", "c")),
    FormFilter(("from", "to"), "number"),
    FormFilter(("since", "until"), "date", format="%d.%m.%Y"),
)


@dataclass
class Register:
    """A source with a result cap: 600 records, with states of very different size, salaries, and dates in two years."""

    cap: int = 40
    states_total: bool = True
    asked: int = 0
    held: set[int] = field(default_factory=set)

    def matches(self, settings: Sequence[tuple[str, str]]) -> list[int]:
        wanted = dict(settings)
        return [
            i
            for i in range(600)
            if wanted.get("state", self.state(i)) == self.state(i)
            and wanted.get("kind", "abc"[i % 3]) == "abc"[i % 3]
            and int(wanted.get("from", -1)) <= 1000 + 37 * i <= int(wanted.get("to", 10**9))
            and wanted.get("since", "") <= f"20{20 + i % 2}-0{1 + i % 9}-15" <= wanted.get("until", "9")
        ]

    @staticmethod
    def state(i: int) -> str:
        return STATES[0] if i < 300 else STATES[1 + i % 7]

    def read_all(self, regions: RegionCandidates, most: int = 400) -> None:
        """Ask regions until none is left; the result cap is known."""
        regions.note_total(0, 600 if self.states_total else 0, self.cap, 10)
        regions.close(0, self.cap, is_whole=False, cap=self.cap, page_size=10)
        while self.asked < most and (proposal := regions.next(len(self.held), 600, 10, self.cap)) is not None:
            region, _ = proposal
            regions.mark_asked(region.number)
            found = self.matches(region.settings)
            self.asked += 1
            self.held.update(found[: self.cap])
            if self.states_total and found and regions.note_total(region.number, len(found), self.cap, 10):
                continue
            is_whole = len(found) < self.cap
            regions.close(region.number, min(self.cap, len(found)), is_whole=is_whole, cap=self.cap, page_size=10)


@pytest.mark.parametrize("states_total", [True, False])
@pytest.mark.parametrize("filters", [FILTERS, FILTERS[2:], FILTERS[3:], FILTERS[:2], FILTERS[2:3]])
def test_all_records_that_the_filters_can_tell_apart_are_reached(
    filters: tuple[FormFilter, ...], states_total: bool
) -> None:
    """By selects, by ranges whose ends are unknown, and by both; the first region is whole exactly if all records are held."""
    register, regions = Register(states_total=states_total), RegionCandidates(filters)

    register.read_all(regions)

    can_reach_all = any(each.kind != "choice" for each in filters)
    assert regions.is_whole == (len(register.held) == 600)
    assert (len(register.held) == 600) == can_reach_all


def test_a_filter_that_narrows_nothing_is_dropped() -> None:
    order = FormFilter(("order",), "choice", tuple("abcdefghijklmnopq"))  # splits into the most parts
    register, regions = Register(), RegionCandidates((order, *FILTERS))

    register.read_all(regions)

    assert len(register.held) == 600
    assert sum("order" in dict(regions._settings(region)) for region in regions.regions if region.total) <= 2


def test_records_without_a_value_are_missed_by_one_filter_and_reached_by_another() -> None:
    """A region is not whole if its parts state fewer matches than it does."""
    states = FormFilter(("state",), "choice", STATES[1:])  # half of the records have no value in it
    register, regions = Register(), RegionCandidates((states, *FILTERS[2:]))

    register.read_all(regions)

    assert len(register.held) == 600
    assert regions.is_whole


def test_a_cap_that_is_learned_late_splits_what_it_had_cut_off() -> None:
    regions = RegionCandidates(FILTERS[:1])
    regions.close(0, 0, is_whole=True, cap=0, page_size=10)  # the form wants a value
    for _ in STATES:
        region, _ = regions.next(0, 0, 10, 0) or pytest.fail("no region")
        regions.mark_asked(region.number)
        regions.close(region.number, 40, is_whole=True, cap=0, page_size=10)
    assert regions.is_whole

    regions.note_cap(40, 10)

    assert not regions.is_whole


def test_a_complete_list_without_a_total_is_tested_by_regions() -> None:
    """The source may have stopped at a result cap."""
    regions = RegionCandidates(FILTERS)
    regions.close(0, 200, is_whole=True, cap=0, page_size=20)

    assert regions.next(200, 200, 20, 0) is not None
    assert regions.is_check


def test_a_form_that_wants_words_is_left_to_them() -> None:
    """Neither the form without values nor its first values return anything."""
    regions = RegionCandidates(FILTERS)
    regions.close(0, 0, is_whole=True, cap=0, page_size=10)
    asked = 0
    while (proposal := regions.next(0, 600, 10, 0)) is not None:
        asked += 1
        regions.mark_asked(proposal[0].number)
        regions.close(proposal[0].number, 0, is_whole=True, cap=0, page_size=10)

    assert asked < len(STATES)


def test_a_total_that_may_stop_at_the_result_cap_is_tested() -> None:
    """Three parts are asked before a first region that ends with a full page counts as whole, though it states that it is."""
    regions = RegionCandidates(FILTERS[:1])
    regions.note_total(0, 200, 0, 20)
    regions.close(0, 200, is_whole=True, cap=0, page_size=20)
    tested = 0
    while regions.needs_test:
        region, _ = regions.next(200, 200, 20, 0) or pytest.fail("no region")
        regions.mark_asked(region.number)
        regions.close(region.number, 9, is_whole=True, cap=0, page_size=20)
        tested += 1

    assert tested == 3
    assert not regions.is_whole
