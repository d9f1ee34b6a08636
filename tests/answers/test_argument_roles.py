"""Roles of URL arguments are learned from answers, and one second-level URL is kept per partition."""

import json
from urllib.parse import parse_qs, urlsplit
from urllib.request import urlopen

import pytest
from hypothesis import given

from tests.answers.malformed_pages import QUERIES, malformed_pages
from upwell.answers.argument_roles import Roles, learn_roles
from upwell.answers.facets import FacetParams, facet_links, related_queries, second_level_links, urls_to_fetch
from upwell.demo import Running, Switches, serve
from upwell.page.tree import TagTree, read
from upwell.urls.arguments import canonical, split_url

WORDS = ("lima", "spain", "san", "york", "paris", "united", "chile", "new", "port", "saint")


def fetched(site: Running, path: str) -> TagTree:
    with urlopen(site.url + path) as answer:  # noqa: S310 # our own server
        return read(answer.read(), url=answer.url)


@pytest.fixture(scope="module")
def answers(demo: Running) -> list[TagTree]:
    return [fetched(demo, f"search?q={word}") for word in WORDS]


@pytest.fixture(scope="module")
def roles(answers: list[TagTree]) -> Roles:
    return learn_roles(answers, WORDS)


def test_roles_of_the_demo_site(roles: Roles) -> None:
    """`city` is an argument of links that add to a trip, not of the search."""
    assert {name: argument.role for name, argument in roles.arguments.items() if name != "city"} == {
        "q": "query", "page": "page", "sort": "sort", "ref": "tracking", "continent": "filter", "country": "filter",
    }  # fmt: skip


SHOP = Switches(layout="shop")


@pytest.fixture(scope="module")
def shop_answers() -> list[TagTree]:
    with serve(SHOP) as site:
        return [fetched(site, f"search?cat=All&from=7&qu={word}") for word in WORDS]


def test_a_shop_as_in_table_7(shop_answers: list[TagTree]) -> None:
    """A constant is no filter, `cat=All` is narrowed by every other category, and `from` is tracking although it varies."""
    roles = learn_roles(shop_answers, WORDS)
    assert {name: argument.role for name, argument in roles.arguments.items() if name != "ref"} == {
        "qu": "query", "page": "page", "sort": "sort", "from": "tracking", "cat": "filter", "mfgid": "filter",
    }  # fmt: skip
    assert roles.defaults == {("cat", "All")}
    assert Roles.from_dict(json.loads(json.dumps(roles.as_dict()))) == roles
    facets = facet_links(shop_answers[1], roles, WORDS[1], with_orders=False)
    assert {link.relation for link in facets} == {"narrower"}
    assert {name for link in facets for name, _ in link.filters} == {"cat", "mfgid"}
    assert all(len(link.filters) == 1 for link in facets)
    orders = [link for link in facet_links(shop_answers[1], roles, WORDS[1]) if not link.narrows]
    assert len(orders) == 2


def test_a_constant_that_is_not_for_all_is_not_narrowed() -> None:
    """Where every answer asks for one kind, a link to another kind leads to other records."""
    html = "<a href='?q=WORD&type=book&year=1990'>1990</a> <a href='?q=WORD&type=film'>Films</a>"
    pages = [read(html.replace("WORD", word), url=f"http://h/s?q={word}&type=book") for word in WORDS]
    roles = learn_roles(pages, WORDS)
    assert roles.constants == {("type", "book")}
    assert not roles.defaults
    relations = {link.text: link.relation for link in second_level_links(pages[0], roles, WORDS[0])}
    assert relations == {"1990": "narrower", "Films": "other filters"}


def test_two_arguments_of_one_filter_are_no_tracking() -> None:
    """`field` and `value` change together in every facet, but not with the page."""
    html = "".join(
        f"<a href='?q=WORD&field={f}&value={v}'>{v}</a>" for f in ("author", "year") for v in ("a1", "b2", "c3")
    )
    html += "<a href='?q=WORD&field=any&value=&page=2'>Next</a>"
    pages = [read(html.replace("WORD", word), url=f"http://h/s?q={word}&field=any&value=") for word in WORDS]
    roles = learn_roles(pages, WORDS)
    assert not roles.arguments["field"].irrelevant
    assert not roles.arguments["value"].irrelevant


