"""The next page is found by link texts in many languages, numbers in URLs, buttons and "load more"."""

import gc
import weakref
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
from hypothesis import given

from tests.answers.malformed_pages import QUERIES, malformed_pages
from upwell.answers.next_page import next_link_url, next_page, next_page_request
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
def test_words_arrows_and_images_mark_the_next_link(label: str) -> None:
    answer = page(f'<a href="?q=cats&page=1">1</a> <b>2</b> <a href="?q=cats&page=3">{label}</a>')
    assert next_link_url(answer) == "http://h/search?q=cats&page=3"


@pytest.mark.parametrize(
    "pager",
    [
        '<b>2</b> <a href="?q=cats&page=3">3</a> <a href="?q=cats&page=3">Qqwx</a>',
        '<a href="?q=cats&page=1">1</a> <a href="?q=cats&page=2">2</a> <a href="?q=cats&page=3">3</a> <a href="?q=cats&page=3">Qqwx</a>',
        '<link rel=next href="?q=cats&page=3"><a href="?q=cats&page=3">Qqwx</a>',
        '<div class=page_next><a href="?q=cats&page=3">Qqwx</a></div>',
    ],
)
def test_a_next_link_may_have_any_text(pager: str) -> None:
    """If the next number or rel=next in the head has the same target, or if its class is "next"."""
    assert next_link_url(page(pager)) == "http://h/search?q=cats&page=3"
    assert next_page(page(pager)) is not None


def test_a_harvest_does_not_follow_the_next_record() -> None:
    """Although it is marked as next."""
    assert next_page(page('<a class=next rel=next href="/ticket/13">Next Ticket</a>'), "cats") is None


@pytest.mark.parametrize(
    "facet", ["?q=cats&rooms=3", "/search/3?q=cats", "?q=cats&year=3"], ids=["argument", "path", "year"]
)
def test_a_facet_with_numbers_is_not_the_next_page(facet: str) -> None:
    """If the page has a next link too."""
    facets = "".join(f'<li><a href="{facet[:-1] if facet[-1] == "3" else facet}{n}">{n}</a>' for n in (1, 3, 4))
    answer = page(f'<ul>Rooms {facets}</ul><p>record</p><a href="?q=cats&page=3">Next</a>')
    step = next_page(answer, "cats")
    assert step is not None
    assert step.url == "http://h/search?q=cats&page=3"


@pytest.mark.parametrize(
    "link",
    [
        '<a rel=prev href="?q=cats&page=1">‹</a>',
        '<a href="?q=cats&page=1">« Previous</a>',
        '<a href="?q=cats&page=9">Last »</a>',
        '<a href="/calendar?week=1456617600">»</a>',
        '<a href="http://elsewhere/search?q=cats&page=3">Next</a>',
        '<a href="#top">Next</a>',
        '<a href="?q=cats&page=3" class="next disabled"></a>',
        '<a href="/a">weiter</a><a href="/b">weiter</a><a href="/c">weiter</a>',
    ],
)
def test_other_links_are_not_next(link: str) -> None:
    """Back, last page, calendar, another site, this page, disabled, "read on" in every record."""
    assert next_link_url(page(link)) is None


def test_a_single_arrow_is_preferred_to_a_double_arrow() -> None:
    """The double arrow may lead to the last page."""
    answer = page('<a href="?q=cats&page=3">&gt;</a> <a href="?q=cats&page=9">&gt;&gt;</a>')
    assert next_link_url(answer) == "http://h/search?q=cats&page=3"


