"""Sites that invent records: noticed, said, and not counted as complete."""

from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.hostile.site import HostileSite, ReceivedRequest, hostile
from upwell import api
from upwell.choose.plan import Plan
from upwell.choose.repetition import Repetition
from upwell.net.fetch import Manners
from upwell.types import Record

FREE = Manners(rate=0, retries=0)


def harvest(site: HostileSite, folder: Path, budget: int = 150) -> "dict[str, object]":
    return dict(api.harvest(site.url, out=folder, plan=Plan(budget=budget, browser="never"), manners=FREE).summary)


@pytest.mark.parametrize("price", ["", " From {} EUR, {} offers."])
def test_results_that_only_repeat_the_query_are_said(price: str, tmp_path: Path) -> None:
    """Every word has ten results, each made of the word, and perhaps of numbers that are never the same."""
    offers = (
        "Buy {} now",
        "Cheap {}",
        "{} reviews",
        "{} near you",
        "All about {}",
        "{} for sale",
        "Used {}",
        "{} prices",
        "Best {}",
        "{} online",
    )

    numbers = count(1)

    def find(request: ReceivedRequest) -> str:
        query = parse_qs(urlsplit(request.target).query).get("q", [""])[0]
        rows = "".join(
            f'<li><a href="/offer/{query}/{n}">{offer.format(query)}</a> <p>Find {query} in our shop today.'
            f"{price.format(7 * next(numbers), next(numbers))}</p></li>"
            for n, offer in enumerate(offers)
        )
        results = f"<p>10 results</p><ul class=hits>{rows}</ul>" if query else "<p>Enter a word.</p>"
        return f"<html lang=en><title>Answers</title><h1>Offers</h1>{site.form}{results}</html>"

    with hostile({"/find": find}) as site:
        summary = harvest(site, tmp_path)
    assert int(str(summary["records"])) >= 100
    assert "only repeat the query" in str(summary["statement"])
    assert summary["coverage"] is None


def test_one_thing_under_many_addresses_is_said(tmp_path: Path) -> None:
    """Each answer gives its records other addresses, which look like records of their own."""
    numbers = count(1)
    with hostile(records=60) as site:
        site.record = lambda i, name: f'<a href="/view/{name.split()[0].lower()}-{next(numbers)}">{name}</a>'
        summary = harvest(site, tmp_path)
    if int(str(summary["records"])) > 120:  # otherwise the records were recognised by their content
        assert "repeat the content" in str(summary["statement"])
        assert summary["coverage"] is None
    else:
        assert int(str(summary["records"])) <= 60


def test_honest_source_is_not_suspected(tmp_path: Path) -> None:
    """Records that share most of their words are records."""
    with hostile(records=300) as site:
        summary = harvest(site, tmp_path)
    assert summary["records"] == 300
    assert "repeat" not in str(summary["statement"])
    assert summary["checks"]["repeated"] == 0  # type: ignore[index] # a dictionary


@pytest.mark.parametrize("address", ["/item/{i}?sid={n:08x}", "/s{n:08x}/item/{i}", "/item/{i};jsessionid={n:032x}"])
def test_session_ids_in_addresses_invent_no_records(address: str, tmp_path: Path) -> None:
    """Each answer gives its records addresses with another session id: every record is counted once, and the harvest ends by itself."""
    numbers = count(1)
    with hostile(records=60) as site:
        site.record = lambda i, name: f'<a href="{address.format(i=i, n=next(numbers))}">{name}</a>'
        summary = harvest(site, tmp_path)
    assert summary["records"] == 60
    assert summary["stopped"] != "budget"


def test_calendar_without_end_has_no_percentage(tmp_path: Path) -> None:
    """A next link for every month, with events of the same names: the harvest ends at its budget and does not claim to be complete."""
    events = ((3, "Council"), (9, "Parish"), (15, "Club"), (21, "Choir"), (27, "Book"))

    def find(request: ReceivedRequest) -> str:
        arguments = parse_qs(urlsplit(request.target).query)
        query, month = arguments.get("q", [""])[0], int(arguments.get("month", ["0"])[0])
        rows = "".join(
            f'<li><a href="/event/{month}-{day}">{name} meeting</a> <p>On {2000 + month // 12}-{month % 12 + 1:02d}-{day:02d}.</p></li>'
            for day, name in events
            if query.lower() in f"{name} meeting".lower()
        )
        more = f'<ul class=hits>{rows}</ul><a rel=next href="/find?q={query}&amp;month={month + 1}">Next</a>'
        return f"<html lang=en><title>A</title><h1>Events</h1>{site.form}{more if rows else '<p>Nothing was found.</p>'}</html>"

    with hostile({"/find": find}) as site:
        summary = harvest(site, tmp_path, budget=70)
        assert len(site.received) <= 75
    assert summary["coverage"] is None
    assert "at least" in str(summary["statement"])
    assert "differ from others only in numbers, as in a calendar without end" in str(summary["statement"])


def judged(rows: Mapping[str, Sequence[str]], unanswered: int = 0) -> Repetition:
    """Return the judgement of queries with the texts of their new records, after some queries without records."""
    repetition = Repetition()
    for query, texts in rows.items():
        repetition.note([Record(key=text, text=text, url="", path="") for text in texts], query, unanswered)
    return repetition


def test_lists_of_names_and_numbers_are_not_suspected() -> None:
    """Names that are each found by their own word, lots with a number, and kinds of things in a few materials are records."""
    letters = [a + b for a in "bcdfghjklm" for b in "aeiou"]
    names = [f"{first}{second}n" for first in letters for second in ("ra", "lo", "mi")]
    countries = ("Norway", "Chile", "Japan", "Kenya", "Italy")
    cities = judged({name: [f"{name} {countries[i % 5]} {50_000 + i}"] for i, name in enumerate(names)})
    lots = judged({"lot": [f"Lot {number}" for number in range(300)]})
    works = judged(
        {first: [f"{first}{second} of {names[i]}" for i, second in enumerate("abcdefghij")] for first in letters}
    )
    prices = count(10)
    rings = judged({stone: [f"{stone} {what} {next(prices)}" for what in letters[:9]] for stone in names}, unanswered=6)
    for source in (cities, lots, works, rings):
        assert source.records >= 100
        assert source.repeated == 0
    assert (cities.differing_in_numbers, lots.differing_in_numbers) == (0, 299)
    echo = judged(
        {
            name: [f"{what} {name} {i}" for what in ("Buy", "Cheap", "Used", "New", "Best")]
            for i, name in enumerate(names)
        }
    )
    assert echo.repeated == echo.records - 5
