"""Classification of forms, and the requests that their interfaces send."""

from urllib.parse import parse_qsl, urlsplit

import pytest

from tests.browser import browser
from upwell.demo import Running, Switches, serve
from upwell.discover import forms, interfaces
from upwell.page.tree import read
from upwell.types import Request

KINDS = {
    "search": "<form action=/find><input name=q><button>Search</button></form>",
    "login": "<form method=post><input name=u><input type=password name=p><button>Log in</button></form>",
    "registration": "<form method=post><input name=u><input type=password name=p><input type=password name=p2></form>",
    "password recovery": "<form method=post>Forgot your password? <input name=email type=email><button>Reset</button></form>",
    "contact": "<form method=post><input name=email><textarea name=message></textarea><button>Send</button></form>",
    "mailing list": "<form method=post>Newsletter <input name=email type=email><button>Subscribe</button></form>",
    "order": "<form method=post><input name=qty value=1><button>Add to cart</button></form>",
    "other": "<form method=post><input type=checkbox name=agree><button>OK</button></form>",
}


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_of_simple_forms(kind: str) -> None:
    """A simple form of each kind is recognized."""
    (form,) = forms.find(read(KINDS[kind], url="https://example.org/"))
    assert form.kind == kind


@pytest.mark.parametrize(
    "html",
    [
        "<form action=/suche><input name=begriff><input type=submit value=Suchen></form>",
        "<form><input type=text name=recherche placeholder='Rechercher'></form>",
        "<form id=f action=/find></form><input name=q form=f type=search>",
        "<table><form action=/search><tr><td><input name=q></td><td><input type=image alt=Search></td></tr></form></table>",
        "<form method=post action=/search><input type=hidden name=t value=1><input name=keywords><button>搜索</button></form>",
        "<form role=search><select name=in><option>all</select><input name=text><input type=submit></form>",
    ],
    ids=["german", "no submit", "outside", "table", "post", "select"],
)
def test_unusual_search_forms_are_recognized(html: str) -> None:
    """Other languages, no button, controls outside the form or moved by the table parser, POST."""
    (form,) = forms.find(read(html, url="https://example.org/"))
    assert form.kind == "search"
    assert form.query_field in ("begriff", "recherche", "q", "keywords", "text")


ODD = """<meta charset=utf-8><form id=one action="/odd?gone=1#frag" accept-charset="{charset}">
<input type=hidden name=h value="a b&amp;c"><input name=q><input type=checkbox name=c checked><input type=checkbox name=d>
<input type=radio name=r value=1><input type=radio name=r value=2 checked><select name=s><option>x <option selected value=y>z</select>
<select name=e></select><select name=m multiple><option>n</select><input name=off value=1 disabled><input value=nameless>
<textarea name=t>two
lines ~*-._</textarea><input type=file name=f><button type=button name=b value=1>b</button></form>"""


@pytest.mark.parametrize("charset", ["utf-8", "iso-8859-1"])
@pytest.mark.parametrize("method", ["get", "post"])
def test_filling_sends_what_chromium_sends(charset: str, method: str) -> None:
    """URL and body are equal byte for byte, for defaults, unusual controls, and text outside of the charset."""
    query = "Zürich & Łódź 深?"
    html = ODD.replace("{charset}", charset).replace("<form ", f"<form method={method} ")
    if method == "post":
        html = html.replace("<input type=file name=f>", "")
    with browser() as page:
        page.route("**/*", lambda route: route.fulfill(body=html, content_type="text/html; charset=utf-8"))
        page.goto("http://example.test/")
        page.fill("input[name=q]", query)
        with page.expect_request("**/odd**") as sent:
            page.evaluate("document.getElementById('one').submit()")
        theirs = sent.value
        address, body = theirs.url, theirs.post_data_buffer or b""
    tree = read(html.replace("<input type=file name=f>", ""), url="http://example.test/")
    (form,) = forms.find(tree)
    interface = interfaces.from_form(form, tree, "q")
    assert interface is not None
    ours = interfaces.fill(interface, query)
    if method == "get":
        address = address.replace("&f=", "")
    assert (ours.url, ours.body) == (address, body)
    assert ours.method == method.upper()


