"""Events of a harvest that goes on in another worker: it tells again what it told before, and observers should hear it once."""

from collections import Counter

from upwell.harvest.events import Asked, Event, Observer, Opened

__all__ = ["ToldOnce"]


class ToldOnce:
    """Hands events on, but for those that were handed on before the worker was lost.

    A harvest that goes on tells of records in the order in which they came, all of them again. Of requests it may tell only some, so these are
    known by their number.
    """

    def __init__(self, observe: Observer) -> None:
        self._observe = observe
        self._told: Counter[type[Event]] = Counter()  # by kind
        self._requests = 0  # of the last event that has their number
        self._left: Counter[type[Event]] = Counter()  # that will be told again
        self._requests_before = -1

    def begin_again(self) -> None:
        """What comes now begins from the start."""
        self._left, self._requests_before = Counter(self._told), self._requests if self._told else -1

    def follow(self, event: Event) -> None:
        """Hands an event on if it is new."""
        kind = type(event)
        if isinstance(event, Asked | Opened):
            if event.requests <= self._requests_before:
                return
            self._requests = max(self._requests, event.requests)
        elif self._left[kind]:
            self._left[kind] -= 1
            return
        self._told[kind] += 1
        self._observe(event)
