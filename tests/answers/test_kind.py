"""Empty answers are told from full ones with three background pages, and from errors, refusals and missing pages."""

import json
import re
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import urlopen

import pytest

from upwell.answers import kind as empty
from upwell.answers.kind import EmptyModel, EmptyParams, judge, learn_empty, similarity
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


def test_the_demo_site(demo: Running, model: EmptyModel) -> None:
    """Advertisements, suggestions and recently viewed cities change by themselves; matches do not come by themselves."""
    for word in ("madrid", "berlin", "toledo", "valencia", "santiago"):
        assert judge(model, page(body(demo, word)), word).kind == "matches", word
    for word in ("bbxzqk", "nothinglikethis", "xqz xqz", "zzzzzzzz", "q" * 40):
        assert judge(model, page(body(demo, word)), word).kind == "none", word


def test_without_other_answers(demo: Running, background: list[tuple[TagTree, str]]) -> None:
    """Three background pages alone are enough."""
    alone = learn_empty(background)
    assert [judge(alone, page(body(demo, word)), word).kind for word in ("madrid", "bbxzqk")] == ["matches", "none"]


def test_empty_answers_that_show_alternatives(demo: Running, model: EmptyModel) -> None:
    """ "0 results for X, showing results for Y" is empty (the paper's low precision site); its own method calls it full."""
    nothing, something = body(demo, "bbxzqk"), body(demo, "madrid")
    start, end = something.index('<ul class="results">'), something.index('<p class="pager">')
    shown = page(nothing.replace("</main>", f"<p>Showing results for Madrid instead</p>{something[start:end]}</main>"))
    assert judge(model, shown, "bbxzqk").kind == "none"
    assert judge(model, shown, "bbxzqk", params=JACCARD).kind == "matches"


def test_sparse_answers_beside_a_long_constant_list(demo: Running) -> None:
    """A drop-down of all brands on every page drowns one match (the paper's low recall site), but not what a page has of its own."""
    syllables = ("ba", "ko", "lu", "mi", "ne", "po", "ra", "su", "ti", "ve", "wo", "xa")
    brands = "".join(f"<option>{a}{b}{c}" for a in syllables for b in syllables for c in syllables)
    listed = f"<form><select name=brand>{brands}</select></form><main>"

    def with_list(query: str, match: str = "") -> TagTree:
        return page(body(demo, query).replace("<main>", listed).replace("</main>", f"{match}</main>"))

    background = [(with_list(word), word) for word in NONSENSE]
    one = '<ul class="results"><li class="city"><a href="/city/1">Atlantis</a><p>Sunk, population unknown</p></li></ul>'
    sparse = page(f"<html><body>{listed}<p class=count>1–1 of 1 cities</p>{one}</main></body></html>")
    model = learn_empty(background)
    assert similarity(model, sparse, "atlantis") > 0.85
    assert judge(model, sparse, "atlantis", params=JACCARD).kind == "none"
    assert judge(model, sparse, "atlantis").kind == "matches"


def test_the_echo_of_the_query_is_nothing(demo: Running) -> None:
    """A page that repeats what was asked, however long, looks like any other empty page."""
    query = "a very long question about nothing at all zzqx"
    texts = [body(demo, word) for word in NONSENSE]
    model = learn_empty([(page(text), word) for text, word in zip(texts, NONSENSE, strict=True)])
    shown = texts[0].replace(NONSENSE[0], query)  # the same page: another would have other advertisements
    assert query in shown
    assert judge(model, page(shown), query).own == 0


def test_a_background_query_that_finds_something(demo: Running) -> None:
    """One accident among four does not spoil the model (Entity §5)."""
    pages = [(page(body(demo, word)), word) for word in (*NONSENSE, "san")]
    model = learn_empty(pages)
    assert [judge(model, page(body(demo, word)), word).kind for word in ("madrid", "bbxzqk")] == ["matches", "none"]


@pytest.mark.parametrize("fault", ["500", "503", "429"])
def test_faults(model: EmptyModel, fault: str) -> None:
    """A status is believed."""
    with serve(Switches(fault=fault, fault_rate=1.0)) as site, pytest.raises(HTTPError) as raised:  # type: ignore[arg-type] # parametrized
        body(site, "madrid")
    status = raised.value.code
    raised.value.close()
    assert judge(model, page(f"<h1>Error {fault}</h1>"), "madrid", status=status).kind == (
        "error" if fault == "500" else "blocked"
    )


