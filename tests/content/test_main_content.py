"""Articles and tables of contents on realistic pages."""

import pickle
from dataclasses import replace
from pathlib import Path
from urllib.request import urlopen

import numpy as np
import pytest

import upwell
from upwell.content import main_content as blocks
from upwell.content import table_of_contents
from upwell.content.lines import line_features, split_lines
from upwell.demo import Running
from upwell.net.fetch import Manners
from upwell.page.tree import read

STORY = (
    "The council met on Tuesday evening to decide about the bridge, and after four hours it had decided nothing at all.",
    "Engineers say that the oldest of its arches, which dates from 1874, carries three times the load it was built for.",
    "A new bridge would take six years, said the mayor, who has opposed one since she was elected to her office.",
)


def page(i: int, story: tuple[str, ...] = STORY) -> str:
    """Return an article in a frame that all pages share."""
    menu = "".join(f'<li><a href="/{name}">{name}</a></li>' for name in ("Home", "News", "Sport", "Weather", "Contact"))
    text = "".join(f"<p>{sentence} ({i})</p>" for sentence in story)
    return f"""<title>Bridge {i} stays closed - The Daily Example</title><div class=menu><ul>{menu}</ul></div>
    <div class=story><h1>Bridge {i} stays closed</h1><p class=byline>By Jane Miller</p><p class=date>March {i + 1}, 2021</p>
    <div class=photo><p class=caption>The bridge as it looked before anybody had thought of closing it ({i}).</p></div>{text}
    <div class=share><a href=/m>E-mail this</a> <a href=/p>Print</a></div></div>
    <div class=footer><p>Copyright The Daily Example. All rights reserved, and no part of this may be used without it.</p></div>"""


def test_an_article_from_one_page_alone() -> None:
    """Title and paragraphs in document order, without caption, byline, menu, share bar and footer; metadata in separate blocks."""
    tree = read(page(1))
    page_blocks = blocks.find_blocks(tree)
    texts = {block.type: block.text for block in page_blocks}
    assert texts["article"].split("\n") == ["Bridge 1 stays closed", *(f"{sentence} (1)" for sentence in STORY)]
    assert texts["title"] == "Bridge 1 stays closed"
    assert texts["date"] == "March 2, 2021"
    assert texts["author"] == "By Jane Miller"


def test_links_and_captions_in_the_flow_belong_to_the_text() -> None:
    """Related links in a block of their own, and their heading, do not."""
    tools = "<ul><li><a href=/t/1>Gauges</a></li><li><a href=/t/2>Anchors</a></li></ul>"
    figure = "<figure><img src=x><figcaption>The oldest arch, seen from the river</figcaption></figure>"
    related = "<div class=related><h3>See also</h3><ul><li><a href=/r/1>A ferry for the valley</a></li></ul></div>"
    paragraphs = [f"<p>{sentence}</p>" for sentence in STORY]
    tree = read(
        f"<main><div class=body>{paragraphs[0]}{tools}{paragraphs[1]}{figure}{paragraphs[2]}</div>{related}</main>"
    )
    text = blocks.find_blocks(tree)[0].text.split("\n")
    assert text == [STORY[0], "Gauges", "Anchors", STORY[1], "The oldest arch, seen from the river", STORY[2]]


def test_a_separated_headline_is_not_part_of_the_text() -> None:
    """In a header or main element, or with many lines below it, the headline is a separate block."""
    html = page(1).replace("<h1>", "<header><h1>").replace("</h1>", "</h1></header>")
    texts = {block.type: block.text for block in blocks.find_blocks(read(html))}
    assert texts["title"] == "Bridge 1 stays closed"
    assert texts["article"].split("\n") == [f"{sentence} (1)" for sentence in STORY]
    between = "".join(f"<div class=meta>Note {i}</div>" for i in range(5))
    texts = {block.type: block.text for block in blocks.find_blocks(read(page(1).replace("</h1>", f"</h1>{between}")))}
    assert texts["title"] == "Bridge 1 stays closed"
    assert texts["article"].split("\n") == [f"{sentence} (1)" for sentence in STORY]


