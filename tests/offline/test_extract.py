"""`upwell extract` on folders: JSON answers, typed values, warnings, outdated models, many pages."""

import json
from pathlib import Path

import pytest

from upwell import extract
from upwell.errors import WrongUsage
from upwell.source.model import load

WORDS = ["amber", "birch", "cedar", "dune", "ember", "fjord", "grove", "heath"]


def page(first: int, tag: str = "li", n: int = 5) -> str:
    hits = "".join(
        f"<{tag} class=hit><a href=/t/{first + i}>The {WORDS[(first + i) % 8]} report</a> <b class=cost>$ {first + i}.50</b></{tag}>"
        for i in range(n)
    )
    return f"<ul class=menu><li>Home<li>About us</ul><div>{hits}</div><p>Made here by us"


def folder(path: Path, pages: dict[str, str]) -> Path:
    path.mkdir()
    for name, text in pages.items():
        (path / name).write_text(text, encoding="utf-8")
    return path


def test_records_have_text_values_and_keys(tmp_path: Path) -> None:
    """Fields as written in the page, typed values, and a key; the saved model gives the same."""
    place = folder(tmp_path / "a", {f"{k}.html": page(10 * k) for k in range(3)})
    pages = list(extract(place, save=tmp_path / "source.json"))
    record = pages[1].records[2]
    assert record.fields == {"title": "The ember report", "cost": "$ 12.50"}
    assert record.values == {"cost": {"amount": 12.5, "currency": "$"}}
    assert record.key == "/t/12"
    model = load((tmp_path / "source.json").read_text(encoding="utf-8"))
    assert [row.records for row in extract(place, model=model)] == [row.records for row in pages]


def test_json_answers_are_read(tmp_path: Path) -> None:
    """Upwell's own files in the folder are not read as answers."""
    answers = {
        f"{k}.json": json.dumps({"hits": [{"name": f"{w} {k}", "n": 10 * k + i} for i, w in enumerate(WORDS)]})
        for k in range(3)
    }
    place = folder(tmp_path / "j", {**answers, "summary.json": "{}"})
    pages = list(extract(place))
    assert [(row.page, row.kind) for row in pages] == [(f"{k}.json", "multi") for k in range(3)]
    assert pages[1].records[2].values == {"n": 12}


def test_suspicious_input_is_reported(tmp_path: Path) -> None:
    """Pages of two sites, pages without matches, a model of another site; no warning if all is well."""
    warnings: list[str] = []
    good = folder(tmp_path / "good", {f"{k}.html": page(10 * k) for k in range(6)})
    assert [row.kind for row in extract(good, warn=warnings.append, save=tmp_path / "source.json")] == ["multi"] * 6
    assert warnings == []
    other = {f"x{k}.html": "".join(f"<p class=z>Other words {i}" for i in range(9)) for k in range(6)}
    list(
        extract(
            folder(tmp_path / "two", {**{f"{k}.html": page(10 * k) for k in range(6)}, **other}), warn=warnings.append
        )
    )
    assert "2 sites (6, 6 pages" in warnings.pop()
    list(extract(folder(tmp_path / "none", {"1.html": "", "2.html": "<p>Hello"}), warn=warnings.append))
    assert "no record list found in 2 pages" in warnings.pop()
    model = load((tmp_path / "source.json").read_text(encoding="utf-8"))
    changed = folder(tmp_path / "changed", {f"{k}.html": page(10 * k, "section") for k in range(6)})
    list(extract(changed, model=model, warn=warnings.append))
    assert "0 of the last 6 answers have records, 100 % had" in warnings.pop()


def test_more_pages_than_are_learned_from(tmp_path: Path) -> None:
    """Every page is read, in order, including those outside the sample."""
    place = folder(tmp_path / "many", {f"{k:04}.html": page(10 * k, n=3 + k % 3) for k in range(620)})
    pages = list(extract(place))
    assert [row.page for row in pages] == [f"{k:04}.html" for k in range(620)]
    assert all(len(row.records) == 3 + k % 3 for k, row in enumerate(pages))
    assert {row.cluster for row in pages} == {0}


def test_a_path_without_pages_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(WrongUsage, match=r"no HTML, JSON or WARC files"):
        list(extract(tmp_path))


def test_a_second_region_is_a_second_table(tmp_path: Path) -> None:
    """Articles next to products: with two regions both are read, with one only the larger; a menu is not a region."""

    def answer(k: int) -> str:
        news = "".join(
            f"<tr><td class=when>2024-01-{k + i + 1:02}</td><td>What the {WORDS[(k * 3 + i) % 8]} said to the {WORDS[(k + i * 5) % 8]}</td></tr>"
            for i in range(3)
        )
        return page(10 * k) + f"<h2>News</h2><table class=news>{news}</table>"

    place = folder(tmp_path / "a", {f"{k}.html": answer(k) for k in range(6)})
    one = list(extract(place))
    assert {record.region for answer in one for record in answer.records} == {1}
    assert max(len(answer.pagelets) for answer in extract(place, method="thor-tuned", regions=2)) == 2
    two = list(extract(place, regions=3, table=tmp_path / "t.jsonl", format="jsonl"))
    assert {record.region for answer in two for record in answer.records} == {1, 2}
    texts = [record.text for record in two[1].records if record.region == 2]
    assert len(texts) == 3
    assert all("said to the" in text for text in texts)
    assert len((tmp_path / "t-2.jsonl").read_text().splitlines()) == 18
