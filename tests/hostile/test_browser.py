"""A page in the browser can cause only requests that the Fetcher allows, and none to other places."""

import asyncio
import os
from pathlib import Path

import psutil
import pytest

from tests.hostile.site import Answer, ReceivedRequest, hostile
from upwell import api
from upwell.discover.browser_search import SearchOnlyPolicy
from upwell.errors import BudgetSpent, Unreachable, UpwellError
from upwell.harvest.loop import Plan
from upwell.net.browser import MAX_REQUESTS, Chromium
from upwell.net.fetch import Fetcher, Manners
from upwell.types import BrowserVisit, RenderedPage

ROBOTS = Answer("User-agent: *\nDisallow: /private\n", type="text/plain")


def show_all(
    *visits: BrowserVisit, manners: Manners | None = None, budget: int = 10_000, timeout: float = 20.0
) -> list[RenderedPage | UpwellError]:
    """Return the pages as shown by the browser in sequence, or the errors."""

    async def run() -> list[RenderedPage | UpwellError]:
        shown: list[RenderedPage | UpwellError] = []
        fast = Manners(rate=0, retries=0)
        async with (
            Fetcher(manners or fast, user_urls=(visits[0].url,)) as net,
            Chromium(net, SearchOnlyPolicy(), timeout=timeout) as chromium,
        ):
            net.exhausted = lambda wait: "the budget is used up" if net.sent >= budget else ""
            for visit in visits:
                try:
                    shown.append(await chromium.render(visit))
                except UpwellError as error:
                    shown.append(error)
        return shown

    return asyncio.run(run())


def page(script: str, markup: str = "") -> str:
    """Return a page with a script, which writes "shown" after it ran."""
    return f"<html><body><p id=out>wait</p>{markup}<script>{script}; document.getElementById('out').textContent = 'shown'</script></body></html>"


ESCAPES = {
    "fetch": "fetch('{other}a').catch(() => 0)",
    "fetch without reading": "fetch('{other}a', {{mode: 'no-cors', method: 'POST', body: 'x'}}).catch(() => 0)",
    "picture": "new Image().src = '{other}a'",
    "beacon": "navigator.sendBeacon('{other}a', 'x')",
    "websocket": "try {{ new WebSocket('{socket}a') }} catch (e) {{}}",
    "popup": "window.open('{other}a')",
    "frame": "document.body.append(Object.assign(document.createElement('iframe'), {{src: '{other}a'}}))",
    "link": "document.body.append(Object.assign(document.createElement('a'), {{href: '{other}a', target: '_blank'}})); document.links[0].click()",
    "prefetch": "document.head.append(Object.assign(document.createElement('link'), {{rel: 'prefetch', href: '{other}a'}}))",
    "preconnect": "document.head.append(Object.assign(document.createElement('link'), {{rel: 'preconnect', href: '{other}'}}))",
    "worker": "new Worker(URL.createObjectURL(new Blob([`fetch('{other}a').catch(() => 0)`])))",
    "shared worker": "new SharedWorker(URL.createObjectURL(new Blob([`fetch('{other}a').catch(() => 0)`])))",
    "event source": "new EventSource('{other}a')",
    "form": "const f = document.createElement('form'); f.method = 'post'; f.action = '{other}a'; f.target = '_blank'; document.body.append(f); f.submit()",
    "script": "document.body.append(Object.assign(document.createElement('script'), {{src: '{other}a.js'}}))",
    "redirect": "fetch('/away').catch(() => 0)",
    "worker redirect": "new Worker('/away')",
}


def test_nothing_private_is_reached_by_any_means() -> None:
    """No request, popup, WebSocket, worker, frame, form, prefetch or redirect of a page reaches another port of this machine."""
    with hostile() as other, hostile() as site:
        values = {"other": other.url, "socket": other.url.replace("http", "ws")}
        for name, script in ESCAPES.items():
            site.pages[f"/{name.replace(' ', '-')}"] = page(script.format(**values))
        site.pages["/away"] = Answer(status=302, headers={"Location": f"{other.url}away"})
        site.pages["/all"] = page(
            ";".join(f"try {{ {script.format(**values)} }} catch (e) {{}}" for script in ESCAPES.values())
        )
        site.pages["/moved"] = Answer(status=302, headers={"Location": f"{other.url}away"})
        site.pages["/refresh"] = f'<meta http-equiv=refresh content="0; url={other.url}a"><p>here</p>'
        site.pages["/leave"] = page(f"location = '{other.url}a'")
        paths = ("all", "moved", "refresh", "leave")
        shown, *_ = show_all(*(BrowserVisit(url=f"{site.url}{path}") for path in paths))
    assert isinstance(shown, RenderedPage)
    assert "shown" in shown.html
    assert other.received == []