def test_prose_in_an_aside_is_not_part_of_the_article() -> None:
    aside = "<aside><p>In another town, the bridge was closed for a year, and nobody who lived there minded it much.</p></aside>"
    text = blocks.find_blocks(read(page(1).replace("<div class=share>", f"{aside}<div class=share>")))[0].text
    assert STORY[2] in text
    assert "In another town" not in text


def test_a_gallery_with_more_prose_does_not_displace_the_text() -> None:
    """Nor do comments or a line of linked names."""
    items = "".join(
        f"<li><h2>{i}/30 The year in pictures</h2><p>{sentence}</p></li>"
        for i in range(10)
        for sentence in ("A ship that nobody had seen before lay in the harbour for a week, and left without a word.",)
        * 3
    )
    names = "".join(f"<a href=/u/{i}>reader{i}</a> , " for i in range(300))
    html = page(1).replace(
        "<div class=share>", f"<div class=full-gallery><ul>{items}</ul></div><p>{names}</p><div class=share>"
    )
    text = blocks.find_blocks(read(html))[0].text.split("\n")
    assert text == ["Bridge 1 stays closed", *(f"{sentence} (1)" for sentence in STORY)]


def test_a_dateline_has_little_text_besides_the_date() -> None:
    """A dateline in any language is not part of the text; a reference with a date is."""
    references = "".join(
        f"<li>Miller, J. ({i} April 2014). Arches of the valley and their builders, volume {i}.</li>"
        for i in range(1, 4)
    )
    html = (
        page(1)
        .replace("March 2, 2021", "2 mars 2021")
        .replace("<div class=share>", f"<ol>{references}</ol><div class=share>")
    )
    texts = {block.type: block.text for block in blocks.find_blocks(read(html))}
    assert texts["date"] == "2 mars 2021"
    assert "2 mars 2021" not in texts["article"]
    assert texts["article"].count("Arches of the valley") == 3


def test_lines_repeated_on_the_site_are_removed() -> None:
    """A sentence on every page is not part of the article."""
    notice = (
        "Readers who subscribe before the end of the month get the paper, the archive and a mug with the bridge on it."
    )
    trees = [read(page(i, (*STORY, notice)).replace(f"{notice} ({i})", notice)) for i in range(6)]
    alone = blocks.find_blocks(trees[0])[0].text
    site = blocks.learn_site(trees)
    known = blocks.find_blocks(trees[0], site)
    assert notice in alone
    assert notice not in known[0].text
    assert STORY[0] in known[0].text


def test_site_statistics_are_independent_of_page_order_and_can_be_pickled() -> None:
    """The blocks are equal."""
    trees = [read(page(i)) for i in range(5)]
    site, reversed_site = blocks.learn_site(trees), pickle.loads(pickle.dumps(blocks.learn_site(trees[::-1])))  # noqa: S301 # our own bytes
    for tree in trees:
        assert blocks.find_blocks(tree, site) == blocks.find_blocks(tree, reversed_site)


def test_chinese_articles() -> None:
    """Text without spaces counts by its information, not its characters."""
    sentences = [
        "市议会星期二晚上开会讨论大桥的问题，开了四个小时也没有作出任何决定。",
        "工程师说，最古老的桥拱建于一八七四年，现在承受着三倍于设计的重量。",
    ] * 3
    text = "".join(f"<p>{sentence}</p>" for sentence in sentences)
    tree = read(
        f"<title>大桥继续关闭</title><ul><li><a href=/a>首页</a><li><a href=/b>新闻</a></ul><div><h1>大桥继续关闭</h1>{text}</div>"
    )
    assert blocks.find_blocks(tree)[0].text.split("\n") == ["大桥继续关闭", *sentences]


