"""How much evidence the fields of records and of record pages need: each decision on both sides of its boundary."""

import pytest

from tests.records.test_column_order import word
from upwell.page.tree import TagTree, read
from upwell.records.entity_model import apply_entity_model, learn_entities, learn_url_columns, read_url_columns
from upwell.records.evidence import stated_page_sizes
from upwell.source.apply import apply
from upwell.source.learn import learn_source
from upwell.types import Record


def record_pages(parts: list[str], *, ending: str = "<p>All pages end like this.</p>") -> list[TagTree]:
    """Record pages with one part each."""
    return [
        read(
            f"<title>{word(i, 5)} - Gazetteer</title><h1>{word(i, 5)}</h1><p><b>Code:</b> {word(i, 1)}</p>{part}{ending}",
            url=f"http://h/{i}",
        )
        for i, part in enumerate(parts)
    ]


def fields_of(parts: list[str]) -> list[dict[str, str | list[str]]]:
    """The fields of record pages."""
    trees = record_pages(parts)
    model = learn_entities(trees)
    return [apply_entity_model(model, tree) for tree in trees]


@pytest.mark.parametrize(("count", "is_column"), [(3, False), (6, True)])
def test_a_field_of_few_pages_is_no_column(count: int, is_column: bool) -> None:
    rows = fields_of([f"<p>Odd: {word(i, 2)}</p>" if i < count else "" for i in range(40)])
    assert ("odd" in rows[0]) is is_column


@pytest.mark.parametrize(("share", "is_steady"), [(0.9, True), (0.6, False)])
def test_texts_in_a_steady_number_are_columns_of_their_own(share: float, is_steady: bool) -> None:
    rows = fields_of(
        [f"<ul><li>{word(i, 2)}<li>{word(i, 3)}{'' if i < 20 * share else '<li>' + word(i, 4)}</ul>" for i in range(20)]
    )
    assert any(value == word(0, 3) for value in rows[0].values()) is is_steady


@pytest.mark.parametrize(("count", "is_column"), [(3, False), (9, True)])
def test_pictures_of_few_pages_are_no_column(count: int, is_column: bool) -> None:
    trees = record_pages([f"<img class=map src=/maps/{i}.png>" if i < count else "" for i in range(30)])
    assert bool(learn_url_columns(trees)) is is_column


@pytest.mark.parametrize(("distinct", "is_column"), [(10, False), (24, True)])
def test_pictures_that_most_pages_share_are_no_column(distinct: int, is_column: bool) -> None:
    trees = record_pages([f"<img class=map src=/maps/{i % distinct}.png>" for i in range(30)])
    assert bool(learn_url_columns(trees)) is is_column


@pytest.mark.parametrize(("count", "kept"), [(6, 6), (12, 8)])
def test_a_page_has_few_columns_of_addresses(count: int, kept: int) -> None:
    trees = record_pages(
        ["".join(f"<img class=m{word(k, 1)} src=/{k}/{i}.png>" for k in range(count)) for i in range(8)]
    )
    assert len(learn_url_columns(trees)) == kept


@pytest.mark.parametrize(("count", "is_column"), [(15, True), (30, False)])
def test_a_large_gallery_is_no_column(count: int, is_column: bool) -> None:
    trees = record_pages(["<p>" + "".join(f"<img src=/{i}/{k}.png>" for k in range(count)) + "</p>" for i in range(8)])
    assert bool(read_url_columns(learn_url_columns(trees), trees[0])) is is_column


# Records of answers.


def records_of(bodies: list[list[str]], *, around: str = "<main>{}</main>") -> list[Record]:
    """The records of the first of several answers, each with records of this markup."""
    trees = [
        read(
            f"<ul><li><a href=/>Home</a><li><a href=/a>About</a></ul>{around.format(''.join(body))}<p>Made here.",
            url="http://h/s?q=x",
        )
        for body in bodies
    ]
    return list(apply(learn_source(trees), trees[0]).records)


def answers(markup: str, odd: str = "", share: float = 1.0, count: int = 20) -> list[list[str]]:
    """Three answers of records with `markup`; a share of them has `odd` as well."""
    return [
        [
            f"<div class=hit><h3><a href=/t/{n}>{word(n, 1)} {word(n, 2)}</a></h3>{markup.format(w=word(n, 3), v=word(n, 4))}"
            f"{odd.format(w=word(n, 5)) if i < share * count else ''}</div>"
            for i in range(count)
            for n in [first + i]
        ]
        for first in (0, 100, 200)
    ]


@pytest.mark.parametrize(("share", "is_label"), [(0.95, True), (0.6, False)])
def test_a_label_in_a_text_stands_in_nearly_all_texts_at_its_place(share: float, is_label: bool) -> None:
    bodies = answers("", "<p>Price: {w}</p>", share)
    for body in bodies:
        body[:] = [text if "Price" in text else text.replace("</div>", "<p>no word</p></div>") for text in body]
    assert ("price" in records_of(bodies)[0].fields) is is_label


