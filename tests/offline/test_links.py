"""`upwell links` on saved answers of a real site."""

import json
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

from upwell import api
from upwell.demo import Running
from upwell.errors import WrongUsage

WORDS = ("lima", "spain", "york", "paris", "united", "zzqxv")


@pytest.fixture(scope="module")
def saved(demo: Running, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Save answers of the demo site with `upwell probe`."""
    folder = tmp_path_factory.mktemp("saved")
    lines = []
    for word in WORDS:
        url = f"{demo.url}search?q={word}"
        with urlopen(url) as answer:  # noqa: S310 # our own server
            (folder / f"{word}.html").write_bytes(answer.read())
        lines.append(json.dumps({"page": f"{word}.html", "url": url, "query": word}))
    (folder / "pages.jsonl").write_text("\n".join(lines))
    return folder


def test_next_pages_arguments_and_urls_to_keep(demo: Running, saved: Path) -> None:
    """One JSON document; the API returns the same."""
    done = subprocess.run(
        [sys.executable, "-m", "upwell.cli", "links", str(saved), "--json"], capture_output=True, text=True, check=True
    )
    printed = json.loads(done.stdout)
    assert printed == json.loads(json.dumps(api.links(saved).as_dict()))
    assert list(printed) == ["next", "steps", "query", "arguments", "keep", "dropped"]
    assert printed["next"]["united.html"].startswith(f"{demo.url}search?q=united&page=2&ref=")
    assert "zzqxv.html" not in printed["next"]
    assert printed["arguments"]["page"]["irrelevant"] is True
    assert {"prevalence", "role", "irrelevant"} <= set(printed["arguments"]["q"])
    assert printed["arguments"]["continent"]["irrelevant"] is False
    assert all("page=" not in url and "sort=" not in url for url in printed["keep"])
    assert not any("trip" in url or "logout" in url for url in printed["keep"])
    assert printed["dropped"] > 0


def test_without_pages_jsonl(tmp_path: Path) -> None:
    """The base URL replaces the missing information; one page is enough."""
    (tmp_path / "s.html").write_text('<a href="s.html?q=a&amp;start=10">Next</a>')
    result = api.links(tmp_path, base_url="http://h/dir/")
    assert result.next == {"s.html": "http://h/dir/s.html?q=a&start=10"}
    assert api.links(tmp_path / "s.html", base_url="http://h/dir/s.html").next == result.next
    with pytest.raises(WrongUsage, match="does not exist"):
        api.links(tmp_path / "nothing")


def test_saved_json_answers(tmp_path: Path) -> None:
    """URLs in JSON are links: the arguments of the next page and of a facet are found."""
    lines = []
    for word in WORDS:
        answer = {
            "cities": [{"name": f"{word} {n}", "url": f"/city/{n}"} for n in range(3)],
            "facets": [f"/api?q={word}&continent={name}" for name in ("asia", "europe")],
            "next": f"/api?q={word}&page=2",
        }
        (tmp_path / f"{word}.json").write_text(json.dumps(answer))
        lines.append(json.dumps({"page": f"{word}.json", "url": f"http://h/api?q={word}", "query": word}))
    (tmp_path / "pages.jsonl").write_text("\n".join(lines))
    arguments = api.links(tmp_path).arguments
    assert {name: argument.role for name, argument in arguments.items()} == {
        "continent": "filter",
        "page": "page",
        "q": "query",
    }
