"""Which columns of record pages come first, and which are kept: by presence, variety, label, length and distance from the title.

Each test compares a candidate that every page has with a labelled reference field that only a share of the pages has. The order turns at
the share that equals the worth of the candidate.
"""

import re

import pytest

from upwell.page.tree import TagTree, read
from upwell.records.entity_model import apply_entity_model, learn_entities

TAG = re.compile(r"<[^>]*>")
LETTERS = "abcdefghijklmnopqrstuvwxyz"
PAGES = 40


def word(i: int, salt: int = 0) -> str:
    """A word of five letters that differs for each page."""
    i = i * 7919 + salt * 104_729
    return "".join(LETTERS[i // 26**k % 26] for k in range(5))


def text(i: int, chars: int) -> str:
    """A text of so many characters that differs for each page."""
    return " ".join(word(i, k) for k in range(chars // 6 + 1))[:chars].strip()


def pages(after: str = "", *, before: str = "", head: str = "", share: float = 1.0) -> list[TagTree]:
    """Pages with a title and the reference field; `{w}` is a word of the page, `{t40}` a text of 40 characters, `{few}` one of six words."""
    made = []
    for i in range(PAGES):
        values = {f"t{n}": text(i, n) for n in (80, 150, 300, 500, 600)}
        values |= {"w": word(i, 1), "v": word(i, 2), "few": word(i % 6, 3)}
        reference = f"<p><b>Reference:</b> {word(i, 9)}</p>" if i < share * PAGES else ""
        name = f"{word(i, 11)} {word(i, 12)}"
        made.append(
            read(
                f"<title>{name} - Gazetteer</title>{head.format(**values)}{before.format(**values)}<h1>{name}</h1>{reference}"
                f"{after.format(**values)}<p>All pages end like this.</p>",
                url=f"http://h/town/{i}",
            )
        )
    return made


def order(made: list[TagTree]) -> list[str]:
    """The names of the columns, best first."""
    return [column.name for column in learn_entities(made).columns]


FAR = "<i>far away</i> " * 150
NEAR = "<i>before it</i> " * 50


@pytest.mark.parametrize(
    ("markup", "below", "above"),
    [
        ({"after": "<p><b>Candidate:</b> {t80}</p>"}, 0.85, None),
        ({"after": "<p><b>Candidate:</b> {t150}</p>"}, 0.5, 0.85),
        ({"after": "<p><b>Candidate:</b> {t300}</p>"}, 0.6, 0.85),
        ({"after": "<p><b>Candidate:</b> {t500}</p>"}, 0.35, 0.6),
        ({"after": "<p><b>Candidate:</b> {t600}</p>"}, 0.35, 0.6),
        ({"after": "<p><b>Candidate:</b> {few}</p>"}, 0.6, 0.85),
        ({"after": "<p class=candidate>{w}</p>"}, 0.5, 0.8),
        ({"after": FAR + "<p><b>Candidate:</b> {w}</p>"}, 0.6, 0.75),
        ({"before": "<p><b>Candidate:</b> {w}</p>" + NEAR}, 0.625, 0.7),
        ({"head": "<meta property=candidate content='{w}'>"}, 0.2, 0.4),
        ({"head": '<script type="application/ld+json">{{"@type":"City","candidate":"{w}"}}</script>'}, 0.6, 0.95),
    ],
)
def test_a_candidate_comes_before_a_rarer_field(markup: dict[str, str], below: float, above: float | None) -> None:
    names = order(pages(share=below, **markup))
    assert names.index("candidate") < names.index("reference")
    if above is not None:
        names = order(pages(share=above, **markup))
        assert names.index("reference") < names.index("candidate")


@pytest.mark.parametrize(("agreeing", "is_one"), [(38, True), (28, False)])
def test_of_two_columns_that_agree_one_is_kept(agreeing: int, is_one: bool) -> None:
    made = [
        read(
            f"<title>{word(i, 5)} - Gazetteer</title><h1>{word(i, 5)}</h1><p><b>Town:</b> {word(i, 1)}</p>"
            f"<p><b>Place:</b> {word(i, 1 if i < agreeing else 2)}</p>"
        )
        for i in range(PAGES)
    ]
    assert (len({"town", "place"} & set(order(made))) == 1) is is_one


def test_a_table_has_a_limited_number_of_columns() -> None:
    """Of many fields those on most pages are kept."""
    fields = [f"Field{word(k, 7)}" for k in range(60)]
    made = [
        read(
            f"<title>{word(i, 5)}</title><h1>{word(i, 5)}</h1>"
            + "".join(f"<p><b>{field}:</b> {word(i, k)}</p>" for k, field in enumerate(fields) if k < 30 or i % 2)
        )
        for i in range(16)
    ]
    names = order(made)
    assert len(names) == 40
    assert len({field.lower() for field in fields[:30]} & set(names)) >= 29


@pytest.mark.parametrize(
    ("title", "parts"),
    [
        ("{a} {b} {c}", "<p class=x>{a} {b}</p><h1>{a}</h1>"),
        ("{a} {b} {c}", "<p class=x>{a} {b} {c} {d}</p><h2>{a} {b} {c} {e} {f}</h2>"),
        ("{a} {b} {c}", "<p class=x>{a} {b} {c} {d}</p><h3>{a} {b} {c} {e}</h3>"),
        ("{a} {b}", "<p class=x>{a}</p><p><b>{b}</b></p>"),
        ("{a} {b}", "<p class=x>{a}</p><p><strong>{b}</strong></p>"),
    ],
)
def test_a_heading_is_the_title_though_a_text_agrees_as_well(title: str, parts: str) -> None:
    made, headings = [], []
    for i in range(12):
        values = {name: word(i, k) for k, name in enumerate("abcdef")}
        made.append(read(f"<title>{title.format(**values)}</title>{parts.format(**values)}<p>The end</p>"))
        headings.append(TAG.sub("", parts.format(**values).split("</p>")[1]))
    model = learn_entities(made)
    assert [apply_entity_model(model, page)["title"] for page in made] == headings
