"""Several sources of one site, a request of each in turn."""

from collections import deque
from collections.abc import Callable, Generator, Sequence
from itertools import chain

from upwell.errors import Forbidden, NothingLearned, TookTooLong, Unreachable
from upwell.harvest.session import AtRest, SourceSession, Steps
from upwell.model import BrowserVisit, RenderedPage, Request, Response

__all__ = ["by_turns"]

Waiting = tuple[SourceSession, Steps, Response | RenderedPage | Exception | AtRest | None]


def by_turns(
    sessions: Sequence[SourceSession], at_rest: Callable[[], None] = lambda: None
) -> Generator[Request | BrowserVisit, Response | RenderedPage, None]:
    """Runs several sources of one site, a request of each in turn, so that they share the budget; one that cannot be read is passed over.

    One that walks a list without a query goes first: the list may have the records of all of them. `at_rest` is called whenever all of
    them are between two questions.
    """
    waiting: deque[Waiting] = deque((session, session.steps(), None) for session in sessions if not session.is_over)
    unreadable: NothingLearned | TookTooLong | None = None
    while waiting:
        session, steps, answer = _next_of(waiting)
        try:
            if isinstance(answer, AtRest):
                answer = None  # None starts it, and lets it go on
            wanted = steps.throw(answer) if isinstance(answer, Exception) else steps.send(answer)  # type: ignore[arg-type] # None is no answer
        except StopIteration as end:
            session.ledger.stopped, session.is_over = end.value, True
            continue
        except (NothingLearned, TookTooLong) as error:
            session.reader.skip("learn", session.reader.interface.url, str(error))
            unreadable, session.is_over = error, True
            continue
        if isinstance(wanted, AtRest):
            waiting.append((session, steps, wanted))
            if all(isinstance(answer, AtRest) for _, _, answer in waiting):
                at_rest()
            continue
        try:
            waiting.append((session, steps, (yield wanted)))
        except (Unreachable, Forbidden) as error:
            waiting.append((session, steps, error))
    if unreadable is not None and not any(session.ledger.is_readable for session in sessions):
        raise unreadable


def _next_of(waiting: deque[Waiting]) -> Waiting:
    """The session whose turn it is: one that has an answer to read, one that walks a list, else the one that waits longest."""
    has_answer = (
        i
        for i, (session, _, answer) in enumerate(waiting)
        if session.is_started and not isinstance(answer, AtRest | None)
    )
    walks_list = (i for i, (session, _, _) in enumerate(waiting) if session.walks_list)
    at = next(chain(has_answer, walks_list), 0)
    found = waiting[at]
    del waiting[at]
    return found
