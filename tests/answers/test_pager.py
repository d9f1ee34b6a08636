"""The next page is found by the texts of links in many languages and the numbers in their URLs, by buttons, and by "load more"."""

import gc
import weakref
from urllib.request import urlopen

import pytest

from upwell.answers.next_page import next_link_url, next_page, request_of
from upwell.answers.pager import NextPage
from upwell.demo import Running
from upwell.page.tree import TagTree, read

HERE = "http://h/search?q=cats&page=2"


def page(body: str, url: str = HERE) -> TagTree:
    return read(f"<body>{body}</body>", url=url)


@pytest.mark.parametrize(
    "label",
    ["Next", "next »", "[Next]", "Weiter", "nächste Seite", "Suivant", "Siguiente ›", "Próxima", "Далее", "次へ", "下一页", "다음", ">", "[>>]", "›",
     "<img src=/i/arrow_right.gif>", "<i class='fa fa-chevron-right'></i>", "<img alt=Next>", "Next 20 results", "More results"],
)  # fmt: skip
def test_next_links_are_found(label: str) -> None:
    """By a word, an arrow or a picture, in the language of the page."""
    found = page(f'<a href="?q=cats&page=1">1</a> <b>2</b> <a href="?q=cats&page=3">{label}</a>')
    assert next_link_url(found) == "http://h/search?q=cats&page=3"


@pytest.mark.parametrize(
    "pager",
    [
        '<b>2</b> <a href="/other/three">3</a> <a href="/other/three">Qqwx</a>',
        '<a href="/search?q=cats&page=2">2</a> <a href="/other/three">3</a> <a href="/other/three">Qqwx</a>',
        '<link rel=next href="/other/three"><a href="/other/three">Qqwx</a>',
        '<div class=page_next><a href="/search3?q=cats">&lt; Qqwx</a></div>',
    ],
)
def test_words_of_any_language_are_next(pager: str) -> None:
    """Where the next number or the head leads to the same place, or where the class says so; this page may be a link, too."""
    assert next_link_url(page(pager)) in ("http://h/other/three", "http://h/search3?q=cats")


@pytest.mark.parametrize(
    "link",
    [
        '<a rel=prev href="?q=cats&page=1">‹</a>',
        '<a href="?q=cats&page=1" aria-label="next page">« Previous</a>',
        '<a href="?q=cats&page=9">Last »</a>',
        '<a class=next rel=next href="/ticket/13">Next Ticket</a>',
        '<a href="/calendar?week=1456617600">»</a>',
        '<a href="http://elsewhere/search?q=cats&page=3">Next</a>',
        '<a href="#top">Next</a>',
        '<a href="?q=cats&page=3" class="next disabled"></a>',
        '<a href="/a">weiter</a><a href="/b">weiter</a><a href="/c">weiter</a>',
    ],
)
def test_other_links_are_not_next(link: str) -> None:
    """Back, the last page, another thing of the same kind, a calendar, another site, this page, "read on" at every match."""
    assert next_link_url(page(link)) is None


def test_one_arrow_before_two() -> None:
    """Where there are both, one arrow leads to the next page and two to the last."""
    found = page('<a href="?q=cats&page=3">&gt;</a> <a href="?q=cats&page=9">&gt;&gt;</a>')
    assert next_link_url(found) == "http://h/search?q=cats&page=3"


def test_numbers_count_where_they_repeat_the_search() -> None:
    """A row of numbers is certain where its URLs repeat what was asked; else it is only likely."""
    numbers = "".join(f'<a href="?q=cats&from={n}0">[{n + 1}]</a> ' for n in range(1, 5))
    assert next_link_url(page(f"<b>[1]</b> {numbers}", "http://h/s?q=cats")) == "http://h/s?q=cats&from=10"
    bare = page('<ul><li><b>1</b><li><a href="?n=2">2</a><li><a href="?n=3">3</a></ul>', "http://h/list")
    assert next_link_url(bare) is None
    assert next_page(bare) == NextPage(url="http://h/list?n=2", via="numbers")
    posted = page(
        '<input name=w value=cats><b>1</b> <a href="/s/cats/page/2">2</a> <a href="/s/cats/page/3">3</a>', "http://h/s"
    )
    assert next_link_url(posted) == "http://h/s/cats/page/2"


def test_a_next_page_in_the_head_only_is_likely() -> None:
    """A rel=next that no visible link repeats is certain where its URL repeats the search, else only likely."""
    assert next_link_url(page('<link rel=next href="?q=cats&page=3"><p>x')) == "http://h/search?q=cats&page=3"
    found = page('<link rel=next href="/page/2"><p>x', "http://h/")
    assert next_link_url(found) is None
    assert next_page(found) == NextPage(url="http://h/page/2", via="declared")


def test_older_entries_lead_on() -> None:
    """People call "newer →" next; a harvest goes to the older ones."""
    found = page(
        '<div class=nav-previous><a href="/page/3">← Older posts</a></div><div class=nav-next><a href="/page/1">Newer posts →</a></div>',
        "http://h/page/2",
    )
    assert next_link_url(found) == "http://h/page/1"
    assert next_page(found) == NextPage(url="http://h/page/3", via="older")


def test_buttons_send_their_form() -> None:
    """A submit button is pressed as a browser presses it: with the fields of its form, and no other button."""
    found = page(
        "<form action=/find><input name=P value='big cats'><select name=db><option value=a><option value=b selected></select>"
        "<input type=checkbox name=x value=1><input type=submit value=Search>"
        "<input type=submit name='[' value=1 disabled><input type=submit name='[' value=2><input type=submit name='>' value=Next></form>"
    )
    step = next_page(found, "big cats")
    assert step == NextPage(
        url="http://h/find", fields=(("P", "big cats"), ("db", "b"), (">", "Next")), via="button", button=">"
    )
    assert request_of(step).url == "http://h/find?P=big+cats&db=b&%3E=Next"
    assert next_page(page("<form action=/go><input name=id value=start><button>&gt;</button></form>")) is None


