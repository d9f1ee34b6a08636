"""The saved pages at a path, and their URLs and queries."""

import json
from pathlib import Path

import pytest

from upwell.errors import WrongUsage
from upwell.offline.saved_pages import SavedPage, pages_at, sample_evenly


def test_html_before_json_and_never_our_own_files(tmp_path: Path) -> None:
    """Names are relative to the folder and in order; `pages.jsonl` has URL and query; JSON files count only without HTML files."""
    for name in ("b.json", "a.json", "summary.json", "source.json"):
        (tmp_path / name).write_text('[{"name": "Lima"}]')
    assert [page.name for page in pages_at(tmp_path)] == ["a.json", "b.json"]
    assert next(pages_at(tmp_path)).tree().text() == "Lima"
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "2.html").write_text("<p>two")
    (tmp_path / "1.HTM").write_text("<p>one")
    (tmp_path / "pages.jsonl").write_text(json.dumps({"page": "sub/2.html", "url": "http://h/2", "query": "two"}))
    first, second = pages_at(tmp_path)
    assert (first.name, first.url, first.query) == ("1.HTM", "", "")
    assert (second.name, second.url, second.query, second.tree().url) == (
        "sub/2.html",
        "http://h/2",
        "two",
        "http://h/2",
    )


def test_a_named_file_is_a_page(tmp_path: Path) -> None:
    """With any extension."""
    (tmp_path / "page").write_text("<p>text")
    (page,) = pages_at(tmp_path / "page")
    assert (page.name, page.tree().text()) == ("page", "text")


@pytest.mark.parametrize("line", ["{broken", '{"url": "http://h/"}', "[1]"])
def test_an_invalid_pages_jsonl_is_reported(tmp_path: Path, line: str) -> None:
    """The message names the file."""
    (tmp_path / "1.html").touch()
    (tmp_path / "pages.jsonl").write_text(line)
    with pytest.raises(WrongUsage, match=r"pages\.jsonl is not JSON Lines"):
        list(pages_at(tmp_path))


@pytest.mark.parametrize("number", [0, 1, 10, 11, 100, 1001])
def test_a_sample_is_spread_evenly(number: int) -> None:
    """Every second, fourth, eighth … page; all if there are few."""
    pages = [SavedPage(name=str(i), load=bytes) for i in range(number)]
    places = [int(page.name) for page in sample_evenly(iter(pages), 10)]
    step = places[1] if len(places) > 1 else 1
    assert places == list(range(0, number, step))
    assert min(number, 5) <= len(places) <= 10
