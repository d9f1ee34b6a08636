"""Searches made by scripts, found from the home page: indexes, JSON, GraphQL, fragments, routes, and results without a URL."""

import base64
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from upwell import api
from upwell.harvest.files import Result
from upwell.harvest.loop import Plan
from upwell.net.fetch import Manners

WORDS = ("river", "music", "stone", "garden", "winter", "harbour")
ITEMS = [
    {
        "id": f"n{n}",
        "name": f"{WORDS[n % 6]} {WORDS[n // 6 % 6]} {n}",
        "about": f"One of many about {WORDS[n % 5]}, no. {n}",
    }
    for n in range(72)
]
TITLE = "<title>Things</title><p>Things about a river, music, a stone and a garden in winter.</p>"
SHOW = "const show = items => out.innerHTML = items.map(i => `<li><a href='${base}${i.id}'>${i.name}</a> ${i.about}</li>`).join('');"
FILTER = "items.filter(i => q && (i.name + i.about).includes(q))"

Answer = Callable[[str, dict[str, str], dict[str, str], bytes], str | None]


@contextmanager
def site(answer: Answer) -> Iterator[tuple[str, list[str]]]:
    """Serve a function from path, arguments, headers and body to a page or JSON; yield its URL and the requested targets."""
    targets: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            targets.append(f"{self.command} {self.path}")
            sent = {name: values[0] for name, values in parse_qs(parts.query).items()}
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            text = answer(parts.path, sent, {name.lower(): value for name, value in self.headers.items()}, body)
            self.send_response(404 if text is None else 200)
            kinds = {"{": "application/json", "[": "application/json", "0": "text/x-component"}
            kind = kinds.get((text or "")[:1], "text/html")
            self.send_header(
                "Content-Type", "text/javascript" if parts.path.endswith(".js") else f"{kind}; charset=utf-8"
            )
            self.send_header("Content-Length", str(len((text or "").encode())))
            self.end_headers()
            self.wfile.write((text or "").encode())

        do_POST = do_GET

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/", targets
        server.shutdown()


def harvest(url: str, folder: Path, budget: int = 150) -> Result:
    return api.harvest(url, out=folder, plan=Plan(budget=budget, patience=8), manners=Manners(rate=0))


def matching(query: str) -> list[dict[str, str]]:
    return [item for item in ITEMS if query and query in f"{item['name']} {item['about']}"]


def test_index_behind_a_search_box_opened_by_a_button(tmp_path: Path) -> None:
    """The index is read completely in one request, and the coverage statement says so."""
    script = f"""let items; const base = '/things/'; {SHOW}
      glass.onclick = () => {{ const box = document.createElement('input'); box.type = 'search'; document.body.append(box);
        fetch('/data/all.json').then(r => r.json()).then(d => items = d.things);
        box.oninput = () => {{ const q = box.value; show({FILTER}) }} }}"""
    home = f"{TITLE}<button id=glass aria-label=Search><svg width=9 height=9></svg></button><ul id=out></ul><script>{script}</script>"
    pages = {"/": home, "/data/all.json": json.dumps({"version": 2, "things": ITEMS})}
    with site(lambda path, *_: pages.get(path, f"<h1>{path}</h1>" if path.startswith("/things/") else None)) as (
        url,
        targets,
    ):
        result = harvest(url, tmp_path)
    assert (result.summary["records"], result.summary["coverage"], result.summary["checks"]["size_by"]) == (
        72,
        1.0,
        "index",
    )
    assert "in the site's own search index" in result.summary["statement"]
    assert {f"{url}things/{item['id']}" for item in ITEMS} == set(result.table["_url"].to_pylist())
    assert set(result.table["name"].to_pylist()) == {item["name"] for item in ITEMS}
    assert len(targets) <= 40


def test_single_page_application_with_routes(tmp_path: Path) -> None:
    """The search box of a route behind "#" is found, its data is read, and records have routes as URLs."""
    script = f"""const base = '#/thing/', items = []; {SHOW}
      const draw = () => {{
        if (location.hash.startsWith('#/search')) app.innerHTML = '<input type=search id=box placeholder=Search><ul id=out></ul>';
        else app.innerHTML = '<nav><a href="#/">Home</a> <a href="#/search">Find</a> <a href="#/cart/add">Buy</a></nav>';
        if (window.box) box.oninput = () => {{ const q = box.value; show({FILTER}) }} }};
      addEventListener('hashchange', draw); fetch('/api/things').then(r => r.json()).then(d => items.push(...d)).then(draw)"""
    pages = {"/": f"<title>Shop</title><div id=app></div><script>{script}</script>", "/api/things": json.dumps(ITEMS)}
    with site(lambda path, *_: pages.get(path)) as (url, _):
        result = harvest(url, tmp_path)
    assert (result.summary["records"], result.summary["coverage"]) == (72, 1.0)
    assert f"{url}#/thing/n7" in result.table["_url"].to_pylist()


