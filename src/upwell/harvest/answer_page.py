"""One page of an answer as values: all that the chooser and the ledger see of a source, real or simulated."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from upwell.answers.facets import SecondLevelLink
from upwell.answers.totals import StatedTotals
from upwell.model import Record

__all__ = ["AnswerPage", "distinct"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerPage:
    """What one page shows: its records, what it says of their number, whether another follows, and where else it leads."""

    records: Sequence[Record] = ()
    wanted: Sequence[Record] = ()  # those of the records that are kept: with `--about` not all
    totals: StatedTotals = field(default_factory=StatedTotals)
    has_next: bool = False
    is_understood: bool = True  # else it shows records that could not be read
    is_refused: bool = False  # it is like neither a list of matches nor an answer without any
    links: Callable[[], Sequence[SecondLevelLink]] = (
        tuple  # facets and orders: they are looked for where they are wanted
    )
    related: Sequence[str] = ()  # other queries that it links to


def distinct(records: Sequence[Record]) -> list[Record]:
    """Records with different keys; of those with the same key the last one."""
    return list({record.key: record for record in records}.values())
