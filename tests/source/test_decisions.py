"""How much evidence the source model needs: each decision on both sides of its boundary."""

import pytest

from tests.records.test_column_order import word
from upwell.answers.answer import Answer
from upwell.page.tree import TagTree, read
from upwell.source.learn import distinct_answers, learn_source


def answer(records: list[str], extra: str = "") -> TagTree:
    """An answer with a menu, records and a further text."""
    return read(
        f"<ul><li><a href=/>Home</a><li><a href=/a>About</a></ul>{extra}<main>{''.join(records)}</main><p>Made here.",
        url="http://h/s?q=x",
    )


def hit(n: int, url: str | None = "", text: str = "") -> str:
    """A record; without a URL it has no link."""
    title = f"{word(n, 1)} {word(n, 2)}"
    link = title if url is None else f'<a href="{url or f"/t/{n}"}">{title}</a>'
    return f"<div class=hit><h3>{link}</h3><p>{text or f'{word(n, 3)} and {word(n, 4)} of {word(n, 5)}'}</p></div>"


@pytest.mark.parametrize(("answers", "is_frame"), [(6, True), (3, False)])
def test_a_text_of_most_answers_belongs_to_the_frame(answers: int, is_frame: bool) -> None:
    trees = [
        answer([hit(10 * k + i) for i in range(8)], "<p>Sorted by name</p>" if k < answers else f"<p>{word(k, 8)}</p>")
        for k in range(10)
    ]
    assert ("Sorted by name" in learn_source(trees).frame) is is_frame


@pytest.mark.parametrize(("records", "linked", "has_addresses"), [(15, 15, False), (30, 30, True), (40, 36, False)])
def test_nearly_all_of_many_records_have_urls(records: int, linked: int, has_addresses: bool) -> None:
    half = records // 2
    hits = [hit(n, "" if n < linked else None) for n in range(records)]
    trees = [answer(hits[n::2] if n < 2 else []) for n in range(2)]
    assert half
    assert learn_source(trees).has_addresses is has_addresses


@pytest.mark.parametrize(
    ("changed", "repeated", "chars", "by_content"),
    [(1, 1, 40, False), (2, 2, 40, True), (4, 10, 40, False), (7, 10, 40, True), (4, 4, 15, False), (4, 4, 25, True)],
)
def test_urls_that_change_are_no_keys(changed: int, repeated: int, chars: int, by_content: bool) -> None:
    """Records that two answers share, recognised by a text that is long enough, under other URLs."""

    def records(first: int, session: str) -> list[str]:
        shared = [
            f'<div class=hit><a href="/{f"{session}/" if n < changed else ""}t/{n}">{(word(n, 1) + word(n, 2) * 9)[:chars]}</a></div>'
            for n in range(repeated)
        ]
        own = [
            f'<div class=hit><a href="/t/{n}">{(word(n, 1) + word(n, 2) * 9)[:chars]}</a></div>'
            for n in range(first, first + 8)
        ]
        return shared + own

    trees = [answer(records(100, "abc")), answer(records(200, "xyz"))]
    assert learn_source(trees).keyed_by_content is by_content


@pytest.mark.parametrize(("texts", "common", "is_one"), [(20, 17, True), (20, 12, False), (4, 4, True), (3, 3, False)])
def test_answers_with_mostly_the_same_texts_are_one(texts: int, common: int, is_one: bool) -> None:
    first = read("".join(f"<p>{word(n, 1)}" for n in range(texts)))
    second = read("".join(f"<p>{word(n, 1 if n < common else 2)}" for n in range(texts)))
    assert (len(distinct_answers([Answer(first), Answer(second)])) == 1) is is_one
