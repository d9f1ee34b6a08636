"""Regions of a form's value space as candidates: values of its selects, and intervals of its ranges.

region      the records with certain values of the filters of a form; the first one is not narrowed at all
split       the parts of a region: one per value of a select, or the halves of an interval
whole       a region that was read to its end below the result cap, or all parts of which are whole

A region is asked like a query. If it has more matches than the result cap, it is split by the filter that promises to cover it with the
fewest requests. A filter that narrows nothing is dropped once one of its values states the total of the region that it should narrow;
where the parts state fewer matches than the region, it is split by another filter too. If the first region is whole, all records with
values in the filters are held; regions by other filters then show whether that leaves out any.
"""

import datetime
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlencode

from upwell.arrays.key_set import KeySet
from upwell.choose.expected_yield import ExpectedYield
from upwell.types import FormFilter

__all__ = ["REGION_MARK", "AskedRegion", "Region", "RegionCandidates"]

REGION_MARK = "region "  # prefix of the values of a region where the state stores what was asked
MAX_REGIONS = 20_000  # safety limit
UNCOUNTED_FACTOR = (
    2.0  # a capped region without a total is assumed to have at least this many times the matches returned
)
FULL_SHARE = 0.8  # of the result cap that the parts of a region should have at most on average, because they differ in size; not swept
MIN_TESTS = 3  # parts that show whether the first region is whole although it may end at a result cap; not swept
MAX_EMPTY_PARTS = (
    5  # first parts without a match, after which a form that returns nothing without values is left to words; not swept
)
SAME_SHARE = 0.98  # of the total of a region, from which a value of a filter narrows nothing
MIN_COVERED_SHARE = 0.98  # of the total of a region, below which its parts leave out records
RANGE_REQUESTS = 8  # requests until the ends of a range are known; not swept
WIDEST_RATIO = 100.0  # of the ends of an interval of numbers, above which it is split by their geometric mean
FIRST_DATE, DATE_STEP = 730_120, 3653  # 2000-01-01, and ten years, by which an open interval of dates is first split
FIRST_NUMBER, NUMBER_STEP = 1000.0, 10.0  # likewise, and the factor for numbers
DATES, NUMBERS = (
    (620_000.0, 840_000.0),
    (-1e12, 1e12),
)  # ends beyond which an open interval is not split; dates: 1698 to 2300

# waiting: not asked yet; open: asked; capped: it has more matches than can be returned, and cannot be split
RegionState = Literal["waiting", "open", "whole", "capped", "split", "failed"]
Interval = tuple[int, float | None, float | None]  # number of the filter, lower and upper end; None: open


@dataclass(frozen=True, slots=True)
class AskedRegion:
    """A region as a candidate: its number, and the values of the fields that it sets, dates as ISO dates.

    >>> AskedRegion(3, (("state", "Bavaria"), ("from", "10"))).text
    'state=Bavaria&from=10'
    """

    number: int
    settings: tuple[tuple[str, str], ...]

    @property
    def text(self) -> str:
        """Return the values as the arguments of a URL."""
        return urlencode(self.settings)


@dataclass
class Region:
    """A region and what is known about it."""

    parent: int = -1
    values: tuple[tuple[int, str], ...] = ()  # number of a select, and its value
    intervals: tuple[Interval, ...] = ()
    state: RegionState = "waiting"
    expected: float = 0.0  # matches expected before it is asked
    total: int = 0  # matches stated; 0: unknown
    seen: int = 0  # matches returned
    tried: tuple[int, ...] = ()  # filters that it was split by
    parts: list[int] = field(default_factory=list)  # of the last split
    first: list[int] = field(default_factory=list)  # hashes of keys of its first page

    @property
    def matches(self) -> float:
        """Return the number of matches: stated, or returned, or expected."""
        return float(self.total or (self.seen if self.state in ("whole", "failed") else max(self.expected, self.seen)))


