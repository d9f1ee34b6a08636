"""Recognize a page that is shown instead of the pages of a site: a login page, or a check for robots.

login      the page consists of a login form; the fitted judgement `page_wall` decides (`WALL_FEATURES`)
challenge  a refusal that a script is to lift: hardly any text, a script, and a refresh or a word about JavaScript; or a small page that
           names a check for robots

`discover.consent_page` recognizes consent pages, by clicking. A page with a login form beside its own content is no wall.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

import numpy as np
from numpy.typing import NDArray

from upwell.answers.kind import names_robot_check
from upwell.discover import forms
from upwell.discover.steps import HOW_TO_LOG_IN
from upwell.errors import Wall
from upwell.judge.judgement import load_judgement
from upwell.lazy import late_pattern
from upwell.lexicon.phrases import LOGIN_WALL
from upwell.lexicon.vocabulary import alternatives
from upwell.page.tree import TagTree, read
from upwell.types import Form, Response

__all__ = ["WALL_FEATURES", "ShownWall", "challenge_of", "login_wall", "wall_features"]

ACCOUNT_KINDS = ("login", "registration", "password recovery")
LONG_TEXT_CHARS = 80  # characters from which a text outside the login form is content
MAX_HEADING_CHARS = 80  # a longer heading is a sentence
# Statuses with which sites answer programs until a script has run; 202 and 503 are also used for other purposes.
CHALLENGE_STATUS = frozenset((202, 403, 429, 503))
MAX_CHALLENGE_CHARS = 1500  # visible characters of a check for robots, as `answers.kind.MAX_TEXT_BYTES`
MAX_CHALLENGE_BYTES = 100_000  # safety limit: a larger page is not a check for robots
MAX_CHALLENGE_LINKS = 8  # links of a check with status 200, as `consent_page.MAX_LINKS`
LOG_IN = late_pattern(lambda: alternatives("log_in"), re.I)
MAX_SEARCHED_CHARS = 5_000  # of the page's text, in which a request to log in is searched
BY_BROWSER = "open it in your browser, and give its cookies with --cookies FILE and its name with --user-agent"

WALL_FEATURES = (
    "constant",
    "login form",
    "login form is certain",  # probability that the best login form is one
    "other account form",  # registration, password recovery
    "one password",  # fields on the page
    "several passwords",
    "password outside forms",  # of a page that a script has built
    "share of text in login form",
    "text outside",  # logarithm of the characters outside links and account forms
    "long texts outside",  # logarithm of their number
    "links outside",  # logarithm of their number
    "search form",
    "other forms",  # logarithm of their number
    "login word in title",
    "login word in heading",
    "asks to log in",  # "please log in to continue"
    "login word in address",
)


@dataclass(frozen=True, kw_only=True)
class ShownWall:
    """What a page shows instead of a site, and what the user can do."""

    wall: Wall
    reason: str  # a sentence for the user
    is_certain: bool = True  # False if the page may lead to the site: it has a search form


def login_wall(page: TagTree, url: str) -> ShownWall | None:
    """Return the login wall that a page shows instead of `url`; None if it is an ordinary page."""
    page_forms = forms.find(page)
    if not any(form.kind == "login" for form in page_forms) and not forms.asks_for_password(page):
        return None
    if not load_judgement("page_wall").accepts(wall_features(page, page_forms))[0]:
        return None
    moved = f" (moved to {page.url})" if page.url != url else ""
    has_search = any(forms.may_be_sent(form) for form in page_forms)
    return ShownWall(
        wall="login", reason=f"{url} shows a login page{moved}: {HOW_TO_LOG_IN}", is_certain=not has_search
    )


def challenge_of(response: Response) -> ShownWall | None:
    """Return the check for robots that a response consists of; None if it has content, or is an ordinary error page."""
    is_refused = response.status in CHALLENGE_STATUS
    is_html = "html" in response.headers.get("Content-Type", "html")
    if not is_html or len(response.body) > MAX_CHALLENGE_BYTES or (response.status >= 400 and not is_refused):
        return None
    page = read(response.body, url=response.url, reveals=True)  # with <noscript>
    if page.without_hidden_text().chars_of(0) > MAX_CHALLENGE_CHARS:
        return None
    if is_refused:
        is_check = names_robot_check(response.body) or _waits_for_script(page)
    else:
        has_links = sum(1 for _ in page.links()) > MAX_CHALLENGE_LINKS
        is_check = not has_links and names_robot_check(response.body)
        is_check = is_check and not any(form.kind == "search" for form in forms.find(page))
    if not is_check:
        return None
    status = f" (status {response.status})" if is_refused else ""
    return ShownWall(
        wall="challenge",
        reason=f"{response.url} shows a check for robots{status} instead of the site: {BY_BROWSER}; or look for an interface for programs",
    )


def _waits_for_script(page: TagTree) -> bool:
    """Return True if a page with a script loads itself again, or tells that it needs JavaScript (in any language)."""
    if not len(page.rows("script")):
        return False
    refreshes = any((page.attr(row, "http-equiv") or "").lower() == "refresh" for row in page.rows("meta").tolist())
    return refreshes or "javascript" in page.text(0).lower()


def wall_features(page: TagTree, page_forms: Sequence[Form], *, with_address: bool = True) -> NDArray[np.float64]:
    """Return the features of a page as one row; columns as `WALL_FEATURES`."""
    form_rows = page.rows("form").tolist()
    logins = [form for form in page_forms if form.kind == "login"]
    accounts = [form_rows[form.index] for form in page_forms if form.kind in ACCOUNT_KINDS]
    inside = np.zeros(len(page), bool)
    for row in accounts:
        inside[row : page.end[row]] = True
    in_link = np.zeros(len(page), bool)
    for row, _ in page.links():
        in_link[row : page.end[row]] = True
    sizes = np.array([len(chunk) for chunk in page.chunks], np.float64)
    is_outside, is_linked = ~inside[page.chunk_row], in_link[page.chunk_row]
    in_logins = np.zeros(len(page), bool)
    for form in logins:
        in_logins[form_rows[form.index] : page.end[form_rows[form.index]]] = True
    plain = sizes * (is_outside & ~is_linked)
    passwords = [row for row in page.rows("input").tolist() if (page.attr(row, "type") or "").lower() == "password"]
    headings = [page.text(row) for row in page.rows("h1", "h2", "h3", "legend").tolist()]
    address = urlsplit(page.url) if with_address else urlsplit("")
    values = [
        1.0,
        bool(logins),
        max((form.score for form in logins), default=0.0),
        len(accounts) > len(logins),
        len(passwords) == 1,
        len(passwords) > 1,
        any(not inside[row] for row in passwords),
        float(sizes[in_logins[page.chunk_row]].sum() / max(1.0, sizes.sum())),
        math.log1p(float(plain.sum())),
        math.log1p(float((plain >= LONG_TEXT_CHARS).sum())),
        math.log1p(sum(not inside[row] for row, _ in page.links())),
        any(form.kind == "search" for form in page_forms),
        math.log1p(sum(form.kind not in ACCOUNT_KINDS and form.kind != "search" for form in page_forms)),
        LOG_IN.search(page.title) is not None,
        any(len(text) <= MAX_HEADING_CHARS and LOG_IN.search(text) for text in headings),
        LOGIN_WALL.search(page.text(0)[:MAX_SEARCHED_CHARS]) is not None,
        LOG_IN.search(unquote(address.path)) is not None,
    ]
    return np.array([values], np.float64)