@pytest.mark.parametrize(("argument", "step"), [("offset", 1), ("desde", 1), ("sivu", 5)])
def test_paged_graphql_search(tmp_path: Path, argument: str, step: int) -> None:
    """The POST of a script becomes the interface; its pages are read, whatever the name of the page argument."""
    script = f"""const base = '/things/'; {SHOW}
      box.oninput = () => fetch('/graphql', {{method: 'POST', headers: {{'Content-Type': 'application/json'}}, body: JSON.stringify(
        {{query: 'query Find($q: String, ${argument}: Int) {{ find(q: $q, {argument}: ${argument}) {{ id name about }} }}',
          variables: {{q: box.value, {argument}: 0}}}})}}).then(r => r.json()).then(d => show(d.data.find))"""

    def answer(path: str, sent: dict[str, str], headers: dict[str, str], body: bytes) -> str | None:
        if path == "/graphql":
            asked = json.loads(body)["variables"]
            return json.dumps({"data": {"find": matching(asked["q"])[step * asked[argument] :][:5]}})
        return (
            f"{TITLE}<input id=box placeholder='Search…'><ul id=out></ul><script>{script}</script>"
            if path == "/"
            else None
        )

    with site(answer) as (url, _):
        result = harvest(url, tmp_path, budget=250)
    assert result.summary["records"] >= 60


def test_fragments_that_require_a_header(tmp_path: Path) -> None:
    """Rows that are returned only with the header of a script are requested with it."""
    script = "box.oninput = () => fetch('/rows?q=' + box.value, {headers: {'HX-Request': 'true'}}).then(r => r.text()).then(t => out.innerHTML = t)"
    home = f"{TITLE}<input id=box type=search><ul id=out></ul><script>{script}</script>"

    def answer(path: str, sent: dict[str, str], headers: dict[str, str], body: bytes) -> str | None:
        if path == "/rows" and headers.get("hx-request"):
            rows = [
                f"<li><a href=/things/{i['id']}>{i['name']}</a><p>{i['about']}</p></li>"
                for i in matching(sent.get("q", ""))
            ]
            return "<p>" + "".join(rows) + "</p>"
        return home if path in ("/", "/rows") else None

    with site(answer) as (url, _):
        result = harvest(url, tmp_path, budget=100)
    assert result.summary["records"] >= 70


def test_results_without_url_request_or_data_are_typed(tmp_path: Path) -> None:
    """If only the page itself can answer, queries are typed into it, and no coverage percentage is stated."""
    packed = base64.b64encode(json.dumps(ITEMS).encode()).decode()
    script = f"const base = '/things/', items = JSON.parse(atob('{packed}')); {SHOW} box.oninput = () => {{ const q = box.value; show({FILTER}) }}"
    home = f"{TITLE}<input id=box type=search><ul id=out></ul><script>{script}</script>"
    with site(lambda path, *_: home if path == "/" else None) as (url, _):
        result = harvest(url, tmp_path, budget=26)
    assert result.summary["records"] >= 24
    assert '"rendered": true' in (result.folder / "summary.json").read_text(encoding="utf-8")


def test_working_search_form_starts_no_browser(tmp_path: Path) -> None:
    """No script is fetched if a form of the markup works, even if the page contains data and a scripted box."""
    data = f"<script type=application/json>{json.dumps(ITEMS[:20])}</script><input type=search><script src=/app.js></script>"

    def answer(path: str, sent: dict[str, str], headers: dict[str, str], body: bytes) -> str | None:
        if path == "/find":
            return "<ul>" + "".join(
                f"<li><a href=/t/{i['id']}>{i['name']}</a> {i['about']}</li>" for i in matching(sent.get("q", ""))
            )
        return (
            f"{TITLE}<form action=/find><input name=q type=search><button>Search</button></form>{data}"
            if path == "/"
            else None
        )

    with site(answer) as (url, targets):
        offered = api.forms(url, manners=Manners(rate=0)).interfaces
    assert [interface.url for interface in offered] == [f"{url}find"]
    assert not any("app.js" in target for target in targets)


