"""Responses of other formats as pages."""

import json

import pytest

from upwell.page.formats import json_as_html


def test_rows_of_a_json_array_are_rows_of_a_table() -> None:
    """A cell may be HTML, and may be empty; each keeps its position."""
    rows = [["<a href='/p/1'>A</a>", "", "x"], ["B", "2", None]]
    html = json_as_html(json.dumps({"data": rows}).encode())
    assert html.count("<tr>") == 2
    assert '<tr><td><a href="/p/1"> A</a></td><td></td><td>x</td></tr>' in html
    assert "<tr><td>B</td><td>2</td><td></td></tr>" in html


@pytest.mark.parametrize(
    "value", [[["a", "b"], ["c"]], [["a", "b"]], [[1.5, 2.5], [3.5, 4.5]], ["a", "b"], [["a"], ["b"]]]
)
def test_other_lists_stay_lists(value: object) -> None:
    """Lists of different length, a single one, and pairs of coordinates."""
    assert "<table>" not in json_as_html(json.dumps(value).encode())