def test_one_url_per_partition_is_kept(answers: list[TagTree], roles: Roles) -> None:
    """Every facet has exactly one URL, without page, sort order and tracking."""
    kept = urls_to_fetch(answers, roles, WORDS)
    offered = {
        (split_url(url).arguments[0][1], name, value)
        for tree in answers
        for _, url in tree.links()
        for name, value in split_url(url).arguments
        if name in ("continent", "country")
    }
    arguments = [parse_qs(urlsplit(url).query) for url in kept.by_partition.values()]
    facets = {(a["q"][0], name, a[name][0]) for a in arguments for name in ("continent", "country") if name in a}
    assert offered == facets
    assert len(kept.by_partition) == len(facets)
    assert kept.dropped > 0
    assert kept.reduction > 1.5


def test_dropped_urls_have_the_partition_of_a_kept_one(answers: list[TagTree], roles: Roles) -> None:
    kept = urls_to_fetch(answers[:2], roles, WORDS)
    known = {*kept.by_partition, *(canonical(split_url(tree.url), roles.irrelevant) for tree in answers)}
    urls = {url for tree in answers[:2] for _, url in tree.links() if "q" in parse_qs(urlsplit(url).query)}
    assert all(canonical(split_url(url), roles.irrelevant) in known for url in urls)


def test_the_order_of_answers_does_not_matter(answers: list[TagTree], roles: Roles) -> None:
    assert learn_roles(answers[::-1], WORDS[::-1]).arguments == roles.arguments


def test_the_example_of_the_paper() -> None:
    """Entity Table 7: sort, from and page are irrelevant, mfgid is not; three partitions remain."""
    head = "/sr/searchresults.aspx?qu=gps"
    made = [f"{head}&sort={s}&from=7&mfgid=-652&page=1" for s in (4, 1, 2, 3)]
    made += [f"{head}&sort=4&from={f}&mfgid=-652&page={p}" for f in (1, 2, 7) for p in (1, 2, 3)]
    made += [f"{head}&sort=4&from=7&mfgid={m}&page=1" for m in (-1755, -1001)]
    irrelevant = {"sort", "from", "page"}
    assert len({canonical(split_url(f"http://www.buy.com{url}"), irrelevant) for url in made}) == 3


def source(links: str, words: tuple[str, ...] = ("cat", "dog", "cow", "hen", "pig", "fox")) -> Roles:
    pages = [
        read(links.replace("WORD", word).replace("TOKEN", f"{i * 7919:08x}"), url=f"http://h/s?q={word}")
        for i, word in enumerate(words)
    ]
    return learn_roles(pages, words)


@pytest.mark.parametrize(
    ("link", "name", "role"),
    [
        ('<a href="?q=WORD&zz=TOKEN&a=1">x</a><a href="?q=WORD&zz=TOKEN">y</a>', "zz", "tracking"),
        ('<a href="/s;jsessionid=TOKEN?q=WORD">x</a>', "jsessionid", "session"),
        ('<a href="?q=WORD&utm_source=x">x</a>', "utm_source", "tracking"),
        ('<b>1</b> <a href="?q=WORD&zz=20">2</a> <a href="?q=WORD&zz=40">3</a>', "zz", "page"),
        ('<a href="?q=WORD&zz=relevance">x</a><a href="?q=WORD&zz=date">y</a>', "zz", "sort"),
        ('<a href="?q=WORD&zz=list">x</a><a href="?q=WORD&zz=grid">y</a>', "zz", "display"),
        ('<a href="?q=WORD&per_page=50">50</a>', "per_page", "display"),
        ('<a href="?q=WORD&zz=wool">wool</a> (3) <a href="?q=WORD&zz=silk">silk</a> (9)', "zz", "filter"),
        ('<a href="?q=WORD&format=Book&page=1">Book</a> (3) <a href="?q=WORD&format=Film&page=1">Film</a> (9)', "format", "filter"),
        ('<a href="?q=WORD&format=Book&page=1">Book</a> (3) <a href="?q=WORD&format=Film&page=1">Film</a> (9)', "page", "page"),
        ('<a href="?q=WORD&zz=7">Newest first</a> <a href="?q=WORD&zz=8">by title</a>', "zz", "sort"),
        ('<a href="?q=WORD&dir=asc">▲</a> <a href="?q=WORD&dir=desc">▼</a>', "dir", "sort"),
        ('<a href="?q=WORD&dir=src">src</a> <a href="?q=WORD&dir=documents">documents</a>', "dir", "filter"),
        ("<form><input name=q value=WORD><input name=ref></form>", "ref", "filter"),
        ('<a href="?q=WORD&max=20">x</a><a href="?q=WORD&min=5">y</a>', "max", "filter"),
        ('<a href="/login?back=%2Fs%3Fq%3DWORD">log in</a>', "back", "session"),
        ('<a href="/thing?hl=WORD">x</a>', "hl", "tracking"),
        ('<a href="/s.csv?q=WORD&zz=comma">CSV</a>', "zz", "display"),
        ('<form><input name=q value=WORD><input type=hidden name=zz value=1></form>', "zz", "tracking"),
        ('<form><input name=q value=WORD><input type=checkbox name=zz value=1></form>', "zz", "filter"),
    ],
)  # fmt: skip
def test_roles_follow_from_values_names_and_positions(link: str, name: str, role: str) -> None:
    assert source(link).arguments[name].role == role