SUBMITTED = {
    "named button": "<form action=/odd><input name=q><button name=go value=1>Search</button><button name=go value=2>No</button></form>",
    "input without value": "<form action=/odd><input name=q><input type=submit name=go></form>",
    "image": "<form action=/odd><input name=q><input type=image name=go alt=Search></form>",
    "formaction": "<form action=/no><input name=q><button formaction=/odd?x=1 formmethod=post>Search</button></form>",
    "several selected": "<form action=/odd><input name=q><select name=m multiple><option selected>1<option>2<option selected>3</select>"
    "<select name=d><option disabled>0<option>1</select><select name=l size=3><option>no</select><button>Search</button></form>",
    "fieldset": "<form action=/odd><input name=q><fieldset disabled><legend><input name=l value=1></legend><input name=g value=1></fieldset>"
    "<input type=hidden name=_charset_><button>Search</button></form>",
    "multipart": "<form action=/odd method=post enctype=multipart/form-data><input name=q><textarea name=t>a\nb</textarea><button>Search</button></form>",
    "plain": "<form action=/odd method=post enctype=text/plain><input name=q><input name=n value=1><button>Search</button></form>",
}


@pytest.mark.parametrize("kind", SUBMITTED)
def test_submitting_with_enter_sends_what_chromium_sends(kind: str) -> None:
    """The default button, its target, disabled and multiple controls and other encodings are handled as in Chromium."""
    html = f"<meta charset=utf-8>{SUBMITTED[kind]}"
    with browser() as page:
        page.route("**/*", lambda route: route.fulfill(body=html, content_type="text/html; charset=utf-8"))
        page.goto("http://example.test/")
        page.fill("input[name=q]", 'Zürich "深')
        with page.expect_request("**/odd**") as sent:
            page.press("input[name=q]", "Enter")
        address, body = sent.value.url, sent.value.post_data_buffer or b""
        content_type = sent.value.headers.get("content-type", "")
    tree = read(html, url="http://example.test/")
    interface = interfaces.from_form(forms.find(tree)[0], tree, "q")
    assert interface is not None
    ours = interfaces.fill(interface, 'Zürich "深')
    boundary = content_type.partition("boundary=")[2]
    if boundary:
        body = body.replace(boundary.encode(), ours.content_type.partition("boundary=")[2].encode())
    assert (ours.url, ours.body, ours.content_type.split(";")[0]) == (address, body, content_type.split(";")[0])


@pytest.mark.parametrize(
    "switches", [Switches(), Switches(post=True), Switches(token=True)], ids=["get", "post", "token"]
)
def test_demo_forms_are_sent_as_chromium_sends_them(switches: Switches) -> None:
    """The requests are equal on a running site with GET, POST and a session token, whose value changes each time."""
    with serve(switches) as site, browser() as page:
        page.goto(site.url)
        html = page.content()
        page.fill("input[name=q]", "san josé")
        with page.expect_request("**/search**") as sent:
            page.click("form.search button")
        theirs = sent.value
        ours = interfaces.fill(interfaces.find(read(html, url=site.url))[0], "san josé")
        assert (ours.method, ours.url, ours.body) == (theirs.method, theirs.url, theirs.post_data_buffer or b"")


def test_search_form_of_the_demo_site(demo: Running) -> None:
    """Newsletter, login and search forms are recognized."""
    with browser() as page:
        page.goto(demo.url)
        tree = read(page.content(), url=demo.url)
    assert [form.kind for form in forms.find(tree)] == ["search", "login", "mailing list"]
    (interface,) = interfaces.find(tree)
    assert interfaces.fill(interface, "x") == Request(url=f"{demo.url}search?q=x", query="x")
    assert parse_qsl(urlsplit(interfaces.fill(interface, "a+b c").url).query) == [("q", "a+b c")]
