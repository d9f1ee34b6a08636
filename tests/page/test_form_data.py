"""Forms are sent as a browser sends them, whoever presses the button (search forms: tests/site/test_forms.py)."""

import pytest

from tests.browser import browser
from upwell.answers.next_page import next_page, request_of
from upwell.page import form_data
from upwell.page.tree import read

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
    """Order of the document, charset, encoding, disabled controls, controls outside of the form."""
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
    ours = request_of(step)
    boundary = content_type.partition("boundary=")[2]
    if boundary:
        body = body.replace(boundary.encode(), form_data.BOUNDARY.encode())
    assert (ours.url, ours.body, ours.content_type.split(";")[0]) == (url, body, content_type.split(";")[0])


def test_a_charset_that_cannot_write_text_is_passed_over() -> None:
    """Python knows encodings that are no charsets of the web; the page's own is taken then."""
    for name in ("idna", "base64", "no-such"):
        tree = read(f"<meta charset=utf-8><form accept-charset={name}><input name=q></form>")
        assert form_data.form_charset(tree, int(tree.rows("form")[0])) == "utf-8"
