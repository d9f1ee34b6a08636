"""Answers without matches are recognised from three background pages, and distinguished from errors, refusals and missing pages."""

import json
import re
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import urlopen

import pytest
from hypothesis import given

from tests.answers.malformed_pages import QUERIES, malformed_pages
from upwell.answers import kind
from upwell.answers.kind import EmptyModel, EmptyParams, judge_answer, learn_empty, similarity_to_empty
from upwell.demo import Running, Switches, serve
from upwell.page.tree import TagTree, read

NONSENSE = ("zxqvwjkzzpq", "qqwxzvbbnmk", "wvvxkqzjplf")
WORDS = ("lima", "spain", "york", "paris", "united", "chile")
JACCARD = EmptyParams(method="jaccard")


def body(site: Running, query: str) -> str:
    with urlopen(f"{site.url}search?q={quote(query)}") as answer:  # noqa: S310 # our own server
        return str(answer.read().decode())


def page(html: str) -> TagTree:
    return read(html, url="http://h/search")


@pytest.fixture(scope="module")
def background(demo: Running) -> list[tuple[TagTree, str]]:
    return [(page(body(demo, word)), word) for word in NONSENSE]


@pytest.fixture(scope="module")
def model(demo: Running, background: list[tuple[TagTree, str]]) -> EmptyModel:
    return learn_empty(background, [(page(body(demo, word)), word) for word in WORDS])


def test_changing_advertisements_are_not_matches(demo: Running, model: EmptyModel) -> None:
    """Advertisements, suggestions and recently viewed cities of the demo site differ between empty answers."""
    for word in ("madrid", "berlin", "toledo", "valencia", "santiago"):
        assert judge_answer(model, page(body(demo, word)), word).kind == "matches", word
    for word in ("bbxzqk", "nothinglikethis", "xqz xqz", "zzzzzzzz", "q" * 40):
        assert judge_answer(model, page(body(demo, word)), word).kind == "none", word


def test_background_pages_suffice_without_other_answers(demo: Running, background: list[tuple[TagTree, str]]) -> None:
    alone = learn_empty(background)
    assert [judge_answer(alone, page(body(demo, word)), word).kind for word in ("madrid", "bbxzqk")] == [
        "matches",
        "none",
    ]


def test_empty_answers_that_show_alternatives_are_empty(demo: Running, model: EmptyModel) -> None:
    """ "0 results for X, showing results for Y" (the paper's site with low precision) has matches by the method of the paper."""
    nothing, something = body(demo, "bbxzqk"), body(demo, "madrid")
    start, end = something.index('<ul class="results">'), something.index('<p class="pager">')
    shown = page(nothing.replace("</main>", f"<p>Showing results for Madrid instead</p>{something[start:end]}</main>"))
    assert judge_answer(model, shown, "bbxzqk").kind == "none"
    assert judge_answer(model, shown, "bbxzqk", params=JACCARD).kind == "matches"


def test_a_long_constant_list_does_not_hide_a_single_match(demo: Running) -> None:
    """A drop-down of all brands on every page (the paper's site with low recall) hides one match from the method of the paper."""
    syllables = ("ba", "ko", "lu", "mi", "ne", "po", "ra", "su", "ti", "ve", "wo", "xa")
    brands = "".join(f"<option>{a}{b}{c}" for a in syllables for b in syllables for c in syllables)
    listed = f"<form><select name=brand>{brands}</select></form><main>"

    def with_list(query: str, match: str = "") -> TagTree:
        return page(body(demo, query).replace("<main>", listed).replace("</main>", f"{match}</main>"))

    background = [(with_list(word), word) for word in NONSENSE]
    match = (
        '<ul class="results"><li class="city"><a href="/city/1">Atlantis</a><p>Sunk, population unknown</p></li></ul>'
    )
    sparse = page(f"<html><body>{listed}<p class=count>1–1 of 1 cities</p>{match}</main></body></html>")
    model = learn_empty(background)
    assert similarity_to_empty(model, sparse, "atlantis") > 0.85
    assert judge_answer(model, sparse, "atlantis", params=JACCARD).kind == "none"
    assert judge_answer(model, sparse, "atlantis").kind == "matches"


def test_the_echo_of_the_query_is_not_own_text(demo: Running) -> None:
    query = "a very long question about nothing at all zzqx"
    texts = [body(demo, word) for word in NONSENSE]
    model = learn_empty([(page(text), word) for text, word in zip(texts, NONSENSE, strict=True)])
    shown = texts[0].replace(NONSENSE[0], query)  # the same page: another would have other advertisements
    assert query in shown
    assert judge_answer(model, page(shown), query).own_chars == 0


def test_a_background_query_with_matches_is_ignored(demo: Running) -> None:
    """A nonsense query may match by accident (Entity §5)."""
    pages = [(page(body(demo, word)), word) for word in (*NONSENSE, "san")]
    model = learn_empty(pages)
    assert [judge_answer(model, page(body(demo, word)), word).kind for word in ("madrid", "bbxzqk")] == [
        "matches",
        "none",
    ]