def test_number_links_are_certain_if_they_repeat_the_search() -> None:
    """Otherwise they are only likely."""
    numbers = "".join(f'<a href="?q=cats&from={n}0">[{n + 1}]</a> ' for n in range(1, 5))
    assert next_link_url(page(f"<b>[1]</b> {numbers}", "http://h/s?q=cats")) == "http://h/s?q=cats&from=10"
    bare = page('<ul><li><b>1</b><li><a href="?n=2">2</a><li><a href="?n=3">3</a></ul>', "http://h/list")
    assert next_link_url(bare) is None
    assert next_page(bare) == NextPage(url="http://h/list?n=2", via="numbers")
    posted = page(
        '<input name=w value=cats><b>1</b> <a href="/s/cats/page/2">2</a> <a href="/s/cats/page/3">3</a>', "http://h/s"
    )
    assert next_link_url(posted) == "http://h/s/cats/page/2"


def test_a_harvest_follows_rel_next_in_the_head() -> None:
    """Although no link is marked as next."""
    answer = page('<link rel=next href="/page/2"><p>x', "http://h/")
    assert next_link_url(answer) is None
    assert next_page(answer) == NextPage(url="http://h/page/2", via="declared")


def test_a_harvest_follows_older_entries() -> None:
    """Although "newer →" is marked as next."""
    answer = page(
        '<div class=nav-previous><a href="/page/3">← Older posts</a></div><div class=nav-next><a href="/page/1">Newer posts →</a></div>',
        "http://h/page/2",
    )
    assert next_link_url(answer) == "http://h/page/1"
    assert next_page(answer) == NextPage(url="http://h/page/3", via="older")


def test_a_button_sends_its_form() -> None:
    """As a browser does: with the fields of the form and without other buttons."""
    answer = page(
        "<form action=/find><input name=P value='big cats'><select name=db><option value=a><option value=b selected></select>"
        "<input type=checkbox name=x value=1><input type=submit value=Search>"
        "<input type=submit name='[' value=1 disabled><input type=submit name='[' value=2><input type=submit name='>' value=Next></form>"
    )
    step = next_page(answer, "big cats")
    assert step == NextPage(
        url="http://h/find", fields=(("P", "big cats"), ("db", "b"), (">", "Next")), via="button", button=">"
    )
    assert next_page_request(step).url == "http://h/find?P=big+cats&db=b&%3E=Next"
    assert next_page(page("<form action=/go><input name=id value=start><button>&gt;</button></form>")) is None


def test_the_number_after_the_disabled_button_is_next() -> None:
    """A POST has its fields in the body."""
    answer = page(
        "<form method=post action=/find><input type=hidden name=q value=cats>"
        "<button name=p value=1 disabled>1</button><button name=p value=2>2</button><button name=p value=3>3</button></form>"
    )
    step = next_page(answer, "cats")
    assert step is not None
    assert next_page_request(step, "cats").body == b"q=cats&p=2"
    assert next_page_request(step, "cats").method == "POST"


def test_a_scripted_link_sends_a_form() -> None:
    """By an ASP.NET event, or after setting a field."""
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


def grid(numbers: str) -> TagTree:
    """A list of ASP.NET whose "»" leads to the last page."""
    links = [
        f"<td><span>{label}</span></td>"
        if not target
        else f"<td><a href=\"javascript:__doPostBack('g','Page${target}')\">{label}</a></td>"
        for label, _, target in (part.partition(":") for part in numbers.split())
    ]
    return page(f"<form method=post action=r.aspx><table><tr>{''.join(links)}</tr></table></form>")


@pytest.mark.parametrize(
    ("numbers", "target"),
    [
        ("1 2:2 3:3 »:Last", "Page$2"),
        ("«:First 1:1 2 3:3 »:Last", "Page$3"),
        ("«:First ...:10 11:11 12 13:13 ...:21 »:Last", "Page$13"),
        ("«:First 9:9 10 ...:11 »:Last", "Page$11"),
        ("1:1 2 3:3 Next:Next", "Page$Next"),
        ("«:First 1:1 2", None),
        ("« ‹ 1 »:Last", None),
    ],
)
def test_in_a_scripted_pager_the_next_number_wins_over_an_arrow(numbers: str, target: str | None) -> None:
    step = next_page(grid(numbers))
    assert (dict(step.fields)["__EVENTARGUMENT"] if step else None) == target


