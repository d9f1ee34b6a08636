"""Detect that a source no longer looks as it did when its model was learned."""

from collections import deque
from dataclasses import InitVar, dataclass, field

from upwell.page.tree import TagTree
from upwell.records.record_columns import OTHER_COLUMN
from upwell.source.apply import Reading, check
from upwell.source.model import SourceModel
from upwell.types import Kind

__all__ = ["DriftWatch"]

WINDOW = 50  # answers kept for the comparison
MIN_ANSWERS = 5  # answers needed before a low share with records counts as drift and not as unlucky queries
RECORDS_PER_ANSWER = 10  # records kept, and required, per answer kept or required
MAX_UNKNOWN_SHARE = 0.5  # share of records with text outside all known columns above which the page layout has changed
DRIFT_FACTOR = 0.5  # a share below this fraction of its value at learning time counts as drift


@dataclass
class DriftWatch:
    """Compare the last answers of a source with its model.

    A judgement needs `min_answers` answers (at least 5) and uses the last `window`.

    >>> watch = DriftWatch(SourceModel(fits=0.8))
    >>> for _ in range(5):
    ...     watch.note(Reading(kind="none"))
    >>> watch.fits_too_few, watch.reason
    (True, '0 of the last 5 answers have records, 80 % had when the source was learned')
    >>> watch.reset()
    >>> watch.reason
    ''
    """

    model: SourceModel
    window: InitVar[int] = WINDOW
    min_answers: int = MIN_ANSWERS
    _kinds: deque[Kind] = field(init=False)
    _counts_agree: deque[bool] = field(init=False)  # for answers that state how many records they show
    _has_unknown: deque[bool] = field(init=False)  # per record: it has text outside all known columns

    def __post_init__(self, window: int) -> None:
        self._kinds, self._counts_agree = deque(maxlen=window), deque(maxlen=window)
        self._has_unknown = deque(maxlen=RECORDS_PER_ANSWER * window)

    def note(self, reading: Reading, tree: TagTree | None = None) -> None:
        """Add an answer; with its page, the number of records that the page states is compared too."""
        self._kinds.append(reading.kind)
        if reading.kind == "multi":
            self._has_unknown.extend(OTHER_COLUMN in record.fields for record in reading.records)
            if tree is not None and (agrees := check(reading, tree)["count"]) is not None:
                self._counts_agree.append(bool(agrees))

    def reset(self, model: SourceModel | None = None) -> None:
        """Forget all answers, for example after learning the source again; `model` replaces the model."""
        self.model = model or self.model
        for answers in (self._kinds, self._counts_agree, self._has_unknown):
            answers.clear()

    @property
    def fits_too_few(self) -> bool:
        """Return True if too few answers have records, so that the source should be learned again."""
        share = self._kinds.count("multi") / max(1, len(self._kinds))
        return len(self._kinds) >= max(MIN_ANSWERS, self.min_answers) and share < DRIFT_FACTOR * self.model.fits

    @property
    def reason(self) -> str:
        """Return why the source should be learned again: few answers fit, counts disagree, or unknown columns; "" if it need not be."""
        model, kinds, agree, unknown = self.model, self._kinds, self._counts_agree, self._has_unknown
        if self.fits_too_few:
            return (
                f"{kinds.count('multi')} of the last {len(kinds)} answers have records, "
                f"{100 * model.fits:.0f} % had when the source was learned"
            )
        if model.agrees == 0 and len(agree) >= self.min_answers and not any(agree):
            return f"none of the last {len(agree)} answers shows as many records as it says, nor did any when the source was learned"
        if model.agrees and len(agree) >= self.min_answers and sum(agree) / len(agree) < DRIFT_FACTOR * model.agrees:
            return (
                f"{sum(agree)} of the last {len(agree)} answers show as many records as they say, "
                f"{100 * model.agrees:.0f} % did when the source was learned"
            )
        min_records = RECORDS_PER_ANSWER * self.min_answers
        if len(unknown) >= min_records and sum(unknown) / len(unknown) > MAX_UNKNOWN_SHARE:
            return f"{sum(unknown)} of the last {len(unknown)} records say something in no known column"
        return ""