class RegionCandidates:
    """The regions of one form."""

    def __init__(self, filters: Sequence[FormFilter]) -> None:
        self.filters = tuple(filters)
        self.regions: list[Region] = [Region(state="open")] if filters else []
        self.keys = KeySet()  # of the records that regions returned
        self._waiting: list[int] = []
        self._shares: dict[
            tuple[int, str], tuple[float, int]
        ] = {}  # of a value in the regions that it narrowed: sum, number
        self.is_check = False  # the first region was read to its end, and its parts test whether that is all
        self._cap = 0
        self._checks: list[int] | None = (
            None  # regions by another filter, which show whether the parts leave out records
        )
        self._useless: set[int] = set()  # filters that narrow nothing
        self._leaky: set[int] = set()  # filters in which some records have no value; used last

    @property
    def is_whole(self) -> bool:
        """Return True if all parts of the form's value space were read to their end below the result cap."""
        return bool(self.regions) and self.regions[0].state == "whole" and bool(self.regions[0].tried)

    # -- asking ----------------------------------------------------------------------------------------------------------

    def next(self, held: int, size: float, page_size: int, cap: int) -> tuple[AskedRegion, ExpectedYield] | None:
        """Return the region with the most expected new records per request."""
        if not self._waiting:
            return None
        whole = [each for each in self.regions[1:] if each.state == "whole" and not each.parts and each.parent >= 0]
        outside = max(0.0, held - sum(region.seen for region in whole))  # records held that may be in a waiting region
        left = max(1.0, max(size, self.regions[0].matches) - sum(region.seen for region in whole), outside)
        new_share = max(0.02, 1 - outside / left)
        page = float(page_size or 10)

        def yield_of(number: int) -> ExpectedYield:
            region = self.regions[number]
            reach = max(0.5, min(region.expected, cap or region.expected))
            return ExpectedYield(new_share * reach, max(1.0, math.ceil(reach / page)))

        best = max(self._waiting, key=lambda number: (yield_of(number).new / yield_of(number).pages, -number))
        return AskedRegion(best, self._settings(self.regions[best])), yield_of(best)

    def mark_asked(self, number: int) -> None:
        """Note that a region is asked."""
        if number in self._waiting:
            self._waiting.remove(number)
        if 0 <= number < len(self.regions):
            self.regions[number].state = "open"

    def _settings(self, region: Region) -> tuple[tuple[str, str], ...]:
        chosen = [(self.filters[at].names[0], value) for at, value in region.values]
        for at, *ends in region.intervals:
            each = self.filters[at]
            chosen += [
                (name, _written(end, is_date=each.kind == "date"))
                for name, end in zip(each.names, ends, strict=True)
                if end is not None
            ]
        return tuple(chosen)

    # -- results ---------------------------------------------------------------------------------------------------------

    def note_total(self, number: int, total: int, cap: int, page_size: int) -> bool:
        """Note the total on the first page of a region; return True if the region was split, because it is known to be capped."""
        region = self.regions[number]
        region.total = total
        if self._narrows_nothing(number):
            useless = self.regions[region.parent].tried[-1]
            for at, each in enumerate(list(self.regions)):
                if each.state == "split" and each.tried[-1:] == (useless,):
                    self._discard(at)
                    if not self._split(at, cap, page_size):
                        each.state = "capped"
            return True
        self._learn_share(number)
        return 0 < cap < total and region.state == "open" and self._split(number, cap, page_size)

    def note_first(self, number: int, first: list[int], cap: int, page_size: int) -> bool:
        """Note the first page of a region without a total; return True if the region was split, because it begins like a capped one."""
        region = self.regions[number]
        region.first = sorted(first)
        above = self.regions[region.parent] if region.parent >= 0 else None
        if above is None or not cap or not region.first or above.first != region.first or region.state != "open":
            return False
        region.expected = max(region.expected, UNCOUNTED_FACTOR * cap)
        return self._split(number, cap, page_size)

    @property
    def needs_test(self) -> bool:
        """Return True if too few parts show yet whether the first region is really whole."""
        parts = [part.state for part in self.regions[1:] if part.parent == 0]
        is_left = "waiting" in parts or "open" in parts or bool(self._waiting)
        return self.is_check and is_left and sum(part in ("whole", "capped", "split") for part in parts) < MIN_TESTS

    @property
    def waiting(self) -> int:
        """Return the number of regions that were not asked yet."""
        return len(self._waiting)

    def close(
        self, number: int, seen: int, *, is_whole: bool, cap: int, page_size: int, is_tested: bool = False
    ) -> None:
        """Note the end of a region; `is_whole`: it was read to its end below the result cap. Split it if it is capped.

        Without `is_tested`, the first region is split too if it states no total: the source may stop at a result cap that is not known yet.
        """
        region = self.regions[number]
        region.seen = max(region.seen, seen)
        if region.state != "open":
            return
        is_part = number == 0 or region.parent >= 0
        is_short = MIN_COVERED_SHARE * region.total > seen
        is_capped = bool(seen) and (is_short or 0 < cap <= seen)
        wants_value = not number and not seen  # the form wants at least one value
        # the largest region ends with a full page: perhaps there, or at a total that stops at a result cap, the source stops
        is_full = not cap and seen >= 2 * page_size and not seen % max(1, page_size)
        is_full = is_full and seen >= max(each.seen for each in self.regions) and not is_tested
        is_capped |= is_full and number > 0
        is_check = not number and is_whole and not (is_tested or wants_value) and (is_full or not region.total)
        self.is_check |= is_check
        if wants_value or is_capped:
            region.expected = max(region.expected, UNCOUNTED_FACTOR * (seen or max(cap, page_size)))
        if not is_part:
            region.state = "whole" if is_whole and not is_short else "capped"
            return
        if (wants_value or is_capped or is_check) and self._split(number, cap, page_size):
            return
        is_read = is_whole and not (is_short or wants_value)
        region.state = "whole" if is_read else "capped" if is_capped else "failed"
        if not region.seen and self._wants_words(region.parent):
            self._discard(0)
            self.regions[0].state = "failed"
            return
        self._settle(region.parent, cap, page_size)

    def note_cap(self, cap: int, page_size: int) -> None:
        """Note the result cap: regions that were cut off by it before it was known are split."""
        if cap == self._cap or not cap:
            return
        self._cap = cap
        for number, region in enumerate(list(self.regions)):
            if region.state != "whole" or region.parts or region.seen < cap or 0 < region.total <= region.seen:
                continue
            region.expected = max(region.expected, UNCOUNTED_FACTOR * region.seen)
            if not self._split(number, cap, page_size):
                region.state = "capped"
            for above in self._above(number):
                self.regions[above].state = "split"
            if region.state == "capped":
                self._settle(region.parent, cap, page_size)

    def _above(self, number: int) -> Iterator[int]:
        while (number := self.regions[number].parent) >= 0:
            yield number

    def next_check(self, cap: int) -> AskedRegion | None:
        """Return a region by filters that the whole value space was not split by; None if there is none."""
        if not self.is_whole or self.regions[0].total:
            return None
        if self._checks is None:
            self._checks = self._make_checks(cap)
        if not self._checks:
            return None
        number = self._checks.pop(0)
        return AskedRegion(number, self._settings(self.regions[number]))

    def _make_checks(self, cap: int) -> list[int]:
        used = set(self.regions[0].tried) | self._useless
        others = [at for at, each in enumerate(self.filters) if each.kind == "choice" and at not in used]
        if not others:
            return []
        at = max(others, key=lambda at: len(self.filters[at].values))
        matches = self.regions[0].matches
        made = []
        for number, value in enumerate(self.filters[at].values):
            values: tuple[tuple[int, str], ...] = ((at, value),)
            expected = matches * self._share(at, value)
            for further in (
                each for each in range(len(self.filters)) if each != at and self.filters[each].kind == "choice"
            ):
                if not cap or expected <= FULL_SHARE * cap:
                    break
                choices = self.filters[further].values
                values = (*values, (further, choices[number % len(choices)]))
                expected /= len(choices)
            made.append(len(self.regions))
            self.regions.append(Region(parent=-1, values=values, expected=expected))
        return made

    def fail(self, number: int) -> None:
        """Note that a region could not be asked."""
        region = self.regions[number]
        if region.state == "open":
            region.state = "failed"

    def _narrows_nothing(self, number: int) -> bool:
        """Return True if the filter by which a region was made narrows nothing, or hardly, and another can take its place.

        A part has as many matches as the whole; of an interval, which may have open ends, both halves.
        """
        parent = self.regions[number].parent
        if parent < 0 or not self.regions[parent].total or self.is_check:
            return False
        above = self.regions[parent]
        totals = [part.total for part in map(self.regions.__getitem__, above.parts) if part.total]
        is_choice = self.filters[above.tried[-1]].kind == "choice"
        if len(totals) < (1 if is_choice else 2) or min(totals) < SAME_SHARE * above.total:
            return False
        if not any(self._can_split(above, at) for at in range(len(self.filters))):
            return False
        self._useless.add(above.tried[-1])
        return True

    def _wants_words(self, parent: int) -> bool:
        """Return True if neither the form without values nor the first parts return anything: it wants words, too."""
        if parent or self.regions[0].seen:
            return False
        asked = [part for part in self.regions[1:] if part.parent == 0 and part.state != "waiting"]
        return len(asked) >= MAX_EMPTY_PARTS and not any(part.seen for part in asked)

    def _discard(self, number: int) -> None:
        """Discard the parts of a region."""
        for part in self.regions[number].parts:
            if part in self._waiting:
                self._waiting.remove(part)
            self.regions[part].state = "failed"
            self._discard(part)

    def _learn_share(self, number: int) -> None:
        """Learn from a total which share of a region a value has."""
        region = self.regions[number]
        above = self.regions[region.parent] if region.parent >= 0 else region
        for pair in region.values:
            if pair not in above.values and above.total:
                before, times = self._shares.get(pair, (0.0, 0))
                self._shares[pair] = before + region.total / above.total, times + 1

    # -- splitting -------------------------------------------------------------------------------------------------------

    def _split(self, number: int, cap: int, page_size: int) -> bool:
        """Split a region by the filter that promises to cover it with the fewest requests; return False if there is none."""
        region = self.regions[number]
        if len(self.regions) >= MAX_REGIONS:
            return False
        cap, page_size = cap or 10 * max(1, page_size), max(1, page_size)
        possible = [at for at in range(len(self.filters)) if self._can_split(region, at)]
        if not possible:
            return False
        matches = max(region.matches, 1.0)

        def order(at: int) -> tuple[bool, bool, float]:
            return self.filters[at].is_optional, at in self._leaky, self._cost(region, at, matches, cap, page_size)

        at = min(possible, key=order)
        region.state, region.tried, region.parts = "split", (*region.tried, at), []
        for part in self._parts(region, at):
            part.parent = number
            part.tried = ()
            region.parts.append(len(self.regions))
            self._waiting.append(len(self.regions))
            self.regions.append(part)
        return True

    def _can_split(self, region: Region, at: int) -> bool:
        each = self.filters[at]
        if at in region.tried or at in self._useless:
            return False
        if each.kind == "choice":
            return all(used != at for used, _ in region.values)
        low, high = self._interval(region, at)
        if low is not None and high is not None:
            return high > low
        first, last = DATES if each.kind == "date" else NUMBERS
        return (low is None or low < last) and (high is None or high > first)

    def _interval(self, region: Region, at: int) -> tuple[float | None, float | None]:
        return next(((low, high) for used, low, high in region.intervals if used == at), (None, None))

    def _cost(self, region: Region, at: int, matches: float, cap: int, page_size: int) -> float:
        """Return the expected requests to cover a region by splitting it by a filter, and its parts by others."""
        each, room = self.filters[at], FULL_SHARE * cap
        if each.kind != "choice":
            parts = 2.0 ** math.ceil(math.log2(max(2.0, matches / room)))
            open_ends = sum(end is None for end in self._interval(region, at))
            return parts + RANGE_REQUESTS * open_ends / 2 + parts * math.ceil(matches / parts / page_size)
        requests = 0.0
        for value in each.values:
            part = matches * self._share(at, value)
            requests += max(1.0, math.ceil(part / page_size)) if part <= room else 2 + 1.5 * part / page_size
        return requests

    def _share(self, at: int, value: str) -> float:
        """Return the share of a region that a value is expected to have."""
        total, times = self._shares.get((at, value), (0.0, 0))
        return total / times if times else 1.0 / max(1, len(self.filters[at].values))

    def _parts(self, region: Region, at: int) -> Iterator[Region]:
        """Yield the parts of a region."""
        each, matches = self.filters[at], region.matches
        if each.kind == "choice":
            for value in each.values:
                yield Region(
                    values=(*region.values, (at, value)),
                    intervals=region.intervals,
                    expected=matches * self._share(at, value),
                )
            return
        others = tuple(interval for interval in region.intervals if interval[0] != at)
        for low, high in _halves(*self._interval(region, at), is_date=each.kind == "date"):
            yield Region(values=region.values, intervals=(*others, (at, low, high)), expected=matches / 2)

    def _settle(self, number: int, cap: int, page_size: int) -> None:
        """Note that a part was closed: if all are, the region is whole, or is split by another filter too."""
        if number < 0:
            return
        region = self.regions[number]
        parts = [self.regions[part] for part in region.parts]
        if region.state != "split" or any(part.state in ("waiting", "open", "split") for part in parts):
            return
        covered = sum(part.matches for part in parts)
        is_whole = all(part.state == "whole" for part in parts) and covered >= MIN_COVERED_SHARE * region.total
        if covered < MIN_COVERED_SHARE * region.total and all(part.state in ("whole", "failed") for part in parts):
            self._leaky.add(region.tried[-1])
        if is_whole and covered:
            region.state, region.seen = "whole", max(region.seen, int(covered))
        elif self._split(number, cap, page_size):
            return
        else:
            region.state = "capped"
        self._settle(region.parent, cap, page_size)


