"""Small parts of a harvest, each on its own."""

import pickle
from functools import partial

import pytest

from upwell.answers.next_page import next_page
from upwell.choose.ledger import SourceLedger
from upwell.harvest.events import Held, LazyRow
from upwell.harvest.summary import SiteHarvest
from upwell.page.tree import read
from upwell.source.model import SourceModel
from upwell.store.state import State
from upwell.types import FormInterface, Record


@pytest.mark.parametrize(
    ("html", "want"),
    [
        ("<a rel=next href='/s?q=a&page=2'>2</a>", "/s?q=a&page=2"),
        ("<link rel=next href='/s?q=a&start=20'>", "/s?q=a&start=20"),
        ("<a href='/s?q=a&p=2'>Next ›</a>", "/s?q=a&p=2"),
        ("<a href='/s?q=a&p=2' title='Nächste Seite'><img></a>", "/s?q=a&p=2"),
        ("<a href='/s?q=a&p=2'>»</a>", "/s?q=a&p=2"),
        ("<a href='/s?q=a'>Next</a>", None),
        ("<a href='https://else.where/?q=a&p=2'>Next</a>", None),
        ("<a href='/story/next'>The next big thing</a>", None),
    ],
)
def test_next_page_links_are_recognised(html: str, want: str | None) -> None:
    """rel=next, words and arrows of several languages; not the same page, not another host, not a story."""
    got = next_page(read(html, url="https://example.org/s?q=a"))
    assert (got.url if got else None) == (f"https://example.org{want}" if want else None)


def test_sources_with_the_same_records_count_once() -> None:
    """Two forms that reach the same records do not double the size of a site; two that reach different records do."""

    def source(keys: range) -> SourceLedger:
        one = SourceLedger(interface=FormInterface(method="GET", url="http://h/", query_field="q"), model=SourceModel())
        records = [Record(key=str(i), url=None, text=str(i), path="") for i in keys]
        one.add(records)
        state.add(records, {"_source": "http://h/", "_query": "q", "_page": "p"})
        return one

    state = State()
    same = SiteHarvest(url="http://h/", state=state, sources=[source(range(100)), source(range(100))])
    assert same.size.estimate == pytest.approx(same.sources[0].size.estimate)
    apart = SiteHarvest(url="http://h/", state=state, sources=[source(range(100)), source(range(100, 200))])
    assert apart.size.estimate == pytest.approx(sum(one.size.estimate for one in apart.sources))


def test_the_row_of_an_event_is_created_on_first_access() -> None:
    """Then, and when it is sent to another process, it is like any row."""
    made = []

    def make(key: str) -> dict[str, object]:
        made.append(key)
        return {"_key": key, "n": 1}

    event = Held(row=LazyRow(partial(make, "a")))
    assert not made
    assert event.row == {"_key": "a", "n": 1}
    assert list(event.row) == ["_key", "n"]
    assert made == ["a"]
    assert type(pickle.loads(pickle.dumps(event)).row) is dict  # noqa: S301 # our own bytes
