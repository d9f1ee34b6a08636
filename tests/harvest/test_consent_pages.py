"""Consent pages are clicked through and reported; other pages with a button are not clicked."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from tests.harvest.test_lists import BOX, FREE, ITEMS, MENU, shop
from tests.running_server import running
from upwell import api
from upwell.errors import UpwellError
from upwell.harvest.events import Event, Passed
from upwell.harvest.loop import Plan

# A visit (method, path, fields, cookies) and its answer: a page, a redirect with a cookie, or 404.
Visit = tuple[str, str, dict[str, str], dict[str, str]]
Shown = str | tuple[str, str] | None
PLAN = Plan(budget=150, browser="never")


@contextmanager
def served(site: Callable[[Visit], Shown]) -> Iterator[tuple[str, list[str]]]:
    """Serve a site with cookies; yield its URL and the requests, with the body of a POST after its path."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            asked.append(f"{self.command} {self.path} {body}".strip())
            sent = {name: values[0] for name, values in parse_qs(body or parts.query, keep_blank_values=True).items()}
            pairs = (
                cookie.strip().split("=", 1) for cookie in self.headers.get("Cookie", "").split(";") if "=" in cookie
            )
            shown = site((self.command, parts.path, sent, dict(pairs)))
            if parts.path == "/robots.txt":
                shown = None
            page = f"<html lang=en><title>Things</title><body>{shown}".encode() if isinstance(shown, str) else b""
            self.send_response(302 if isinstance(shown, tuple) else 200 if page else 404)
            if isinstance(shown, tuple):
                self.send_header("Location", shown[0])
                if shown[1]:
                    self.send_header("Set-Cookie", f"{shown[1]}; Path=/")
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            self.wfile.write(page)

        do_POST = do_GET

        def log_message(self, *_: object) -> None:
            pass

    with running(Handler) as url:
        yield url, asked


def behind(
    consent_page: str, cookie: str, action: str, accepts: Callable[[dict[str, str]], bool]
) -> Callable[[Visit], Shown]:
    """Return the shop behind a consent page, to which every URL redirects until the request to `action` is accepted."""

    def site(visit: Visit) -> Shown:
        _, path, sent, cookies = visit
        if path == "/terms":
            return "<h1>Terms</h1><p>All of this may be wrong. <a href=/>Back</a>"
        if path == action:
            return sent.get("next", "/"), cookie if accepts(sent) else ""
        if cookie.split("=")[0] in cookies:
            return shop(path, sent)
        if path == "/consent":
            return consent_page.replace("NEXT", sent.get("next", "/"))
        return f"/consent?next={quote(path)}", ""

    return site


TERMS = """<h1>Before you buy or order anything</h1><p>Read the <a href=/terms>terms</a>.
    <form method=post action=/terms/confirm><input type=hidden name=next value=NEXT><input type=hidden name=csrf_token value=abc>
    <label><input type=checkbox name=read required> I have read them</label><button name=answer value=yes>I agree</button></form>"""
AGE = """<h1>Wie alt sind Sie?</h1><form action=/alter><input type=hidden name=next value=NEXT>
    <button name=alt value=nein>Jünger als 18</button> <button name=alt value=ja>Älter als 18</button></form>"""


@pytest.mark.parametrize(
    ("site", "label", "clicks"),
    [
        (behind(TERMS, "seen=1", "/terms/confirm", lambda sent: sent.get("read") == "on"), "yes I agree", 1),
        (behind(AGE, "age=1", "/alter", lambda sent: sent.get("alt") == "ja"), "ja Älter als 18", 2),
    ],
)
def test_consent_page_is_clicked_through_and_reported(
    site: Callable[[Visit], Shown], label: str, clicks: int, tmp_path: Path
) -> None:
    """Terms with a checkbox, and an age question with two buttons: the shop is harvested and can be asked later."""
    events: list[Event] = []
    with served(site) as (url, asked):
        result = api.harvest(url, out=tmp_path, plan=PLAN, manners=FREE, observe=events.append)
        sent = len(asked)
        answer = api.ask("river", result.folder, manners=FREE)
        model = result.folder / "source.json"
        model.write_text(model.read_text().replace('"consent_pages"', '"gates"'))  # as earlier versions wrote it
        answer_of_old_model = api.ask("river", result.folder, manners=FREE)
    assert len(answer) == len(answer_of_old_model) == 10
    assert result.summary["records"] == len(ITEMS)
    assert [event.label for event in events if isinstance(event, Passed)] == [label]
    assert sum("confirm" in request or "/alter" in request for request in asked[:sent]) == clicks


