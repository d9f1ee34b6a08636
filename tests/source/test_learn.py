"""Reading single pages of many shapes, and learning a source model from several answers."""

import json
from urllib.parse import quote
from urllib.request import urlopen

import pytest

from tests.records.shapes import FRAME, SHAPES, WORDS, page, things
from upwell.answers.answer import Answer
from upwell.demo import Switches, serve
from upwell.page.formats import read_page
from upwell.page.tree import TagTree, read
from upwell.source.apply import apply, check
from upwell.source.learn import learn_source
from upwell.source.model import SourceModel


@pytest.mark.parametrize("shape", SHAPES)
def test_records_of_a_single_page(shape: str) -> None:
    """Each record is complete and separate, without navigation and footer, for every markup."""
    tree = page(shape, things())
    texts = [record.text for record in apply(learn_source([tree]), tree).records]
    assert texts == [f"{title} {text}" for _, title, text in things()]


def test_lines_of_a_preformatted_list() -> None:
    """In <pre> each line is a record."""
    lines = "\n".join(f"{i}. {title:<30} {text}" for i, (_, title, text) in enumerate(things(), 1))
    tree = read(f"<h1>Found</h1><pre>\n{lines}\n</pre>")
    assert len(apply(learn_source([tree]), tree).records) == len(things())


def test_an_empty_answer_has_no_records() -> None:
    """Texts that answers to nonsense queries contain are never records."""
    empty = read(FRAME.format("<p>Nothing found."), url="http://h/s?q=x")
    model = learn_source([page("list", things(first)) for first in (0, 4, 8)], [empty])
    assert apply(model, empty).kind == "none"
    assert apply(model, read("<h1>Error 500</h1>")).kind == "error"
    assert apply(model, read("")).kind == "error"
    assert not learn_source([empty, empty, empty]).leader


def test_matches_without_a_rule_are_read_by_their_links() -> None:
    """Links at places where empty answers have nothing are matches, unless the answer shows the empty message."""
    nothing = [
        read(FRAME.format("<p class=note>Nothing found."), url=f"http://h/s?q={word}") for word in ("xqv", "vqx")
    ]
    answers = [page("list", things(first)) for first in (0, 3, 6)]
    model = learn_source(
        [Answer(tree, "report") for tree in answers],
        [Answer(tree, word) for tree, word in zip(nothing, ("xqv", "vqx"), strict=True)],
    )
    one = read(
        FRAME.format('<p class=note>Just one:<div class=hit><a href="/item/7">Amber report</a></div>'), url="http://h/s"
    )
    reading = apply(model, one, query="amber")
    assert (reading.kind, [record.url for record in reading.records]) == ("multi", ["http://h/item/7"])
    assert apply(model, nothing[0], query="xqv").kind == "none"


def test_a_first_match_outside_the_list_is_a_record() -> None:
    """A sibling of the list with the same structure as its records is a record."""

    def answer(first: int) -> TagTree:
        items = [
            f'<div class="hit wide"><a href="/i/{i}">{title}</a><p>{text}</p></div>' for i, title, text in things(first)
        ]
        return read(FRAME.format(f"<div class=box>{items[0]}<div class=area>{''.join(items[1:])}</div></div>"))

    answers = [answer(first) for first in (0, 3, 6)]
    model = learn_source(answers)
    texts = [[record.text for record in apply(model, tree).records] for tree in answers]
    assert texts == [[f"{title} {text}" for _, title, text in things(first)] for first in (0, 3, 6)]


def test_a_reading_has_checks() -> None:
    """The count stated by the page and the words of the query are compared with the reading; both may be unknown."""
    around, one = SHAPES["list"]
    tree = read(FRAME.format("Results 1 - 6 of 80" + around.format("".join(one.format(*thing) for thing in things()))))
    reading = apply(learn_source([tree]), tree)
    assert check(reading, tree, "report") == {"count": True, "query": 1.0}
    assert check(reading, tree, "amber") == {"count": True, "query": pytest.approx(1 / 6, abs=0.001)}
    assert check(apply(SourceModel(), tree), tree) == {"count": None, "query": None}


def test_answers_of_two_templates_have_a_rule_each() -> None:
    """A source whose answers differ in markup is read with several rules."""
    first, second = [page("list", things(k)) for k in (0, 3)], [page("divs", things(k)) for k in (6, 9)]
    model = learn_source([*first, *second])
    assert len(model.rules) == 2
    for shape in ("list", "divs"):
        found = apply(model, page(shape, things(2, 5))).records
        assert [record.text for record in found] == [f"{title} {text}" for _, title, text in things(2, 5)]


