"""A `source.json` that Upwell 0.2.0 wrote for the demo site still reads its answers."""

import json
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.command import upwell
from upwell.demo import Running

SAVED = Path(__file__).parent / "data" / "source-0.2.0.json"
ORIGIN = "127.0.0.1:8963"  # of the demo site when the file was written


@pytest.fixture(params=["search_interface", "template"])
def source(request: pytest.FixtureRequest, demo: Running, tmp_path: Path) -> Path:
    """Return the file for the demo site of this run; releases before 0.2 called the search interface `template`."""
    saved = json.loads(SAVED.read_text().replace(ORIGIN, demo.url.split("/")[2]))
    saved[request.param] = saved.pop("search_interface")
    path = tmp_path / "source.json"
    path.write_text(json.dumps(saved))
    return path


def test_extract_reads_saved_answers_with_it(source: Path, demo: Running, tmp_path: Path) -> None:
    with urlopen(f"{demo.url}search?q=lima") as response:  # noqa: S310 # the demo site
        (tmp_path / "answer.html").write_bytes(response.read())
    done = upwell("extract", str(tmp_path / "answer.html"), "--source", str(source), "--json", cwd=tmp_path)
    (page,) = map(json.loads, done.stdout.splitlines())
    assert page["kind"] == "multi"
    fields = next(record["fields"] for record in page["records"] if record["fields"]["name"] == "Lima")
    assert (fields["country"], fields["timezone"]) == ("Peru", "America/Lima")


def test_harvest_uses_it_without_learning(source: Path, demo: Running, tmp_path: Path) -> None:
    options = ("-o", str(tmp_path / "out"), "--rate", "0", "--budget", "20", "--words", "lima", "--source", str(source))
    done = upwell("harvest", demo.url, *options, "--json", cwd=tmp_path)
    summary = json.loads(done.stdout)
    assert summary["records"] > 100
    assert {"name", "country", "region", "continent", "population", "timezone"} <= set(summary["checks"]["fill"])
    (entry,) = summary["sources"]
    assert entry["search_interface"] == entry["template"]
    assert entry["search_interface"]["url"] == f"{demo.url}search"
    assert entry["checks"]["result_cap"] == entry["checks"]["limit"]
