"""Sites that invent records: noticed, said, and not counted as complete."""

from itertools import count
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

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