ACTING = {
    "fetch": "fetch('/item/3/delete')",
    "post": "fetch('/save', {method: 'POST', body: 'x=1'})",
    "put": "fetch('/item/3', {method: 'PUT'})",
    "xhr": "const x = new XMLHttpRequest(); x.open('POST', '/comment'); x.send('a=b')",
    "location": "setTimeout(() => location = '/logout', 50)",
    "form": "const f = document.createElement('form'); f.method = 'post'; f.action = '/wall'; document.body.append(f); f.submit()",
    "form get": "const f = document.createElement('form'); f.action = '/cart/empty'; document.body.append(f); f.submit()",
    "script": "document.body.append(Object.assign(document.createElement('script'), {src: '/item/3/remove?x=1'}))",
    "frame": "document.body.append(Object.assign(document.createElement('iframe'), {src: '/unsubscribe'}))",
    "private": "fetch('/private/1'); fetch('/private/2')",
    "graphql": "fetch('/graphql', {method: 'POST', body: JSON.stringify({query: 'mutation { remove }'})})",
}


def test_scripts_cannot_act_or_request_forbidden_urls() -> None:
    """Requests of scripts follow the same rules: no POST, nothing that acts, robots.txt is obeyed."""
    pages = {f"/page/{i}": page(script) for i, script in enumerate(ACTING.values())}
    with hostile({"/robots.txt": ROBOTS, **pages}) as site:
        show_all(*(BrowserVisit(url=f"{site.url}page/{i}") for i in range(len(ACTING))))
    assert set(site.targets) == {f"GET {path}" for path in pages}


TYPED = {
    "acting form": "<form action=/item/3/delete><input type=search name=q><button>Search</button></form>",
    "acting button": "<form action=/find><input type=search name=q><button name=op value=buy>Search</button></form>",
    "posted": "<form action=/wall method=post><input type=search name=text placeholder=Search><button>Go</button></form>",
    "posted by script": "<input type=search name=q id=b>"
    "<script>b.onkeyup = () => fetch('/save', {method: 'POST', body: JSON.stringify({note: b.value})})</script>",
    "acting by script": "<input type=search name=q id=b><script>b.onkeyup = () => fetch('/vote?q=' + b.value)</script>",
    "newsletter": "<form action=/subscribe><input name=search placeholder='Search? Subscribe!'><button>Subscribe</button></form>",
    "research": "<form action=/give><h3>Cancer research: donate</h3><input name=amount placeholder='research'><button>Donate</button></form>",
}


def test_typing_sends_only_searches() -> None:
    """The browser does not send a request that is not recognized as a search."""
    pages = {f"/page/{i}": f"<html><body>{markup}</body></html>" for i, markup in enumerate(TYPED.values())}
    with hostile(pages) as site:
        show_all(*(BrowserVisit(url=f"{site.url}page/{i}", query="amber") for i in range(len(TYPED))))
    assert set(site.targets) == {f"GET {path}" for path in pages}


NEVER_CLICKED = {
    "acting label": "<button onclick=\"fetch('/pressed?1')\" class=search>Delete saved search</button>",
    "a form's button": "<form action=/pressed><button><span class=search>Search</span></button></form>",
    "a link": "<a href=/pressed?2 class=search>Search</a>",
    "no search": "<button onclick=\"fetch('/pressed?3')\">Subscribe</button>",
}


def test_only_buttons_that_open_a_search_are_clicked() -> None:
    """Opening a search box clicks no button that acts, submits no form and follows no link."""
    pages = {f"/page/{i}": f"<html><body>{markup}</body></html>" for i, markup in enumerate(NEVER_CLICKED.values())}
    opens = "<div onclick=\"fetch('/opened')\"><i class='icon search'></i> Search</div>"
    with hostile({**pages, "/opens": f"<html><body>{opens}</body></html>"}) as site:
        show_all(*(BrowserVisit(url=f"{site.url}{path[1:]}", trial_queries=("amber",)) for path in (*pages, "/opens")))
    assert set(site.targets) == {*(f"GET {path}" for path in pages), "GET /opens", "GET /opened"}


