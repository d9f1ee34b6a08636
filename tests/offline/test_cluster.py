"""`upwell cluster` on folders: top clusters, and pages that join the clusters of earlier ones."""

from pathlib import Path

import pytest

from upwell import api
from upwell.errors import WrongUsage
from upwell.papers.thor import ClusterParams


def _page(kind: str, i: int) -> str:
    hits = "".join(f"<li class=hit><a href=/{i}{j}>word{i}{j}</a><p>text {i} {j}</p></li>" for j in range(4 + i % 3))
    return (
        f"<main><ul class=hits>{hits}</ul></main>" if kind == "list" else f"<main><p class=none>Nothing {i}</p></main>"
    )


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    for name, start in (("earlier", 0), ("later", 50)):
        (tmp_path / name).mkdir()
        for i in range(12):
            page = _page("list" if i < 8 else "none", start + i)
            (tmp_path / name / f"{i:02d}.html").write_text(page, encoding="utf-8")
    return tmp_path / "earlier", tmp_path / "later"


def test_top_clusters(folders: tuple[Path, Path]) -> None:
    """Thor §V-D: with one top cluster, only pages with matches are returned."""
    everything = list(api.cluster(folders[0]))
    assert len(everything) == 12
    top = list(api.cluster(folders[0], top=1))
    assert [row.page for row in top] == [f"{i:02d}.html" for i in range(8)]


def test_later_pages_join(folders: tuple[Path, Path]) -> None:
    """Thor §V-E: later pages get the labels of earlier pages of their template; some signatures have no centres."""
    earlier, later = (list(api.cluster(folders[0])), list(api.cluster(folders[1], known=folders[0])))
    assert [row.cluster for row in later] == [row.cluster for row in earlier]
    assert [row.page for row in later] == [row.page for row in earlier]
    with pytest.raises(WrongUsage, match="no centres"):
        list(api.cluster(folders[1], known=folders[0], params=ClusterParams(signature="size")))