def test_ranges_in_json_arguments_behind_a_picture(tmp_path: Path) -> None:
    """The box behind an icon without text is opened, the query found inside an argument, and rows of HTML cells are read to the end."""
    script = """let at = 0;
      const ask = () => fetch(`/api/things?filter=${encodeURIComponent(JSON.stringify({q: box.value}))}&range=${encodeURIComponent(
          JSON.stringify([at, at + 9]))}&t=${Date.now()}`).then(r => r.json()).then(rows => {
        out.innerHTML = rows.map(row => `<tr>${row.map(cell => `<td>${cell}</td>`).join('')}</tr>`).join('');
        forth.hidden = rows.length < 10 });
      glass.addEventListener('click', () => { box.hidden = false });
      box.oninput = () => { at = 0; ask() }; forth.onclick = () => { at += 10; ask() }"""
    home = (
        f"{TITLE}<header><svg id=glass class='icon-search' width=20 height=20><circle r=9 /></svg></header>"
        "<input id=box type=search hidden><table><tbody id=out></tbody></table>"
        f"<button id=forth hidden>Weiter</button><script>{script}</script>"
    )

    def answer(path: str, sent: dict[str, str], headers: dict[str, str], body: bytes) -> str | None:
        if path != "/api/things":
            return home if path == "/" else None
        word = json.loads(sent["filter"])["q"]
        found = [item for item in ITEMS if word in f"{item['name']} {item['about']}"]
        first, last = json.loads(sent["range"])
        rows = [[f"<a href='/things/{i['id']}'>{i['name']}</a>", f"<b>{i['about']}</b>"] for i in found]
        return json.dumps(rows[first : last + 1])

    with site(answer) as (url, _):
        result = harvest(url, tmp_path, budget=120)
    assert result.summary["records"] == len(ITEMS)
    assert {f"{url}things/{item['id']}" for item in ITEMS} == set(result.table["_url"].to_pylist())


def test_infinite_scroll_with_a_cursor_in_a_body_of_several_queries(tmp_path: Path) -> None:
    """Scrolling shows which value of an answer asks for more of it; the list ends where the answer has no such value."""
    script = """let more = null, busy = false; const base = '/things/';
      const ask = more_of => fetch('/multi', {method: 'POST', body: JSON.stringify({requests: [
          {index: 'things', params: `query=${encodeURIComponent(box.value)}&hits=6${more_of ? '&seek=' + more_of : ''}`}]})})
        .then(r => r.json()).then(d => { const found = d.results[0]; more = found.forth; busy = false;
          if (!more_of) out.innerHTML = '';
          out.innerHTML += found.hits.map(i => `<li style='height:200px'><a href='/things/${i.id}'>${i.name}</a> ${i.about}</li>`).join('') });
      box.oninput = () => ask();
      addEventListener('scroll', () => { if (more && !busy) { busy = true; ask(more) } })"""
    home = f"{TITLE}<input id=box type=search><ul id=out></ul><script>{script}</script>"

    def answer(path: str, sent: dict[str, str], headers: dict[str, str], body: bytes) -> str | None:
        if path != "/multi":
            return home if path == "/" else None
        asked = parse_qs(json.loads(body)["requests"][0]["params"], keep_blank_values=True)
        at = int(base64.b64decode(asked["seek"][0] + "==")) if "seek" in asked else 0
        found = [item for item in ITEMS if asked["query"][0] in f"{item['name']} {item['about']}"]
        forth = base64.b64encode(str(at + 6).encode()).decode().rstrip("=") if at + 6 < len(found) else None
        return json.dumps({"results": [{"hits": found[at : at + 6], "forth": forth}]})

    with site(answer) as (url, _):
        result = harvest(url, tmp_path, budget=120)
    assert result.summary["records"] == len(ITEMS)


