"""More matches on a page: the settings that a source has for it, so that an answer takes fewer requests.

    offered   a select or radio of the search form, or links of an answer, whose values are whole numbers
    own       a value that is sent with every query, or with the next page

By its name, or because its value is the number of matches shown; whether it is one shows when it is tried (`grown`).
"""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from urllib.parse import urlencode, urlsplit, urlunsplit

from upwell.answers import argument_names as names
from upwell.answers.facets import carrying
from upwell.answers.pager import NextPage
from upwell.model import AddressInterface, JsonInterface, SearchInterface
from upwell.page.tree import TagTree
from upwell.page.url_arguments import pairs, split
from upwell.site import forms, interfaces

__all__ = ["grown", "larger", "with_setting"]

Pair = tuple[str, str]
MOST = 1000  # matches on a page that are asked for at most: a larger page takes long where it is made
USUAL = 100  # what is asked for where the source does not say what it takes: as many as most do
FULL = 5  # matches that a page shows at least, before a value that is as large is taken for its size
GROWS = 1.5  # times the matches of a page that a larger one must have; not swept
KEEPS = 0.8  # share of the matches of a page that must be on the larger one; not swept


def larger(
    template: SearchInterface, pages: Sequence[TagTree], query: str, shown: int, step: NextPage | None = None
) -> list[Pair]:
    """The settings that may show more than the `shown` matches of a full page, offered ones first, each with the largest value.

    `pages` are the page with the form and an answer to `query`, `step` what leads on from there.
    """
    own = dict(_own(template))
    offered: defaultdict[str, set[int]] = defaultdict(set)
    if isinstance(template, JsonInterface):
        pages, step = (), None  # what forms and links say has no place in a JSON body
    for tree in pages:
        for form in forms.find(tree):
            if template.query_field and form.query_field != template.query_field:
                continue
            preset = {field.name: field.preset[-1] for field in form.fields if field.preset}
            for name, values in interfaces.settings(form):
                sizes = [int(value) for value in values if value.isdecimal()]
                if len(sizes) == len([value for value in values if value]) and _is_size(name, preset.get(name), shown):
                    offered[name].update(sizes)
        for row, url in carrying(tree, template.query_field, query):
            text = tree.text(row).strip()
            for name, value in split(url, query).arguments:
                if value.isdecimal() and value == text and _is_size(name, None, shown):
                    offered[name].add(int(value))
    for name, value in (*split(step.url, query).arguments, *step.fields) if step else ():
        if names.PAGE_SIZE.fullmatch(names.plain(name)):
            own.setdefault(name, value)
    found = {name: max((size for size in sizes if size <= MOST), default=0) for name, sizes in offered.items()}
    for name, value in own.items():
        if name not in found and value.isdecimal() and _is_size(name, value, shown):
            found[name] = USUAL
    return [(name, str(size)) for name, size in found.items() if size > max(shown, _whole(own.get(name)))]


def with_setting(template: SearchInterface, name: str, value: str) -> SearchInterface:
    """The template with one setting changed, wherever it stands: in its fields, its address or its body; else added.

    >>> with_setting(AddressInterface(url="http://x/s/{query}?size=20"), "size", "100").url
    'http://x/s/{query}?size=100'
    """
    if isinstance(template, JsonInterface):
        return replace(template, body=json.dumps({**json.loads(template.body), name: int(value)}))
    if name in dict(template.fields):
        fields = tuple((known, value if known == name else old) for known, old in template.fields)
        return replace(template, fields=fields)
    parts = urlsplit(template.url)
    own = dict(pairs(parts.query))
    if name in own or isinstance(template, AddressInterface):
        said = urlencode({**own, name: value}, safe="{}")
        return replace(template, url=urlunsplit(parts._replace(query=said)))
    return replace(template, fields=(*template.fields, (name, value)))


def grown(before: Collection[str], after: Collection[str], value: str, step: NextPage | None) -> bool:
    """Whether an answer with the setting is the same with more matches (keys of records), and its next page keeps to it."""
    kept = len(set(before) & set(after))
    if len(after) < GROWS * len(before) or kept < KEEPS * len(before):
        return False
    return step is None or value in [v for _, v in (*split(step.url).arguments, *step.fields)]


def _own(template: SearchInterface) -> Iterable[Pair]:
    """What is sent with every query."""
    if isinstance(template, JsonInterface):
        try:
            said = json.loads(template.body)
        except ValueError:
            return []
        return [(n, str(v)) for n, v in said.items() if type(v) is int] if isinstance(said, dict) else []
    return [*pairs(urlsplit(template.url).query), *template.fields]


def _is_size(name: str, value: str | None, shown: int) -> bool:
    word = names.plain(name)
    if names.PAGE.fullmatch(word):
        return False
    return bool(names.PAGE_SIZE.fullmatch(word)) or (shown >= FULL and value == str(shown))


def _whole(value: str | None) -> int:
    return int(value) if value and value.isdecimal() else 0
