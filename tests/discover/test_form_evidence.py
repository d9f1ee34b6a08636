"""Which signs decide what a form is for, and whether it may be sent."""

import pytest

from upwell.discover.forms import find, may_be_sent
from upwell.page.tree import read
from upwell.types import Form

BOX = "<input name=field>"
CHOICE = "<select name=kind><option value=1>one<option value=2>two</select>"


def form(body: str, attributes: str = "action=/list") -> Form:
    """The only form of a page."""
    return find(read(f"<form {attributes}>{body}</form>", url="http://h/"))[0]


@pytest.mark.parametrize(
    ("body", "attributes", "is_search"),
    [
        (BOX, "action=/list", False),  # nothing speaks of searching
        (BOX, "action=/search", True),  # the address
        (f"{BOX}<button>Search</button>", "action=/list", True),  # the button
        (f"Search the catalogue {BOX}", "action=/list", True),  # words in the form, if it is not posted
        (f"Search the catalogue {BOX}", "action=/list method=post", False),
        (f"Search the catalogue {BOX}<button>Find</button>", "action=/list method=post", True),
        ("<input name=q>", "action=/list", True),  # the name of the box
        ("<input name=searchterm_x>", "action=/list", True),
        ("<input type=search name=field>", "action=/list", True),  # its type
        ("<input name=field placeholder=Search>", "action=/list", True),
        ("<input name=field placeholder=Search><button>Find</button>", "action=/list method=post", True),
        ("<input name=q>", "action=/list method=post", True),
        (f"{BOX}<button>Go</button>", "action=/search method=post", True),
        (
            "<input name=field placeholder=Search>",
            "action=/list method=post",
            False,
        ),  # a form that is posted needs more
        ("<input name=q><button>Search</button>", "action=/list method=post", True),
        (f"{CHOICE}<button>Search</button>", "action=/list method=post", True),  # no text box, but a button
        (f"{CHOICE}<button>OK</button>", "action=/language method=post", False),
        (f"Search {CHOICE}<button>Search</button>", "action=/list", True),
        (f"{CHOICE}<button>Go</button>", "action=/search", True),
        ("<input name=field><textarea name=t></textarea>", "action=/list method=post", False),
        ("<input name=q><textarea name=t></textarea><button>Search</button>", "action=/search", True),
        ("<input name=q><input type=email name=mail>", "action=/list", False),
        ("<input name=q><button>Search</button> newsletter", "action=/list", True),
        ("<input name=q> newsletter", "action=/list", False),
        ("<input name=email><button>Search</button>", "action=/list method=post", False),
        ("<input type=tel name=q>", "action=/list", False),
        ("".join(f"<input name=x{i}>" for i in range(3)) + "<button>Search</button>", "action=/list", True),
        ("".join(f"<input name=x{i}>" for i in range(9)) + "<button>Search</button>", "action=/list", False),
        ("<input name=field><button>Delete</button>", "action=/list method=post", False),  # it acts
        ("<input name=q><button>Delete</button>", "action=/search", True),
    ],
)
def test_signs_add_up(body: str, attributes: str, is_search: bool) -> None:
    assert (form(body, attributes).kind == "search") is is_search


@pytest.mark.parametrize(
    ("boxes", "field"),
    [
        ("<input name=first><input name=q>", "q"),
        ("<input name=first><input name=searchword_x>", "searchword_x"),
        ("<input name=first><input name=second type=search>", "second"),
        ("<input name=first><input name=second placeholder=Search>", "second"),
        ("<input type=number name=q><input name=second placeholder=search>", "second"),
        ("<input type=search><input name=second>", "second"),
        ("<input name=first><input name=second>", "first"),
    ],
)
def test_the_box_with_the_strongest_signs_takes_the_query(boxes: str, field: str) -> None:
    assert form(f"{boxes}<button>Search</button>", "action=/search").query_field == field


@pytest.mark.parametrize(
    ("body", "attributes", "is_sent"),
    [
        ("<input name=q><button>Go</button>", "action=/list", True),
        ("<input name=q placeholder=search type=search><button>Go</button>", "action=/list method=post", False),
        ("<input name=q placeholder=search type=search><button>Search</button>", "action=/list method=post", True),
        ("<input name=field><button>Search</button>", "action=/list method=post", True),
        ("<input name=field><button>Qqwx</button>", "action=/list method=post", False),
        ("<input name=q><button>Delete</button>", "action=/list", False),
        ("<input name=q><button>Delete</button>", "action=/search", False),
    ],
)
def test_a_posted_form_must_speak_of_searching(body: str, attributes: str, is_sent: bool) -> None:
    assert may_be_sent(form(body, attributes)) is is_sent


@pytest.mark.parametrize(("chars", "acts"), [(200, True), (450, False)])
def test_words_that_act_count_in_a_short_form(chars: int, acts: bool) -> None:
    """A long text around the controls is that of a page that is one form."""
    text = ("Delete your account. " + "It is what it is. " * 40)[:chars]
    assert bool(form(f"{text}<input name=q>", "action=/search").acts) is acts


def test_a_form_with_a_password_is_never_a_search() -> None:
    login = form("<input name=q><input type=password name=p><button>Search</button>", "action=/search")
    assert login.kind == "login"
    assert 0.9 < login.score <= 1.0
    asks_more = "<input name=q><input name=town><input name=mail><input type=password name=p><button>Sign up</button>"
    registration = form(asks_more, "action=/register")
    assert registration.kind == "registration"
    assert 0.8 < registration.score <= 1.0


REGISTERS = {
    "POST with view state": "<form method=post action=Consulta.aspx><input type=hidden name=__VIEWSTATE value=x>"
    "<label for=a>Provincia</label><select name=prov id=a><option>Todas<option>Lugo</select>"
    "<label for=b>Fecha desde</label><input name=txtDesde id=b><label for=c>Fecha hasta</label><input name=txtHasta id=c>"
    "<input type=submit name=btn value=Consultar><input type=submit name=clear value=Limpiar></form>",
    "selects": "<form action=/tenders method=post><select name=tipo><option>Obras</select><select name=estado><option>Abierto</select>"
    "<select name=anio><option>2020</select><button>Buscar</button><button type=reset>Limpiar</button></form>",
    "filter": "<form action=/registro><select name=categoria><option>A</select><select name=provincia><option>X</select>"
    "<input type=date name=desde><input type=date name=hasta><button>Filtrar</button></form>",
}


@pytest.mark.parametrize("name", REGISTERS)
def test_a_register_without_a_keyword_box_is_a_search_form_without_query_field(name: str) -> None:
    """Several selects, dates or ranges, and a button that asks for the list."""
    (register,) = find(read(REGISTERS[name], url="http://h/"))
    assert (register.kind, register.query_field) == ("search", None)
    assert may_be_sent(register)


def test_a_form_in_an_unknown_language_is_recognized_by_its_markup() -> None:
    assert form("<input name=q><button>Qqwx</button>").kind == "search"
    assert form("<input type=search name=zzz><button>Qqwx</button>").query_field == "zzz"
    assert form("<input name=zzz><button>Qqwx</button>", "action=/list method=post").kind != "search"
