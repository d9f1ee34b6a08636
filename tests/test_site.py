"""The pages of the documentation site: all are in its navigation, their links lead to pages, and generated pages have every name."""

import json
import re
from pathlib import Path

import pytest
from scripts import make_docs

import upwell
from benchmarks import history

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Assemble the pages in a folder of the test."""
    out = tmp_path_factory.mktemp("pages") / "docs"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(make_docs, "OUT", out)
        patch.setattr(make_docs, "ROOT", ROOT)
        make_docs.main()
    return out


def test_every_page_is_in_the_navigation(pages: Path) -> None:
    named = set(re.findall(r": ([\w/]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.M))
    assert named == {page.name for page in pages.glob("*.md")} | {"decisions/README.md"}


def test_links_lead_to_pages_and_anchors_of_the_site(pages: Path) -> None:
    for page in pages.rglob("*.md"):
        text = make_docs.FENCE.sub("", page.read_text())
        for _, _, path, anchor in make_docs.LINK.findall(text):
            target = page if not path else page.parent / path
            assert target.is_file(), f"{page.name} links to {path}"
            if anchor:
                headings = re.findall(r"^#+ (.*)", make_docs.FENCE.sub("", target.read_text()), re.M)
                assert anchor[1:] in map(make_docs.slug, headings), f"{page.name} links to {path}{anchor}"


def test_generated_pages_have_every_verb_and_public_class_or_function(pages: Path) -> None:
    commands, python = (pages / "commands.md").read_text(), (pages / "python.md").read_text()
    for verb in ("harvest", "export", "explain", "mcp"):
        assert f"## upwell {verb}\n" in commands
        assert f"Usage: upwell {verb} " in commands
    for name in ("Plan", "harvest", "records", "UpwellError"):
        assert name in upwell.__all__
        assert f"## {name}\n" in python


def test_history_is_plotted_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "benchmarks" / "history.jsonl"
    file.parent.mkdir()
    for figure in (0.9, 0.95, 0.92):
        history.append("records, F1", figure, "python -m benchmarks.quality", file=file, at="abc")
    assert [json.loads(line)["figure"] for line in file.read_text().splitlines()] == [0.9, 0.95, 0.92]
    monkeypatch.setattr(make_docs, "ROOT", tmp_path)
    page = make_docs.history()
    heights = [float(y) for y in re.findall(r'cy="([\d.]+)"', page)]
    assert heights[0] > heights[2] > heights[1]  # from the top of the picture
    assert page.index("| 0.9 |") < page.index("| 0.95 |") < page.index("| 0.92 |")
