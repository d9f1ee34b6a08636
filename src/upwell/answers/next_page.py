"""Find the request for the next page of an answer: a link, a button or scripted link, or the request behind "load more"."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from urllib.parse import urldefrag

from upwell.answers.pager import NextPage, Pager, next_number_row, parse_label
from upwell.lazy import late_pattern
from upwell.lexicon.argument_names import PAGE, is_usual_name, undecorated
from upwell.page import form_encoding
from upwell.page.links import acts_at, link_request
from upwell.page.tree import TagTree
from upwell.types import LinkContext, Request
from upwell.urls.acting import acting_evidence, adds_acting_value
from upwell.urls.arguments import split_url
from upwell.urls.hosts import site_host

__all__ = ["next_button", "next_link_url", "next_page", "next_page_request"]


def next_link_url(tree: TagTree, query: str = "") -> str | None:
    """Return the URL of the link marked as "next"; on a blog that may be "newer posts →", which leads back."""
    link = Pager(tree, query).next_link()
    return link.url if link else None


def next_page(tree: TagTree, query: str = "") -> NextPage | None:
    """Return the request that a harvest sends for the next page of an answer: a link, a button, or the request behind "load more"."""
    return next((step for step in _candidates(tree, query) if _only_turns_page(tree, step, query)), None)


def _candidates(tree: TagTree, query: str) -> Iterator[NextPage]:
    """Yield possible requests for the next page, most likely first; each is computed only if the previous ones are rejected."""
    yield from Pager(tree, query).further_links()
    for find in (next_button, _load_more):
        step = find(tree, query)
        if step is not None:
            yield step


def _only_turns_page(tree: TagTree, step: NextPage, query: str = "") -> bool:
    """Return True if a request changes only the page: it does not act, and sets no unknown argument.

    Arguments with usual names (position, page size, sort order, view, session) and those of forms on the page may change. An argument with
    another name may change if it is the only change: then it selects the page.
    """
    request = next_page_request(step, query)
    if acting_evidence(request):
        return False
    if not tree.url or step.method == "POST":
        return True
    own = set(split_url(tree.url, query).arguments)
    changed = [
        (name, value) for name, value in split_url(request.url, query).arguments if value and (name, value) not in own
    ]
    unknown = {name for name, value in changed if not is_usual_name(name) and value != query}
    if unknown:
        unknown -= {tree.attr(row, "name") for row in tree.rows("input", "select", "button").tolist()}
    return not unknown or (len(unknown) == 1 and not any(PAGE.fullmatch(undecorated(name)) for name, _ in changed))


def next_page_request(page: NextPage, query: str = "") -> Request:
    """Build the request for a next page as a browser would send it.

    >>> next_page_request(NextPage(url="http://x/s?old=1", fields=(("q", "a b"), (">", "Next")))).url
    'http://x/s?q=a+b&%3E=Next'
    """
    if page.method == "GET" and not page.fields:
        return Request(url=page.url, query=query, context=page.context)
    request = form_encoding.form_request(
        page.method, page.url, page.fields, charset=page.charset, enctype=page.enctype, query=query
    )
    return replace(request, context=page.context)


# Buttons, and links whose script sends a form.

NUMBER_LABEL = late_pattern(r"\D*(\d{1,4})\D*")
# Scripts of pager links: an ASP.NET event, or a field that is set before the form is sent.
DO_POST_BACK = late_pattern(r"__doPostBack\(\s*['\"]([^'\"]*)['\"]\s*,\s*['\"]([^'\"]*)['\"]")
PAGE_ARGUMENT = late_pattern(r"Page\$(\d{1,6})", re.I)  # of an ASP.NET event
END_ARGUMENT = late_pattern(r"Page\$(?:First|Last)", re.I)
SETS_FIELD = late_pattern(r"(?<![\w$:-])([\w$:-]++)(?:['\"]\])?\.value\s*+=\s*+['\"]?+([\w$-]++)['\"]?")


def next_button(tree: TagTree, query: str = "") -> NextPage | None:
    """Return the request that a browser sends when the button or scripted link for the next page is pressed.

    If the query is known, buttons whose form does not send it are skipped.
    """
    for form in map(int, tree.rows("form")):
        types = {row: form_encoding.control_type(tree, row) for row in form_encoding.controls(tree, form)}
        if "password" in types.values():
            continue
        button = _next_page_button(tree, [row for row, kind in types.items() if kind in form_encoding.BUTTON_TYPES])
        step = _submitted(tree, form, button, {}) if button is not None else None
        if step is not None and acting_evidence(next_page_request(step, query)):
            continue
        if step is not None and (
            not query or query.strip().lower() in " ".join([step.url, *(v for _, v in step.fields)]).lower()
        ):
            return step
    return _scripted_link(tree)


def _label(tree: TagTree, row: int) -> str:
    text = tree.text(row) if tree.name(row) != "input" else tree.attr(row, "value") or tree.attr(row, "alt") or ""
    return " ".join(text.split()) or (tree.attr(row, "title") or tree.attr(row, "aria-label") or "").strip()


def _is_next_label(text: str) -> bool:
    label = parse_label(text)
    return label.is_next_word or label.is_arrow or label.is_more_results


def _next_page_button(tree: TagTree, buttons: list[int]) -> int | None:
    """Return the button of a form that leads to the next page: by its label, or as the number after the current page."""
    enabled = [row for row in buttons if not form_encoding.is_disabled(tree, row)]
    labels = {row: _label(tree, row) for row in buttons}
    parsed = [parse_label(text) for text in labels.values()]
    has_other_pages = any(label.is_back or label.starts_left or label.is_number for label in parsed)
    enabled = [row for row in enabled if not acting_evidence(Request(url="", context=LinkContext(label=labels[row])))]
    numbers = {row: int(number[1]) for row in buttons if (number := NUMBER_LABEL.fullmatch(labels[row]))}
    row_of = {number: row for row, number in numbers.items() if row in enabled}
    disabled = [number for row, number in numbers.items() if row not in enabled]  # one of them is the current page
    following = [row_of[number + 1] for number in disabled if number + 1 in row_of]
    if not following and not disabled and 1 not in row_of and {2, 3} <= set(row_of):
        following = [row_of[2]]
    for row in enabled:
        name_and_class = f"{tree.attr(row, 'name') or ''} {tree.attr(row, 'class') or ''}"
        # a lone arrow may be a "go" button: it needs a button back, a page number, or "next" in its name or class;
        # beside the next number it may lead to the last page
        if _is_next_label(labels[row]) and (
            not parse_label(labels[row]).is_arrow
            or (has_other_pages and not following)
            or "next" in name_and_class.lower()
        ):
            return row
    return following[0] if following else None


def _submitted(tree: TagTree, form: int, button_row: int | None, changed: dict[str, str]) -> NextPage:
    """Return the request of a form when a button is pressed, with the fields that a script changes."""
    fields = form_encoding.read_fields(tree, form)
    button = next((field for field in fields if field.row == button_row), None)
    method, url, enctype = form_encoding.form_target(tree, form, button)
    charset = form_encoding.form_charset(tree, form)
    added = dict(changed)
    entries = [(name, added.pop(name, value)) for name, value in form_encoding.entry_list(fields, button, charset)]
    return NextPage(
        method=method,
        url=url,
        fields=(*entries, *added.items()),
        via="button",
        button=button.name if button else "",
        charset=charset,
        enctype=enctype,
        context=form_encoding.form_context(tree, form, button_row, url),
    )


def _scripted_link(tree: TagTree) -> NextPage | None:
    """Return the request of a pager link whose script fills in a form and sends it."""
    links: list[tuple[str, int, dict[str, str]]] = []  # label, row, fields that the script sets
    hrefs, click_handlers = tree.attribute_by_row("href"), tree.attribute_by_row("onclick")
    scripted = {row for scripts in (hrefs, click_handlers) for row, script in scripts.items() if _sends_form(script)}
    for row in tree.rows("a", "button", "input").tolist() if scripted else ():
        if row not in scripted:
            continue
        script = f"{hrefs.get(row, '')} {click_handlers.get(row, '')}"
        event = DO_POST_BACK.search(script)
        changed = (
            {"__EVENTTARGET": event[1], "__EVENTARGUMENT": event[2]}
            if event
            else {name: value for name, value in SETS_FIELD.findall(script) if name != "this"}
        )
        if changed and (event or "submit" in script):
            links.append((_label(tree, row), row, changed))
    onward = [link for link in links if _is_next_label(link[0]) and not _leads_to_end(link[2])]
    chosen = next((link for link in onward if not parse_label(link[0]).is_arrow), None)
    if chosen is None:  # the next number wins over an arrow, which may lead to the last page
        numbered = [(number, row) for text, row, sets in links if (number := _number_of_link(text, sets)) is not None]
        following = next_number_row(tree, numbered) if numbered else None
        chosen = next((link for link in links if link[1] == following), next(iter(onward), None))
    forms = [int(row) for row in tree.rows("form")]
    if chosen is None or not forms:
        return None
    _, row, changed = chosen
    around = [form for form in forms if form < row < tree.end[form]]
    with_field = [
        form for form in forms if {field.name for field in form_encoding.read_fields(tree, form)} & set(changed)
    ]
    return _submitted(tree, (around or with_field or forms)[0], None, changed)


def _number_of_link(text: str, changed: Mapping[str, str]) -> int | None:
    """Return the number of the page that a scripted link leads to: its label, or the argument of its event for the label "…"."""
    number = parse_label(text).number
    if number is None and not any(map(str.isalnum, text)) and not _is_next_label(text):
        argument = PAGE_ARGUMENT.fullmatch(changed.get("__EVENTARGUMENT", ""))
        number = int(argument[1]) if argument else None
    return number


def _leads_to_end(changed: Mapping[str, str]) -> bool:
    """Return True if the event of a link leads to the first or last page, whatever its label says."""
    return END_ARGUMENT.fullmatch(changed.get("__EVENTARGUMENT", "")) is not None


def _sends_form(script: str) -> bool:
    return "submit" in script or "__doPostBack" in script


# "Load more" and endless lists, if an attribute contains the URL of the request.

# Names of attributes that may contain this URL, and classes and ids of elements that send the request.
URL_ATTRIBUTE = late_pattern(
    r"(?:data|hx|ng|v|up)?-?(?:next|load|more|ajax|remote|fetch|get|page)?-?(?:url|href|src|get|link|next|action|endpoint)"
)
LOAD_MORE_CLASS = late_pattern(
    r"load[-_]?more|show[-_]?more|more[-_]?(?:results|button|btn)|infinite|next[-_]?page|view[-_]?more", re.I
)
ON_SCROLL = late_pattern(r"revealed|intersect", re.I)  # htmx: the request is sent when the element becomes visible
MAX_LABEL_CHARS = 40  # text of a "load more" element


def _load_more(tree: TagTree, _query: str = "") -> NextPage | None:
    """Return the request behind "load more" or an endless list."""
    host = site_host(tree.url)
    names = [name for name in tree.attribute_names if _may_contain_url(name)]
    rows = sorted({row for name in names for row in tree.attribute_by_row(name)})
    for row in rows:
        attributes = tree.attributes.get(row, {})
        classes = " ".join(attributes.get(name) or "" for name in ("class", "id", "rel", "aria-label"))
        loads_more = bool(LOAD_MORE_CLASS.search(classes) or ON_SCROLL.search(attributes.get("hx-trigger") or ""))
        if not loads_more and tree.name(row) in ("a", "button", "div", "span") and tree.chars[row] <= MAX_LABEL_CHARS:
            label = parse_label(tree.text(row))
            loads_more = label.is_more or label.is_next_word
        if not loads_more:
            continue
        for name, value in attributes.items():
            if not _may_contain_url(name):
                continue
            url = urldefrag(tree.resolve(value) or "")[0] if value and _looks_like_url(value) else ""
            if (
                url
                and url != urldefrag(tree.url)[0]
                and site_host(url) in (host, "")
                and not (acts_at(tree, row, url) or adds_acting_value(url, tree.url))
            ):
                return NextPage(url=url, via="more", context=link_request(tree, row, url).context)
    return None


@lru_cache(maxsize=1000)
def _may_contain_url(name: str) -> bool:
    """Return True if an attribute with this name may contain the URL of a request that a script sends."""
    return name not in ("href", "src", "action") and bool(URL_ATTRIBUTE.fullmatch(name))


def _looks_like_url(value: str) -> bool:
    return (
        value.startswith(("/", "?", "http://", "https://", "./", "../"))
        and " " not in value.strip()
        and "{" not in value
    )
