"""How much of what was predicted comes: learned for each kind of question, and for a kind not tried yet from all others."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["Calibration"]

PRIOR_RECORDS = 20.0  # predicted records that the mean of all kinds weighs beside a kind's own; swept 20, 60, 200: docs/decisions/0080
MEMORY = 0.97  # of earlier pages that remains with each further page, because sources run dry; not swept


class Calibration:
    """New records received ÷ new records predicted, per kind of question, pooled towards the mean; kinds beyond `kinds` share a number."""

    def __init__(self, kinds: int) -> None:
        self._received, self._predicted = np.zeros(kinds), np.zeros(kinds)
        self._pooled: NDArray[np.float64] | None = None  # the shares of all kinds, until the next page

    def shares(self, kinds: NDArray[np.integer]) -> NDArray[np.float64]:
        """The share that comes, for each of some kinds. In the mean each kind counts once, however often it was asked."""
        return np.asarray(self.all_shares()[kinds % len(self._received)])

    def share(self, kind: int) -> float:
        """The share of one kind."""
        return float(self.all_shares()[kind % len(self._received)])

    def all_shares(self) -> NDArray[np.float64]:
        """The share of each kind."""
        if self._pooled is None:
            tried = self._predicted > 0
            own = (self._received[tried] + PRIOR_RECORDS) / (self._predicted[tried] + PRIOR_RECORDS)
            mean = (1.0 + own.sum()) / (1.0 + tried.sum())
            self._pooled = (self._received + PRIOR_RECORDS * mean) / (self._predicted + PRIOR_RECORDS)
        return self._pooled

    def add_page(self, kind: int, predicted: float, received: float) -> None:
        """Takes in one page; `predicted` is the prediction before calibration."""
        at = kind % len(self._received)
        self._pooled = None
        self._received[at] = MEMORY * self._received[at] + received
        self._predicted[at] = MEMORY * self._predicted[at] + predicted