@pytest.mark.parametrize(("kinds", "is_label"), [(3, True), (60, False)])
def test_terms_that_differ_in_each_record_are_data(kinds: int, is_label: bool) -> None:
    bodies = [
        [
            f"<div class=hit><a href=/t/{first + i}>{word(first + i, 1)}</a><dl><dt>{word((first + i) % kinds, 7)}</dt><dd>{word(first + i, 2)}</dd></dl></div>"
            for i in range(20)
        ]
        for first in (0, 20, 40)
    ]
    assert (word(0, 7) in records_of(bodies)[0].fields) is is_label


@pytest.mark.parametrize(("share", "names"), [(0.9, True), (0.3, False)])
def test_linked_data_names_a_column_if_it_has_most_of_its_texts(share: float, names: bool) -> None:
    bodies = answers("<span>{w}</span>")
    known = [word(first + i, 3) for first in (0, 100, 200) for i in range(int(20 * share))]
    data = "[" + ",".join(f'{{"@type":"T","maker":"{text}"}}' for text in known) + "]"
    bodies[0].append(f"<script type='application/ld+json'>{data}</script>")
    assert ("maker" in records_of(bodies)[0].fields) is names


@pytest.mark.parametrize(("count", "is_column"), [(1, True), (4, False)])
def test_a_button_with_the_same_text_in_all_records_is_no_column(count: int, is_column: bool) -> None:
    bodies = [
        [
            f"<div class=hit><b>{word(n, 1)} {word(n, 2)}</b><p>{word(n, 3)}</p><button>Save</button></div>"
            for n in range(first, first + count)
        ]
        for first in (0, 10, 20)
    ]
    records = records_of(bodies)
    if records:
        assert any(value == "Save" for value in records[0].fields.values()) is is_column


@pytest.mark.parametrize(("distinct", "url"), [(12, "/own/"), (20, "/first/")])
def test_the_link_with_the_most_targets_leads_to_the_record(distinct: int, url: str) -> None:
    bodies = [
        [
            f"<div class=hit><a href=/first/{first}-{i % distinct}>{word(n, 1)}</a> <b><a href=/own/{n}>{word(n, 2)}</a></b>"
            f"<p>{word(n, 3)} text</p></div>"
            for i in range(20)
            for n in [first + i]
        ]
        for first in (0, 100, 200)
    ]
    assert url in (records_of(bodies)[0].url or "")


@pytest.mark.parametrize(("records", "is_dropped"), [(3, False), (8, True)])
def test_a_link_with_the_same_text_in_some_records_is_no_field(records: int, is_dropped: bool) -> None:
    hits = [
        f"<div class=hit><h3><a href=/t/{n}>{word(n, 1)} {word(n, 2)}</a></h3>"
        f"<p>{word(n, 3)} and {word(n, 4)}</p><div><a href=/save/{n}>Save it</a></div></div>"
        for n in range(records)
    ]
    assert ("Save it" not in records_of([hits])[0].fields.values()) is is_dropped


@pytest.mark.parametrize(("pictures", "has_field"), [(0.4, False), (0.6, True)])
def test_most_records_have_a_picture_if_it_is_a_field(pictures: float, has_field: bool) -> None:
    bodies = [
        [
            f"<div class=hit>{f'<img src=/i/{n}.jpg>' if n % 10 < 10 * pictures else ''}<h3><a href=/t/{n}>{word(n, 1)}</a></h3><p>{word(n, 2)} text</p></div>"
            for n in range(first, first + 10)
        ]
        for first in (0, 20)
    ]
    assert ("image" in records_of(bodies)[0].fields) is has_field


@pytest.mark.parametrize(("labelled", "is_label"), [(2, False), (5, True)])
def test_a_label_stands_in_several_records(labelled: int, is_label: bool) -> None:
    """Of 60 records."""
    bodies = [
        [
            f"<div class=hit><h3><a href=/t/{n}>{word(n, 1)}</a></h3><p class=t>{word(n, 2)} text</p>"
            f"{f'<p class=l>Note:</p><p class=v>{word(n, 3)}</p>' if n < labelled else ''}</div>"
            for n in range(first, first + 20)
        ]
        for first in (0, 20, 40)
    ]
    assert ("note" in records_of(bodies)[0].fields) is is_label


@pytest.mark.parametrize(("kinds", "is_label"), [(14, True), (28, False)])
def test_terms_of_few_kinds_are_labels(kinds: int, is_label: bool) -> None:
    bodies = [
        [
            f"<div class=hit><a href=/t/{n}>{word(n, 1)}</a><dl><dt>{word(n % kinds, 7)}</dt><dd>{word(n, 2)}</dd></dl></div>"
            for n in range(first, first + 20)
        ]
        for first in (0, 20)
    ]
    assert (word(0, 7) in records_of(bodies)[0].fields) is is_label


@pytest.mark.parametrize(("elsewhere", "url"), [(12, "/own/"), (3, "/first/")])
def test_a_record_page_is_on_the_site(elsewhere: int, url: str) -> None:
    """Of 20 first links some lead to other sites."""
    bodies = [
        [
            f"<div class=hit><a href={f'http://s{n}.example' if i < elsewhere else ''}/first/{n}>{word(n, 1)}</a> "
            f"<b><a href=/own/{n}>{word(n, 2)}</a></b><p>{word(n, 3)} text</p></div>"
            for i in range(20)
            for n in [first + i]
        ]
        for first in (0, 100)
    ]
    assert url in (records_of(bodies)[19].url or "")


