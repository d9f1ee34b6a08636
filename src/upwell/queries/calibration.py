"""Of what is expected of questions, what comes: learned for each kind of question, and for a kind not tried yet from all others."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["Calibration"]

PRIOR = 20.0  # expected records that the other kinds count for, beside a kind's own; not swept
FADES = 0.97  # how much of what is known stays with each page: sources run dry; not swept


class Calibration:
    """Shares by the number of the kind (more than `kinds` share a number)."""

    def __init__(self, kinds: int) -> None:
        self._came, self._due = np.zeros(kinds), np.zeros(kinds)

    def shares(self, kinds: NDArray[np.integer]) -> NDArray[np.float64]:
        """For each of some kinds the share that comes; a kind counts for the others once, however often it was asked."""
        tried = self._due > 0
        usual = (1.0 + (self._came[tried] / self._due[tried]).sum()) / (1.0 + tried.sum())
        return np.asarray(((self._came + PRIOR * usual) / (self._due + PRIOR))[kinds % len(self._came)])

    def of(self, kind: int) -> float:
        """The share of one kind."""
        return float(self.shares(np.array([kind]))[0])

    def page(self, kind: int, expected: float, new: float) -> None:
        """What one page brought, and what was expected of it, the share not in it yet."""
        at = kind % len(self._came)
        self._came[at] = FADES * self._came[at] + new
        self._due[at] = FADES * self._due[at] + expected