def test_component_that_posts_its_state(tmp_path: Path) -> None:
    """What a page posts is a search if a name beside the typed words says so, whatever its address; it is sent with the token of the page."""
    script = """const ask = () => fetch('/component/update', {method: 'POST', headers: {'X-Page-Token': 't0k3n', 'Content-Type': 'application/json'},
        body: JSON.stringify({component: 'list', state: {size: 10}, actions: [{type: 'syncInput', name: 'query', value: box.value}]})})
      .then(r => r.json()).then(d => { out.innerHTML = d.html });
      box.oninput = ask; ask()"""
    page = f"{TITLE}<input id=box type=search><div id=out></div><script>{script}</script>"
    acts: list[str] = []

    def answer(path: str, sent: dict[str, str], headers: dict[str, str], body: bytes) -> str | None:
        if path == "/component/update" and headers.get("x-page-token") == "t0k3n":
            word = json.loads(body)["actions"][0]["value"]
            acts.append(word)
            rows = (
                f"<li><a href='/things/{i['id']}'>{i['name']}</a><p>{i['about']}</p></li>" for i in matching(word)[:30]
            )
            return json.dumps(
                {"html": f"<div><p>{len(matching(word))} found</p><ul>{''.join(rows)}</ul></div>", "errors": {}}
            )
        return page if path == "/" else None

    with site(answer) as (url, _):
        result = harvest(url, tmp_path, budget=200)
    assert result.summary["records"] >= 68
    interface: Any = result.summary["sources"][0]["search_interface"]
    assert interface["method"] == "POST"
    assert acts[0] != ""  # before anything was typed, nothing was posted


def test_numbered_rows_of_a_server_action(tmp_path: Path) -> None:
    """JSON in numbered rows is read, and "load more" sends the number of the last record that was shown."""
    script = """let last = null; const base = '/things/';
      const ask = after => fetch('/', {method: 'POST', headers: {'Next-Action': 'a1'}, body: JSON.stringify([{query: box.value}, after])}).then(r => r.text())
        .then(t => { const d = JSON.parse(t.split('\\n')[1].slice(2)); last = d.after; if (!after) out.innerHTML = '';
          out.innerHTML += d.items.map(i => `<li><a href='/things/${i.id}'>${i.name}</a> ${i.about}</li>`).join(''); more.hidden = !last });
      box.oninput = () => ask(null); more.onclick = () => ask(last)"""
    home = f"{TITLE}<input id=box type=search><ul id=out></ul><button id=more hidden>Cargar más</button><script>{script}</script>"
    numbers = {item["id"]: 1000 + 3 * n for n, item in enumerate(ITEMS)}

    def answer(path: str, sent: dict[str, str], headers: dict[str, str], body: bytes) -> str | None:
        if path != "/" or "next-action" not in headers:
            return home if path == "/" else None
        (sent_query, after) = json.loads(body)
        word = sent_query["query"]
        found = [item for item in matching(word) if after is None or numbers[item["id"]] > after]
        last = numbers[found[8]["id"]] if len(found) > 9 else None
        rows = [{"id": i["id"], "number": numbers[i["id"]], "name": i["name"], "about": i["about"]} for i in found[:9]]
        return f'0:{{"a":"$@1","b":"build"}}\n1:{json.dumps({"items": rows, "after": last})}\n'

    with site(answer) as (url, targets):
        result = harvest(url, tmp_path, budget=120)
    assert result.summary["records"] == len(ITEMS)
    interface: Any = result.summary["sources"][0]["search_interface"]
    assert interface["page_changes"][0][0] == "cursor"
    assert len(targets) < 120


def test_list_of_codes_whose_search_finds_no_word_of_the_page(tmp_path: Path) -> None:
    """Four equal answers without anything say that nothing was found; then parts of the records' names are tried."""
    codes = [f"{kind}net_v{n}.x1" for n in range(12) for kind in ("res", "dpn", "vgg", "bit")]
    script = """const ask = () => fetch('/api/models?filter=' + encodeURIComponent(`name LIKE '%${box.value}%'`)).then(r => r.json()).then(d => {
        out.innerHTML = (d.models || []).map(m => `<li><a href='/models/${m.name}'>${m.name}</a> classifier of pictures</li>`).join('') });
      box.oninput = ask; ask()"""
    home = f"{TITLE}<input id=box type=search><ul id=out></ul><script>{script}</script>"

    def answer(path: str, sent: dict[str, str], headers: dict[str, str], body: bytes) -> str | None:
        if path != "/api/models":
            return home if path == "/" else None
        word = sent["filter"].partition("%")[2].rpartition("%")[0]
        found = [{"name": code, "about": "classifier of pictures"} for code in codes if word in code]
        return json.dumps({"models": found[:20]} if found else {})

    with site(answer) as (url, _):
        result = harvest(url, tmp_path, budget=150)
    interface: Any = result.summary["sources"][0]["search_interface"]
    assert "{query}" in interface["url"]
    assert interface["via"] == "browser"
    assert result.summary["records"] > 20  # more than the page shows without a query