def test_matches_repeated_in_several_answers_are_not_frame() -> None:
    """Two of three answers contain the same list, which is still read."""
    pages = [page("divs", things(0)), page("divs", things(0)), page("divs", things(6))]
    model = learn_source(pages)
    assert [len(apply(model, tree).records) for tree in pages] == [6, 6, 6]


def test_texts_for_several_screen_sizes_are_read_once() -> None:
    hits = "".join(f"<li><a href={a}>{t}</a><p class=s>{x}</p><p class=l>{x}</p>" for a, t, x in things())
    tree = read(FRAME.format(f"<ol>{hits}</ol>"))
    assert [r.text for r in apply(learn_source([tree]), tree).records] == [
        f"{title} {text}" for _, title, text in things()
    ]


@pytest.mark.parametrize(
    "html", ["", "x", "<table><tr><td><b>a<table></td>", "<li>" * 500, "<a href=//[>b</a>" * 4, "\0<ul><li>\0"]
)
def test_unusual_pages_do_not_raise(html: str) -> None:
    """Learning and reading return a result for any markup."""
    good = [page("list", things(first)) for first in (0, 4, 8)]
    model = learn_source([*good, read(html)])
    assert [len(apply(model, tree).records) for tree in good] == [6, 6, 6]
    assert apply(model, read(html)).kind in ("none", "error")
    assert apply(learn_source([read(html)]), read(html)).kind in ("multi", "none", "error")
    assert not learn_source([]).leader


def test_the_options_of_a_select_are_not_records() -> None:
    """A select for the sort order occurs only on answers with records, and may be longer than their list."""
    box = "".join(
        f"<option value={text}>{text}"
        for text in ["nothing", "activity", "actor", "creation", "creator", "files", "keyword"]
    )

    def answer(word: str, n: int) -> TagTree:
        rows = "".join(f"<tr><td>{word[0]}{i}<td><a href=/issue{word}{i}>{word} bug no {i}</a>" for i in range(n))
        choice = "".join(f"<tr><th>{by}<td><select>{box}</select>" for by in ("Sort on", "then", "Group on", "then"))
        sort = f"<form class=controls><table class=form>{choice}</table></form>"
        return read(
            f"<body><h2>Issues</h2><table class=list><tr><th>ID<th>Title{rows}</table>{sort if n else ''}</body>"
        )

    counts = {
        "engine": 3,
        "mirror": 2,
        "horn": 1,
        **dict.fromkeys(["the", "of", "and", "to", "in", "for", "on", "with", "at", "by"], 0),
    }
    model = learn_source([Answer(answer(word, n), word) for word, n in counts.items()], [answer("xqzx", 0)])
    found = [record.text for word, n in counts.items() for record in apply(model, answer(word, n)).records]
    assert len(found) >= 5
    assert all("bug no" in text for text in found)


def test_table_headings_are_not_records() -> None:
    """Names of columns and of groups of rows, which are hard to distinguish in a short answer."""

    def answer(word: str, n: int) -> TagTree:
        group = "<tr><th class=group colspan=4>{}</tr>"
        rows = "".join(
            f"{group.format(('urgent', 'wish')[i % 40 // 20]) if i % 20 == 0 or n < 4 else ''}"
            f"<tr><td>{i}<td class=date>now<td><a href=/{word}{i}>{word} bug no {i}</a><td>open</tr>"
            for i in range(n)
        )
        said = f"<tr><th colspan=4><table><tr><th><th>1..{n} out of {n}<th></table></tr>" if n else ""
        return read(
            f"<body><h2>Issues</h2><table class=list><tr><th>ID<th>Activity<th>Title<th>Status</tr>{rows}{said}</table></body>"
        )

    counts = {
        "admin": 3,
        "er": 20,
        "ing": 3,
        "ter": 1,
        "all": 50,
        **dict.fromkeys(["the", "of", "and", "to", "in", "for", "on"], 0),
    }
    model = learn_source([Answer(answer(word, n), word) for word, n in counts.items()], [answer("xqzx", 0)])
    assert {word: len(apply(model, answer(word, n)).records) for word, n in counts.items()} == counts


def test_pager_arguments_are_not_part_of_the_key() -> None:
    """On later pages the URLs of records have an argument of the pager."""

    def answer(word: str, n: int, more: str = "") -> TagTree:
        rows = "".join(f"<li><a href='/rev/{word}{i}{more}'>{word} change no {i}</a> by someone" for i in range(n))
        pager = f"<a href='/log?rev={word}&count={2 * n}' rel=next>more</a>"
        return read(f"<body><h2>Log</h2><ul>{rows}</ul>{pager}</body>", url=f"http://h/log{more or '?'}&rev={word}")

    model = learn_source([Answer(answer(word, 10), word) for word in WORDS[:5]])
    first, second = (apply(model, page).records for page in (answer("tide", 10), answer("tide", 20, "?count=20")))
    assert [record.key for record in second[:10]] == [record.key for record in first]


