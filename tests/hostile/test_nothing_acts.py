"""No request that acts is ever sent by forms, buttons, links, pagers, facets, options or declared searches."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from tests.hostile.site import Answer, HostileSite, hostile
from upwell import api
from upwell.errors import NoSearchForm, UpwellError
from upwell.harvest.loop import Plan
from upwell.net.fetch import Manners

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
    """The search is harvested; no link that acts is followed."""
    links = "".join(
        f'<a href="/{word}?id={i}">{word.title()} {i}</a> <a class=next href="/item/{i}/{word}">Next</a>'
        for i, word in enumerate(ACTS)
    )
    with hostile(around_home=f"<nav>{links}</nav>", around_answers=lambda query, page: links) as site:
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
    """A link called "next" that also sets something else is not followed."""

    def pager(query: str, page: int) -> str:
        return f'<div class=pager><a class=next rel=next href="{target.replace("{q}", query)}">Next</a></div>'

    with hostile(around_answers=pager) as site:
        site.has_pager = False
        harvest(site, tmp_path, budget=40)
    assert site.acted("page=2") == []


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


def test_facets_that_act_are_not_used(tmp_path: Path) -> None:
    """A facet link is followed only if neither its URL nor its text acts."""

    def facets(query: str, page: int) -> str:
        names = ("kind=stone", "kind=ore", "kind=gem&clear=cart", "kind=x&op=close", "remove=4")
        return "".join(f'<a href="/find?q={query}&amp;{name}">{name.title()} (40)</a> ' for name in names)

    with hostile(around_answers=facets, records=400) as site:
        harvest(site, tmp_path, budget=80)
    assert site.acted("clear=", "op=close", "remove=") == []


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
