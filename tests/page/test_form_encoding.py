"""Forms are sent as a browser sends them (search forms: tests/discover/test_forms.py)."""

from urllib.parse import quote

import pytest

from tests.browser import browser
from upwell.answers.next_page import next_page, next_page_request
from upwell.discover import forms, interfaces
from upwell.page import form_encoding
from upwell.page.tree import read
from upwell.urls.arguments import split_url

PAGERS = {
    "button before fields": "<form action=/odd><button name=page value=2>Next</button><input name=q value='Zürich 深'></form>",
    "post": "<form action=/odd method=post accept-charset=iso-8859-1><input name=q value='Zürich 深'><button name=page value=2>Next</button></form>",
    "multipart": "<form action=/odd method=post enctype=multipart/form-data><input name=q value=ü><button>Next</button></form>",
    "disabled": "<form action=/odd><fieldset disabled><input name=off value=1></fieldset><input name=q value=a><button>Next</button></form>",
    "outside": "<form id=f action=/odd><input name=q value=a></form><input name=r value=b form=f><button form=f name=page value=2>Next</button>",
    "formaction": "<form action=/no><input name=q value=a><button formaction=/odd formmethod=post>Next</button></form>",
}


@pytest.mark.parametrize("kind", PAGERS)
def test_a_button_for_the_next_page_sends_what_chromium_sends(kind: str) -> None:
    """Document order, charset, encoding, disabled controls, controls outside the form."""
    html = f"<meta charset=utf-8>{PAGERS[kind]}"
    with browser() as page:
        page.route("**/*", lambda route: route.fulfill(body=html, content_type="text/html; charset=utf-8"))
        page.goto("http://example.test/")
        with page.expect_request("**/odd**") as sent:
            page.click("button")
        url, body = sent.value.url, sent.value.post_data_buffer or b""
        content_type = sent.value.headers.get("content-type", "")
    step = next_page(read(html, url="http://example.test/"))
    assert step is not None
    ours = next_page_request(step)
    boundary = content_type.partition("boundary=")[2]
    if boundary:
        body = body.replace(boundary.encode(), form_encoding.BOUNDARY.encode())
    assert (ours.url, ours.body, ours.content_type.split(";")[0]) == (url, body, content_type.split(";")[0])


def test_an_encoding_that_is_not_a_web_charset_is_ignored() -> None:
    """Python has further encodings; the charset of the page is used instead."""
    for name in ("idna", "base64", "no-such"):
        tree = read(f"<meta charset=utf-8><form accept-charset={name}><input name=q></form>")
        assert form_encoding.form_charset(tree, int(tree.rows("form")[0])) == "utf-8"


PAGE = """<form action=/find><input name=q required minlength=3>
<select name=forum multiple required><option value=1>One<option value=2>Two</select>
<select name=sort required><option value="">Choose<option value=date>Date<option value=name>Name</select>
<input type=radio name=in value=title required><input type=radio name=in value=text required>
<input type=checkbox name=agreed value=yes required>
<input type=checkbox name=kind value=a><input type=checkbox name=kind value=b><input type=submit></form>"""


def test_required_controls_are_set() -> None:
    """A required list, group or check box is set; optional ones only with `everything_chosen`."""
    tree = read(PAGE, url="http://x/")
    form = forms.find(tree)[0]
    required = (("q", ""), ("forum", "1"), ("forum", "2"), ("sort", "date"), ("in", "title"), ("agreed", "yes"))
    interface = interfaces.from_form(form, tree)
    assert interface is not None
    assert (interface.fields, interface.min_chars) == (required, 3)
    everything = interfaces.from_form(form, tree, everything_chosen=True)
    assert everything is not None
    assert everything.fields == (*required, ("kind", "a"), ("kind", "b"))


def test_the_set_controls_pass_the_validation_of_chromium() -> None:
    """Without them the form would not be sent."""
    tree = read(PAGE, url="http://x/")
    interface = interfaces.from_form(forms.find(tree)[0], tree)
    assert interface is not None
    choose = """([fields, query]) => {
        const form = document.forms[0];
        const before = form.checkValidity();
        for (const control of form.elements) {
            const values = fields.filter(f => f[0] == control.name).map(f => f[1]);
            if (control.type.startsWith("select")) for (const o of control.options) o.selected = values.includes(o.value);
            else if (["checkbox", "radio"].includes(control.type)) control.checked = values.includes(control.value);
            else if (control.name == "q") control.value = query;
        }
        return [before, form.checkValidity(), [...new FormData(form)]];
    }"""
    with browser() as page:
        page.set_content(PAGE)
        before, after, sent = page.evaluate(choose, [interface.fields, "word"])
    assert (before, after) == (False, True)
    assert sent == [["q", "word"], *(list(pair) for pair in interface.fields[1:])]


@pytest.mark.parametrize("charset", ["gbk", "shift_jis", "euc-kr", "windows-1251", "koi8-r"])
def test_queries_of_links_are_encoded_in_the_charset_of_the_page(charset: str) -> None:
    """As browsers do; paths are encoded in UTF-8."""
    word = {"gbk": "检索", "shift_jis": "検索", "euc-kr": "검색"}.get(charset, "поиск")
    html = f"<meta charset={charset}><a href='/s?q={word}&p=2'>2</a><form action=/s><input name=q></form>".encode(
        charset
    )
    tree = read(html, url="http://x/")
    (_, url), *_ = tree.links()
    encoded = quote(word.encode(charset))
    assert url == f"http://x/s?q={encoded}&p=2"
    assert ("q", word) in split_url(url, word).arguments
    form = interfaces.from_form(forms.find(tree)[0], tree)
    assert form is not None
    assert interfaces.fill(form, word).url == f"http://x/s?q={encoded}"