def test_consent_page_shown_again_is_clicked_again(tmp_path: Path) -> None:
    """The consent page is shown at every URL, and again after forty pages, when the session ends: no record is missing."""
    seen: dict[str, int] = {}

    def site(visit: Visit) -> Shown:
        _, path, sent, cookies = visit
        if "entering" in sent:
            seen[str(len(seen))] = 0
            return path, f"visit={len(seen) - 1}"
        visitor = cookies.get("visit", "")
        if seen.get(visitor, 40) >= 40:
            return "<h1>Welcome</h1><form method=post><input type=hidden name=entering value=1><button>Enter</button></form>"
        seen[visitor] += 1
        return shop(path, sent)

    with served(site) as (url, _):
        result = api.harvest(url, out=tmp_path, plan=PLAN, manners=FREE)
    assert result.summary["records"] == len(ITEMS)
    assert len(seen) > 1


SMALL_FORM = "<form method=post action=/{}><input type=hidden name=next value=/><button>{}</button></form>"


@pytest.mark.parametrize(
    ("home", "everywhere"),
    [
        # ordinary pages of a site with a form for the language
        (MENU + "<h1>Things</h1>" + SMALL_FORM.format("language", "Deutsch"), False),
        # a page with only a switch, and no other page on the server
        ("<h1>Lamp</h1>" + SMALL_FORM.format("switch", "On"), False),
        # shown at every URL, but the button acts
        ("<h1>Welcome</h1>" + SMALL_FORM.format("subscribe", "Enter"), True),
        ("<h1>Welcome</h1>" + SMALL_FORM.format("enter", "Pay now"), True),
        # it requires data or a login
        (
            "<h1>When were you born?</h1><form method=post action=/age><select name=y><option>1970</select><button>Go",
            True,
        ),
        (
            "<h1>Members</h1><form method=post action=/enter><input name=user><input type=password name=p><button>Go",
            True,
        ),
        # it posts to another site
        ("<h1>Welcome</h1><form method=post action=http://other.example/enter><button>Enter</button></form>", True),
    ],
)
def test_other_pages_with_a_button_are_not_clicked(home: str, everywhere: bool, tmp_path: Path) -> None:
    """Nothing is posted to a page that is not a consent page."""

    def site(visit: Visit) -> Shown:
        method, path, _, _ = visit
        pages = {"/": home, "/catalogue": f"{home}<p>Much to see.", "/help": f"{home}<p>Ask us."}
        return "posted" if method == "POST" else home if everywhere else pages.get(path)

    with served(site) as (url, asked), pytest.raises(UpwellError):
        api.harvest(url, out=tmp_path, plan=PLAN, manners=FREE)
    assert not any(request.startswith("POST") for request in asked)


def test_consent_page_that_cannot_be_clicked_through_is_reported(tmp_path: Path) -> None:
    """If the button returns the same page, the error names the alternative."""
    page = "<h1>Welcome</h1><form method=post action=/enter><button>Enter</button></form>"
    with served(lambda visit: page) as (url, _), pytest.raises(UpwellError, match=r"consent page.*--cookies"):
        api.harvest(url, out=tmp_path, plan=PLAN, manners=FREE)


def test_chosen_form_behind_a_consent_page(tmp_path: Path) -> None:
    """`--form` counts the forms of the page behind the consent page."""
    site = behind(TERMS, "seen=1", "/terms/confirm", lambda sent: "read" in sent)
    with served(site) as (url, _):
        result = api.harvest(url, out=tmp_path, plan=Plan(budget=60, browser="never", form=0), manners=FREE)
    assert result.summary["records"] > 30
    assert BOX  # the shop's only form
