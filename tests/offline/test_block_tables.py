"""`upwell blocks -o DIR`: two tables, the saved pages, and continuing a stopped run."""

import datetime
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.running_server import running
from upwell import api
from upwell.errors import WrongUsage
from upwell.net.manners import Manners

STORY = "The river rose over night and the lower town was under water when people woke up on {day} of March. "


def write_site(folder: Path) -> None:
    """Write a front page that lists six articles."""
    folder.mkdir()
    entries = "".join(f"<li><a href=/story{i}.html>The flood and what followed, part {i}</a></li>" for i in range(1, 7))
    frame = "<html><head><title>{title}</title></head><body><div class=head><a href=/>The Paper</a></div>{body}<p>About us</p></body></html>"
    (folder / "index.html").write_text(frame.format(title="The Paper", body=f"<ul class=list>{entries}</ul>"))
    for i in range(1, 7):
        text = "".join(f"<p>{STORY.format(day=i) * 2}Part {i}, paragraph {k}.</p>" for k in range(5))
        story = (
            f"<h1>The flood and what followed, part {i}</h1><p class=date>2024-03-0{i}</p><div class=body>{text}</div>"
        )
        (folder / f"story{i}.html").write_text(frame.format(title=f"Part {i}", body=story))


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Serve a folder over HTTP; yield the URL and the requested paths."""
    asked: list[str] = []

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            asked.append(self.path)

    with running(partial(Handler, directory=str(folder))) as url:
        yield url, asked


def test_a_site_becomes_two_tables_and_is_not_fetched_twice(tmp_path: Path) -> None:
    """Articles with dates, the entries of the front page, and a second run that continues."""
    write_site(tmp_path / "site")
    with served(tmp_path / "site") as (address, asked):
        list(api.blocks(address, out=tmp_path / "out", budget=3, manners=Manners(rate=0)))
        pages = list(api.blocks(address, out=tmp_path / "out", manners=Manners(rate=0)))
    assert len(pages) == 7
    assert len([path for path in asked if path != "/robots.txt"]) == 7
    articles = pq.read_table(tmp_path / "out" / "articles.parquet").to_pylist()
    assert [row["address"] for row in articles] == [f"{address}story{i}.html" for i in range(1, 7)]
    assert articles[0]["title"] == "The flood and what followed, part 1"
    assert articles[0]["date"] == datetime.date(2024, 3, 1)
    assert "Part 1, paragraph 4." in articles[0]["text"]
    entries = pq.read_table(tmp_path / "out" / "toc.parquet").to_pylist()
    listed = [(row["position"], row["title"], row["target"]) for row in entries if row["page"] == address]
    assert listed[1] == (2, "The flood and what followed, part 2", f"{address}story2.html")
    assert list((tmp_path / "out" / "archive").glob("*.warc.gz"))


def test_a_folder_is_for_one_entrance_page(tmp_path: Path) -> None:
    """Pages of two sites are not mixed."""
    write_site(tmp_path / "site")
    with served(tmp_path / "site") as (address, _):
        list(api.blocks(address, out=tmp_path / "out", budget=1, manners=Manners(rate=0)))
        with pytest.raises(WrongUsage, match="contains pages crawled from"):
            list(api.blocks(f"{address}story1.html", out=tmp_path / "out", budget=1, manners=Manners(rate=0)))


def test_a_table_of_contents_has_the_urls_of_its_entries(tmp_path: Path) -> None:
    write_site(tmp_path / "site")
    (front,) = [page for page in api.blocks(tmp_path / "site") if page.page.endswith("index.html")]
    (toc,) = [block for block in front.blocks if block.type == "toc"]
    links = toc.as_dict()["links"]
    assert isinstance(links, list)
    assert links[0]["title"] == "The flood and what followed, part 1"
    assert links[0]["url"].endswith("story1.html")