def test_refusals_and_missing_pages_at_status_200(model: EmptyModel) -> None:
    """A login wall, a captcha, a soft 404 and an error message are no empty answers."""
    with serve(Switches(login_wall=True)) as site:
        assert judge(model, page(body(site, "madrid")), "madrid").kind == "blocked"
    assert (
        judge(
            model, page("<h1>Hold on</h1><p>Please show that you are not a robot: <div class=g-recaptcha>captcha</div>")
        ).kind
        == "blocked"
    )
    assert (
        judge(
            model, page("<title>Page not found</title><h1>Oops</h1><p>We moved things around." + "<p>x</p>" * 90)
        ).kind
        == "missing"
    )
    assert judge(model, page("<title>Internal Server Error</title><p>Sorry.")).kind == "error"


def test_a_page_that_does_not_know_the_query() -> None:
    """Where empty answers repeat the query, a small page of the same frame that does not is missing, in any language."""
    answer = "<title>{0}</title><p class=menu>Inicio Libros</p><form><input name=q value={0}></form><p class=note>{1}"
    asked = [(page(answer.format(word, "Ningún resultado")), word) for word in NONSENSE]
    model = learn_empty(asked)
    assert judge(model, page(answer.format("xqwvv", "Ningún resultado")), "xqwvv").kind == "none"
    assert judge(model, page(answer.format("", "Aquí no hay nada")), "xqwvv", records=0).kind == "missing"
    assert EmptyModel.of_dict(model.as_dict()).echoes == model.echoes != frozenset()


def test_a_note_about_the_query_is_no_match(demo: Running, model: EmptyModel) -> None:
    """ "Too short" beside the usual frame."""
    asked = body(demo, "bbxzqk")
    start, end = asked.index("<main>"), asked.index("</main>")
    short = page(
        f"{asked[:start]}<main><p class=warn>Query too short: at least 3 characters are required.</p>{asked[end:]}"
    )
    assert judge(model, short, "ab").kind == "error"


def test_no_word_list_is_needed(demo: Running, model: EmptyModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message is learned from what full answers lack; in a language nobody listed it is learned all the same."""
    monkeypatch.setattr(empty, "NOTHING_FOUND", re.compile(r"(?!x)x"))
    learned = learn_empty(
        [(page(body(demo, word)), word) for word in NONSENSE], [(page(body(demo, word)), word) for word in WORDS]
    )
    assert learned.sure
    assert [judge(learned, page(body(demo, word)), word).kind for word in ("madrid", "bbxzqk")] == ["matches", "none"]


def test_words_of_error_in_the_query_or_in_matches(demo: Running, model: EmptyModel) -> None:
    """Who asks for "error" gets no error, and a match may be called one."""
    asked = body(demo, "madrid").replace("madrid", "error").replace("Madrid", "Error 404 not found")
    assert judge(model, page(asked), "error").kind == "matches"
    assert judge(model, page(body(demo, "error zzqx")), "error zzqx").kind == "none"


def test_alternatives_that_look_like_matches() -> None:
    """Where empty answers show other things in the place of matches, what tells is the message."""

    def answer(items: list[str], message: str = "") -> TagTree:
        rows = "".join(f"<li><a href=/{item}>{item} of the world</a>" for item in items)
        return page(f"<nav>Home About</nav><main><p>{message}</p><ul>{rows}</ul></main>")

    def empty_answer(items: list[str]) -> TagTree:
        return answer(items, "Kalapala zuvu")  # no language that is listed

    background = [
        (empty_answer(items), word)
        for items, word in zip((["oak", "elm"], ["fir"], ["ash", "yew"]), NONSENSE, strict=True)
    ]
    others = [(answer([f"{word} street", "lane"]), word) for word in ("lime", "pear", "plum", "fig")]
    model = learn_empty(background, others)
    assert judge(model, answer(["cherry", "sloe"]), "rosaceae").kind == "matches"
    assert judge(model, empty_answer(["cherry", "sloe"]), "rosaceae").kind == "none"


def test_there_and_back(demo: Running, model: EmptyModel) -> None:
    """What a source model keeps judges the same."""
    kept = EmptyModel.of_dict(json.loads(json.dumps(model.as_dict())))
    for word in ("madrid", "bbxzqk"):
        answer = page(body(demo, word))
        assert judge(kept, answer, word).kind == judge(model, answer, word).kind