def test_a_large_menu_does_not_hide_ten_records() -> None:
    """The records are a hundredth of the text; they are found where answers differ."""
    menu = "".join(f"<li><a href=/thing/{i}>A thing of the catalogue, number {i}</a>" for i in range(2000))
    frame = f"<nav><ul>{menu}</ul></nav><div><p>Search</p><form><input name=q></form>{{}}<p>About this site</div>"
    answers = [
        read(frame.format("<ol>" + "".join(f"<li><a href=/thing/{i}>{w} {i}</a><p>of {w}" for i in range(9)) + "</ol>"))
        for w in WORDS[:5]
    ]
    empty = [read(frame.format("<p>Nothing")) for _ in range(2)]
    model = learn_source(answers, empty)
    assert [len(apply(model, tree).records) for tree in answers] == [9] * 5
    assert not apply(model, empty[0]).records


@pytest.mark.parametrize(
    "group",
    ["<h2>{name}</h2>{records}", "<section><h3>{name}</h3><div>{records}</div></section>"],
    ids=["headings between records", "a list for each group"],
)
def test_the_heading_of_a_group_is_a_field_of_its_records(group: str) -> None:
    """A heading between records belongs to the records after it."""

    def answer(word: str) -> TagTree:
        groups = ""
        for name, numbers in (("Books", range(4)), ("Films", range(4, 7)), ("Songs", range(7, 10))):
            records = "".join(
                f"<div class=match><a href=/{word}/{i}>{word} number {i}</a><p>All about {word} in {i} words</p></div>"
                for i in numbers
            )
            groups += group.format(name=name, records=records)
        return read(f"<h1>Results</h1><main>{groups}</main><p>The end")

    answers = [answer(word) for word in WORDS[:5]]
    model = learn_source(answers, [read("<h1>Results</h1><main>Nothing</main><p>The end")])
    records = apply(model, answers[0]).records
    assert [record.fields.get("group") for record in records] == ["Books"] * 4 + ["Films"] * 3 + ["Songs"] * 3
    assert not any(name in record.text for record in records for name in ("Books", "Films", "Songs"))


@pytest.mark.parametrize("has_identifier", [True, False])
def test_key_is_the_identifier_and_not_what_depends_on_the_query(has_identifier: bool) -> None:
    """A record without a URL has one key for all queries, although the answer highlights their words."""

    def answer(query: str) -> TagTree:
        names = [f"{word} of the {other} river" for word in WORDS[:4] for other in WORDS[4:8]]
        rows = [
            {
                **({"objectID": f"T{i:03}"} if has_identifier else {}),
                "name": name,
                "_highlight": {"name": name.replace(query, f"[{query}]")},
            }
            for i, name in enumerate(names)
        ]
        return read_page(json.dumps({"hits": rows}).encode(), "http://x/api", {"Content-Type": "application/json"})

    model = learn_source([answer("river"), answer(WORDS[0])])
    first, second = ([record.key for record in apply(model, answer(query)).records] for query in ("river", "the"))
    assert len(set(first)) == 16
    assert first == second


def test_alternatives_of_an_answer_without_matches_are_no_matches() -> None:
    """Entity, Figure 8a: zero items, then others in the markup of matches. A record with all words of the query outweighs the count."""
    with serve(Switches(layout="alternatives")) as site:

        def answer(query: str) -> TagTree:
            with urlopen(f"{site.url}search?q={quote(query)}") as response:  # noqa: S310 # our own server
                return read(response.read(), url=f"{site.url}search")

        words, nonsense = ("lima", "spain", "york", "paris", "chile", "new"), ("zxqvwjk", "qqwxzvb")
        answers = [Answer(answer(word), word) for word in words]
        background = [Answer(answer(word), word) for word in nonsense]
        model = learn_source(answers, background, nonsense_has_records=True)
        for query in ("quantum gardening", "bermuda triangle", "nothinglikethis"):
            assert apply(model, answer(query), query=query).kind == "none", query
            assert apply(model, answer(query)).kind == "none", query
        empty = answer("quantum gardening")
        shown = next(empty.text(row) for row, url in empty.links() if "/city/" in url)
        assert apply(model, empty, query=shown).kind == "multi"
        assert [apply(model, answer(word), query=word).kind for word in ("madrid", "italy")] == ["multi", "multi"]
