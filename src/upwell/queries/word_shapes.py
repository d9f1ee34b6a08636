"""The shapes of words: what of a kind a source finds, it mostly finds of all of that kind."""

from upwell.page.compiled import compiled
from upwell.page.terms import characters, is_unspaced

__all__ = ["ONE_CHARACTER", "PAIR", "shape_of", "shapes_of"]

# The shapes of words. A source may search years and codes, but not amounts.
SHAPES = (
    "letters", "mixed", "1 digit", "2 digits", "3 digits", "4 digits", "5 digits and more", "stop word", "one letter",
    "pair of characters", "run of characters", "character",
)  # fmt: skip
PAIR_CHARACTERS = 2  # sources that index scripts without spaces often index pairs
PAIR, ONE_CHARACTER = 9, 11  # shapes of parts of such texts: a source finds nearly all of them or nearly none
OTHER = 255  # what the compiled module leaves to Python
AROUND_DIGITS = str.maketrans("", "", " .,")


def shape_of(word: str, stops: frozenset[str] = frozenset()) -> int:
    """The number of a word's shape in SHAPES."""
    if len(word) > 1 and word.isascii() and word.isalpha():  # most words
        return 7 if word in stops else 0
    if len(word) == 1 and not word.isdigit():
        return ONE_CHARACTER if is_unspaced(word) else 8
    if word in stops:
        return 7
    if is_unspaced(word):
        return PAIR if len(characters(word)) == PAIR_CHARACTERS else 10
    digits = word.translate(AROUND_DIGITS)
    if digits.isdigit():
        return 1 + min(5, len(digits))
    return 1 if any(map(str.isdigit, word)) else 0


def shapes_of(words: list[str], stops: frozenset[str]) -> list[int]:
    """The shape of each of some words."""
    if compiled is None:
        return [shape_of(word, stops) for word in words]
    shapes = compiled.shapes(words, stops)
    return [shape_of(word, stops) if shape == OTHER else shape for word, shape in zip(words, shapes, strict=True)]
