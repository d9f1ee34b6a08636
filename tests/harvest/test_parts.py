"""The small parts of the first harvest, each by itself."""

import pytest

from upwell.answers.links import next_page
from upwell.extract import fields
from upwell.page.tree import read
from upwell.queries.select import Frequent
from upwell.queries.size import chao


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
def test_next_page(html: str, want: str | None) -> None:
    """rel=next, words and arrows of several languages; not this page again, not another host, not a story."""
    got = next_page(read(html, url="https://example.org/s?q=a"))
    assert got == (f"https://example.org{want}" if want else None)


def test_chao_by_hand() -> None:
    """10 seen once, 5 twice, 5 more: 20 + 10·9/(2·6) = 27.5; all seen often: what is held is all there is."""
    size = chao([1] * 10 + [2] * 5 + [3] * 5)
    assert size.estimate == pytest.approx(27.5)
    assert 20 < size.low < 27.5 < size.high
    assert chao([3] * 8).high == 8
    assert chao([]).estimate == 0


def test_frequent_words_first_and_no_word_twice() -> None:
    """The word of most records is asked first, stop words never; after it was asked it does not come again."""
    policy = Frequent(language="en")
    for text in ("the red house", "the red car", "a blue car", "the red tree"):
        policy.learn(text)
    assert policy.next() == "red"
    policy.asked("red", 3, 0)
    assert policy.next() == "car"
    asked = []
    while (word := policy.next()) is not None:
        policy.asked(word, 1, 0)
        asked.append(word)
    assert sorted(asked) == ["blue", "car", "house", "tree"]


def test_words_over_the_limit_come_late() -> None:
    """A word that matches more than the source gives repeats itself; one that just fits is worth more."""
    policy = Frequent(limit=4, scale=1.0)
    for i in range(12):
        policy.learn(f"common {'fits' if i < 4 else 'other' if i < 6 else ''}")
    assert policy.next() == "fits"


def test_a_shape_that_never_matches_is_given_up() -> None:
    """After numbers brought nothing, words of letters come first though they are rarer."""
    policy = Frequent()
    for i in range(6):
        policy.learn(f"1990 200{i} 77 {'name' if i < 2 else ''}")
    for _ in range(4):
        policy.asked("5", 0, 0)
    assert policy.next() == "name"


def test_fields_are_named_by_what_the_page_says() -> None:
    """Class, itemprop, column heading, term, else tag and place."""
    page = read("<table><tr><th>Name<th>Year<tr><td>A<td><i>1999</i></table>")
    row = int(page.rows("tr")[1])
    assert fields.read(page, [row], fields.headings_of(page, row))[0] == {"name": "A", "year": "1999"}
    page = read(
        "<div><b class='title x1'>T</b><span itemprop=price>3</span><p>text<dl><dt>Color<dd>red</dl><a href=/x>l</a></div>",
        url="http://h/",
    )
    found, address = fields.read(page, [int(page.rows("div")[0])])
    assert found == {"title": "T", "price": "3", "div_p": "text", "color": "red", "div_a": "l"}
    assert address == "http://h/x"
