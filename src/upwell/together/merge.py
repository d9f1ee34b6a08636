"""The answers of several sources as one list: a row for each thing, ranked, with its sources beside it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from upwell.page.terms import tokens
from upwell.together.learned import SourceAnswer
from upwell.together.same import groups
from upwell.together.words import fold

__all__ = ["AskResult", "Finding", "Sighting", "merge"]

# Of reciprocal rank fusion (Cormack, Clarke, Büttcher, SIGIR 2009 §3: k = 60): a thing scores 1 / (k + rank) in each source that has it.
FUSION_RANKS = 60


@dataclass(frozen=True, kw_only=True)
class Sighting:
    """One source that has a thing: the place in its answer, and the thing's own page there."""

    source: str
    rank: int
    url: str | None
    fields: Mapping[str, object]

    def as_dict(self) -> dict[str, object]:
        """As JSON has it."""
        return {"source": self.source, "rank": self.rank, "url": self.url, "fields": self.fields}


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that sources answered with; what the first of them says of it, and what only others say."""

    rank: int
    fields: dict[str, object]
    sources: tuple[Sighting, ...]
    score: float = 0.0

    @property
    def source(self) -> str:
        """The source that has it highest."""
        return self.sources[0].source

    @property
    def url(self) -> str | None:
        """Its own page there."""
        return self.sources[0].url

    def as_dict(self) -> dict[str, object]:
        """As JSON has it."""
        return {
            "source": self.source,
            "rank": self.rank,
            "fields": self.fields,
            "url": self.url,
            "sources": [sighting.as_dict() for sighting in self.sources],
        }


@dataclass(frozen=True, kw_only=True)
class AskResult:
    """What sources answered to one question: the things, and how each source did."""

    findings: tuple[Finding, ...]
    answers: tuple[SourceAnswer, ...]

    @property
    def troubles(self) -> dict[str, str]:
        """The sources without an answer, or without the whole of it, and why."""
        return {answer.source: answer.trouble for answer in self.answers if answer.trouble}

    @property
    def drifts(self) -> dict[str, str]:
        """The sources that no longer look as they were learned, and how that shows."""
        return {answer.source: answer.drift for answer in self.answers if answer.drift}

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)


def merge(answers: Sequence[SourceAnswer], query: str) -> list[Finding]:
    """The things that sources answered with, the best first.

    Their score is that of reciprocal rank fusion, times the share of the query's words that they show: a source that answers anything to
    everything does not come before those that found something.
    """
    given = [answer for answer in answers if answer.records]
    words = frozenset(tokens(fold(query)))
    found = []
    for group in groups([answer.fields for answer in given]):
        members = sorted(group, key=lambda member: (member[1], member[0]))
        sightings = tuple(
            Sighting(
                source=given[number].source,
                rank=row + 1,
                url=given[number].records[row].url,
                fields=given[number].fields[row],
            )
            for number, row in members
        )
        fields = _together(sightings)
        score = sum(1 / (FUSION_RANKS + sighting.rank) for sighting in sightings) * _share_shown(words, fields)
        found.append((score, fields, sightings))
    found.sort(key=lambda one: -one[0])
    return [
        Finding(rank=rank, fields=fields, sources=sightings, score=score)
        for rank, (score, fields, sightings) in enumerate(found, 1)
    ]


def _together(sightings: Sequence[Sighting]) -> dict[str, object]:
    """What the first source says of a thing, and what only others say: not what they say as well, under whatever name."""
    fields: dict[str, object] = {}
    said: set[str] = set()
    for sighting in sightings:
        new = {
            name: value for name, value in sighting.fields.items() if name not in fields and _plain(value) not in said
        }
        fields |= new
        said |= {_plain(value) for value in sighting.fields.values()}
    return fields


def _plain(value: object) -> str:
    return " ".join(tokens(fold(str(value))))


def _share_shown(words: frozenset[str], fields: dict[str, object]) -> float:
    """The share of the query's words that a thing shows, with one word more than there are, so that none at all is not nothing."""
    shown = set(tokens(fold(" ".join(map(str, fields.values())))))
    return (len(words & shown) + 1) / (len(words) + 1)
