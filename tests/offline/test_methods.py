"""The published methods as options: `upwell extract --method thor`, `upwell blocks --method wisdom`."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import upwell
from upwell.cli import app
from upwell.errors import WrongUsage

WORDS = ["amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath", "inlet", "jetty", "knoll", "larch"]
FRAME = (
    "<title>Found</title><nav><ul><li>Home page<li>About this site<li>All of the help</ul></nav>"
    "<div><h1>Found</h1>{}</div><footer><p>Made by hand, all rights kept</p></footer>"
)
SHAPES = {
    "ul": "<li><a href=/{0}>{1}</a><p>{2}</p></li>",
    "table": "<tr><td><a href=/{0}>{1}</a></td><td>{2}</td></tr>",
    "main": "<section><h3><a href=/{0}>{1}</a></h3><p>{2}</p></section>",
}
LIST = "/html[1]/body[1]/div[1]/"
BLOCK_KEYS = {"page", "kind", "title", "author", "date", "main", "structure", "blocks"}
KEYS = {"page", "kind", "cluster", "pagelets", "records", "checks"}


def answers(folder: Path, shape: str, count: int = 8) -> Path:
    """Return answers with six records each, three without records, and an empty page."""
    for i in range(count):
        rng = np.random.default_rng(i)
        records = "".join(
            SHAPES[shape].format(
                j, f"{' '.join(rng.choice(WORDS, 3))} {i}{j}", f"{' '.join(rng.choice(WORDS, 8))} {j}{i}"
            )
            for j in range(6)
        )
        (folder / f"{i:04}.html").write_text(FRAME.format(f"<{shape}>{records}</{shape}>"))
    for i in range(3):
        (folder / f"x{i}.html").write_text(FRAME.format("Nothing was found"))
    (folder / "y.html").write_text("")
    return folder


def results(folder: Path, **options: Any) -> list[dict[str, Any]]:
    return [json.loads(json.dumps(row.as_dict())) for row in upwell.extract(folder, **options)]


@pytest.mark.parametrize("shape", SHAPES)
def test_thor_with_our_settings(tmp_path: Path, shape: str) -> None:
    """The list is the pagelet and its items are the objects; pages without new text have none."""
    rows = results(answers(tmp_path, shape), method="thor-tuned")
    assert [row["kind"] for row in rows] == ["multi"] * 8 + ["none"] * 3 + ["error"]
    ours = results(tmp_path)
    for row, own in zip(rows[:8], ours[:8], strict=True):
        assert set(row) == set(own) == KEYS
        assert row["pagelets"][0]["path"].startswith(f"{LIST}{shape}[1]")
        assert [record["path"] for record in row["records"]] == [record["path"] for record in own["records"]]
        assert [record["text"] for record in row["records"]] == [record["text"] for record in own["records"]]
        assert set(row["records"][0]) == set(own["records"][0])
        assert row["records"][0]["fields"] == {}
    assert len({row["cluster"] for row in rows[:8]}) == 1


def test_thor_as_published(tmp_path: Path) -> None:
    """With the published settings the pagelet may be inside a record, because all records of a list often have the same nearest subtree."""
    rows = results(answers(tmp_path, "ul"), method="thor")
    assert all(set(row) == KEYS for row in rows)
    assert all(row["pagelets"][0]["path"].startswith(f"{LIST}ul[1]") for row in rows[:8])
    assert rows[-1]["kind"] == "error"


def test_thor_reads_many_pages_in_batches(tmp_path: Path) -> None:
    """Pages beyond the sample join the clusters and are compared within their batch; all are returned in order."""
    rows = results(answers(tmp_path, "table", 620), method="thor-tuned", links=True)
    assert [row["page"] for row in rows] == sorted(row["page"] for row in rows)
    assert all(len(row["records"]) == 6 for row in rows[:620])
    assert rows[619]["records"][5]["text"].endswith(" /5")


def test_wisdom_as_published(tmp_path: Path) -> None:
    """The subtree that the site does not repeat is the article."""
    words = ["harbour", "glacier", "orchard", "violin", "comet", "saffron"]
    for word in words:
        text = "".join(f"<p>{' '.join(f'{word}{i}{j}' for j in range(20))}.</p>" for i in range(6))
        menu = "".join(f"<li><a href=/{name}>{name}</a></li>" for name in ("home", "news", "sport", "about"))
        foot = (
            "<div id=foot><p>all rights reserved by the people of this very site who made it with much care</p></div>"
        )
        (tmp_path / f"{word}.html").write_text(
            f"<body><ul>{menu}</ul><div id=main><h1>{word} title</h1>{text}</div>{foot}"
        )
    rows = list(upwell.blocks(tmp_path, method="wisdom"))
    assert [row.page for row in rows] == sorted(f"{word}.html" for word in words)
    (article,) = [block for block in rows[0].blocks if block.type == "article"]
    assert set(rows[0].as_dict()) == BLOCK_KEYS
    assert article.path == "/html[1]/body[1]/div[1]"
    assert "comet title" in article.text
    assert "comet519" in article.text
    assert "rights reserved" not in article.text
    assert 0 < article.score <= 1
    assert list(upwell.blocks(tmp_path)) != rows


def test_unknown_methods_are_rejected_with_the_choices(tmp_path: Path) -> None:
    """Before anything is read; Thor has no model to save or apply."""
    with pytest.raises(WrongUsage, match="method must be one of upwell, thor, thor-tuned, not 'thunder'"):
        upwell.extract(tmp_path, method="thunder")
    with pytest.raises(WrongUsage, match="method must be one of upwell, wisdom, not 'wise'"):
        upwell.blocks(tmp_path, method="wise")
    with pytest.raises(WrongUsage, match="--save"):
        upwell.extract(tmp_path, method="thor", save=tmp_path / "source.json")


def test_the_command_line_has_the_methods(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers(tmp_path, "ul")
    for verb, method, keys in (("extract", "thor", KEYS), ("blocks", "wisdom", BLOCK_KEYS)):
        app([verb, str(tmp_path), "--method", method, "--json"], standalone_mode=False)
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) == 12
        assert all(set(json.loads(line)) == keys for line in lines)
