"""What is counted of each word when records come for the first time, compiled where that was built."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from upwell.page.compiled import compiled
from upwell.page.terms import query_words

__all__ = ["columns_of", "count_words", "missing_in", "plain_columns_of", "plain_count_words"]

Counts = NDArray[np.int32]


def plain_count_words(
    cells: Counts,
    ends: Sequence[int] | Counts,
    inside: Counts,
    once: Counts,
    first: Counts,
    done: NDArray[np.bool_],
    shared: bytearray,
    sharing: NDArray[np.int64],
    number: int,
) -> tuple[int, int]:
    """Counts the words of records that came for the first time, from `number` on; the cells of each end at `ends`.

    Of each word: in how many records it stands, in how many that came once, and the first of them. Of each record: how many words it
    shares with others, as far as `sharing` counts records by that. Gives how many more words that are not `done` stand in records, and
    how many more records those of them have that stand in several.
    """
    most, start, open_words, common = len(sharing) - 1, 0, 0, 0
    for record, end in enumerate(ends, number):
        own = 0
        for word in cells[start:end].tolist():
            before = int(inside[word])
            if before == 0:
                first[word] = record
            else:
                own += 1
                if before == 1 and (of_first := shared[first[word]]) < most:
                    # the first record that has the word shares it now
                    shared[first[word]] = of_first + 1
                    sharing[of_first] -= 1
                    sharing[of_first + 1] += 1
            inside[word] = before + 1
            once[word] += 1
            if not done[word]:
                open_words += before == 0
                common += 2 if before == 1 else before > 1
        shared[record] = min(most, own)
        sharing[shared[record]] += 1
        start = end
    return open_words, common


count_words = compiled.count_words if compiled is not None else plain_count_words


def columns_of(words: list[str], fields: Mapping[str, str]) -> list[str | None]:
    """The last field in which each of some words stands; None where none has it."""
    if compiled is None:
        return plain_columns_of(words, fields)
    return compiled.columns_of(words, dict(fields), query_words)


def plain_columns_of(words: list[str], fields: Mapping[str, str]) -> list[str | None]:
    """As `columns_of`, without the compiled module."""
    columns: dict[str, str] = {}
    left = set(words)
    for name, value in reversed(list(fields.items())):
        here = left.intersection(query_words(value) if left else ())
        columns.update(dict.fromkeys(here, name))
        left -= here
    return [columns.get(word) for word in words]


def missing_in(text: str, words: Sequence[str]) -> list[str]:
    """Those of some words that a text does not have."""
    return [word for word, column in zip(words, columns_of(list(words), {"": text}), strict=True) if column is None]