def test_a_list_of_links_differs_from_menus_and_pagers() -> None:
    """Entries count with the text around them, even if the link itself is a number."""
    menu = "".join(f"<li><a href=/m{i}>Menu {i}</a></li>" for i in range(6))
    rows = "".join(
        f"<tr><td><a href=/c/{i}>{4000 + i}</a></td><td>Introduction to subject number {i}</td></tr>" for i in range(8)
    )
    pager = "".join(f"<a href=/p{i}>{i}</a> " for i in range(1, 9))
    tree = read(f"<ul>{menu}</ul><table><tbody>{rows}</tbody></table><div>{pager}</div>", url="http://x/")
    (toc,) = table_of_contents.find_tables_of_contents(tree, split_lines(tree))
    assert tree.path(toc.row) == "/html[1]/body[1]/table[1]/tbody[1]"
    assert len(toc.items) == 8
    (block,) = blocks.find_blocks(tree)
    assert blocks.linked_entries(tree, block)[:2] == [("4000", "http://x/c/0"), ("4001", "http://x/c/1")]


def test_a_section_page_is_no_article(demo: Running) -> None:
    """Wisdom's tables of contents: links whose teasers follow in the same line, alone and with the pages of the site."""
    pages = []
    for continent in ("Africa", "Asia", "Europe", "North%20America", "Oceania"):
        with urlopen(f"{demo.url}section/{continent}") as answer:  # noqa: S310 # our own server
            pages.append(read(answer.read(), url=answer.url))
    for site in (None, blocks.learn_site(pages)):
        linked = set[str]()
        for tree in pages:
            found = blocks.find_blocks(tree, site)
            assert "article" not in {block.type for block in found}
            tables = [block for block in found if block.type == "toc"]
            linked.update(
                url for block in tables for text, url in blocks.linked_entries(tree, block) if "the city of" in text
            )
        assert len(linked) == 60


@pytest.mark.parametrize(
    "entry",
    [
        "<li><a href={}>{}</a> {}</li>",
        "<p>10:15 <a href={}>{}</a> {}</p>",
        "<a href={}>{}</a> {}<br>",
        "<p>• <b><a href={}>{}</a></b>: {}</p>",
    ],
)
def test_heads_that_begin_the_line_of_their_teaser(entry: str) -> None:
    teasers = "".join(entry.format(f"/n/{i}", f"What happened on day {i}", STORY[i % 3]) for i in range(8))
    (block,) = blocks.find_blocks(read(f"<h1>News</h1><div>{teasers}</div>", url="http://x/"))
    assert block.type == "toc"
    assert blocks.linked_entries(read(f"<h1>News</h1><div>{teasers}</div>", url="http://x/"), block)[0] == (
        "What happened on day 0", "http://x/n/0",
    )  # fmt: skip


def test_links_at_the_beginning_of_some_paragraphs_do_not_make_a_list() -> None:
    text = "".join(
        f"<p>{'<a href=/p/x>The mayor of the harbour town</a> ' if i % 2 else ''}{STORY[i % 3]}</p>" for i in range(8)
    )
    assert {
        block.type for block in blocks.find_blocks(read(f"<title>Bridge</title><h1>Bridge</h1><div>{text}</div>"))
    } >= {"article"}


def test_urls_are_read_from_scripts() -> None:
    """Nothing is executed."""
    items = "".join(
        f"<li><a href=\"javascript:open('/n/{i}.html', 'w')\">The news of day number {i}</a></li>" for i in range(4)
    )
    tree = read(
        f"<ul>{items}<li><a href='#' onclick=\"go('n/9.php?x=1')\">And what came after</a></li></ul>", url="http://x/"
    )
    (block,) = blocks.find_blocks(tree)
    assert blocks.linked_entries(tree, block)[0][1] == "http://x/n/0.html"
    assert blocks.linked_entries(tree, replace(block, rows=(0,)))[-1][1] == "http://x/n/9.php?x=1"


