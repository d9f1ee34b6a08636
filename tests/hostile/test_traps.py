"""Sites that invent records: noticed, said, and not counted as complete."""

from itertools import count
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.hostile.site import HostileSite, ReceivedRequest, hostile
from upwell import api
from upwell.choose.plan import Plan
from upwell.net.fetch import Manners

FREE = Manners(rate=0, retries=0)


def harvest(site: HostileSite, folder: Path, budget: int = 150) -> "dict[str, object]":
    return dict(api.harvest(site.url, out=folder, plan=Plan(budget=budget, browser="never"), manners=FREE).summary)


def test_results_that_only_repeat_the_query_are_said(tmp_path: Path) -> None:
    """Every word has ten results, each made of the word."""
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

    def find(request: ReceivedRequest) -> str:
        query = parse_qs(urlsplit(request.target).query).get("q", [""])[0]
        rows = "".join(
            f'<li><a href="/offer/{query}/{n}">{offer.format(query)}</a> <p>Find {query} in our shop today.</p></li>'
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
