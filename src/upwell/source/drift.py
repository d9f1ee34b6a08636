"""Whether a source still looks as it was learned: noticed while answers are read, so that it can be learned again."""

from collections import deque
from dataclasses import InitVar, dataclass, field

from upwell.extract.columns import OTHER
from upwell.model import Kind
from upwell.page.tree import TagTree
from upwell.source.apply import Reading, check
from upwell.source.model import SourceModel

__all__ = ["DriftWatch"]

WINDOW = 50  # answers that are looked back on
# From this many answers on, a source that fits badly has changed rather than been asked for what it does not have.
MIN_ANSWERS = 5
RECORDS_PER_ANSWER = 10  # records that are looked back on, and waited for, for each answer
MAX_UNKNOWN_SHARE = 0.5  # share of the records with text in no known column from which on their template has changed
DRIFT_FACTOR = 0.5  # a share that fell below this part of what it was at learning has drifted


@dataclass
class DriftWatch:
    """The last answers of a source beside what was learned of it.

    It judges when it has seen `min_answers` (at least 5), and looks back on the last `window` answers.

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
    _counts_agree: deque[bool] = field(init=False)  # of the answers that say how many records they show
    _has_unknown: deque[bool] = field(init=False)  # of the records: whether they have text in no known column

    def __post_init__(self, window: int) -> None:
        self._kinds, self._counts_agree = deque(maxlen=window), deque(maxlen=window)
        self._has_unknown = deque(maxlen=RECORDS_PER_ANSWER * window)

    def note(self, reading: Reading, tree: TagTree | None = None) -> None:
        """Takes in one answer as it was read; with its page, the page's own count is compared too."""
        self._kinds.append(reading.kind)
        if reading.kind == "multi":
            self._has_unknown.extend(OTHER in record.fields for record in reading.records)
            if tree is not None and (agrees := check(reading, tree)["count"]) is not None:
                self._counts_agree.append(bool(agrees))

    def reset(self, model: SourceModel | None = None) -> None:
        """Forgets the answers, as after the source was learned again; `model` is what was learned."""
        self.model = model or self.model
        for answers in (self._kinds, self._counts_agree, self._has_unknown):
            answers.clear()

    @property
    def fits_too_few(self) -> bool:
        """Whether so few of the answers have records that the source should be learned again."""
        share = self._kinds.count("multi") / max(1, len(self._kinds))
        return len(self._kinds) >= max(MIN_ANSWERS, self.min_answers) and share < DRIFT_FACTOR * self.model.fits

    @property
    def reason(self) -> str:
        """Why the source should be learned again: too few answers fit, counts disagree, or texts in no known column; "" where it should not."""
        model, kinds, agree, unknown = self.model, self._kinds, self._counts_agree, self._has_unknown
        if self.fits_too_few:
            return (
                f"{kinds.count('multi')} of the last {len(kinds)} answers have records, "
                f"{100 * model.fits:.0f} % had when the source was learned"
            )
        if model.agrees and len(agree) >= self.min_answers and sum(agree) / len(agree) < DRIFT_FACTOR * model.agrees:
            return (
                f"{sum(agree)} of the last {len(agree)} answers show as many records as they say, "
                f"{100 * model.agrees:.0f} % did when the source was learned"
            )
        min_records = RECORDS_PER_ANSWER * self.min_answers
        if len(unknown) >= min_records and sum(unknown) / len(unknown) > MAX_UNKNOWN_SHARE:
            return f"{sum(unknown)} of the last {len(unknown)} records say something in no known column"
        return ""