@pytest.mark.parametrize(("records", "is_cut"), [(300, True), (600, False)])
def test_a_page_is_not_cut_into_very_many_records(records: int, is_cut: bool) -> None:
    page = read("<ul>" + "".join(f"<li><a href=/t/{n}>{word(n, 1)} {word(n, 2)}</a>" for n in range(records)) + "</ul>")
    assert (len(apply(learn_source([page]), page).records) == records) is is_cut


@pytest.mark.parametrize(("size", "sizes"), [(200, {200}), (450, set())])
def test_a_page_states_a_number_of_records_that_it_can_show(size: int, sizes: set[int]) -> None:
    assert stated_page_sizes([f"Results 1 - {size} of 5000"]) == sizes


@pytest.mark.parametrize(("layouts", "are_all_read"), [(3, True), (7, False)])
def test_a_source_may_have_a_few_layouts(layouts: int, are_all_read: bool) -> None:
    shapes = [
        "<ul class=a><li><a href={u}>{t}</a> {w}</li></ul>", "<div class=b><h3><a href={u}>{t}</a></h3><p>{w}</p></div>",
        "<table class=c><tr><td><a href={u}>{t}</a><td>{w}</table>", "<dl class=d><dt><a href={u}>{t}</a><dd>{w}</dl>",
        "<section class=e><h5>{t}</h5><a href={u}>{w}</a></section>", "<article class=f><p>{w}<p><a href={u}>{t}</a></article>",
        "<blockquote class=g><i>{w}</i><h2><a href={u}>{t}</a></h2></blockquote>",
    ]  # fmt: skip
    trees = []
    for k, shape in enumerate(shapes[:layouts]):
        around, inner = shape[: shape.index(">") + 1], shape[shape.index(">") + 1 : shape.rindex("</")]
        close = shape[shape.rindex("</") :]
        hits = "".join(
            inner.format(u=f"/t/{n}", t=f"{word(n, 1)} {word(n, 2)}", w=f"{word(n, 3)} and {word(n, 4)}")
            if k in (0, 2, 3)
            else shape.format(u=f"/t/{n}", t=f"{word(n, 1)} {word(n, 2)}", w=f"{word(n, 3)} and {word(n, 4)}")
            for n in range(20 * k, 20 * k + 10)
        )
        body = f"{around}{hits}{close}" if k in (0, 2, 3) else f"<main>{hits}</main>"
        trees.append(read(f"<p>Search</p>{body}<p>Made here</p>", url="http://h/s"))
    model = learn_source(trees)
    assert all(len(apply(model, tree).records) == 10 for tree in trees) is are_all_read


@pytest.mark.parametrize(("grouped", "is_group"), [(3, True), (1, False)])
def test_headings_of_groups_are_known_from_several_answers(grouped: int, is_group: bool) -> None:
    """Of ten answers some show their records in groups."""
    trees = []
    for k in range(10):
        hits = [
            f"<div class=hit><a href=/t/{n}>{word(n, 1)} {word(n, 2)}</a><p>{word(n, 3)} and so on</p></div>"
            for n in range(10 * k, 10 * k + 8)
        ]
        if k < grouped:
            hits.insert(4, f"<h4>Group {word(k, 6)}</h4>")
            hits.insert(0, f"<h4>Group {word(k, 5)}</h4>")
        trees.append(read(f"<p>Search</p><main>{''.join(hits)}</main><p>Made here</p>", url="http://h/s"))
    records = apply(learn_source(trees), trees[0]).records
    assert ("group" in records[0].fields) is is_group


# Names of columns of record pages.


@pytest.mark.parametrize(("share", "is_name"), [(0.95, True), (0.7, False)])
def test_a_word_that_nearly_all_texts_share_names_a_column(share: float, is_name: bool) -> None:
    rows = fields_of([f"<div><i>{word(i, 2)} {'engine' if i < 20 * share else 'motor'}</i></div>" for i in range(20)])
    assert ("engine" in rows[0]) is is_name


@pytest.mark.parametrize(("words", "is_name"), [(9, True), (22, False)])
def test_a_word_of_long_texts_names_no_column(words: int, is_name: bool) -> None:
    rows = fields_of([f"<div><i>{' '.join(word(i, k) for k in range(words))} engine</i></div>" for i in range(20)])
    assert ("engine" in rows[0]) is is_name


@pytest.mark.parametrize(("words", "is_name"), [(4, True), (9, False)])
def test_a_name_has_few_words(words: int, is_name: bool) -> None:
    label = " ".join(["Height", "of", "the", "northern", "gate", "above", "the", "cold", "sea"][:words])
    rows = fields_of([f"<p><b>{label}:</b> {word(i, 2)}</p>" for i in range(20)])
    assert ("_".join(label.lower().split()) in rows[0]) is is_name
