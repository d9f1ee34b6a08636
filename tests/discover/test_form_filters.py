"""Filters of a form, and requests for regions of its value space."""

from urllib.parse import parse_qsl

from upwell.discover import forms, interfaces
from upwell.discover.form_filters import fill_region
from upwell.page.tree import TagTree, read
from upwell.types import FormFilter, FormInterface, interface_of

REGISTER = """<form method=post action=/Consulta.aspx><input type=hidden name=__VIEWSTATE value="/wEd+oy/del+AAE=">
<input type=submit name=limpiar value=Limpiar><input type=text name=txtNombre>
<select name=prov><option value=0>(Todas)<option value=1>Ávila<option value=2>Burgos</select>
<select name=tipo><option>Cultural<option>Deportiva</select>
<select name=orden><option value=n>Nombre<option value=f>Fecha</select>
<input name=txtDesde> <input name=txtHasta> (dd/mm/aaaa) <input type=number name=socios_min> <input type=number name=socios_max>
<input type=radio name=estado value="" checked><input type=radio name=estado value=a><input type=radio name=estado value=b>
Consulta del registro <input type=submit name=buscar value=Buscar></form>"""


def page(html: str) -> TagTree:
    return read(html, url="http://h/Consulta.aspx")


def interface(html: str) -> FormInterface:
    tree = page(html)
    made = interfaces.from_form(forms.find(tree)[0], tree)
    assert made is not None
    return made


def test_selects_ranges_and_dates_narrow_but_orders_do_not() -> None:
    """The first option may stand for all; dates in text fields are written as the form says."""
    assert set(interface(REGISTER).filters) == {
        FormFilter(("estado",), "choice", ("a", "b"), "", True),
        FormFilter(("prov",), "choice", ("1", "2"), "0", True),
        FormFilter(("tipo",), "choice", ("Cultural", "Deportiva"), "", False),
        FormFilter(("txtDesde", "txtHasta"), "date", format="%d/%m/%Y"),
        FormFilter(("socios_min", "socios_max"), "number"),
    }


def test_a_region_sets_its_values_and_no_others() -> None:
    """With the button that searches, not the one that clears the form."""
    request = fill_region(interface(REGISTER), [("prov", "2"), ("txtDesde", "2020-01-31")])
    sent = dict(parse_qsl(request.body.decode(), keep_blank_values=True))

    assert sent["prov"] == "2"
    assert sent["txtDesde"] == "31/01/2020"
    assert sent["txtHasta"] == sent["estado"] == sent["txtNombre"] == ""
    assert "buscar" in sent
    assert "limpiar" not in sent


def test_the_encoded_state_of_a_form_and_an_article_do_not_act() -> None:
    assert forms.may_be_sent(forms.find(page(REGISTER))[0])
    assert not forms.may_be_sent(forms.find(page(REGISTER.replace("value=Buscar", "value='Eliminar registro'")))[0])


def test_filters_are_saved_with_the_interface() -> None:
    made = interface(REGISTER)
    assert interface_of(made.as_dict()) == made
