"""Login pages and checks for robots are recognized and named; pages with a login form beside their content are not."""

import pytest

from upwell.discover.walls import challenge_of, login_wall
from upwell.page.tree import read
from upwell.types import Request, Response

URL = "http://x.example/"
LOGIN_FORM = "<form method=post action=/session><label>User <input name=user></label><input type=password name=pass><button>{}</button></form>"
ARTICLE = "<p>" + "The library opens at nine and closes at six on every day of the week but Sunday. " * 4 + "</p>"
LINKS = "<ul>" + "".join(f"<li><a href=/book/{i}>Book number {i}</a>" for i in range(30)) + "</ul>"


@pytest.mark.parametrize(
    ("title", "button"),
    [("Login", "Log in"), ("Anmelden", "Anmelden"), ("Connexion", "Se connecter"), ("ログイン", "ログイン")],
)
def test_a_page_that_consists_of_a_login_form_is_a_wall(title: str, button: str) -> None:
    """In several languages; the reason names the options that open it."""
    page = read(f"<title>{title}</title><h1>{title}</h1>{LOGIN_FORM.format(button)}".encode(), url=f"{URL}auth")
    wall = login_wall(page, URL)
    assert wall is not None
    assert wall.wall == "login"
    assert wall.is_certain
    assert "--login" in wall.reason
    assert "--cookies" in wall.reason
    assert f"moved to {URL}auth" in wall.reason


@pytest.mark.parametrize("content", [ARTICLE * 3, LINKS, LINKS + ARTICLE])
def test_a_login_form_beside_content_is_no_wall(content: str) -> None:
    """The home page of a library or a forum often has one in its header."""
    search = "<form action=/search><input name=q><button>Search</button></form>"
    page = read(f"<title>City library</title>{LOGIN_FORM.format('Log in')}{search}{content}".encode(), url=URL)
    assert login_wall(page, URL) is None
    without_search = read(f"<title>City library</title>{LOGIN_FORM.format('Log in')}{content}".encode(), url=URL)
    assert login_wall(without_search, URL) is None


def answer(status: int, body: str) -> Response:
    """Return an HTML response."""
    return Response(
        request=Request(url=URL), url=URL, status=status, headers={"Content-Type": "text/html"}, body=body.encode()
    )


SCRIPT = "<script src=/check.js></script>"


@pytest.mark.parametrize(
    ("status", "body", "is_check"),
    [
        (403, f"<title>One moment</title><noscript>Enable JavaScript to continue</noscript>{SCRIPT}", True),
        (503, f"<meta http-equiv=refresh content=5>{SCRIPT}<p>Checking</p>", True),
        (200, f"<p>Please verify that you are human</p>{SCRIPT}", True),
        (403, "<h1>Forbidden</h1><p>You may not see this.</p>", False),
        (403, f"<h1>Forbidden</h1><noscript><iframe src=/count></iframe></noscript>{SCRIPT}", False),
        (404, f"<noscript>Enable JavaScript</noscript>{SCRIPT}", False),
        (200, f"<noscript>You need JavaScript to run this app.</noscript><div id=root></div>{SCRIPT}", False),
        (200, f"<form action=/s><input name=q><button>Search</button></form><p>captcha{LINKS}", False),
    ],
)
def test_checks_for_robots(status: int, body: str, is_check: bool) -> None:
    """A refusal that a script is to lift, or a small page that names the check; not error pages, applications or search pages."""
    wall = challenge_of(answer(status, body))
    assert (wall is not None) == is_check
    if wall is not None:
        assert wall.wall == "challenge"
        assert "--cookies" in wall.reason