def test_a_search_by_script_is_still_sent() -> None:
    """A JSON search that a script posts while a query is typed is sent."""
    box = "<input type=search name=q id=b><script>b.onkeyup = () => fetch('/api/search', {method: 'POST', body: JSON.stringify({q: b.value}), "
    box += "headers: {'Content-Type': 'application/json'}})</script>"
    with hostile(
        {"/page": f"<html><body>{box}</body></html>", "/api/search": Answer("{}", type="application/json")}
    ) as site:
        (shown,) = show_all(BrowserVisit(url=f"{site.url}page", query="amber"))
    assert isinstance(shown, RenderedPage)
    assert any("amber" in call.body.decode() for call in shown.calls)
    assert site.acted("/api/search")


RESTLESS = {
    "meta refresh": "<meta http-equiv=refresh content=0><p>again</p>",
    "reload": "<p>again</p><script>location.reload()</script>",
    "redirects": "<script>location = '/page?' + Math.random()</script>",
    "frames": "<iframe src='/page?1'></iframe>",
    "requests": "<p id=o>x</p><script>setInterval(() => fetch('/piece/' + Math.random()), 5)</script>",
}


def test_page_that_never_stops_loading_ends() -> None:
    """A page that reloads or fetches forever ends with few requests; the next page is shown."""
    with hostile() as site:
        for i, markup in enumerate(RESTLESS.values()):
            site.pages[f"/page/{i}"] = markup
        shown = show_all(
            *(BrowserVisit(url=f"{site.url}page/{i}") for i in range(len(RESTLESS))), BrowserVisit(url=site.url)
        )
        for i in range(len(RESTLESS)):
            assert len(site.acted(f"get /page/{i}")) <= MAX_REQUESTS
        assert len(site.acted("get /piece")) < MAX_REQUESTS
    assert isinstance(shown[-1], RenderedPage)


def test_endless_script_ends_at_the_timeout() -> None:
    """A script with an endless loop ends in a one-line error; the next page is shown."""
    with hostile({"/page": "<p>x</p><script>while (true) {}</script>"}) as site:
        stuck, shown = show_all(BrowserVisit(url=f"{site.url}page"), BrowserVisit(url=site.url), timeout=3.0)
    assert isinstance(stuck, Unreachable)
    assert "\n" not in str(stuck)
    assert isinstance(shown, RenderedPage)


def test_the_rate_and_the_budget_hold_in_the_browser() -> None:
    """Requests of a page obey the rate and end with the budget."""
    greedy = page("for (let i = 0; i < 30; i++) fetch('/piece/' + i).catch(() => 0)")
    with hostile({"/page": greedy}) as site:
        (limit,) = show_all(BrowserVisit(url=f"{site.url}page"), manners=Manners(rate=10, retries=0), budget=8)
    times = [request.at for request in site.received]
    assert isinstance(limit, BudgetSpent)
    assert len(times) == 8
    assert times[-1] - times[0] > 0.65


def test_a_harvest_in_the_browser_keeps_its_budget(tmp_path: Path) -> None:
    """`--budget` counts the requests of pages too."""
    script = "fetch('/piece/' + Math.random()); " * 10
    with hostile({"/": page(script, "<input type=search name=q>")}) as site, pytest.raises(UpwellError):
        api.harvest(site.url, out=tmp_path, plan=Plan(budget=15, browser="always"), manners=Manners(rate=0, retries=0))
    assert len(site.received) <= 15


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can become another user")
def test_the_browser_of_root_runs_as_nobody() -> None:
    """No process of Chromium has the rights of root."""
    users: set[str] = set()

    def note_users(_: ReceivedRequest) -> str:
        for process in psutil.Process().children(recursive=True):
            if "chrom" in process.name():
                users.add(process.username())
        return "<p>x</p>"

    with hostile({"/page": note_users}) as site:
        (shown,) = show_all(BrowserVisit(url=f"{site.url}page"))
    assert isinstance(shown, RenderedPage)
    assert users == {"nobody"}


@pytest.mark.parametrize(
    "markup",
    [
        "<form action=/wall method=post class=search><input type=search name=text placeholder=Search><button>Go</button></form>",
        "<input type=search name=q placeholder=Search onkeyup=\"fetch('/wall', {method: 'POST', body: 'text=' + this.value, "
        "headers: {'Content-Type': 'application/x-www-form-urlencoded'}})\">",
    ],
)
def test_box_that_posts_to_a_wall_is_not_used(markup: str) -> None:
    """Neither Enter nor a script may post what is typed to an address that does not search."""
    with hostile({"/app": page("0", markup)}) as site:
        show_all(BrowserVisit(url=f"{site.url}app", trial_queries=("amber",)))
    assert site.acted("/wall") == []
