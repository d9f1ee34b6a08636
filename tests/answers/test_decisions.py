"""How much evidence the judgements about answers need: each decision on both sides of its boundary."""

import pytest

from upwell.answers.argument_roles import Roles, learn_roles
from upwell.answers.facets import facet_links
from upwell.answers.kind import judge_answer, learn_empty, refusal_reason
from upwell.answers.next_page import next_page
from upwell.answers.totals import StatedTotals, judge_totals, read_totals, stated_matches
from upwell.page.tree import TagTree, read
from upwell.types import Request, Response

WORDS = ("amber", "birch", "cedar", "dune", "ember", "fjord", "grove", "heath", "islet", "junco", "kelp", "larch")
PAGER = '<p><a href="/s?q=x&page=2">2</a> <a href="/s?q=x&page=3">3</a></p>'


def total_of(lines: str, records: int = 0, *, pager: str = PAGER) -> int | None:
    """The total of a list of records below some lines."""
    texts = [f"the {WORDS[i % 12]} of {WORDS[i // 12]}" for i in range(records)]
    listed = "".join(f"<li><a href=/t/{i}>{text}</a>" for i, text in enumerate(texts))
    tree = read(f"<body>{lines}<ul>{listed}</ul>{pager}", url="http://h/s?q=x")
    return read_totals(tree, texts).total


@pytest.mark.parametrize(("number", "total"), [(1500, 1500), (2024, None), (3000, 3000)])
def test_a_year_is_no_count(number: int, total: int | None) -> None:
    assert total_of(f"<p>{number} letters", 5) == total


@pytest.mark.parametrize(("first", "is_range"), [(1801, True), (1951, False), (2201, True)])
def test_years_are_no_range_of_matches(first: int, is_range: bool) -> None:
    stated = read_totals(read(f"<p>Results {first} - {first + 9}"))
    assert (stated.first == first) is is_range


@pytest.mark.parametrize(("different", "total"), [(1, 20), (5, None), (9, None)])
def test_counts_at_every_match_are_no_total(different: int, total: int | None) -> None:
    assert total_of("".join(f"<p>{20 + i} hits found" for i in range(different))) == total


@pytest.mark.parametrize(("records", "is_range"), [(6, True), (3, False), (16, True), (30, False)])
def test_a_range_is_about_as_long_as_the_list(records: int, is_range: bool) -> None:
    texts = [f"the {WORDS[i % 12]} of {WORDS[i // 12]}" for i in range(records)]
    tree = read(f"<body><p>Results 1 - 10 of 345<ul>{''.join(f'<li>{text}' for text in texts)}</ul>")
    assert (read_totals(tree, texts).last == 10) is is_range


@pytest.mark.parametrize(("last", "is_range"), [(8000, True), (15_000, False)])
def test_a_page_does_not_show_ten_thousand_matches(last: int, is_range: bool) -> None:
    assert (read_totals(read(f"<p>Results 1 - {last}")).last == last) is is_range


@pytest.mark.parametrize(("chars", "is_stated"), [(200, True), (350, False)])
def test_running_text_states_no_total(chars: int, is_stated: bool) -> None:
    line = "Results 1 - 10 of 345 " + "and so on " * 40
    assert (read_totals(read(f"<p>{line[:chars].strip()}")).total == 345) is is_stated


@pytest.mark.parametrize(("cap", "stated"), [(7, None), (15, 15)])
def test_a_small_number_is_no_result_cap(cap: int, stated: int | None) -> None:
    tree = read(f"<p>Results 1 - 5 of 345<p>Only the first {cap} results are shown")
    assert read_totals(tree).cap == stated


@pytest.mark.parametrize(("total", "trust"), [(105, "constant"), (150, "false")])
def test_a_total_far_above_what_came_is_false(total: int, trust: str) -> None:
    assert judge_totals([StatedTotals(total=total)] * 2, matches=100, is_complete=True) == trust


# The next page.


def next_url(links: str, url: str = "http://h/s?q=x") -> str | None:
    """The next page of an answer with these links."""
    step = next_page(read(f"<body><p>Text</p>{links}", url=url), "x")
    return step.url if step else None


@pytest.mark.parametrize(("left", "right", "is_number"), [("[ -- ", " ]", True), ("[ ------ ", " ------ ]", False)])
def test_a_number_link_has_little_around_the_number(left: str, right: str, is_number: bool) -> None:
    links = (
        f'<p>{left}1{right} <a href="/s?q=x&page=2">{left}2{right}</a> <a href="/s?q=x&page=3">{left}3{right}</a></p>'
    )
    assert (next_url(links) == "http://h/s?q=x&page=2") is is_number