def test_the_next_number_wins_over_an_arrow_button() -> None:
    answer = page(
        "<form method=post action=/find><button name=p value=1 disabled>1</button><button name=p value=2>2</button>"
        "<button name=p value=9>»</button></form>"
    )
    step = next_page(answer)
    assert step is not None
    assert ("p", "2") in step.fields


@pytest.mark.parametrize(
    "more",
    [
        '<button data-url="/s?q=cats&page=3">Load more</button>',
        '<div class="infinite-scroll" data-next-url="?q=cats&page=3"></div>',
        '<div hx-get="/s?q=cats&page=3" hx-trigger="revealed"></div>',
        '<a href="#" class="load-more" data-href="/s?q=cats&page=3">もっと見る</a>',
    ],
)
def test_the_url_of_load_more_is_read_from_an_attribute(more: str) -> None:
    step = next_page(page(more))
    assert step is not None
    assert step.via == "more"
    assert step.url.endswith("q=cats&page=3")


def test_a_page_with_unknown_url_may_have_a_next_link() -> None:
    answer = read('<link rel=canonical href="http://h/s?q=a"><a href="http://h/s?q=a&amp;start=10">Next</a>')
    assert next_link_url(answer) == "http://h/s?q=a&start=10"
    assert next_link_url(read('<a href="/s?q=a&amp;start=10">Next</a>')) == "/s?q=a&start=10"


def test_the_pager_of_the_demo_site_ends_at_its_last_page(demo: Running) -> None:
    url: str | None = f"{demo.url}search?q=madrid"
    pages = 0
    while url is not None and pages < 50:
        with urlopen(url) as answer:  # noqa: S310 # our own server
            tree = read(answer.read(), url=url)
        url, pages = next_link_url(tree, "madrid"), pages + 1
    assert 1 < pages < 12
    assert "Next ›" not in tree.text()


def test_rel_next_counts_whatever_the_text_is() -> None:
    answer = page(
        '<a href="?q=cats&o=200" rel=next>next (older)</a> | <a href="?q=cats&o=-1">reverse</a>', "http://h/s?q=cats"
    )
    assert next_link_url(answer) == "http://h/s?q=cats&o=200"


@pytest.mark.parametrize("query", ["cats", "56"])
def test_a_title_that_begins_with_more_is_not_a_pager(query: str) -> None:
    """Its URL has a new number but not the arguments of the search."""
    answer = page(
        '<b><a href="post.15401@h/">More technical details</a></b> <a href="post.15402@h/">Keys</a>',
        f"http://h/s/?q={query}",
    )
    assert next_page(answer, query) is None


@pytest.mark.parametrize(
    "mark", ["<li><a class=selected {}>1</a>", "<li class=active><a {}>1</a>", "<li><a aria-current=page {}>1</a>"]
)
def test_an_arrow_past_the_next_number_leads_to_the_last_page(mark: str) -> None:
    """The current page may be a number link, marked by its class or by aria-current."""
    href = "href='/s?q=cats&start={}&size=25'"
    numbers = "".join(f"<li><a {href.format(25 * n)}>{n + 1}</a>" for n in range(1, 5))
    answer = page(
        f"<ul>{mark.format(href.format(0))}{numbers}<li><a {href.format(1775)}>▶</a></ul>", "http://h/s?q=cats"
    )
    assert next_link_url(answer, "cats") == "http://h/s?q=cats&start=25&size=25"


def test_the_pager_leaves_no_reference_cycle() -> None:
    """A page is freed at once, without the garbage collector."""
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


@given(malformed_pages(), QUERIES)
def test_a_malformed_page_gives_a_request_that_can_be_sent_or_none(tree: TagTree, query: str) -> None:
    step = next_page(tree, query)
    assert step is None or urlsplit(next_page_request(step, query).url).scheme in ("http", "https", "")
    assert next_link_url(tree, query) != tree.url or not tree.url
