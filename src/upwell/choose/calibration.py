"""Learn which share of the predicted records is received, per kind of candidate."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["Calibration"]

# predicted records at the mean of all kinds that a kind's own are pooled with; swept 20, 60, 200: docs/decisions/0080
PRIOR_RECORDS = 20.0
MEMORY = 0.97  # weight of earlier pages after each further page, because sources run dry; not swept


class Calibration:
    """New records received ÷ predicted, per kind, pooled towards the mean; kinds beyond `kinds` share a number."""

    def __init__(self, kinds: int) -> None:
        self._received, self._predicted = np.zeros(kinds), np.zeros(kinds)
        self._pooled: NDArray[np.float64] | None = None  # shares of all kinds, until the next page

    def shares(self, kinds: NDArray[np.integer]) -> NDArray[np.float64]:
        """Return the share received for each of some kinds. In the mean, each kind counts once."""
        return np.asarray(self.all_shares()[kinds % len(self._received)])

    def share(self, kind: int) -> float:
        """Return the share received for a kind."""
        return float(self.all_shares()[kind % len(self._received)])

    def all_shares(self) -> NDArray[np.float64]:
        """Return the share received for each kind."""
        if self._pooled is None:
            tried = self._predicted > 0
            own = (self._received[tried] + PRIOR_RECORDS) / (self._predicted[tried] + PRIOR_RECORDS)
            mean = (1.0 + own.sum()) / (1.0 + tried.sum())
            self._pooled = (self._received + PRIOR_RECORDS * mean) / (self._predicted + PRIOR_RECORDS)
        return self._pooled

    def add_page(self, kind: int, predicted: float, received: float) -> None:
        """Add a page; `predicted` is the prediction before calibration."""
        at = kind % len(self._received)
        self._pooled = None
        self._received[at] = MEMORY * self._received[at] + received
        self._predicted[at] = MEMORY * self._predicted[at] + predicted
