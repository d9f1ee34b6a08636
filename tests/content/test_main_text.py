"""Main content of any page: hidden text, kinds of page, repeated lines, and what a page declares."""

import numpy as np
import pytest

from upwell.content.line_context import (
    CONTEXT_FEATURES,
    NAME_GROUPS,
    TEXT_FEATURES,
    context_features,
    text_features,
    text_features_python,
)
from upwell.content.lines import ROLE_NAMES, line_features, split_lines
from upwell.content.main_content import find_blocks, learn_site
from upwell.content.main_text import CONTENT_FEATURES, choose_lines, find_main_text
from upwell.content.page_kind import KINDS, PAGE_FEATURES
from upwell.content.page_metadata import declared_metadata
from upwell.judge.judgement import load_judgement
from upwell.page.tree import TagTree, read
from upwell.page.tree import _plain_columns as plain_columns

MENU = "<nav><ul>" + "".join(f'<li><a href="/s{i}">Section {i}</a></li>' for i in range(12)) + "</ul></nav>"
FOOTER = '<footer class="site-footer"><p>© 2026 Example Company. All rights reserved.</p><a href="/privacy">Privacy</a></footer>'
SENTENCE = "The pump of this model has to be cleaned every {} weeks, because chalk collects below the second valve."


def page(main: str, title: str = "How to clean the pump") -> str:
    return f"<html><head><title>{title}</title></head><body>{MENU}<main><h1>{title}</h1>{main}</main>{FOOTER}</body></html>"


def paragraphs(first: int, last: int) -> str:
    return "".join(f"<p>{SENTENCE.format(number)}</p>" for number in range(first, last))


def thread() -> str:
    posts = "".join(
        f'<article class="topic-post"><div class="author"><a href="/u/{i}">user{i}</a></div><div class="post-body">'
        f"<p>{SENTENCE.format(i)} I tried it with vinegar on day {i}, and it worked without any trouble for me.</p></div>"
        f'<div class="actions"><button>Reply</button><button>Share</button></div></article>'
        for i in range(2, 9)
    )
    return page(f'<div class="topic-posts">{posts}</div>', "Pump is loud after cleaning - Support forum")


@pytest.mark.parametrize(
    "hiding", ["<div hidden>{}</div>", '<div style="display: none">{}</div>', "<noscript>{}</noscript>"]
)
def test_hidden_content_is_read_and_marked(hiding: str) -> None:
    html = page(paragraphs(2, 4) + hiding.format(paragraphs(4, 9))).encode()
    tree = read(html, reveals=True)
    assert SENTENCE.format(8) in tree.text()
    assert SENTENCE.format(8) not in read(html).text()
    hidden = [chunk for chunk, is_hidden in zip(tree.chunks, tree.is_hidden_chunk.tolist(), strict=True) if is_hidden]
    assert hidden == [SENTENCE.format(number) for number in range(4, 9)]
    assert SENTENCE.format(8) in find_main_text(tree).text


def test_the_page_without_hidden_text_is_the_ordinary_page() -> None:
    html = page(
        f"a<i hidden>b</i>c<div hidden>{paragraphs(1, 3)}</div>{paragraphs(3, 6)}<noscript>d</noscript>"
    ).encode()
    ordinary, visible = read(html), read(html, reveals=True).without_hidden_text()
    assert visible.chunks == ordinary.chunks
    for name in ("chunk_row", "text_at", "text_end"):
        np.testing.assert_array_equal(getattr(visible, name), getattr(ordinary, name))
    assert visible.text() == ordinary.text()
    assert read(page(paragraphs(1, 3))).without_hidden_text().chunks == read(page(paragraphs(1, 3))).chunks


def test_a_page_that_is_hidden_completely_has_no_visible_text() -> None:
    tree = read(b"<div hidden><p>one<p>two</div>", reveals=True)
    assert tree.text() == "one\ntwo"
    assert tree.without_hidden_text().text() == ""
    assert find_blocks(tree) == ()


def test_native_and_plain_walks_reveal_the_same_text() -> None:
    html = page(
        f"<div hidden>{paragraphs(1, 3)}<script>no()</script></div><noscript><p>x</p></noscript><dialog>y</dialog>"
    ).encode()
    assert plain_columns(html, 0, True)["chunks"] == read(html, reveals=True).chunks


def test_posts_of_a_thread_are_content_and_buttons_are_not() -> None:
    found = find_main_text(read(thread(), reveals=True))
    assert all(SENTENCE.format(i) in found.text for i in range(2, 9))
    assert "Section 3" not in found.text
    assert "rights reserved" not in found.text
    assert found.kind == "forum"