@pytest.mark.parametrize("fault", ["500", "503", "429"])
def test_an_error_status_decides(model: EmptyModel, fault: str) -> None:
    with serve(Switches(fault=fault, fault_rate=1.0)) as site, pytest.raises(HTTPError) as raised:  # type: ignore[arg-type] # parametrized
        body(site, "madrid")
    status = raised.value.code
    raised.value.close()
    assert judge_answer(model, page(f"<h1>Error {fault}</h1>"), "madrid", status=status).kind == (
        "error" if fault == "500" else "blocked"
    )


def test_refusals_and_missing_pages_with_status_200_are_recognised(model: EmptyModel) -> None:
    """A login wall, a captcha, a soft 404 and an error message are not empty answers."""
    with serve(Switches(login_wall=True)) as site:
        assert judge_answer(model, page(body(site, "madrid")), "madrid").kind == "blocked"
    assert (
        judge_answer(
            model, page("<h1>Hold on</h1><p>Please show that you are not a robot: <div class=g-recaptcha>captcha</div>")
        ).kind
        == "blocked"
    )
    assert (
        judge_answer(
            model, page("<title>Page not found</title><h1>Oops</h1><p>We moved things around." + "<p>x</p>" * 90)
        ).kind
        == "missing"
    )
    assert judge_answer(model, page("<title>Internal Server Error</title><p>Sorry.")).kind == "error"


def test_a_page_that_does_not_repeat_the_query_is_missing() -> None:
    """If empty answers repeat the query, a small page of the same layout that does not is missing, in any language."""
    answer = "<title>{0}</title><p class=menu>Inicio Libros</p><form><input name=q value={0}></form><p class=note>{1}"
    model = learn_empty([(page(answer.format(word, "Ningún resultado")), word) for word in NONSENSE])
    assert judge_answer(model, page(answer.format("xqwvv", "Ningún resultado")), "xqwvv").kind == "none"
    assert judge_answer(model, page(answer.format("", "Aquí no hay nada")), "xqwvv", records=0).kind == "missing"
    assert EmptyModel.from_dict(model.as_dict()).echo_places == model.echo_places != frozenset()


def test_a_notice_that_rejects_the_query_is_an_error(demo: Running, model: EmptyModel) -> None:
    answer = body(demo, "bbxzqk")
    start, end = answer.index("<main>"), answer.index("</main>")
    short = page(
        f"{answer[:start]}<main><p class=warn>Query too short: at least 3 characters are required.</p>{answer[end:]}"
    )
    assert judge_answer(model, short, "ab").kind == "error"


def test_no_word_list_is_needed(demo: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message is learned from answers with matches, which lack it, even if its language is not in the word list."""
    monkeypatch.setattr(kind, "NOTHING_FOUND", re.compile(r"(?!x)x"))
    learned = learn_empty(
        [(page(body(demo, word)), word) for word in NONSENSE], [(page(body(demo, word)), word) for word in WORDS]
    )
    assert learned.is_message_certain
    assert [judge_answer(learned, page(body(demo, word)), word).kind for word in ("madrid", "bbxzqk")] == [
        "matches",
        "none",
    ]


def test_words_of_errors_in_the_query_or_in_matches_are_not_errors(demo: Running, model: EmptyModel) -> None:
    answer = body(demo, "madrid").replace("madrid", "error").replace("Madrid", "Error 404 not found")
    assert judge_answer(model, page(answer), "error").kind == "matches"
    assert judge_answer(model, page(body(demo, "error zzqx")), "error zzqx").kind == "none"


def test_the_message_decides_if_alternatives_look_like_matches() -> None:
    """Empty answers of some sources show other items in the place of matches."""

    def answer(items: list[str], message: str = "") -> TagTree:
        rows = "".join(f"<li><a href=/{item}>{item} of the world</a>" for item in items)
        return page(f"<nav>Home About</nav><main><p>{message}</p><ul>{rows}</ul></main>")

    def empty_answer(items: list[str]) -> TagTree:
        return answer(items, "Kalapala zuvu")  # not in any word list

    background = [
        (empty_answer(items), word)
        for items, word in zip((["oak", "elm"], ["fir"], ["ash", "yew"]), NONSENSE, strict=True)
    ]
    others = [(answer([f"{word} street", "lane"]), word) for word in ("lime", "pear", "plum", "fig")]
    model = learn_empty(background, others)
    assert judge_answer(model, answer(["cherry", "sloe"]), "rosaceae").kind == "matches"
    assert judge_answer(model, empty_answer(["cherry", "sloe"]), "rosaceae").kind == "none"


def test_a_saved_model_judges_the_same(demo: Running, model: EmptyModel) -> None:
    loaded = EmptyModel.from_dict(json.loads(json.dumps(model.as_dict())))
    for word in ("madrid", "bbxzqk"):
        answer = page(body(demo, word))
        assert judge_answer(loaded, answer, word).kind == judge_answer(model, answer, word).kind


@given(malformed_pages(), QUERIES)
def test_an_answer_equal_to_the_background_has_no_matches(tree: TagTree, query: str) -> None:
    assert judge_answer(learn_empty([(tree, query)] * 3, [(tree, query)]), tree, query).kind != "matches"
