"""Realistic pages for a clean clone: saved answers of the demo site in each layout are read as accepted, and close to the truth."""

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.golden.record import RecordedPage, recorded_pages
from tests.golden.replay import ACCEPT, GOLDEN, accept, differences, read_again, score
from upwell.demo.switches import LAYOUTS, Layout

MAX_INPUT_BYTES = 1_500_000  # bytes of all saved pages together
# Precision and recall of cities required of an accepted output: 1 and 1, except for the gaps named in README.md.
FLOORS: dict[Layout, tuple[float, float]] = {"small-groups": (0.79, 0.66), "pre": (0.83, 1.0)}


def saved_pages(folder: Path) -> list[RecordedPage]:
    """Return the contents of `inputs/`, in the order of its `pages.jsonl`."""
    inputs = folder / "inputs"
    lines = [json.loads(line) for line in (inputs / "pages.jsonl").read_text(encoding="utf-8").splitlines()]
    return [RecordedPage(about["page"], (inputs / about["page"]).read_bytes(), about) for about in lines]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_saved_answers_are_read_as_accepted(layout: Layout) -> None:
    """The same records, fields, keys, paths, columns and links as in the accepted files."""
    folder = GOLDEN / layout
    if diffs := list(differences(folder, read_again(folder))):
        pytest.fail("\n\n".join([*diffs, f"If this is right, accept it: {ACCEPT}"]), pytrace=False)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_accepted_records_are_correct(layout: Layout) -> None:
    """Accepted records are the cities on the answers; kinds and next pages are correct. This prevents accepting wrong output by accident."""
    folder = GOLDEN / layout
    output = json.loads((folder / "output.json").read_text(encoding="utf-8"))
    links = json.loads((folder / "links.json").read_text(encoding="utf-8"))
    result, (precision, recall) = score(folder, output), FLOORS.get(layout, (1.0, 1.0))
    assert result.precision >= precision, result
    assert result.recall >= recall, result
    pages = [page.about for page in saved_pages(folder)]
    for about in pages:
        kinds = {0: ("none",), 1: ("single", "multi")}.get(len(about["cities"]), ("multi",))  # type: ignore[arg-type] # a list
        assert output[about["page"]]["kind"] in kinds, about["page"]
    expected = [about["page"] for about in pages if about["has_next"]]
    assert sorted(links["next"]) == sorted(map(str, expected))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_saved_answers_equal_those_of_the_demo_site(layout: Layout) -> None:
    """Templates and saved pages match; `python -m tests.golden --record` saves them again."""
    assert saved_pages(GOLDEN / layout) == list(recorded_pages(layout))


def test_every_layout_has_a_folder_and_a_line_in_the_readme() -> None:
    """The README describes each layout and its gaps; the pages together stay small."""
    assert {path.parent.name for path in GOLDEN.glob("*/output.json")} == set(LAYOUTS)
    rows = re.findall(r"^\| `([\w-]+)` \|", (GOLDEN / "README.md").read_text(encoding="utf-8"), re.M)
    assert rows == list(LAYOUTS)
    assert sum(path.stat().st_size for path in GOLDEN.glob("*/inputs/*")) <= MAX_INPUT_BYTES


def test_a_difference_is_shown_for_its_page_and_can_be_accepted(tmp_path: Path) -> None:
    """A change of one record gives one diff, which names the folder, the file and the page; accepting it removes the difference."""
    folder = tmp_path / "table"
    shutil.copytree(GOLDEN / "table", folder)
    path = folder / "output.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"Nova Lima"', '"Old Lima"'), encoding="utf-8")
    documents = read_again(folder)
    (diff,) = differences(folder, documents)
    assert "--- table/output.json: lima.html (accepted)" in diff
    assert '\n-    "name": "Old Lima",' in diff
    assert '\n+    "name": "Nova Lima",' in diff
    accept(folder, documents)
    assert not list(differences(folder, documents))
