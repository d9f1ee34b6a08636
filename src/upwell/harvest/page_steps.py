"""Turning the pages of what a script requests: by an argument whose name says so, else by one that is seen to do it.

A number that is one larger shows what an argument does: other records: it counts pages; the same but for one: it counts records.
"""

from collections.abc import Generator, Sequence

from upwell.harvest.reader import SourceReader
from upwell.model import BrowserVisit, Record, RenderedPage, Request, Response
from upwell.source.apply import apply
from upwell.source.paging import counted_on, next_request_of_script, small_numbers

__all__ = ["PageSteps"]

MAX_TRIALS = 6  # requests to find the argument
MAX_SHIFTED_SHARE = 0.25  # of a page, that may be new where one record more is skipped; not swept


class PageSteps:
    """What turns the pages of one source."""

    def __init__(self, reader: SourceReader) -> None:
        self.reader = reader
        self._argument, self._counts_records = "", False
        self._trials = 0

    def next(
        self, request: Request, records: Sequence[Record], query: str
    ) -> Generator[Request | BrowserVisit, Response | RenderedPage, Request | None]:
        """The request for the page after one with these records; None where nothing is known to turn it."""
        shown = len(records)
        if (following := next_request_of_script(request, shown)) is not None:
            return following
        for argument in small_numbers(request) if not self._argument else ():
            if self._trials >= MAX_TRIALS:
                break
            self._trials += 1
            answer = yield from self.reader.get(counted_on(request, argument, 1))
            if answer is not None:
                self._judge(argument, records, apply(self.reader.ledger.model, answer[1], query=query).records)
            if self._argument:
                break
        if not self._argument:
            return None
        return counted_on(request, self._argument, shown if self._counts_records else 1)

    def _judge(self, argument: str, before: Sequence[Record], after: Sequence[Record]) -> None:
        known = {record.key for record in before}
        new = sum(record.key not in known for record in after)
        is_next_page = len(after) == new > 0
        is_shifted = {record.key for record in after} < known or 0 < new <= max(1, MAX_SHIFTED_SHARE * len(after))
        if is_next_page or (after and is_shifted):
            self._argument, self._counts_records = argument, not is_next_page
