"""No request that acts is ever sent by forms, buttons, links, pagers, facets, options or declared searches."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from tests.harvest import test_second_level
from tests.hostile.site import Answer, HostileSite, ReceivedRequest, hostile
from upwell import api
from upwell.answers.argument_roles import learn_roles
from upwell.answers.facets import facet_links
from upwell.errors import NoSearchForm, UpwellError
from upwell.harvest.loop import Plan
from upwell.net.fetch import Manners
from upwell.page.tree import read

FAST = Manners(rate=0, retries=0)
ACTS = [
    "delete",
    "remove",
    "empty",
    "cancel",
    "close",
    "buy",
    "order",
    "pay",
    "donate",
    "subscribe",
    "post",
    "sign",
    "logout",
    "vote",
]
# Nouns: in a list of links with other labels, addresses such as `/post?id=7` are those of records.
MAY_NAME_RECORDS = ("close", "order", "post", "sign")
# An acting word in each of the common languages, as part of a path.
LANGUAGES = {
    "en": "delete", "de": "löschen", "fr": "supprimer", "es": "borrar", "it": "cancella", "pt": "excluir", "nl": "verwijderen",
    "ru": "удалить", "pl": "usuń", "tr": "kaldır", "zh": "删除", "ja": "削除", "ko": "삭제", "ar": "حذف",
}  # fmt: skip


def harvest(site: HostileSite, folder: Path, budget: int = 120, **plan: Any) -> Any:
    return api.harvest(
        site.url, out=folder, plan=Plan(budget=budget, browser="never", **plan), manners=FAST, format="jsonl"
    )


def test_search_among_thirty_links_that_act(tmp_path: Path) -> None:
    """The search is on a page that one of the links leads to; no link that acts is followed to find it, or as a pager."""
    links = "".join(
        f'<a href="/{word}?id={i}">Search {word} {i}</a> <a class=next href="/item/{i}/{word}">Next</a>'
        for i, word in enumerate(ACTS)
        if word not in MAY_NAME_RECORDS
    )
    form = '<form action="/find"><input type="search" name="q"><button>Search</button></form>'
    home = f"<html lang=en><title>Stones</title><nav>{links}<a href=/collection>Search</a></nav></html>"
    pages = {"/": home, "/collection": f"<html lang=en><title>Stones</title><h1>Amber, copper</h1>{form}</html>"}
    with hostile(pages, form=form, around_answers=lambda query, page: links) as site:
        result = harvest(site, tmp_path)
    assert result.summary["records"] == 60
    assert site.acted(*(f"/{word}" for word in ACTS)) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_acting_words_in_many_languages(language: str, tmp_path: Path) -> None:
    """A path, percent-encoded path, argument or button label with such a word is not sent; the search next to it works."""
    word = LANGUAGES[language]
    around = (
        f'<form action="/{quote(word)}"><input name=q type=search placeholder=Search><button>Search</button></form>'
        f'<form action="/find2"><input name=q type=search><button name=go value=1>{word}</button></form>'
        f'<form action="/find3" ><input type=hidden name=action value="{word}"><input name=q type=search><button>Search</button></form>'
        f'<a href="/search?do={quote(word)}&id=3">Search</a><a href="/search/{quote(word)}">Search all</a>'
    )
    with hostile(
        around_home=around,
        around_answers=lambda query, page: f'<a rel=next href="/find?q={query}&page=2&x={quote(word)}">Next</a>',
    ) as site:
        result = harvest(site, tmp_path, budget=40)
    assert result.summary["records"] > 0
    assert site.acted(word, "/find2", "/find3", "/search") == []


FORMS = {
    "donate": "<form action=/give><h3>Cancer research: donate</h3><input name=q placeholder='Search for a cause'><button>Search</button></form>",
    "research": "<form action=/research-fund method=post class=research><input name=amount><button>Research needs you</button></form>",
    "post": "<form action=/wall method=post><input name=text><button>Go</button></form>",
    "formaction": "<form action=/find><input name=q type=search><button formaction=/item/4/delete>Search</button></form>",
    "formmethod": "<form action=/wall><input name=q type=search><button formmethod=post formaction=/wall/new>Search</button></form>",
    "hidden": "<form action=/find class=search><input type=hidden name=_method value=DELETE><input name=q type=search><button>Search</button></form>",
    "button": "<form action=/find class=search><input name=q type=search><button name=remove value=4>Search</button></form>",
    "button value": "<form action=/find class=search><input name=q type=search><input type=submit name=op value='Empty basket'></form>",
    "preset": "<form action=/find class=search><input name=q type=search><select name=m><option value=7>Delete all<option value=8>List</select>"
    "<button>Search</button></form>",
    "encoded": "<form action='/search/d%2565lete'><input name=q type=search><button>Search</button></form>",
    "camel": "<form action='/search/doDeleteItem'><input name=q type=search><button>Search</button></form>",
    "matrix": "<form action='/search;action=purge'><input name=q type=search><button>Search</button></form>",
}  # fmt: skip


@pytest.mark.parametrize("kind", FORMS)
def test_forms_that_act_are_not_sent(kind: str, tmp_path: Path) -> None:
    """A form is not sent if anything in it acts, or if it uses POST and may not be a search; the message says why."""
    with hostile(form=FORMS[kind]) as site, pytest.raises(UpwellError) as raised:
        harvest(site, tmp_path)
    assert isinstance(raised.value, NoSearchForm)
    assert [target for target in site.targets if target != "GET /sitemap.xml"] == ["GET /"]


def test_user_can_choose_a_form_that_was_left_out(tmp_path: Path) -> None:
    """`--form N` uses it."""
    with hostile(form=FORMS["button"]) as site:
        result = harvest(site, tmp_path, budget=40, form=0)
    assert result.summary["records"] > 0
    assert site.acted("remove=4")


def test_option_that_acts_is_never_chosen(tmp_path: Path) -> None:
    """Options of a search form that act are skipped when presets are changed."""
    form = (
        "<form action=/find class=search><input name=q type=search><select name=mode><option value=1>Stones<option value=2>Remove all"
        "<option value=3>Minerals</select><button>Search</button></form>"
    )
    with hostile(form=form) as site:
        harvest(site, tmp_path, budget=60)
    assert site.acted("mode=1")
    assert not site.acted("mode=2")


@pytest.mark.parametrize(
    "target", ["/delete?q={q}", "/item/{q}/remove", "/find?q={q}&action=logout", "/%64elete?q={q}"]
)
def test_declared_searches_that_act_are_not_used(target: str, tmp_path: Path) -> None:
    """A SearchAction or OpenSearch template that acts is ignored; the form on the page is used."""
    action = json.dumps(
        {
            "@type": "WebSite",
            "potentialAction": {"@type": "SearchAction", "target": target, "query-input": "required name=q"},
        }
    )
    description = (
        '<OpenSearchDescription xmlns="http://a9.com/-/spec/opensearch/1.1/"><Url type="text/html" template="'
        + target.replace("{q}", "{searchTerms}").replace("&", "&amp;")
        + '"/></OpenSearchDescription>'
    )
    around = f'<script type="application/ld+json">{action}</script><link rel=search type="application/opensearchdescription+xml" href=/os.xml>'
    with hostile({"/os.xml": description}, around_home=around) as site:
        result = harvest(site, tmp_path, budget=40)
    assert result.summary["records"] > 0
    assert site.acted("delete", "remove", "logout") == []


PAGERS = (
    "/find?q={q}&page=2&vote=7", "/find?q={q}&page=2&delete=7", "/find?q={q}&page=2&item=7", "/vote?q={q}&page=2", "/find/remove?q={q}&page=2",
    "/find?q={q}&page=2&next=/item/3/delete",
)  # fmt: skip


@pytest.mark.parametrize("target", PAGERS)
def test_next_link_may_change_only_the_page_number(target: str, tmp_path: Path) -> None:
    """A link called "next" that also sets something else is not followed; at most the number of the page is tried alone."""

    def pager(query: str, page: int) -> str:
        link = f'<div class=pager><a class=next rel=next href="{target.replace("{q}", query)}">Next</a></div>'
        return link if page == 1 else ""

    with hostile(around_answers=pager) as site:
        site.has_pager = False
        harvest(site, tmp_path, budget=40)
    assert site.acted("vote", "delete", "item", "remove", "next") == []


@pytest.mark.parametrize(
    "button",
    [
        "<form method=post action=/find><input type=hidden name=q value='{q}'><button name=delete value=2>Next</button></form>",
        "<form method=post action=/wall><input type=hidden name=q value='{q}'><button name=page value=2>Next</button></form>",
        "<form method=post action=/cart><input type=hidden name=q value='{q}'><button name=page value=2>Next</button></form>",
        "<form action=/find><input type=hidden name=q value='{q}'><input type=hidden name=do value=empty><button name=page value=2>Next</button></form>",
        "<form action=/find><input type=hidden name=q value='{q}'><button name=page value=2 formaction='/item/2/buy'>Next</button></form>",
        "<button class=load-more data-url='/unsubscribe?page=2'>Load more</button>",
        "<div hx-get='/item/3/remove' hx-trigger=revealed>more</div>",
    ],
)
def test_next_buttons_that_act_are_not_clicked(button: str, tmp_path: Path) -> None:
    """A button for the next page or for more results is not clicked if it acts or posts elsewhere."""
    with hostile(around_answers=lambda query, page: button.replace("{q}", query)) as site:
        site.has_pager = False
        harvest(site, tmp_path, budget=40)
    assert site.acted("delete", "cart", "empty", "buy", "unsubscribe", "remove", "/wall", "post /") == []


ACTING_FACETS = {
    "address": (
        'href="/find?q={q}&amp;kind=sofa&amp;op=close">sofa',
        'href="/find?q={q}&amp;kind=bed&amp;do=delete">bed',
        'href="/find?q={q}&amp;kind=desk&amp;delete=4">desk',
    ),
    "label": (
        'href="/find?q={q}&amp;kind=a1">Delete all',
        'href="/find?q={q}&amp;kind=a2" title="Add to cart">vase',
        'href="/find?q={q}&amp;kind=a3" onclick="return confirm(\'Delete?\')">x',
    ),
}


@pytest.mark.parametrize("evidence", ACTING_FACETS)
def test_facets_that_act_are_not_used(evidence: str, tmp_path: Path) -> None:
    """Facets of capped answers are judged by address, label, title and icon; the others of the same list are used."""

    def find(request: ReceivedRequest) -> str:
        sent = {name: values[0] for name, values in parse_qs(urlsplit(request.target).query).items()}
        links = (link.format(q=sent.get("q", "")) for link in ACTING_FACETS[evidence])
        others = "".join(f"<li><a {link}</a> (30)" for link in links) if "kind" not in sent else ""
        return test_second_level.answer(sent).replace("</ul><ul class=hits>", f"{others}</ul><ul class=hits>")

    with hostile({"/find": find}) as site:
        harvest(site, tmp_path, budget=90, words=tuple(test_second_level.WOODS), patience=60)
    assert len(site.acted("&kind=")) >= 10
    assert site.acted("op=", "do=", "delete=4", "kind=a1", "kind=a2", "kind=a3") == []


@pytest.mark.parametrize("link", [link for links in ACTING_FACETS.values() for link in links])
def test_facets_that_act_are_no_candidates(link: str) -> None:
    """Of two facets with the same form, the one that acts is not found."""
    rows = "".join(f"<li><a href=/item/{i}>Amber {i}</a> <p>A stone from place {i}</p></li>" for i in range(10))
    facets = f'<a href="/find?q=amber&amp;kind=ore">Ore</a> (40) <a {link.format(q="amber")}</a> (40)'
    html = f"<form action=/find><input name=q></form><p>40 results</p>{facets}<ul class=hits>{rows}</ul>"
    page = read(html.encode(), url="http://stones.example/find?q=amber")
    found = facet_links(page, learn_roles([page], ["amber"], query_field="q"), "amber")
    assert [facet.text.split()[0] for facet in found] == ["Ore"]


def test_addresses_of_sitemaps_and_feeds_are_judged(tmp_path: Path) -> None:
    """Of a sitemap and a feed only pages are requested whose addresses do not act, although nothing else is known of them."""
    names = [f"/stones/{word}-{i}" for i, word in enumerate(("amber", "basalt", "copper", "flint", "iron", "opal") * 4)]
    acting = [f"/stones/{i}/delete" for i in range(12)] + ["/stones/l%F6schen", "/logout/x.html", "/send-invoice?id=4"]
    pages: dict[str, Any] = {
        name: f"<html lang=en><title>{name[8:]}</title><h1>{name[8:]}</h1><p>A stone that was found long ago.</p></html>"
        for name in names
    }
    pages["/robots.txt"] = Answer("User-agent: *\nSitemap: /sitemap.xml\nSitemap: /feed.rss\n", type="text/plain")
    with hostile(pages, form="") as site:
        places = "".join(f"<url><loc>{site.url[:-1]}{path}</loc></url>" for path in (*acting, *names))
        items = "".join(f"<item><title>x</title><link>{site.url[:-1]}{path}</link></item>" for path in acting)
        site.pages["/sitemap.xml"] = Answer(f"<urlset>{places}</urlset>", type="application/xml")
        site.pages["/feed.rss"] = Answer(f"<rss><channel>{items}</channel></rss>", type="application/rss+xml")
        harvest(site, tmp_path, budget=60)
    assert len(site.acted("get /stones/")) >= 20
    assert site.acted("delete", "logout", "send-invoice", "schen") == []


def test_redirects_that_act_are_not_followed(tmp_path: Path) -> None:
    """A redirect to a URL that acts is not followed, and a POST is not redirected to another path."""
    pages = {"/find": Answer(status=302, headers={"Location": "/item/3/delete"})}
    with hostile(pages) as site, pytest.raises(UpwellError):
        harvest(site, tmp_path)
    assert site.acted("delete") == []
    form = '<form action="/search" method=post class=search><input type=search name=q placeholder=Search><button>Search</button></form>'
    with (
        hostile({"/search": Answer(status=307, headers={"Location": "/wall"})}, form=form) as site,
        pytest.raises(UpwellError),
    ):
        harvest(site, tmp_path / "post")
    assert site.acted("/wall") == []


HARMLESS = (
    '<form action="/research/find"><input type=search name=q><select name=order><option>asc<option>desc</select><button>Search</button></form>',
    '<form action="/posts" ><input type=hidden name=post_type value=product><input type=search name=q><button>Search</button></form>',
    '<form action="/find"><input type=search name=q><select name=orderby><option value=date>Sort order: date</select><button>Find</button></form>',
    '<form action="/find" method=post class=search><input type=search name=q placeholder="Search stones"><button>Search</button></form>',
)


@pytest.mark.parametrize("form", HARMLESS)
def test_harmless_words_that_resemble_acting_words_are_allowed(form: str, tmp_path: Path) -> None:
    """Research, sort orders, post types and POST searches do not exclude a search."""

    def search(request: Any) -> str:
        arguments = parse_qs(urlsplit(request.target).query)
        return site.answer(arguments.get("q", [""])[0], int(arguments.get("page", ["1"])[0]), request.path)

    with hostile({"/research/find": search, "/posts": search}, form=form) as site:
        result = harvest(site, tmp_path, budget=60)
    assert result.summary["records"] > 20


def test_forms_left_out_are_reported(tmp_path: Path) -> None:
    """The summary names the forms that were left out, the word that caused it, and the option to use them."""
    around = "<form action=/find2 class=search><input type=search name=q><button name=op value=subscribe>Search</button></form>"
    with hostile(around_home=around) as site:
        result = harvest(site, tmp_path, budget=30)
    assert any("subscribe" in reason and "--form 1" in reason for reason in result.summary["out_of_reach"])


def test_refresh_requests_only_record_pages_of_the_source(tmp_path: Path) -> None:
    """For a missing record its record page is requested, but no URL that acts and no other host."""
    with hostile() as other, hostile(records=40) as site:

        def record(number: int, name: str) -> str:
            links = (
                f'<a href="/item/{number}/delete">{name}</a>',
                f'<a href="{other.url}item/{number}">{name}</a>',
                f'<a href="/item/{number}">{name}</a>',
            )
            return links[number % 3]

        site.record = record
        harvest(site, tmp_path)
        site.records, site.received = 10, []
        harvest(site, tmp_path, refresh=True)
    assert site.acted("delete") == []
    assert other.received == []
    assert site.acted("get /item/") != []


def test_record_pages_obey_all_rules(tmp_path: Path) -> None:
    """With --details record pages are read, but none that acts or is forbidden, and no redirect to a URL that acts."""

    def address(number: int) -> str:
        return (
            f"/item/{number}/delete"
            if number % 3 == 0
            else f"/private/{number}"
            if number % 3 == 1
            else f"/item/{number}"
        )

    with hostile(record=lambda number, name: f'<a href="{address(number)}">{name}</a>') as site:
        site.pages["/robots.txt"] = Answer("User-agent: *\nDisallow: /private/\n", type="text/plain")
        site.pages["/item/5"] = Answer(status=302, headers={"Location": "/account/delete?id=5"})
        result = harvest(site, tmp_path, budget=200, details="last")
    assert result.summary["records"] == 60
    assert site.acted("delete", "/private/") == []
    assert site.acted("/item/8", "/item/11")


def test_robots_txt_is_not_followed_to_an_address_that_acts(tmp_path: Path) -> None:
    """A redirect of robots.txt to an address that acts is not followed; a redirect to another file is."""
    with hostile({"/robots.txt": Answer(status=302, headers={"Location": "/account/delete"})}) as site:
        result = harvest(site, tmp_path, budget=40)
    assert result.summary["records"] > 0
    assert site.acted("/account") == []
    pages = {
        "/robots.txt": Answer(status=302, headers={"Location": "/files/robots.txt"}),
        "/files/robots.txt": Answer("", type="text/plain"),
    }
    with hostile(pages) as site:
        harvest(site, tmp_path / "other", budget=30)
    assert site.acted("/files/robots.txt")


BOXES = {
    "I order with obligation to pay": False,
    "Ich bestelle zahlungspflichtig": False,
    "I am 18 and subscribe for $9 per month": False,
    "J'accepte de payer 5 €": False,
    "私は購入に同意します": False,
    "I agree to the terms of use": True,
    "I am 18 years or older": True,
}


@pytest.mark.parametrize("box", BOXES)
def test_consent_box_that_says_more_than_agreement_is_not_ticked(box: str, tmp_path: Path) -> None:
    """A consent page is clicked through only if its box says no more than "I agree"."""
    given: list[bool] = []

    def page(request: Any) -> Answer | str:
        if given:
            return f"<html lang=en><title>Stones</title>{site.form}<p>Amber, copper, granite.</p></html>"
        return (
            "<html lang=en><title>Terms</title><p>Welcome.</p><form method=post action=/enter>"
            f"<label><input type=checkbox name=yes required> {box}</label><button>Continue</button></form></html>"
        )

    def enter(request: Any) -> Answer:
        given.append(True)
        return Answer(status=303, headers={"Location": "/"})

    pages = dict.fromkeys(("/", "/no-such-page-of-this-site", "/sitemap.xml"), page)
    with hostile({**pages, "/enter": enter}) as site:
        if BOXES[box]:
            assert harvest(site, tmp_path, budget=40).summary["records"] > 0
        else:
            with pytest.raises(UpwellError):
                harvest(site, tmp_path, budget=40)
    assert bool(site.acted("post /enter")) is BOXES[box]


@pytest.mark.parametrize(
    "link",
    [
        '<a href="/item/{i}">Delete this item</a> <b>{name}</b>',
        '<b>{name}</b> <a href="/item/{i}">Add to cart</a>',
        '<b>{name}</b> <a href="/item/{i}">Delete {name}</a>',
        '<b>{name}</b> <a href="/item/{i}" title="Remove"><img src=x.png></a>',
        '<b>{name}</b> <a href="/item/{i}"><img src=x.png alt="In den Warenkorb"></a>',
        '<b>{name}</b> <a href="/item/{i}" aria-label="Log out">➜</a>',
        '<b>{name}</b> <a href="/item/{i}">🗑️</a>',
        '<b>{name}</b> <a href="/item/{i}">✖</a>',
        '<b>{name}</b> <a href="/item/{i}" class="btn btn-delete"></a>',
        '<b>{name}</b> <a href="/item/{i}"><i class="fa fa-trash"></i></a>',
        '<b>{name}</b> <a href="/item/{i}" onclick="return confirm(\'Really delete?\')">x</a>',
    ],
)
@pytest.mark.parametrize("details", ["", "last"])
def test_record_links_whose_label_acts_are_not_opened(link: str, details: str, tmp_path: Path) -> None:
    """No record page is requested behind a link that says that it acts, whatever its address is, with and without --details."""
    with hostile(record=lambda number, name: link.format(i=number, name=name)) as site:
        result = harvest(site, tmp_path, budget=120, details=details)
    assert result.summary["records"] == 60
    assert site.acted("/item/") == []


def test_record_titles_with_acting_words_are_opened(tmp_path: Path) -> None:
    """A title with an acting word among other titles does not act."""
    titles = (
        "Kill {n}",
        "Vote for {n}",
        "How to delete {n} files",
        "Order of the {n}",
        "{n} by post",
        "Stone {n}",
        "The {n} sign",
    )

    def record(number: int, name: str) -> str:
        return f'<a href="/item/{number}">{titles[number % len(titles)].format(n=name)}</a>'

    with hostile(record=record) as site:
        result = harvest(site, tmp_path, budget=300, details="last")
    assert result.summary["records"] == 60
    assert len(set(site.acted("get /item/"))) >= 50


# Links of a page without a search; each leads to a page that must not be requested.
ACTING_LINKS = (
    "<a href='/logout/x.html'>Search</a>",
    "<a href='/l%F6schen'>Search</a>",
    "<a href='/send-invoice'>Search</a>",
    "<a href='/%F3%E4%E0%EB%E8%F2%FC'>List</a>",
    "<a href='/%C9%BE%B3%FD'>List</a>",
    "<a href='/d%2565lete/4'>List</a>",
    "<a href='/items/4;delete'>List</a>",
    "<a href='/x1?_method=DELETE'>List</a>",
    "<a href='/x2' title='Delete'>List</a>",
    "<a href='/x3'><img alt='Log out' src=a.png></a>",
    "<a href='/x4' aria-label='Buy now'>→</a>",
    "<a href='/x5'>🗑</a>",
    "<a href='/x6' class='btn-delete'></a>",
    "<a href='/x7' data-method=delete>List</a>",
    "<a href='/x8' onclick='return confirm(\"Delete?\")'>List</a>",
    "<p>To unsubscribe, click <a href='/x9'>here</a></p>",
    "<map><area href='/x10' alt='Delete'></map>",
    "<a href='/x11'>Sign this petition</a>",
    "<a href='/x12'>Kijelentkezés</a>",
    "<a href='/x13'>ออกจากระบบ</a>",
    "<a href='/x14'>Odhlásit se</a>",
    "<a href='/x15'>Đăng xuất</a>",
    "<a href='/x16'>लॉग आउट</a>",
    "<a href='/x17'>გამოსვლა</a>",
    "<a href='/x18'>Αποσύνδεση</a>",
    "<a href='/x19'>Atsijungti</a>",
    "<a href='/x20'>Wyloguj się</a>",
    "<a href='/x21'>Kirjaudu ulos</a>",
    "<a href='/wiki?action=rollback&amp;token=1'>Browse list</a>",
    "<a href='/dеlete/7'>Browse list</a>",
    "<a href='/go?url=/account/logout'>Browse list</a>",
    "<form action=/x22><input type=hidden name=a value=1><button formaction=/x23/delete>Search</button></form>",
    "<form action=/x24><input name=q type=search><input type=image alt='Delete' src=a.png></form>",
)


@pytest.mark.parametrize("link", ACTING_LINKS)
def test_links_that_act_are_not_opened_to_find_a_search(link: str, tmp_path: Path) -> None:
    """Evidence in the address, in any charset, or in label, title, alternative text, class, handler or text before the link suffices."""
    around = f"<p>{link}</p><p><a href='/about'>Browse the catalogue</a></p>"
    with hostile(form="", around_home=around) as site, pytest.raises(UpwellError):
        harvest(site, tmp_path, budget=30)
    assert site.acted("get /about")
    assert [
        t for t in site.targets if t.split()[1] not in ("/", "/about", "/sitemap.xml", "/no-such-page-of-this-site")
    ] == []


def test_post_for_the_next_page_that_costs_money_is_not_sent(tmp_path: Path) -> None:
    """A form for the next page is not sent if its text announces a charge."""
    form = (
        "<form method=post action=/find><p>Your card will be charged.</p><input type=hidden name=q value='{q}'>"
        "<input type=hidden name=page value=2><button>Next</button></form>"
    )
    with hostile(around_answers=lambda query, page: form.replace("{q}", query)) as site:
        site.has_pager = False
        harvest(site, tmp_path, budget=40)
    assert site.acted("post /") == []


def test_only_the_field_of_the_query_may_contain_an_acting_word(tmp_path: Path) -> None:
    """The query “delete” is sent in its field; a redirect that moves it to an operation is not followed."""

    def find(request: Any) -> Answer | str:
        query = parse_qs(urlsplit(request.target).query).get("q", [""])[0]
        if query == "delete":
            return Answer(status=302, headers={"Location": "/find?action=delete"})
        return site.answer(query, 1, "/find")

    with hostile({"/find": find}) as site:
        harvest(site, tmp_path, budget=40, words=("delete", "amber"))
    assert site.acted("q=delete")
    assert site.acted("action=delete") == []


@pytest.mark.parametrize(
    "form",
    [
        "<form action=/wall method=post class=search><input type=search name=q placeholder=Search><button>Go</button></form>",
        "<form action=/search method=post><input type=hidden name=_method value=DELETE><input type=search name=q><button>Search</button></form>",
        "<form action=/find method=post><input type=search name=q><button>Search and buy</button></form>",
    ],
)
def test_post_needs_an_address_or_button_that_searches(form: str, tmp_path: Path) -> None:
    """A POST form is sent only if its address or button says that it searches, and nothing in it acts."""
    with hostile(form=form) as site, pytest.raises(UpwellError):
        harvest(site, tmp_path, budget=40)
    assert site.acted("post /") == []