@pytest.mark.parametrize(("chars", "is_next"), [(30, True), (60, False)])
def test_a_long_link_is_no_pager(chars: int, is_next: bool) -> None:
    text = ("Next amber birch cedar dune ember fjord grove heath islet junco kelp")[:chars]
    assert (next_url(f'<a href="/s?q=x&page=2">{text}</a>') is not None) is is_next


def test_one_text_with_many_targets_is_no_pager() -> None:
    """As "next" in every record of a list of chapters."""
    assert next_url("".join(f'<p><a href="/chapter/{i}">next</a></p>' for i in range(2, 5))) is None


def test_a_time_is_no_position() -> None:
    assert next_url('<a href="/s?q=x&at=1500000000">More</a>') is None


@pytest.mark.parametrize(
    ("links", "page"),
    [
        ('<a href="/s?q=x&page=9">next</a> <a href="/s?q=x&page=2">next</a>', 2),  # one step before several
        ('<a href="/t?q=x&page=2">›</a> <a href="/s?q=x&page=2">›</a>', 2),  # the same path before a shared argument
        ('<a href="/s?q=x">next</a> <a href="/s?q=x&page=4">next</a>', 4),  # a number that counts up
        ('<a href="/s?q=x&page=5">»»</a> <a href="/s?q=x&page=2">›</a>', 2),
        ('<a href="/s?q=x&page=5">›</a> <a href="/s?q=x&page=6" rel=next>›</a>', 6),
        ('<link rel=next href="/s?q=x&page=6"><a href="/s?q=x&page=5">›</a> <a href="/s?q=x&page=6">›</a>', 6),
        ('<a href="/s?q=x&page=5">›</a> <a href="/s?q=x&page=6">next</a>', 6),
        ('<a href="/s?q=x&page=5">»</a> <a href="/s?q=x&page=6">›</a>', 6),
    ],
)
def test_the_link_with_the_strongest_signs_is_next(links: str, page: int) -> None:
    assert next_url(links, "http://h/s?q=x&page=1") == f"http://h/s?q=x&page={page}"


@pytest.mark.parametrize(
    "links",
    [
        '<a href="/other/page">›</a>',
        '<a href="/events?month=5">›</a>',
        '<a href="/help">next</a>',
        '<a href="/a/b" class=next>Go on</a>',
        '<a href="/tour/2">more</a>',
    ],
)
def test_weak_signs_are_not_enough(links: str) -> None:
    assert next_url(links) is None


@pytest.mark.parametrize(
    ("link", "url", "is_next"),
    [
        ('<a href="/s?q=x&page=5">»</a>', "http://h/s?q=x&page=1", True),  # a weak sign, on the same path, counts up
        ('<a href="/a/t?q=x&page=5">»</a>', "http://h/a/s?q=x&page=1", True),  # in the same folder
        ('<a href="/b/t?page=5">»</a>', "http://h/a/s?q=x&page=1", False),  # elsewhere
        ('<a href="/s?q=x&view=all">›</a>', "http://h/s?q=x&page=1", False),  # nothing counts up
        ('<a href="/s?q=x&page=2">›</a>', "http://h/s?q=x&page=3", False),  # it counts down
        ('<a href="/s?q=x&page=5">More</a>', "http://h/s?q=x&page=1", True),
        ('<a href="/s?q=x&page=7">7</a>', "http://h/s?q=x&page=1", False),
        ('<a href="/onwards.html">next</a>', "", False),  # of a page without a URL
        ('<a href="http://h/s?page=2">next</a>', "", True),
    ],
)
def test_signs_of_a_single_link(link: str, url: str, is_next: bool) -> None:
    assert (next_url(link, url) is not None) is is_next


# Refusals and empty answers.


def response(body: str, kind: str = "text/html") -> Response:
    return Response(
        request=Request(url="http://h/s"),
        url="http://h/s",
        status=200,
        headers={"Content-Type": kind},
        body=body.encode(),
    )


@pytest.mark.parametrize(
    ("padding", "text", "kind", "is_refusal"),
    [
        (30_000, 100, "text/html", True),
        (60_000, 100, "text/html", False),
        (0, 1_100, "text/html", True),
        (0, 2_200, "text/html", False),
        (0, 200, "text/plain", True),
        (0, 450, "text/plain", False),
    ],
)
def test_a_refusal_is_a_small_page(padding: int, text: int, kind: str, is_refusal: bool) -> None:
    body = f"<script>{'x' * padding}</script><h1>Access denied</h1>" if kind == "text/html" else "Too many requests "
    assert bool(refusal_reason(response(body + ("word " * 500)[:text], kind))) is is_refusal


