"""Search interfaces that a site declares: SearchAction and OpenSearch."""

import pytest

from upwell.discover import declared, interfaces
from upwell.discover.link_ranking import promising_links
from upwell.page.tree import read

LD = '<script type="application/ld+json">%s</script>'
ACTION = '{"@type":"SearchAction","target":%s,"query-input":"required name=term"}'


@pytest.mark.parametrize(
    "html",
    [
        LD % ('{"@type":"WebSite","potentialAction":' + ACTION.replace("%s", '"/find?lang=en&q={term}"') + "}"),
        LD % ACTION.replace("%s", '{"@type":"EntryPoint","urlTemplate":"https://example.org/find?lang=en&q={term}"}'),
        LD
        % (
            '{"@graph":[{"potentialAction":['
            + ACTION.replace("%s", '["https://example.org/find?lang=en&q={term}"]')
            + "]}]}"
        ),
        '<div itemscope itemtype="https://schema.org/WebSite"><form itemprop=potentialAction itemscope itemtype="http://schema.org/SearchAction">'
        '<meta itemprop=target content="/find?lang=en&amp;q={term}"><input itemprop=query-input name=term></form></div>',
        '<div typeof="schema:SearchAction"><meta property="schema:target" content="https://example.org/find?lang=en&amp;q={term}">'
        '<meta property="schema:query-input" content="required name=term"></div>',
    ],
    ids=["relative", "entry point", "graph and list", "microdata", "rdfa"],
)
def test_search_actions_in_all_notations(html: str) -> None:
    """All variants of JSON-LD, microdata and RDFa give the same request."""
    offered = interfaces.find(read(html, url="https://example.org/"))
    assert offered[0].via == "search-action"
    assert interfaces.fill(offered[0], "a b").url == "https://example.org/find?lang=en&q=a+b"


@pytest.mark.parametrize(
    "data", ['{"@type":"SearchAction"', '{"@type":"SearchAction","target":"/nowhere"}', "[" * 5000, '"SearchAction"']
)
def test_invalid_search_actions_are_ignored(data: str) -> None:
    """Invalid JSON, a target without a query variable, and very deep nesting are ignored."""
    assert declared.search_actions(read(LD % data, url="https://example.org/")) == ()


OPENSEARCH = """<?xml version="1.0"?><OpenSearchDescription xmlns="http://a9.com/-/spec/opensearch/1.1/"><ShortName>X</ShortName>
<Url type="application/x-suggestions+json" template="https://example.org/suggest?q={searchTerms}"/>
<Url type="text/html" template="%s"/><Url type="application/rss+xml" template="https://example.org/rss?q={searchTerms}"/></OpenSearchDescription>"""


@pytest.mark.parametrize(
    ("template", "url"),
    [
        (
            "https://example.org/find?q={searchTerms}&amp;p={startPage?}&amp;n={count}",
            "https://example.org/find?q=a+b&n=20",
        ),
        ("/s/{searchTerms}/", "https://example.org/s/a%20b/"),
        ("https://example.org/find?q=site:{searchTerms}", "https://example.org/find?q=site:a%20b"),
    ],
)
def test_opensearch_templates(template: str, url: str) -> None:
    """Only the template for pages is used; optional parameters are removed, required ones get default values."""
    page = read(
        '<link rel=search type="application/opensearchdescription+xml" href=/osd.xml>', url="https://example.org/"
    )
    assert declared.opensearch_links(page) == ("https://example.org/osd.xml",)
    (interface,) = declared.opensearch_interfaces((OPENSEARCH % template).encode(), "https://example.org/osd.xml")
    assert interfaces.fill(interface, "a b").url == url


def test_links_that_act_are_not_promising() -> None:
    """Log out, delete, edit, buy, subscribe, other hosts and files are left out; links about searching come first."""
    bad = [
        "/logout",
        "/item/3/delete",
        "/item?do=edit",
        "/cart/add?id=1",
        "/x?action=remove",
        "/data.csv",
        "https://other.net/search",
        "mailto:a@b",
    ]
    page = (
        "".join(f'<a href="{address}">x</a>' for address in bad)
        + "<a href=/c>Catalogue</a><a href=/a>Advanced search</a><a href=/out>Sign out</a>"
    )
    assert [link.url for link in promising_links(read(page, url="https://example.org/"))] == [
        "https://example.org/a",
        "https://example.org/c",
    ]


def test_form_interface_clicks_the_first_button_and_supports_unusual_controls() -> None:
    """Buttons, image buttons, formaction, fieldsets, several selected options, _charset_ and multipart bodies work."""
    html = """<form action=/no><fieldset disabled><input name=gone value=1></fieldset><input name=q><input type=hidden name=_charset_>
    <select name=m multiple><option selected>1<option selected>2</select><select name=d><option disabled selected>no<option>yes</select>
    <button name=b value=first formaction=/find>Search</button><button name=b value=second>Other</button></form>"""
    (interface,) = interfaces.find(read(html, url="http://x/"))
    assert interfaces.fill(interface, "w").url == "http://x/find?q=w&_charset_=UTF-8&m=1&m=2&d=yes&b=first"
    image = "<form action=/find><input name=q><input type=image name=go alt=Search></form>"
    assert (
        interfaces.fill(interfaces.find(read(image, url="http://x/"))[0], "w").url == "http://x/find?q=w&go.x=0&go.y=0"
    )
    multi = "<form action=/find method=post enctype=multipart/form-data><input name=q><button>Search</button></form>"
    sent = interfaces.fill(interfaces.find(read(multi, url="http://x/"))[0], "wörd")
    assert b'name="q"\r\n\r\nw\xc3\xb6rd\r\n--' in sent.body
    assert sent.content_type.startswith("multipart/form-data; boundary=")