def test_numbered_buttons_and_posts() -> None:
    """Without a word, the number after the one that cannot be pressed; a POST has its fields in the body."""
    found = page(
        "<form method=post action=/find><input type=hidden name=q value=cats>"
        "<button name=p value=1 disabled>1</button><button name=p value=2>2</button><button name=p value=3>3</button></form>"
    )
    step = next_page(found, "cats")
    assert step is not None
    assert request_of(step, "cats").body == b"q=cats&p=2"
    assert request_of(step, "cats").method == "POST"


def test_links_that_a_script_turns_into_a_form() -> None:
    """ASP.NET's events, and fields that are set before the form is sent."""
    event = page(
        "<form method=post action=r.aspx><input type=hidden name=__VIEWSTATE value=v><input type=hidden name=__EVENTTARGET>"
        "<span>1</span> <a href=\"javascript:__doPostBack('grid','Page$2')\">2</a> <a href=\"javascript:__doPostBack('grid','Page$3')\">3</a></form>"
    )
    step = next_page(event)
    assert step is not None
    assert step.method == "POST"
    assert dict(step.fields) == {"__VIEWSTATE": "v", "__EVENTTARGET": "grid", "__EVENTARGUMENT": "Page$2"}
    sets = page(
        "<form name=f action=/s><input type=hidden name=q value=cats><input type=hidden name=start value=0></form>"
        '<a href="#" onclick="document.f.start.value=20; document.f.submit()">Next</a>'
    )
    assert next_page(sets) == NextPage(url="http://h/s", fields=(("q", "cats"), ("start", "20")), via="button")


@pytest.mark.parametrize(
    "more",
    [
        '<button data-url="/s?q=cats&page=3">Load more</button>',
        '<div class="infinite-scroll" data-next-url="?q=cats&page=3"></div>',
        '<div hx-get="/s?q=cats&page=3" hx-trigger="revealed"></div>',
        '<a href="#" class="load-more" data-href="/s?q=cats&page=3">もっと見る</a>',
    ],
)
def test_the_request_behind_load_more(more: str) -> None:
    """It is found where an attribute holds its URL."""
    step = next_page(page(more))
    assert step is not None
    assert step.via == "more"
    assert step.url.endswith("q=cats&page=3")


def test_without_a_url() -> None:
    """A saved page whose URL is not known has a next page too."""
    found = read('<link rel=canonical href="http://h/s?q=a"><a href="http://h/s?q=a&amp;start=10">Next</a>')
    assert next_link_url(found) == "http://h/s?q=a&start=10"
    assert next_link_url(read('<a href="/s?q=a&amp;start=10">Next</a>')) == "/s?q=a&start=10"


def test_to_the_end_of_the_demo_site(demo: Running) -> None:
    """Link by link, the pager of a real site ends at its last page."""
    url: str | None = f"{demo.url}search?q=madrid"
    pages = 0
    while url is not None and pages < 50:
        with urlopen(url) as answer:  # noqa: S310 # our own server
            tree = read(answer.read(), url=url)
        url, pages = next_link_url(tree, "madrid"), pages + 1
    assert 1 < pages < 12
    assert "Next ›" not in tree.text()


def test_rel_next_counts_whatever_the_text_is() -> None:
    """`rel=next` is HTML's own word for it: "next (older)" leads on."""
    found = page(
        '<a href="?q=cats&o=200" rel=next>next (older)</a> | <a href="?q=cats&o=-1">reverse</a>', "http://h/s?q=cats"
    )
    assert next_link_url(found) == "http://h/s?q=cats&o=200"


@pytest.mark.parametrize("asked", ["cats", "56"])
def test_a_title_that_begins_with_more_is_no_pager(asked: str) -> None:
    """“More technical details” below the page's own path, with a number in its URL, does not keep the arguments of the search."""
    found = page(
        '<b><a href="post.15401@h/">More technical details</a></b> <a href="post.15402@h/">Keys</a>',
        f"http://h/s/?q={asked}",
    )
    assert next_page(found, asked) is None


@pytest.mark.parametrize(
    "mark", ["<li><a class=selected {}>1</a>", "<li class=active><a {}>1</a>", "<li><a aria-current=page {}>1</a>"]
)
def test_an_arrow_past_the_next_number_leads_to_the_last_page(mark: str) -> None:
    """The number of the current page may be a link too, marked by its class or by aria-current."""
    address = "href='/s?q=cats&start={}&size=25'"
    numbers = "".join(f"<li><a {address.format(25 * n)}>{n + 1}</a>" for n in range(1, 5))
    found = page(
        f"<ul>{mark.format(address.format(0))}{numbers}<li><a {address.format(1775)}>▶</a></ul>", "http://h/s?q=cats"
    )
    assert next_link_url(found, "cats") == "http://h/s?q=cats&start=25&size=25"


def test_a_page_is_freed_at_once() -> None:
    """What looks for the next page leaves no circle of references, so that no page waits for the garbage collector."""
    gc.collect()
    gc.disable()
    try:
        tree = page("<b>2</b> <a href='?q=cats&page=3'>3</a> <a href='?q=cats&page=3' class=next>Next</a>")
        assert next_page(tree, "cats") is not None
        is_alive = weakref.ref(tree)
        del tree
        assert is_alive() is None
    finally:
        gc.enable()
