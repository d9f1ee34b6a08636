"""Two synthetic shops with partly the same books: other columns, other spelling, other editions that look similar."""

import random
from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["Shops", "shops"]

Row = dict[str, object]
FIRST = (
    "amber",
    "hollow",
    "crimson",
    "silent",
    "distant",
    "broken",
    "golden",
    "winter",
    "paper",
    "iron",
    "hidden",
    "burning",
    "salt",
    "velvet",
    "northern",
)
SECOND = (
    "harbour",
    "garden",
    "river",
    "orchard",
    "mirror",
    "kingdom",
    "letter",
    "lantern",
    "forest",
    "engine",
    "island",
    "tower",
    "shadow",
    "compass",
)
THIRD = (
    "of dust",
    "in march",
    "for strangers",
    "at noon",
    "without names",
    "under glass",
    "by night",
    "after rain",
    "on tuesdays",
)
NAMES = ("lena", "adam", "ruth", "oskar", "mina", "paul", "vera", "tomas", "ida", "hugo")
FAMILIES = ("berg", "okafor", "silva", "novak", "tanaka", "moreau", "rossi", "lind", "haddad", "kovac")


class Shops(NamedTuple):
    """Rows of both shops, and the keys of equal books."""

    a: list[Row]
    b: list[Row]
    same: set[tuple[object, object]]


def shops(size: int = 300, shared: float = 0.5, seed: int = 0) -> Shops:
    """Return two tables of `size` rows, of which `shared` are the same books; a tenth of each are other editions of one of the others."""
    rng = random.Random(seed)
    titles = rng.sample([f"The {a} {b} {c}" for a in FIRST for b in SECOND for c in THIRD], 2 * size)
    books = [_book(title, rng) for title in titles]
    for number in range(0, len(books), 10):
        earlier = books[number - 1]
        books[number] = {**earlier, "year": int(str(earlier["year"])) + rng.randint(3, 9), "price": _price(rng)}
    common = int(size * shared)
    first, second = books[:size], books[size - common : 2 * size - common]
    a = [{"_key": f"a{i}", **book} for i, book in enumerate(first)]
    b = [_in_other_shop(book, i, rng) for i, book in enumerate(second)]
    same: set[tuple[object, object]] = {(f"a{size - common + i}", f"b{i}") for i in range(common)}
    rng.shuffle(b)
    return Shops(a, b, same)


def _book(title: str, rng: random.Random) -> Row:
    author = f"{rng.choice(NAMES).title()} {rng.choice(FAMILIES).title()}"
    return {"title": title.title(), "author": author, "year": rng.randint(1950, 2010), "price": _price(rng)}


def _price(rng: random.Random) -> float:
    return round(rng.uniform(4, 60), 2)


def _in_other_shop(book: Mapping[str, object], number: int, rng: random.Random) -> Row:
    """Return the same book as written by the other shop: family name first, a series after the title, another price, sometimes no year."""
    first, family = str(book["author"]).split()
    title = str(book["title"]).lower() + (" (paperback)" if rng.random() < 0.3 else "")
    row: Row = {
        "_key": f"b{number}",
        "written_by": f"{family}, {first}",
        "cost": round(float(str(book["price"])) * 1.1, 2),
    }
    row |= {"name": title} | ({"published": str(book["year"])} if rng.random() < 0.9 else {})
    return row