def framed(main: str, query: str) -> TagTree:
    menu = "".join(f"<li><a href=/{word}>{word}</a>" for word in WORDS)
    return read(
        f"<title>Search {query}</title><ul>{menu}</ul><form><input name=q value='{query}'></form>{main}<p>Made by us",
        url="http://h/s",
    )


MODEL = learn_empty(
    [(framed(f"<h2>Nothing for {word}</h2>", word), word) for word in ("zxqv", "qqwx", "wvvx")],
    [
        (framed("".join(f"<li><a href=/t/{word}{i}>{word} {w} house</a>" for i, w in enumerate(WORDS)), word), word)
        for word in ("amber", "dune", "kelp", "larch")
    ],
)
PROSE = "The keeper of the old light house walks along the shore every day. "


@pytest.mark.parametrize(("chars", "kind"), [(300, "error"), (700, "matches")])
def test_a_note_about_the_query_is_short(chars: int, kind: str) -> None:
    page = framed(f"<p>Your query is too short. {(PROSE * 20)[:chars]}</p>", "ab")
    assert judge_answer(MODEL, page, "ab").kind == kind


@pytest.mark.parametrize(("chars", "kind"), [(1_100, "error"), (2_200, "matches")])
def test_an_error_page_says_little_else(chars: int, kind: str) -> None:
    page = read(f"<title>Error</title><h1>Error</h1><p>{(PROSE * 40)[:chars]}", url="http://h/s")
    assert judge_answer(MODEL, page, "fjord").kind == kind


def test_an_answer_with_one_short_text_of_its_own_has_matches() -> None:
    assert judge_answer(MODEL, framed("<h2>Nothing for kelps</h2>", "kelps"), "kelps").kind == "none"
    assert judge_answer(MODEL, framed("<li><a href=/t/1>Ox</a>", "kelps"), "kelps").kind == "matches"


def lined(lines: int, main: str, extra: str = "") -> TagTree:
    """A page with some lines of a frame of sixty."""
    words = [f"{WORDS[i % 12]}{WORDS[i // 12]}" for i in range(60)]
    return read(
        extra + "".join(f"<p class=m{word}>{word}</p>" for word in words[:lines]) + f"<main>{main}</main>",
        url="http://h/s",
    )


EMPTY = [(lined(60, "<p class=e>qqwx wxqq</p>"), word) for word in ("zxqv", "qqwv", "wvvx")]


def full(word: str, message: str = "") -> tuple[TagTree, str]:
    return lined(60, message + "".join(f"<a href=/{w}>{word} {w} house</a><br>" for w in WORDS)), word


@pytest.mark.parametrize(("answers", "is_certain"), [(2, False), (3, True)])
def test_the_message_of_empty_answers_is_learned_from_several_full_ones(answers: int, is_certain: bool) -> None:
    assert learn_empty(EMPTY, [full(word) for word in WORDS[:answers]]).is_message_certain is is_certain


@pytest.mark.parametrize(("missing", "of", "is_message"), [(3, 20, False), (6, 20, True), (1, 5, False), (2, 5, True)])
def test_a_message_is_missing_from_a_good_part_of_the_full_answers(missing: int, of: int, is_message: bool) -> None:
    answers = [full(f"{WORDS[i % 12]}{i}", "" if i < missing else "<p class=e>qqwx wxqq</p>") for i in range(of)]
    assert bool(learn_empty(EMPTY, answers).message) is is_message


LEARNED = learn_empty(EMPTY, [full(word) for word in WORDS[:4]])


@pytest.mark.parametrize(("lines", "is_error"), [(22, True), (45, False)])
def test_a_page_much_smaller_than_an_empty_answer_is_an_error(lines: int, is_error: bool) -> None:
    assert (judge_answer(LEARNED, lined(lines, "<b>Come back later</b>"), "kelp").kind == "error") is is_error


# Roles of arguments.


