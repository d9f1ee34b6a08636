"""Facet panels that are larger than the list, change with the query and have counts; the records are in the main list."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode

import pytest

from tests.harvest.test_lists import BOX, FREE, served
from upwell import api
from upwell.harvest.loop import Plan

WORDS = ["river", "music", "stone", "garden", "winter", "paper", "engine", "silver", "harbour", "letter"]
KINDS = [
    "bridge",
    "castle",
    "church",
    "farm",
    "forest",
    "island",
    "lake",
    "market",
    "mill",
    "mine",
    "palace",
    "port",
    "road",
    "school",
    "tower",
    "valley",
    "village",
]
PLACES = [
    "amber",
    "birch",
    "cedar",
    "dover",
    "ember",
    "flint",
    "grove",
    "hazel",
    "ivory",
    "jasper",
    "kelso",
    "linden",
    "maple",
    "nadir",
    "olive",
    "pearl",
    "quartz",
]
THINGS = [
    {
        "id": n,
        "title": f"{WORDS[n % 10]} {WORDS[n // 10 % 10]} {n}",
        "kind": KINDS[n * 7 % len(KINDS)],
        "place": PLACES[n * 3 % len(PLACES)],
        "year": str(1900 + n % 9),
    }
    for n in range(150)
]
FACETS = ("kind", "place", "year")
Label = Callable[[str, str, int], str]  # a facet: its URL, its name, its number of matches


def in_brackets(address: str, name: str, count: int) -> str:
    return f"<div class=option><a href='{address}'>{name} ({count})</a></div>"


def beside(address: str, name: str, count: int) -> str:
    return f"<li><span class=label><a href='{address}'>{name}</a></span> <span class=count>{count}</span></li>"


def with_box(address: str, name: str, count: int) -> str:
    return f"<li><label><input type=checkbox value={name}> {name} <small>[{count}]</small></label> <a href='{address}'>+</a></li>"


@pytest.mark.parametrize("label", [in_brackets, beside, with_box])
@pytest.mark.parametrize("is_first", [True, False])
def test_facets_are_not_read_as_records(label: Label, is_first: bool, tmp_path: Path) -> None:
    """With short titles and long facet panels before and after the list, every record is found, and nothing else."""

    def site(path: str, sent: dict[str, str]) -> str | None:
        if path != "/find":
            return BOX + f"<p>{' '.join(WORDS)}" if path == "/" else None
        asked = sent.get("q", "").lower().split()
        found = [thing for thing in THINGS if set(asked) <= set(f"{thing['title']} {thing['kind']}".split())]
        found = [thing for thing in found if all(thing[name] == sent[name] for name in FACETS if name in sent)]
        if not found:
            return BOX + "<p>Nothing was found."
        page = int(sent.get("page", "1"))
        own = {name: value for name, value in sent.items() if name in ("q", *FACETS)}
        panels = "".join(
            f"<h4>{name}</h4>"
            + "".join(
                label(f"/find?{urlencode({**own, name: value})}", str(value), count)
                for value, count in Counter(thing[name] for thing in found).most_common()
            )
            for name in FACETS
        )
        cards = "".join(
            f"<div class=card><a href=/thing/{thing['id']}>{thing['title']}</a> <i>{thing['year']}</i></div>"
            for thing in found[5 * page - 5 : 5 * page]
        )
        more = f"<a href='/find?{urlencode({**own, 'page': page + 1})}'>Next</a>" if 5 * page < len(found) else ""
        columns = [
            f"<div class=filters>{panels}</div>",
            f"<div class=list><p>{len(found)} things</p>{cards}{more}</div>",
        ]
        return BOX + "".join(columns if is_first else columns[::-1])

    with served(site) as (url, _):
        result = api.harvest(url, out=tmp_path, plan=Plan(budget=70, browser="never"), manners=FREE)
    assert set(result.to_pandas()["_key"]) == {f"{url}thing/{thing['id']}" for thing in THINGS}
