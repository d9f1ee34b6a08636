"""Forms of registers: which controls narrow, which fields take words, and what beside the button that searches counts."""

from urllib.parse import parse_qsl

import numpy as np

from upwell.discover import forms, interfaces
from upwell.discover.form_filters import filters_of
from upwell.discover.trial import TrialLimits, Trials, try_interface
from upwell.page.tree import TagTree, read
from upwell.types import FormFilter, FormInterface, LinkContext, Request, Response
from upwell.urls.acting import acting_evidence

COMPANIES = """<form method=post action=/haku.jsp><select name=maakunta><option value="">Kaikki<option>Lappi<option>Kainuu</select>
<input type=number name=henkilostoMin> - <input type=number name=henkilostoMax>
<button name=toiminto value=hae>Hae</button> <a href=/haku.jsp>Tyhjennä</a></form>"""
PROPERTIES = """<form method=post action=/consulta.php><label><input type=checkbox name=tipo[] value=Casa> Casa</label>
<label><input type=checkbox name=tipo[] value=Loja> Loja</label> Área <input name=area_min> <input name=area_max>
<label>De (dd/mm/aaaa) <input name=data_de></label> <label>até <input name=data_ate></label>
<input type=submit name=acao value=Pesquisar> <input type=submit name=acao value=Limpar></form>"""
MUSEUM = "<form method=post action=/zoeken>Trefwoord <input name=trefwoord><button>Zoeken</button></form>"


def page(html: str) -> TagTree:
    return read(html, url="http://h/start")


def interface(html: str) -> FormInterface:
    made = interfaces.from_form(forms.find(page(html))[0], page(html))
    assert made is not None
    return made


def test_a_link_beside_the_button_that_searches_is_not_pressed() -> None:
    """It is a request of its own; beside another button it says what the form is about."""
    assert forms.may_be_sent(forms.find(page(COMPANIES))[0])
    assert forms.find(page(COMPANIES.replace("value=hae>Hae", "value=ok>OK").replace("haku.jsp", "x.jsp")))[0].acts


def test_ends_of_a_range_take_no_words() -> None:
    made = interface(COMPANIES)

    assert made.query_field == "maakunta"
    assert FormFilter(("henkilostoMin", "henkilostoMax"), "number") in made.filters


def test_check_boxes_and_amounts_in_text_fields_narrow() -> None:
    """Only the pair that shows a format of dates takes dates."""
    assert set(filters_of(forms.find(page(PROPERTIES))[0], page(PROPERTIES))) == {
        FormFilter(("tipo[]",), "choice", ("Casa", "Loja")),
        FormFilter(("area_min", "area_max"), "number"),
        FormFilter(("data_de", "data_ate"), "date", format="%d/%m/%Y"),
    }


def test_an_adjective_is_no_verb_without_its_accent() -> None:
    def evidence(label: str) -> tuple[str, ...]:
        return acting_evidence(Request(url="http://h/consulta.php", context=LinkContext(label=label)))

    assert not evidence("Consulta pública")
    assert evidence("Publica")


def test_a_source_that_finds_nothing_is_no_static_file() -> None:
    """The words of the home page occur in no record; frequent words do."""
    found = "".join(f"<li><a href=/o/{n}>Paneel met wapen van de stad {n}</a>" for n in range(5))
    steps = try_interface(
        Trials(
            home=page("<html lang=nl><p>Schilderijen, keramiek, textiel, zilver, munten"),
            rng=np.random.default_rng(1),
            limits=TrialLimits(),
        ),
        interface(MUSEUM),
        page(MUSEUM),
    )
    is_accepted = None
    asked = next(steps)
    while is_accepted is None:
        assert isinstance(asked, Request)
        word = dict(parse_qsl(asked.body.decode()))["trefwoord"]
        body = found if word in ("van", "het", "een") else "<p>Geen objecten gevonden."
        answer = Response(request=asked, url="http://h/resultaten", status=200, headers={}, body=body.encode())
        try:
            asked = steps.send(answer)
        except StopIteration as end:
            is_accepted = bool(end.value)
    assert is_accepted