def _halves(low: float | None, high: float | None, *, is_date: bool) -> list[tuple[float | None, float | None]]:
    """Return two intervals that cover an interval; they share the value between them, because a source may exclude an end.

    >>> _halves(0.0, 10.0, is_date=False), _halves(None, None, is_date=False)
    ([(0.0, 5.0), (5.0, 10.0)], [(None, 1000.0), (1000.0, None)])
    >>> _halves(4.0, 5.0, is_date=False), _halves(1000.0, None, is_date=False)
    ([(4.0, 4.0), (5.0, 5.0)], [(1000.0, 10000.0), (10000.0, None)])
    """
    if low is not None and high is not None:
        if high - low <= 1:
            return [(low, low), (high, high)]
        is_wide = not is_date and low > 0 and high / low > WIDEST_RATIO
        middle = float(round(math.sqrt(low * high) if is_wide else (low + high) / 2))
    elif is_date:
        middle = low + DATE_STEP if low is not None else high - DATE_STEP if high is not None else float(FIRST_DATE)
    elif low is not None:
        middle = low * NUMBER_STEP if low > 0 else 1.0 if low == 0 else 0.0
    else:
        middle = FIRST_NUMBER if high is None else 0.0 if high > 0 else NUMBER_STEP * min(high, -1.0)
    return [(low, middle), (middle, high)]


def _written(value: float, *, is_date: bool) -> str:
    """Return an end of an interval as text.

    >>> _written(730_120.0, is_date=True), _written(1000.0, is_date=False)
    ('2000-01-01', '1000')
    """
    return datetime.date.fromordinal(int(value)).isoformat() if is_date else str(int(value))
