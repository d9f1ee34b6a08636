"""Query learned sources live: one query to all of them, merged; slow, broken and changed sources are named."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import upwell
from tests.combine.conftest import FREE, TwoSites
from tests.command import upwell as command
from upwell import api
from upwell.demo import serve
from upwell.errors import WrongUsage
from upwell.types import AddressInterface, FormInterface, JsonInterface, SearchInterface, interface_of


def test_two_layouts_give_one_row_per_entity(two_sites: TwoSites) -> None:
    """An entity of both sites is one row with two sources; fields are named and typed as in the tables."""
    result = api.ask("lima", two_sites.folder, manners=FREE)
    assert not result.troubles
    assert not result.drifts
    best = result.findings[0]
    assert (best.fields["name"], best.fields["country"], best.fields["population"]) == ("Lima", "Peru", 7737002)
    assert {sighting.source for sighting in best.sources} == set(two_sites.names)
    ids = [{urlsplit(str(sighting.url)).path for sighting in finding.sources} for finding in result]
    assert all(len(same) == 1 for same in ids)  # no row has two cities
    assert len({next(iter(same)) for same in ids}) == len(ids)  # no city is in two rows
    assert sum(len(finding.sources) == 2 for finding in result) >= 15
    assert (
        len([value for value in best.fields.values() if value == "America/Lima"]) == 1
    )  # present once, under one name


def test_json_has_one_line_per_entity(two_sites: TwoSites) -> None:
    """With the documented keys and ranks from 1; nothing else on stdout."""
    done = command(
        "ask", "san juan", str(two_sites.folder), "--rate", "0", "--limit", "5", "--json", cwd=two_sites.folder
    )
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0
    assert [row["rank"] for row in rows] == [1, 2, 3, 4, 5]
    assert all(list(row) == ["source", "rank", "fields", "url", "sources"] for row in rows)
    assert list(rows[0]["sources"][0]) == ["source", "rank", "url", "fields"]
    people = command("ask", "san juan", str(two_sites.folder), "--rate", "0", "--limit", "2", cwd=two_sites.folder)
    assert people.stdout.startswith("  1. San Juan · Puerto Rico")
    assert "entities from 2 of 2 sources" in people.stderr


def test_more_pages_return_more_records(two_sites: TwoSites) -> None:
    """`--pages` follows the pager of each source."""
    one, two = (api.ask("san", two_sites.harvests[0], pages=pages, manners=FREE) for pages in (1, 2))
    assert (len(one), len(two)) == (20, 40)
    assert [finding.url for finding in two][:3] == [finding.url for finding in one][:3]


def test_an_empty_answer_is_not_drift(two_sites: TwoSites) -> None:
    """A source without matches has not changed."""
    result = api.ask("zzqqxxyy", two_sites.folder, manners=FREE)
    assert (len(result), result.troubles, result.drifts) == (0, {}, {})


def test_slow_and_dead_sources_are_named_and_the_others_answer(two_sites: TwoSites, tmp_path: Path) -> None:
    """A source that is down, slower than the deadline, of an older version, without a query field, or not JSON."""
    shutil.copytree(two_sites.harvests[0], tmp_path / "good")
    saved = json.loads((tmp_path / "good" / "source.json").read_text())
    with serve(upwell.Switches(latency=30)) as slow:
        broken = {
            "down": _moved(saved, "http://127.0.0.1:9/"),
            "slow": _moved(saved, slow.url),
            "older": {**saved, "version": 1},
            "extract": {name: value for name, value in saved.items() if name != "search_interface"},
            "list": [1, 2],
        }
        for name, source in broken.items():
            (tmp_path / name).mkdir()
            (tmp_path / name / "source.json").write_text(json.dumps(source))
        manners = replace(FREE, allow=("http://127.0.0.1:9/", slow.url))
        result = api.ask("lima", tmp_path, deadline=1.5, manners=manners)
    assert len(result) == 20
    assert len(result.troubles) == 5
    assert "did not answer in" in result.troubles["127.0.0.1:9"]
    assert result.troubles[urlsplit(slow.url).netloc] == "did not send any page within 1.5 s"
    assert "version 1" in result.troubles["older"]
    assert "has no search interface" in result.troubles["extract"]
    assert "no source.json" in result.troubles["list"]


def _moved(saved: dict[str, object], url: str) -> dict[str, object]:
    """Return a source at another URL."""
    interface = dict(saved["search_interface"], url=f"{url}search", page=url)  # type: ignore[call-overload] # as in the file
    return {**saved, "search_interface": interface}


def test_a_changed_site_and_a_forbidden_search_are_reported(two_sites: TwoSites, tmp_path: Path) -> None:
    """Nothing is learned again; robots.txt applies as in a harvest."""
    saved = json.loads((two_sites.harvests[0] / "source.json").read_text())
    with serve(upwell.Switches(layout="cards")) as changed, serve(upwell.Switches(disallow="/search")) as forbidden:
        (tmp_path / "changed.json").write_text(json.dumps(_moved(saved, changed.url)))
        (tmp_path / "forbidden.json").write_text(json.dumps(_moved(saved, forbidden.url)))
        manners = replace(FREE, allow=(changed.url, forbidden.url))
        result = api.ask("lima", [tmp_path / "changed.json", tmp_path / "forbidden.json"], manners=manners)
        asked = [seen.path for seen in forbidden.received]
    assert "may have changed" in result.drifts[urlsplit(changed.url).netloc]
    assert "robots.txt" in result.troubles[urlsplit(forbidden.url).netloc]
    assert asked == ["/robots.txt"]


def test_the_token_of_a_post_form_is_fetched_again(tmp_path: Path) -> None:
    """From the page of the form."""
    with serve(upwell.Switches(post=True, token=True)) as site:
        upwell.harvest(site.url, out=tmp_path, plan=upwell.Plan(budget=40), manners=FREE)
        result = api.ask("lima", tmp_path, manners=FREE)
    assert (result.troubles, result.findings[0].fields["name"]) == ({}, "Lima")


def test_thousands_of_unreadable_sources_respect_the_deadline(tmp_path: Path) -> None:
    """The messages about them fit on a screen."""
    for number in range(2000):
        folder = tmp_path / f"site{number}"
        folder.mkdir()
        (folder / "source.json").write_text('{"version": 5}')
    done = command("ask", "lima", str(tmp_path), "--deadline", "1", "--rate", "0", cwd=tmp_path)
    assert done.returncode == 1
    assert "more sources" in done.stderr
    assert len(done.stderr.splitlines()) < 30


def test_wrong_usage_has_a_clear_message(tmp_path: Path) -> None:
    """No such place, no source in it, no query."""
    for query, place, word in (
        ("x", tmp_path / "no", "does not exist"),
        ("x", tmp_path, "has no source.json"),
        (" ", tmp_path, "empty"),
    ):
        with pytest.raises(WrongUsage, match=word):
            api.ask(query, place)


@pytest.mark.parametrize(
    "interface",
    [
        FormInterface(
            method="POST",
            url="http://x/s",
            query_field="q",
            fields=(("q", ""), ("t", "1")),
            tokens=("t",),
            rendered=True,
        ),
        FormInterface(method="GET", url="http://x/s", query_field="kind", choices=("a", "b"), charset="latin-1"),
        AddressInterface(url="http://x/{query}", page="http://x/"),
        JsonInterface(url="http://x/api", body='{"q": "{query}"}'),
    ],
)
def test_search_interfaces_are_restored_from_source_json(interface: SearchInterface) -> None:
    """Completely."""
    assert interface_of(json.loads(json.dumps(interface.as_dict()))) == interface