def test_query_and_page_may_be_path_segments() -> None:
    words = ("cat", "dog", "cow")
    pages = [
        read(
            f'<b>1</b> <a href="/find/{w}/page/2">2</a> <a href="/find/{w}/page/3">3</a><a href="/find/{w}/brand/acme">Acme</a>',
            url=f"http://h/find/{w}",
        )
        for w in words
    ]
    roles = learn_roles(pages, words)
    assert roles.query == "/find"
    assert roles.arguments["/page"].role == "page"
    kept = urls_to_fetch(pages, roles, words)
    assert sorted(kept.by_partition.values()) == [f"http://h/find/{w}/brand/acme" for w in sorted(words)]


def test_facet_traps_are_bounded() -> None:
    """Neither the filters of a URL nor the URLs of a query exceed `FacetParams`."""
    roles = source('<a href="?q=WORD&f=a">a</a> (1)')
    deep = read(
        "".join(f'<a href="?q=cat&{"&".join(f"f={n}{m}" for m in range(n))}">x</a>' for n in range(1, 8)),
        url="http://h/s?q=cat",
    )
    kept = urls_to_fetch([deep], roles, ["cat"])
    assert (len(kept.by_partition), kept.trapped) == (2, 5)
    wide = read("".join(f'<a href="?q=cat&f={n}">x</a>' for n in range(50)), url="http://h/s?q=cat")
    assert len(urls_to_fetch([wide], roles, ["cat"], params=FacetParams(max_per_query=10)).by_partition) == 10


def test_a_link_that_deletes_is_not_a_facet(roles: Roles) -> None:
    page = read('<a href="?q=cat&f=1">x</a><a href="?q=cat&delete=1">y</a>', url="http://h/s?q=cat")
    kept = urls_to_fetch([page], roles, ["cat"])
    assert list(kept.by_partition.values()) == ["http://h/s?q=cat&f=1"]


def test_the_pager_of_a_posted_query_belongs_to_its_partition() -> None:
    page = read('<b>1</b> <a href="?w=cat&page=2">Next</a><a href="?w=cat&page=2&kind=b">b</a>', url="http://h/s")
    roles = learn_roles([page] * 3, ["cat"] * 3, query_field="w")
    assert list(urls_to_fetch([page], roles, ["cat"]).by_partition.values()) == ["http://h/s?w=cat&page=2&kind=b"]


def test_saved_roles_are_equal(roles: Roles) -> None:
    assert Roles.from_dict(json.loads(json.dumps(roles.as_dict()))) == roles


def test_links_with_another_query_are_related_queries() -> None:
    """Filters, pages and sort orders of the same query are not."""
    page = "<a href='/s?q=green+tea'>green tea</a><a href='/s?q=tea&page=2'>2</a><a href='/s?q=tea&cat=1'>Pots</a><a href='/s?q=mint'>mint</a>"
    trees = [
        read(page.replace("tea&", f"{word}&").encode(), url=f"http://h/s?q={word}") for word in ("tea", "pots", "cups")
    ]
    learned = learn_roles(trees, ("tea", "pots", "cups"), query_field="q")
    assert related_queries(trees[0], learned, "tea") == ("green tea", "mint")


@given(malformed_pages(), QUERIES)
def test_second_level_urls_of_malformed_pages_are_kept_dropped_or_trapped(tree: TagTree, query: str) -> None:
    kept = urls_to_fetch([tree, tree], learn_roles([tree, tree], [query, query]), [query, query])
    assert kept.seen >= len(kept.by_partition) + kept.trapped
