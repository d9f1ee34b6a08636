"""Texts of a column that are all made alike: "Maintained by A; section B; installed size 3 kB".

phrase    words that stand in nearly all texts, once in each and in the same order: what follows is a value that they name
"""

import re
from collections import Counter
from collections.abc import Collection, Sequence

__all__ = ["phrases_of", "values_between"]

MIN_TEXTS = 20  # different ones
MAX_TEXTS = 300  # are looked at
ALWAYS = 0.95  # share of the texts that have a phrase
SOMETIMES = 0.3  # of an optional one, which follows a punctuation mark nearly always
MAX_PHRASE_CHARS = 40
MIN_DISTINCT = 0.02  # different values for each text, below which a phrase tells nothing apart
ENDS = (";", ",", ".", ":", "|", "·", "–", "-", "(")
AROUND = " \t\n;,.:|·–-()"


def phrases_of(texts: Collection[str]) -> tuple[str, ...]:
    """The phrases of texts that are made alike, in their order; none where they are not.

    >>> texts = [f"Kept by person{i}; section s{i % 3}; size {i} kB." for i in range(30)]
    >>> phrases_of(texts)
    ('Kept by', 'section', 'size')
    """
    if len(texts) < MIN_TEXTS:
        return ()
    ordered = sorted(texts)
    words = [text.split() for text in ordered[:: max(1, len(ordered) // MAX_TEXTS)]]
    once: Counter[str] = Counter()
    after_end: Counter[str] = Counter()
    for text in words:
        counts = Counter(text)
        for at, word in enumerate(text):
            if counts[word] == 1 and any(map(str.isalpha, word)):
                once[word] += 1
                after_end[word] += at > 0 and text[at - 1].endswith(ENDS)
    always = {word for word, n in once.items() if n >= ALWAYS * len(words)}
    if len(always) < 2:
        return ()
    optional = {word for word, n in once.items() if n >= SOMETIMES * len(words) and after_end[word] >= ALWAYS * n}
    anchors = always | optional
    runs: Counter[str] = Counter()
    places: dict[str, list[float]] = {}
    for text in words:
        run: list[str] = []
        for at, word in enumerate([*text, ""]):
            if word in anchors and not (run and run[-1].endswith(ENDS)):
                run.append(word)
                continue
            if run:
                runs[" ".join(run)] += 1
                places.setdefault(" ".join(run), []).append(at / len(text))
            run = [word] if word in anchors else []
    usual = [run for run, n in runs.items() if n >= SOMETIMES * len(words) and len(run) <= MAX_PHRASE_CHARS]
    phrases = sorted(usual, key=lambda run: sorted(places[run])[len(places[run]) // 2])
    found = [values_between(" ".join(text), phrases) for text in words]
    telling = [
        phrase
        for number, phrase in enumerate(phrases, 1)
        if len({values[number] for values in found if values[number]}) > max(1, MIN_DISTINCT * len(words))
    ]
    while phrases and phrases[-1] not in telling:  # it ends all texts, and names nothing
        phrases.pop()
    is_made_alike = sum(runs[phrase] >= ALWAYS * len(words) for phrase in telling) >= 1 and len(telling) >= 2
    return tuple(phrases) if is_made_alike else ()


def values_between(text: str, phrases: Sequence[str]) -> list[str]:
    """What stands before the first phrase, and after each; "" for a phrase that the text does not have.

    >>> values_between("Kept by A; size 3 kB", ("Kept by", "section", "size"))
    ['', 'A', '', '3 kB']
    """
    values = [""] * (len(phrases) + 1)
    start, last = 0, 0
    for number, phrase in enumerate(phrases, 1):
        found = re.compile(rf"(?<!\S){re.escape(phrase)}(?!\S)").search(text, start)
        if found:
            values[last] = text[start : found.start()].strip(AROUND)
            start, last = found.end(), number
    values[last] = text[start:].strip(AROUND)
    return values