def role(links: list[str], name: str = "zz") -> str:
    """The role of an argument of links, given for each answer."""
    queries = [f"{WORDS[i % 12]}{WORDS[i // 12]}" for i in range(len(links))]
    trees = [
        read(f'<a href="?q={query}&page=2">next</a>{link.replace("WORD", query)}', url=f"http://h/s?q={query}")
        for query, link in zip(queries, links, strict=True)
    ]
    arguments = learn_roles(trees, queries).arguments
    return arguments[name].role if name in arguments else "unknown"


@pytest.mark.parametrize(
    ("answers", "of", "expected"), [(3, 20, "display"), (3, 40, "unknown"), (2, 20, "unknown"), (8, 40, "display")]
)
def test_an_argument_of_several_answers_that_never_stands_with_the_query_is_display(
    answers: int, of: int, expected: str
) -> None:
    assert role(['<a href="/help?zz=de">x</a>' if i < answers else "" for i in range(of)]) == expected


@pytest.mark.parametrize(("others", "expected"), [(0, "tracking"), (2, "unknown")])
def test_an_argument_that_mostly_repeats_the_query_is_tracking(others: int, expected: str) -> None:
    links = '<a href="/thing?zz=WORD">x</a>' + "".join(f'<a href="/thing?zz={WORDS[k]}">x</a>' for k in range(others))
    found = role([links] * 8)
    assert (found == "tracking") is (expected == "tracking")


@pytest.mark.parametrize(("others", "expected"), [(0, "sort"), (1, "filter")])
def test_links_that_mostly_name_orders_sort(others: int, expected: str) -> None:
    links = '<a href="?q=WORD&zz=7">Newest first</a> <a href="?q=WORD&zz=8">by title</a>'
    links += "".join(f'<a href="?q=WORD&zz={20 + k}">{WORDS[k]}</a>' for k in range(others))
    assert role([links] * 6) == expected


# Facets.


def facets_kept(links: list[str]) -> int:
    """How many facets of an answer are worth fetching."""
    queries = list(WORDS[:4])
    trees = [
        read("".join(f'<a href="/s?q={query}&{link}">{link}</a> (3) ' for link in links), url=f"http://h/s?q={query}")
        for query in queries
    ]
    roles = learn_roles(trees, queries)
    return len(facet_links(trees[0], roles, queries[0]))


def test_facets_of_one_or_two_filters_are_followed() -> None:
    base = ["colour=red", "size=large", "kind=old"]
    assert facets_kept(base) == 3
    assert facets_kept([*base, "colour=red&size=large"]) == 4
    assert facets_kept([*base, "colour=red&size=large&kind=old"]) == 3


@pytest.mark.parametrize(("facets", "are_all_kept"), [(150, True), (300, False)])
def test_an_answer_has_a_limited_number_of_facets(facets: int, are_all_kept: bool) -> None:
    assert (
        facets_kept([f"colour={WORDS[i % 12]}{WORDS[i // 12 % 12]}{WORDS[i // 144]}" for i in range(facets)]) == facets
    ) is are_all_kept


def test_a_record_about_refusals_is_no_refusal() -> None:
    record = (
        "<title>repo: commit 12</title><h1>Handle HTTP 429 Too Many Requests, slow down</h1>" + "<p>Some words. " * 30
    )
    assert not refusal_reason(response(record, "text/html"))
    assert refusal_reason(response("<title>429 Too Many Requests</title>" + "<p>Some words. " * 30, "text/html"))
    assert refusal_reason(response("<p>Too many requests, slow down", "text/html"))


@pytest.mark.parametrize(
    ("texts", "counts"), [(("Red (2015)", "Blue (1999)"), [None, None]), (("Maps (2015)", "Discs (12)"), [2015, 12])]
)
def test_a_year_in_brackets_is_a_count_only_among_counts(texts: tuple[str, ...], counts: list[int | None]) -> None:
    tree = read("".join(f"<li><a href=/{text[0]}>{text}</a>" for text in texts))
    assert [stated_matches(tree, row) for row in tree.rows("a").tolist()] == counts


def test_a_link_with_the_id_of_a_record_is_no_facet() -> None:
    records = [f"/s?q=x&rank={at}&id=K{at}" for at in range(4)]
    items = "".join(
        f'<li><a href="{url}">the {WORDS[at]}</a> <a href="{url}&part=notes">notes</a>'
        for at, url in enumerate(records)
    )
    tree = read(f'<ul>{items}</ul><a href="/s?q=x&kind=map">Maps</a>', url="http://h/s?q=x")
    roles = Roles(query="q")
    links = facet_links(tree, roles, "x", record_urls=[f"http://h{url}" for url in records])
    assert [link.text for link in links] == ["Maps"]
