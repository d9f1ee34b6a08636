"""Whether a source still is what was learned: noticed while answers are read, so that it can be learned again."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from upwell.extract.columns import OTHER
from upwell.model import Kind
from upwell.page.tree import TagTree
from upwell.source.apply import Reading, check
from upwell.source.model import SourceModel

__all__ = ["Watch", "drifted"]

# From this many answers on, a source that fits badly has changed rather than been asked for what it does not have.
ENOUGH = 5
WINDOW = 50  # answers that are looked back on
STRANGE = 0.5  # share of the matches that have text in no known column, from which their template has changed


def drifted(model: SourceModel, kinds: Sequence[Kind]) -> bool:
    """Whether so few answers fit a model that its source should be learned again: less than half of the share at learning."""
    return len(kinds) >= ENOUGH and kinds.count("multi") / len(kinds) < model.fits / 2


@dataclass
class Watch:
    """The last answers of a source beside what was learned; `reason` says why to learn again, "" while all is well.

    >>> watch = Watch(SourceModel(fits=0.8))
    >>> for _ in range(5):
    ...     watch.note(Reading(kind="none"))
    >>> watch.reason
    '0 of the last 5 answers have matches, 80 % had when the source was learned'
    """

    model: SourceModel
    kinds: deque[Kind] = field(default_factory=lambda: deque(maxlen=WINDOW))
    counts: deque[bool] = field(default_factory=lambda: deque(maxlen=WINDOW))
    strange: deque[bool] = field(default_factory=lambda: deque(maxlen=10 * WINDOW))

    def note(self, reading: Reading, tree: TagTree | None = None) -> None:
        """Takes in one answer as it was read; with its page the page's own count is compared too."""
        self.kinds.append(reading.kind)
        if reading.kind == "multi":
            self.strange.extend(OTHER in record.fields for record in reading.records)
            if tree is not None and (agrees := check(reading, tree)["count"]) is not None:
                self.counts.append(bool(agrees))

    @property
    def reason(self) -> str:
        """Why the source should be learned again; "" where it should not."""
        model, kinds = self.model, list(self.kinds)
        if drifted(model, kinds):
            return (
                f"{kinds.count('multi')} of the last {len(kinds)} answers have matches, "
                f"{100 * model.fits:.0f} % had when the source was learned"
            )
        if model.agrees and len(self.counts) >= ENOUGH and sum(self.counts) / len(self.counts) < model.agrees / 2:
            return (
                f"{sum(self.counts)} of the last {len(self.counts)} answers show as many matches as they say, "
                f"{100 * model.agrees:.0f} % did when the source was learned"
            )
        if len(self.strange) >= 10 * ENOUGH and sum(self.strange) / len(self.strange) > STRANGE:
            return f"{sum(self.strange)} of the last {len(self.strange)} matches say something in no known column"
        return ""
