"""Collections of similar objects are found in the data of a page, in many formats, and not in other data."""

import json

import pytest

from upwell.page.embedded_data import largest_collection

NUMBER = 15
TITLES = [f"The story of part {n}" for n in range(NUMBER)]
PATHS = [f"parts/p{n}.html" for n in range(NUMBER)]
ROWS = [{"title": title, "path": path} for title, path in zip(TITLES, PATHS, strict=True)]
ENTRIES = "".join(
    f"<entry><title>{row['title']}</title><url>{row['path']}</url><content><![CDATA[<p>a < b</p>]]></content></entry>"
    for row in ROWS
)
SCRIPT_ROWS = ",".join(f"{{title: '{row['title']}', path: \"{row['path']}\", is: !0, no: null,}}" for row in ROWS)
SHAPES = {
    "list": json.dumps({"config": {"lang": ["en"]}, "docs": ROWS}),
    "by number": json.dumps({str(n): row for n, row in enumerate(ROWS)}),
    "by name": json.dumps({row["path"]: {"title": row["title"], "words": 7} for row in ROWS}),
    "columns": json.dumps({"names": PATHS, "titles": TITLES, "terms": {"story": list(range(NUMBER))}}),
    "columns by number": json.dumps({"ids": dict(enumerate(PATHS)), "stored": dict(enumerate(ROWS)), "x": {"0": 1}}),
    "rows": json.dumps([[row["path"], row["title"]] for row in ROWS]),
    "several lists": json.dumps([{"documents": ROWS[:8], "index": {}}, {"documents": ROWS[8:], "index": {}}]),
    "script": f"(function () {{ if (a) {{ return 1 }} var store = [{SCRIPT_ROWS}]; go(store) }})()",
    "call": f"Search.setIndex({json.dumps({'docnames': PATHS, 'titles': TITLES})})",
    "text in a script": f"const e = {json.dumps(json.dumps(ROWS))}; export {{ e as default }};",
    "in the page": f"<!doctype html><body><script>go()</script><script type=application/json>{json.dumps(ROWS)}</script>",
    "xml": f'<?xml version="1.0"?><search>{ENTRIES}</search>',
}


@pytest.mark.parametrize("shape", SHAPES)
def test_all_objects_are_read_from_every_format(shape: str) -> None:
    """Each with its title and its path."""
    rows = largest_collection(SHAPES[shape])
    assert len(rows) == NUMBER
    for n in (0, NUMBER - 1):
        assert {TITLES[n], PATHS[n]} <= {value for row in rows for value in row.values()}
        assert any({TITLES[n], PATHS[n]} <= set(row.values()) for row in rows)


NO_COLLECTIONS = {
    "words with their places": {"invertedIndex": [[f"word{n}", {"at": n}] for n in range(50)]},
    "numbers": [{"x": n, "y": n * n} for n in range(50)],
    "a menu": ROWS[:5],
    "the same again": [ROWS[0]] * 50,
    "translations": {f"label{n}": f"Text of label {n}" for n in range(50)},
}


@pytest.mark.parametrize("name", NO_COLLECTIONS)
def test_other_data_is_not_a_collection(name: str) -> None:
    """Inverted indexes, numbers, short menus, repetitions and translations contain no records."""
    assert largest_collection(json.dumps(NO_COLLECTIONS[name])) == []