def test_snippets_are_not_an_article() -> None:
    """The prose of a result page is spread over its items."""
    items = "".join(f"<li><a href=/r{i}>Result number {i} of many</a><p>{STORY[i % 3]}</p></li>" for i in range(10))
    assert {block.type for block in blocks.find_blocks(read(f"<h1>Results</h1><ol>{items}</ol>"))} == {"toc"}
    groups = f"<div><ul>{items}</ul><h2>In texts</h2><ul>{items}{items}</ul></div>"
    assert "article" not in {block.type for block in blocks.find_blocks(read(f"<h1>Results</h1>{groups}"))}


def test_an_article_of_linked_items_is_an_article() -> None:
    """Each item of "the best ten" begins with a link, as on a result page; what the page declares tells them apart."""
    declared = (
        '<meta property="og:type" content="article"><meta property="article:published_time" content="2024-05-03">'
        '<link rel=canonical href="https://notes.example/blog/2024/05/ten-best-small-museums">'
        '<script type="application/ld+json">{"@type": "BlogPosting"}</script>'
    )
    items = "".join(
        f"<div><h3><a href=https://museum{i}.example/visit>The Museum of Harbour Town {i}</a></h3><p>{' '.join(STORY)} ({i})</p>"
        f"<p>{STORY[i % 3]} {STORY[1]} ({i})</p></div>"
        for i in range(10)
    )
    text = f"<article class=post><h1>The ten best museums of the coast</h1><div class=entry-content>{items}</div></article>"
    roundup = f"<title>The ten best museums of the coast</title>{{}}<body class='single single-post'><main>{text}</main></body>"
    assert "article" in {block.type for block in blocks.find_blocks(read(roundup.format(declared)))}
    assert "article" not in {block.type for block in blocks.find_blocks(read(roundup.format("")))}


def test_the_structure_is_the_condensed_tree() -> None:
    """It has the rows of blocks and rows that join several; children are below their parents."""
    tree = read(page(1))
    page_blocks = blocks.find_blocks(tree)
    top = blocks.condensed_structure(tree, page_blocks)
    assert top is not None
    stack = [top]
    seen = []
    while stack:
        node = stack.pop()
        seen.append(node)
        assert node.type is not None or len(node.children) > 1
        assert all(child.path.startswith(node.path) for child in node.children)
        stack.extend(node.children)
    rows = {row for block in page_blocks for row in block.rows}
    assert {tree.path(row) for row in rows} == {node.path for node in seen if node.type}


def test_pages_without_text_have_no_blocks() -> None:
    """Alone and in a site."""
    trees = [read(text) for text in ("", "<p>", "<a href=/x></a>", "x")]
    site = blocks.learn_site(trees)
    for tree in trees:
        assert blocks.find_blocks(tree) == ()
        assert blocks.find_blocks(tree, site) == ()
        assert np.all(np.isfinite(line_features(tree, split_lines(tree))))


def test_blocks_of_a_folder_and_of_a_live_site(demo: Running, tmp_path: Path) -> None:
    """Pages are named relative to the folder, in order; a crawl respects depth and budget and follows tables of contents."""
    for i in range(3):
        (tmp_path / f"{i}.html").write_text(page(i))
    rows = list(upwell.blocks(tmp_path))
    assert [row.page for row in rows] == ["0.html", "1.html", "2.html"]
    keys = {"page", "kind", "title", "author", "date", "main", "structure", "blocks"}
    assert all(set(row.as_dict()) == keys for row in rows)
    crawled = list(upwell.blocks(f"{demo.url}search?q=lima", depth=1, follow="toc", budget=5, manners=Manners(rate=0)))
    assert len(crawled) == 5
    assert crawled[0].page == f"{demo.url}search?q=lima"
    assert all("/city/" in row.page or "page" in row.page for row in crawled[1:])