def test_an_article_is_judged_an_article() -> None:
    declared = '<meta property="og:type" content="article"><meta property="article:published_time" content="2026-02-03"></head>'
    found = find_main_text(read(page(paragraphs(2, 20)).replace("</head>", declared), reveals=True))
    assert found.kind == "article"
    assert [line for line in found.text.split("\n") if line.startswith("The pump")] == [
        SENTENCE.format(number) for number in range(2, 20)
    ]
    assert found.confidence > 0.8


def test_lines_that_all_pages_of_the_site_repeat_are_left_out() -> None:
    shared = "<p>Our shop has been repairing pumps of every maker since the year 1987, and we are glad to advise you by telephone.</p>"
    trees: list[TagTree] = [read(page(paragraphs(i, i + 9) + shared), reveals=True) for i in range(2, 60, 10)]
    assert "since the year 1987" in find_main_text(trees[0]).text
    assert "since the year 1987" not in find_main_text(trees[0], learn_site(trees)).text


def test_empty_pages_have_no_main_content() -> None:
    for html in (b"", b"<html></html>", b"<p> </p>"):
        assert find_main_text(read(html, reveals=True)).text == ""


def test_lines_are_chosen_by_expected_f1() -> None:
    probability, words = np.array([0.3, 0.3, 0.05]), np.array([10.0, 10.0, 10.0])
    chosen, expected = choose_lines(probability, words)
    assert chosen.tolist() == [True, True, False]  # none is probable, but leaving all out would be worse
    assert expected == pytest.approx(2 * 6 / (20 + 6.5))


def test_features_are_those_that_the_judgements_were_fitted_with() -> None:
    assert load_judgement("content_line").features == CONTENT_FEATURES
    assert load_judgement("page_kind").features == PAGE_FEATURES
    assert load_judgement("page_kind").outputs == KINDS
    assert len(set(CONTENT_FEATURES)) == len(CONTENT_FEATURES)


def test_context_tells_items_and_names() -> None:
    tree = read(thread(), reveals=True)
    lines = split_lines(tree)
    context = context_features(tree, lines, line_features(tree, lines))
    post = next(i for i, text in enumerate(lines.texts) if text.startswith("The pump"))
    column = {name: context[post, i] for i, name in enumerate(CONTEXT_FEATURES)}
    assert column["items"] == pytest.approx(np.log1p(7))  # posts
    assert column["item_levels"] == 2
    assert column["near_post"] == pytest.approx(1 / 2)  # one level up
    assert column["near_nav"] == 0
    assert column["level_above"] == 1


@pytest.mark.parametrize(
    "name",
    [
        "",
        "Post-Body",
        "ad",
        "ads header",
        "shadow-lg",
        "tab",
        "tablet",
        "column-2",
        "columns",
        "käse-post",
        "e-mail",
        "tags",
        "tagline",
    ],
)
def test_native_and_plain_code_find_the_same_words_in_names(name: str) -> None:
    for groups in (NAME_GROUPS, ROLE_NAMES):
        assert groups.bits_in(name) == groups.bits_in_python(name)


def test_metadata_are_what_the_page_declares() -> None:
    data = '{"@graph": [{"@type": "Article", "datePublished": "2026-02-03", "author": [{"name": "Ann Lee"}, {"name": "Bo Kim"}]}]}'
    html = f'<title>Pumps | Shop</title><meta property="og:title" content="Pumps"><script type="application/ld+json">{data}</script>'
    declared = declared_metadata(read(html))
    assert (declared.title, declared.author, declared.date) == ("Pumps", "Ann Lee, Bo Kim", "2026-02-03")
    broken = declared_metadata(
        read(
            '<title>T</title><meta name=author content="https://e.org/ann"><script type="application/ld+json">{"a</script>'
        )
    )
    assert (broken.title, broken.author, broken.date) == ("T", None, None)


def test_a_page_that_only_scripts_show_has_the_text_it_declares() -> None:
    data = '{"@type": "Article", "articleBody": "<p>The pump is quiet again.</p> It was the second valve."}'
    html = f'<script type="application/ld+json">{data}</script><div id=app><p>Loading</p></div>'
    assert find_main_text(read(html, reveals=True)).text == "The pump is quiet again. It was the second valve."


def test_native_and_plain_code_count_the_same_in_texts() -> None:
    texts = (
        "x",
        "?",
        "A Title Of It",
        "ALL CAPS 12",
        "ǅ a",
        "Ǆ",
        "ß",
        "A1b",
        "日本。語",
        "１２３",
        "$ 12.50",
        "12 kr",
        "a, b; c. d! e?",
        "one | two",
        "l" * 90,
    )
    np.testing.assert_array_equal(text_features(texts), text_features_python(texts))
    assert text_features(("$12",))[0, TEXT_FEATURES.index("price")] == 1
