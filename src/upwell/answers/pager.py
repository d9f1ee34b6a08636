"""Find the link to the next page of an answer: a fitted judgement (`judge/weights/next_link.json`, `python -m benchmarks.fit next_link`).

    candidate   target of one or more links that may belong to a pager, or of rel=next in the head
    next        the link that is marked as "next"; on a blog "newer posts →", on an article "next article"
    further     the link to further records of the same list, which a harvest follows: "← older posts", "2" after "1"

Both answers use the same features (`FEATURES`): the labels of the links to a target, their markup, the links around them, and how the
target differs from the URL of the page. Entity does not follow pagers: it fetches one page per query.
"""

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, reduce
from operator import or_
from typing import Literal
from urllib.parse import urldefrag, urlsplit
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from upwell.judge.judgement import load_judgement
from upwell.lexicon.argument_names import PAGE, undecorated
from upwell.lexicon.phrases import ARROW, LAST, MORE, MORE_RESULTS, NEWER, NEXT, NEXT_ITEM, NEXT_START, OLDER, PREVIOUS
from upwell.page.links import acts, acts_at
from upwell.page.path_signatures import CLASSLESS, PathSignature
from upwell.page.tree import TagTree
from upwell.types import LinkContext
from upwell.urls.acting import adds_acting_value
from upwell.urls.arguments import numbers_in_url, parse_arguments, split_url
from upwell.urls.hosts import is_valid, leaves_site, site_host

__all__ = [
    "FEATURES",
    "PAGE_NUMBER",
    "LinkLabel",
    "NextPage",
    "Pager",
    "further_link",
    "next_number_row",
    "parse_label",
]

# Number links: of a row of page numbers, the link to the page after the current one.

PAGE_NUMBER = re.compile(r"\W*(\d{1,3}(?:[.,\u00a0 ]?\d{3})?)\W*")
CURRENT_CLASS = re.compile(r"(?<![a-z])(?:current|selected|active)(?![a-z])", re.I)
DIGITS = re.compile(r"\d+")
MAX_NUMBER_CHARS = 12  # characters of a number link, including brackets and other signs


def _page_url(tree: TagTree) -> str:
    """Return the URL of the page without fragment: the fetched URL, otherwise the canonical URL that it states, otherwise ""."""
    if tree.url:
        return urldefrag(tree.url)[0]
    for row in tree.rows("link", "meta"):
        if (tree.attr(row, "rel") or "").lower() == "canonical" or (
            tree.attr(row, "property") or ""
        ).lower() == "og:url":
            url = tree.attr(row, "href") or tree.attr(row, "content") or ""
            if url.startswith(("http://", "https://")) and is_valid(url):
                return urldefrag(url)[0]
    return ""


def _page_number(text: str) -> int | None:
    """Return the number of a text that is a number, apart from signs around it."""
    return _parse_page_number(text) if len(text) <= MAX_NUMBER_CHARS else None


@lru_cache(maxsize=2000)
def _parse_page_number(text: str) -> int | None:
    match = PAGE_NUMBER.fullmatch(text)
    return int(re.sub(r"\D", "", match[1])) if match else None


def next_number_row(tree: TagTree, numbered: list[tuple[int, int]]) -> int | None:
    """Return the row of the link to the page after the current one, from number links (number, row)."""
    groups: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    container_of: dict[int, int] = {}  # by the parent of a link, which most links of a pager share
    for number, row in numbered:
        parent = int(tree.parent[row])
        if parent not in container_of:
            container_of[parent] = _container_of_numbers(tree, parent)
        groups[container_of[parent]].append((number, row))
    for container, group in groups.items():
        current = _current_number(tree, container, group)
        following = next((row for number, row in group if current is not None and number == current + 1), None)
        if following is not None:
            return following
    return None


def _container_of_numbers(tree: TagTree, container: int) -> int:
    """Return the row that contains a number link and its siblings: the first ancestor, from `container` on, with several children."""
    end = tree.end
    while container > 0 and end[container + 1] == end[container] and tree.chars_of(container) <= MAX_NUMBER_CHARS:
        container = int(tree.parent[container])
    return container


def _current_number(tree: TagTree, container: int, group: list[tuple[int, int]]) -> int | None:
    """Return the number of the current page.

    It is the number that is not a link, otherwise the link that is marked as current or leads to this page. It is 1 if the links begin
    with 2 and 3, or if link 1 leads to this page.
    """
    linked = {number for number, _ in group}
    rows = sorted(row for _, row in group)
    unlinked = []
    texts = slice(int(tree.text_at[container]), int(tree.text_end[container]))
    for text, text_row in zip(tree.chunks[texts], tree.chunk_row[texts].tolist(), strict=True):
        if (number := _page_number(text)) is None:
            continue
        before = bisect_right(rows, text_row) - 1  # links are not nested
        if before < 0 or text_row >= tree.end[rows[before]]:
            unlinked.append(number)
    before_link = [number for number in unlinked if number + 1 in linked and number not in linked]
    if before_link:
        return before_link[0]
    here = _page_url(tree)
    marked = [
        number
        for number, row in group
        if _is_marked_current(tree, row) or (here and _resolve(tree, tree.attr(row, "href")) == here)
    ]
    if len(marked) == 1:
        return marked[0]
    if unlinked or 2 not in linked:
        return None
    is_first = here and any(
        number == 1 and _is_first_page(here, _resolve(tree, tree.attr(row, "href"))) for number, row in group
    )
    return 1 if is_first or (3 in linked and 1 not in linked) else None


def _is_first_page(here: str, there: str) -> bool:
    """Return True if a URL is that of this page plus a page argument, which the URL of the first page omits.

    >>> _is_first_page("http://x/s?q=a", "http://x/s?q=a&page=1"), _is_first_page("http://x/s?q=a", "http://x/s?q=a&rooms=1")
    (True, False)
    """
    own, other = urlsplit(here), urlsplit(there)
    own_arguments, arguments = ({pair for pair in parse_arguments(parts.query) if pair[1]} for parts in (own, other))
    added = arguments - own_arguments
    return (
        (own.netloc, own.path) == (other.netloc, other.path)
        and own_arguments < arguments
        and len(added) == 1
        and all(PAGE.fullmatch(undecorated(name)) for name, _ in added)
    )


def _resolve(tree: TagTree, href: str | None) -> str:
    """Return the URL of a reference without fragment; "" if it is not an http(s) URL."""
    url = tree.resolve(href) or ""
    return urldefrag(url)[0] if "#" in url else url


def _is_marked_current(tree: TagTree, link: int) -> bool:
    """Return True if a number link, or its parent if that has no other text, is marked as the current page."""
    parent = int(tree.parent[link])
    rows = (link, parent) if tree.chars[parent] == tree.chars[link] else (link,)
    return any(
        tree.attr(row, "aria-current") not in (None, "false") or CURRENT_CLASS.search(tree.attr(row, "class") or "")
        for row in rows
    )


# Labels: the text of a link as far as it concerns paging.

LEFT_ARROW = re.compile(r"[\s\[(|]*(?:[←«‹<◀◄❮⟨⇐⟪]|&lt;)")
RIGHT_ARROW_AT_END = re.compile(r"(?:[→»›>▶►❯⟩⇒⟫]|&gt;)[\s\])|]*$")
MAX_CACHED_LABELS = (
    10_000  # safety limit: most links of an answer occur on other answers too; only short texts are parsed
)
BRACKETS = " []()|"
LONG_LABEL_CHARS = 25  # a label from this length on is a title rather than the label of a pager


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkLabel:
    """Text of a link on one line, classified by its meaning for paging."""

    text: str
    number: int | None  # the text as a page number
    is_number: bool
    is_arrow: bool
    is_double_arrow: bool  # may lead to the last page
    starts_left: bool  # begins with an arrow to the left
    ends_right: bool  # ends with an arrow to the right
    is_next_word: bool
    starts_with_next: bool  # "next" with other words: "Next article"
    is_next_item: bool  # "next" with a noun for another record: "Next thread"
    is_more: bool
    is_more_results: bool
    is_older: bool
    is_newer: bool
    is_back: bool  # previous or first page
    is_last: bool

    @property
    def is_other(self) -> bool:
        """Return True if the text is not empty and does not concern paging."""
        return bool(self.text) and not (self.is_of_pager or self.is_more or self.starts_with_next or self.ends_right)

    @property
    def is_of_pager(self) -> bool:
        """Return True if the text is usual in pagers."""
        return (
            self.is_number
            or self.is_arrow
            or self.is_next_word
            or self.is_back
            or self.is_last
            or self.is_older
            or self.is_newer
            or self.is_more_results
            or self.starts_left
        )


@lru_cache(maxsize=MAX_CACHED_LABELS)
def parse_label(raw: str) -> LinkLabel:
    """Classify the text of a link.

    >>> parse_label("Next ›").is_next_word, parse_label("‹ Previous").is_back, parse_label("[3]").number
    (True, True, 3)
    """
    text = " ".join(raw.split())
    is_arrow = bool(ARROW.fullmatch(text))
    bare = text.strip(BRACKETS)
    is_next_word = bool(text) and not is_arrow and bool(NEXT.fullmatch(text))
    starts_with_next = bool(text) and not is_next_word and bool(NEXT_START.match(text))
    return LinkLabel(
        text=text,
        number=_page_number(text),
        is_number=bool(PAGE_NUMBER.fullmatch(text)),
        is_arrow=is_arrow,
        is_double_arrow=is_arrow and (len(bare) > 1 or bare in "»⟫"),
        starts_left=bool(LEFT_ARROW.match(text)),
        ends_right=not is_arrow and bool(RIGHT_ARROW_AT_END.search(text)),
        is_next_word=is_next_word,
        starts_with_next=starts_with_next,
        is_next_item=(starts_with_next or is_next_word) and bool(NEXT_ITEM.search(text)),
        is_more=bool(MORE.fullmatch(text)),
        is_more_results=bool(MORE_RESULTS.fullmatch(text)),
        is_older=bool(OLDER.fullmatch(text)),
        is_newer=bool(NEWER.search(text)),
        is_back=bool(PREVIOUS.fullmatch(text)),
        is_last=bool(LAST.fullmatch(text)),
    )


# URLs: how the target of a link differs from the URL of the page.

INDEX_FILE = re.compile(
    r"(?<=/)index\d*\.\w+$", re.I
)  # default page of a folder: index.html; its next page may be index2.html
PAGE_SEGMENT = re.compile(
    r"/(?:page|pages|p|pg|seite|pagina|página|strona|stranka|sida|side|sivu|sayfa|trang|halaman|страница)[-_/]?\d{1,4}/?(?:$|[/.?])",
    re.I,
)
DATE_NAMES = frozenset(("day", "month", "year", "week", "date", "m", "y", "d", "cal", "calendar", "monat", "jahr"))
YEARS = range(1900, 2101)
DATE_VALUE = re.compile(r"(?:19|20)\d\d(?:[-/.]\d\d?(?:[-/.]\d\d?)?|(?:0[1-9]|1[0-2])(?:[0-3]\d)?)")
PAGE_SUFFIX = re.compile(r"[-_.,]*[a-z]{0,6}[-_]?#", re.I)  # of a file name: thread#-#.html, Pokedex-#, topic-s#
SUFFIX = re.compile(r"\.\w{1,5}$")
TEXT_BOXES = ("text", "search")
MAX_POSITION = 100_000_000  # a larger number is a time or an identifier, not a position in a list
MAX_CACHED_PAIRS = 500  # safety limit: cached pairs of URLs; an answer is read several times
URL_FEATURES = (
    "own_url_unknown",  # of the page
    "same_path",  # apart from numbers, or one is the start of the other
    "same_folder",
    "other_path",
    "step_one",  # a number of the URL is greater by one
    "step_more",  # a number is greater by more
    "new_number",  # the URL has one number more
    "new_two",  # … which is 2, or 1 where pages are counted from 0
    "step_back",  # numbers only decrease
    "no_step",  # no number changes
    "page_argument",  # the number that changes has a usual name: page=2, /page/2
    "has_page_argument",
    "other_changes",  # arguments, besides numbers, that change
    "loses_arguments",  # of the page's URL
    "date",  # the number that changes is a date or a time
)


def _numbers(url: str) -> dict[str, int]:
    """Return the numbers of a URL by place, including positions after a point (`board=18.20`)."""
    numbers = numbers_in_url(url)
    if "." in url:
        for name, value in parse_arguments(urlsplit(url).query):
            whole, point, position = value.partition(".")
            if point and whole.isdecimal() and position.isdecimal() and len(position) < 8:
                numbers[f"{name}={whole}."] = int(position)
    return numbers


@lru_cache(maxsize=MAX_CACHED_PAIRS)
def _increase(page_url: str, url: str) -> int:
    """Return the smallest increase of a number from one URL to another; a new number counts as 1.

    0 if no number changes, -1 if numbers only decrease.
    """
    before, after = _numbers(page_url), _numbers(url)
    changes = [
        1 if place not in before else number - before[place]
        for place, number in after.items()
        if number != before.get(place) and number <= MAX_POSITION
    ]
    increases = [change for change in changes if change > 0]
    return min(increases) if increases else -1 if changes else 0


@lru_cache(maxsize=MAX_CACHED_PAIRS)
def _url_features(page_url: str, url: str) -> tuple[float, ...]:
    """Return the features of a target (`URL_FEATURES`) against the URL of the page."""
    here, there = urlsplit(page_url), urlsplit(url)
    here_arguments, arguments = parse_arguments(here.query), parse_arguments(there.query)
    before, after = _numbers(page_url), _numbers(url)
    in_page_names = bool(PAGE_SEGMENT.search(there.path)) or any(
        value and _is_page_name(name) for name, value in arguments
    )
    if not page_url:
        is_date = any(DATE_VALUE.fullmatch(value) for _, value in arguments)
        return (1.0, *[0.0] * 10, float(in_page_names), 0.0, 0.0, float(is_date))
    here_path, there_path = (
        [DIGITS.sub("#", segment) for segment in INDEX_FILE.sub("", path).strip("/").split("/")]
        for path in (here.path, there.path)
    )
    shorter = min(len(here_path), len(there_path))
    is_same_path = here_path[:shorter] == there_path[:shorter] or here_path == [""] or there_path == [""]
    is_same_path = is_same_path or (
        here_path[:-1] == there_path[:-1]
        and _differ_in_page(SUFFIX.sub("", here_path[-1]), SUFFIX.sub("", there_path[-1]))
    )
    is_same_folder = len(here_path) > 1 and here_path[:-1] == there_path[: len(here_path) - 1]
    changed = {place: number for place, number in after.items() if number != before.get(place)}
    new = [number for place, number in changed.items() if place not in before]
    steps = [number - before[place] for place, number in changed.items() if place in before]
    up = [step for step in steps if step > 0]
    names = {name for name, value in here_arguments if value}
    has_token = any(
        value and not value.isdigit() and _is_page_name(name) and (name, value) not in here_arguments
        for name, value in arguments
    )
    other_changes = sum(
        1
        for name, value in arguments
        if value and (name, value) not in here_arguments and name not in after and not _is_page_name(name)
        if f"{name}={value.partition('.')[0]}." not in after
    )
    lost = {name for name in names if not _is_page_name(name)} - {name for name, _ in arguments}
    at_end = {place for place in changed if place.count("/") in (0, there.path.rstrip("/").count("/"))}
    is_date = any(
        number > MAX_POSITION
        or number in YEARS
        or undecorated(place) in DATE_NAMES
        or (number > 10_000 and DATE_VALUE.fullmatch(str(number)))
        for place, number in changed.items()
        if place in at_end  # inside a path it is the date of an article
    ) or any(argument not in here_arguments and DATE_VALUE.fullmatch(argument[1]) for argument in arguments)
    is_page_change = (
        has_token
        or any(_is_page_name(place) for place in changed)
        or (bool(PAGE_SEGMENT.search(there.path)) and here.path != there.path)
    )
    return (
        0.0,
        float(is_same_path),
        float(is_same_folder and not is_same_path),
        float(not is_same_path and not is_same_folder),
        float(1 in up),
        float(bool(up) and 1 not in up),
        float(bool(new) or has_token),
        float(bool({1, 2}.intersection(new))),
        float(bool(steps) and not up and not new),
        float(not changed and not has_token),
        float(is_page_change),
        float(in_page_names),
        float(min(other_changes, 2)),
        float(bool(lost)),
        float(is_date),
    )


def _differ_in_page(name: str, other: str) -> bool:
    """Return True if one of two file names is the other with a page number at its end.

    >>> _differ_in_page("thread#", "thread#-#"), _differ_in_page("index", "imprint")
    (True, False)
    """
    shorter, longer = sorted((name, other), key=len)
    return bool(shorter) and longer.startswith(shorter) and bool(PAGE_SUFFIX.fullmatch(longer[len(shorter) :]))


@lru_cache(maxsize=2000)
def _is_page_name(name: str) -> bool:
    return "/" not in name and bool(PAGE.fullmatch(undecorated(name)))


def _repeats_search(tree: TagTree, url: str, query: str) -> bool:
    """Return True if a URL repeats the query, an argument of the page's URL, or the text in one of the page's text boxes."""
    split = split_url(url, query)
    texts = {value.strip().lower() for _, value in split.arguments if not value.strip().isdigit()}
    texts |= {segment.lower() for segment in split.endpoint.split("/")[1:]}
    texts = {text for text in texts if text and not text.isdigit()}
    search_texts = [query, *(value for _, value in split_url(tree.url, query).arguments)]
    if any(text.strip().lower() in texts for text in search_texts):
        return True
    boxes = [row for row in tree.rows("input").tolist() if (tree.attr(row, "type") or "text").lower() in TEXT_BOXES]
    return any((tree.attr(row, "value") or "").strip().lower() in texts for row in boxes)


# Classes and ids: words in the markup, which are English on sites of all languages.

MARKUP_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
NEXT_MARK, BACK_MARK, RIGHT_MARK, LEFT_MARK, PAGER_MARK, OFF_MARK, SLIDE_MARK, SINGLE_MARK, END_MARK = (
    1 << bit for bit in range(9)
)
PAGER_WORDS = frozenset(
    ("pagination", "pager", "paging", "pagenav", "pagenavi", "paginate", "paginator", "pages", "pagelinks", "pagelist",
     "pagebar", "pagingbar", "paginav", "paged", "paginacion", "paginacao", "paginazione", "seitennavigation",
     "pagenumbers", "pagenum", "pagernav", "navlinks")
)  # fmt: skip
SLIDE_WORDS = frozenset(
    ("slick", "carousel", "slider", "slide", "slides", "slideshow", "swiper", "owl", "gallery", "calendar", "datepicker",
     "lightbox", "rotator", "ticker", "jcarousel", "orbit", "nivo", "month", "week")
)  # fmt: skip
SINGLE_WORDS = frozenset(
    ("post", "article", "story", "single", "comic", "entry", "product", "topic", "chapter", "thread")
)
MAX_NAME_WORDS = 3  # words of a class or id that describe an element
OFF_WORDS = frozenset(("disabled", "inactive"))
END_WORDS = frozenset(("last", "end", "first", "begin", "start"))


@lru_cache(maxsize=20_000)
def _mark(word: str) -> int:
    if word.startswith(("next", "nxt", "forward", "following")) or word.endswith("next"):
        return NEXT_MARK
    if word.startswith("prev") or word in ("back", "backward"):
        return BACK_MARK
    if word in END_WORDS or word.startswith("lastpage"):
        return END_MARK
    if word in ("right", "left"):
        return RIGHT_MARK if word == "right" else LEFT_MARK
    if word in PAGER_WORDS or word.startswith(("pagination", "paginat", "pagenav")):
        return PAGER_MARK
    return (
        OFF_MARK
        if word in OFF_WORDS
        else SLIDE_MARK
        if word in SLIDE_WORDS
        else SINGLE_MARK
        if word in SINGLE_WORDS
        else 0
    )


@lru_cache(maxsize=20_000)
def _marks(names: str) -> int:
    """Return what the words of a class attribute or id mean for paging, as bits.

    >>> _marks("nextpostslink") == _marks("nextPage") == NEXT_MARK, _marks("i-prev") == BACK_MARK, _marks("prev_next")
    (True, True, 0)
    """
    found = 0
    for name in names.split():
        words = [word.lower() for word in MARKUP_WORD.findall(name)]
        if len(words) <= MAX_NAME_WORDS:  # a longer name is a title
            own = reduce(or_, map(_mark, words), 0)
            # "prev_next" says nothing about the direction
            found |= own & ~(NEXT_MARK | BACK_MARK) if own & NEXT_MARK and own & BACK_MARK else own
    if found & PAGER_MARK == 0 and ("page-numbers" in names or "page-links" in names or "page-nav" in names):
        found |= PAGER_MARK
    return found


def _signature_marks(signature: PathSignature) -> int:
    """Return the marks of an element's own class, and the pager marks of its three nearest ancestors."""
    found = _MARKS_OF_SIGNATURE.get(signature)
    if found is None:
        found = _marks(signature.cls) if signature.cls else 0
        above = signature.above
        for level in range(REGION_LEVELS):
            if above is None or above.tag in CLASSLESS:
                break
            if above.cls:
                marks = _marks(above.cls)
                found |= marks & (PAGER_MARK | (NEXT_MARK if level == 0 else 0))
            above = above.above
        _MARKS_OF_SIGNATURE[signature] = found
    return found


_MARKS_OF_SIGNATURE: WeakKeyDictionary[PathSignature, int] = WeakKeyDictionary()
REGION_LEVELS = 3  # ancestors whose classes say that a link belongs to a pager

# The pager of a page.

NextPageVia = Literal["link", "numbers", "button", "more", "older", "declared"]

MAX_LABEL_CHARS = 40  # text of a pager link
MAX_REGION_LINKS = 40  # links of a pager; a larger list of links is a menu or the records
MAX_CLIMB = 5  # ancestors that are examined to find the other links of a pager
MAX_INNER_ROWS = 20  # safety limit: descendants of a link whose attributes are read
MAX_CANDIDATES = 60  # safety limit: targets that are compared

LINK_FEATURES = (
    # label
    "next_word",
    "next_start",  # "next" and other words
    "next_item",  # … one of which is a noun for another record
    "more_results",
    "more",
    "older",
    "newer",
    "arrow",  # a single arrow to the right
    "double_arrow",
    "left_arrow",  # the label begins with an arrow to the left
    "right_arrow_at_end",
    "back_word",
    "last_word",
    "number",
    "next_number",  # the number after the current one
    "number_before",  # a number before the current one
    "number_beyond",  # a number after the next one
    "no_text",
    "other_text",
    "long_text",
    # markup
    "label_next",  # title, aria-label or alternative text
    "label_back",
    "label_last",
    "rel_next",
    "rel_prev",
    "class_next",
    "class_back",
    "class_end",  # first or last page
    "class_right",
    "class_left",
    "class_slides",  # carousel, calendar
    "class_single",  # next post, next article
    "class_pager",
    # links around it
    "among_pager_links",  # share of the links in the same element that are usual in pagers
    "with_numbers",  # the element has links with numbers
    "with_back",  # … a link back
    "with_current",  # … a number that is not a link, or is marked as current
    "last_of_pager",  # last link of the element, apart from one to the last page
    "after_numbers",  # the link before it is a number
    "little_other_text",  # in the element
    "low",  # in the lower half of the page
)
TARGET_FEATURES = (
    *URL_FEATURES,
    "repeated",  # two links with the same label, above and below the records
    "declared",  # rel=next in the head
    "only_declared",  # … and no link
    "declared_prev",
    "other_number",  # the next number leads elsewhere
    "beyond_number",  # … to a page before this one
    "many_targets",  # links with the same label lead to more than two targets
    "next_number_and_text",  # a link with any other label leads to the next number
    "only_number",
    "only_number_repeats_search",
    "repeats_search",
    "drops_search",  # the query is known, and the URL does not repeat it
    # conjunctions
    "marked",  # any of next_word, arrow, label_next, class_next, rel_next
    "marked_and_step",  # … and a number of the URL increases
    "marked_and_no_step",
    "marked_and_search",  # … and the URL repeats the search and has an increased number
    "marked_in_pager",
    "marked_without_context",  # alone, with an unrelated URL
    "arrow_in_pager",
    "next_start_and_step",
    "more_and_step",
    "step_in_pager",  # any label
    "newer_to_right",
    "older_to_left",
)
FEATURES = ("constant", *LINK_FEATURES, *TARGET_FEATURES)
_AT = {name: position for position, name in enumerate(FEATURES)}
VIA_OF_FEATURE: dict[str, NextPageVia] = {"only_declared": "declared", "only_number": "numbers", "older": "older"}


@dataclass(frozen=True, slots=True, kw_only=True)
class NextPage:
    """Request for the next page; `fields` are sent like those of a form (in the URL, or in the body of a POST)."""

    method: Literal["GET", "POST"] = "GET"
    url: str
    fields: tuple[tuple[str, str], ...] = ()
    via: NextPageVia = "link"  # how it was found
    button: str = ""  # name of the button that is pressed
    charset: str = "utf-8"  # charset of the fields
    enctype: str = ""  # as Form.enctype
    context: LinkContext | None = field(default=None, compare=False)  # as Request.context


@dataclass(slots=True, kw_only=True)
class _Region:
    """Smallest element that contains a link and other links: the pager, if the link belongs to one."""

    rows: list[int]  # of its links
    share: float = 0.0  # of its links that are usual in pagers
    has_numbers: bool = False
    has_back: bool = False
    current: int | None = None  # the number that is not a link, or is marked as current
    has_little_text: bool = False
    last: int = -1  # row of the last link, apart from one to the last page
    marks: int = 0


@dataclass(slots=True)
class _Link:
    row: int
    href: str
    label: LinkLabel


class Pager:
    """Targets of a page that may be its next page, compared by the fitted judgement; all properties are computed once, on demand."""

    def __init__(self, tree: TagTree, query: str = "", *, uses_rel: bool = True) -> None:
        self.tree, self.query, self.page_url = tree, query, _page_url(tree)
        self.host, self.uses_rel = site_host(self.page_url), uses_rel
        self._regions: dict[int, _Region | None] = {}

    def next_link(self) -> NextPage | None:
        """Return the link that is marked as "next"."""
        return next(self._accepted("next"), None)

    def further_links(self) -> Iterator[NextPage]:
        """Yield the links to further records of the same list, most likely first; never one whose numbers only decrease."""
        return (link for link in self._accepted("further") if _increase(self.page_url, link.url) >= 0)

    def _accepted(self, output: str) -> Iterator[NextPage]:
        """Yield the targets that are more likely than none, best first."""
        if not self.targets:
            return
        judgement = load_judgement("next_link")
        evidence = self._evidence[:, judgement.outputs.index(output)]
        for at in np.argsort(-evidence, kind="stable").tolist():
            if evidence[at] < judgement.threshold:
                return
            yield NextPage(url=self.targets[at], via=self._via(at))

    def _via(self, at: int) -> NextPageVia:
        for name, via in VIA_OF_FEATURE.items():
            if self.features[at, _AT[name]]:
                return via
        return "link"

    @cached_property
    def _evidence(self) -> NDArray[np.float64]:
        return load_judgement("next_link").evidence(self.features)

    @property
    def targets(self) -> list[str]:
        """URLs that may be the next page."""
        return self._candidates[0]

    @property
    def features(self) -> NDArray[np.float64]:
        """Features of the targets: one row per target, columns as `FEATURES`."""
        return self._candidates[1]

    @cached_property
    def declared_url(self) -> str | None:
        """Target of rel=next in the head."""
        return self._declared("next")

    def _acts(self, url: str) -> bool:
        """Return True if a target changes something: no pager adds an acting word to the arguments of its page."""
        return acts(url) or adds_acting_value(url, self.page_url)

    def _declared(self, direction: str) -> str | None:
        tree = self.tree
        for row in tree.rows("link").tolist() if self.uses_rel else ():
            if direction in (tree.attr(row, "rel") or "").lower().split():
                url = _resolve(tree, tree.attr(row, "href"))
                if url and url != self.page_url and not leaves_site(url, self.host) and not self._acts(url):
                    return url
        return None

    @cached_property
    def link_rows(self) -> list[int]:
        """Rows of all links with a target."""
        return sorted(self._links)

    @cached_property
    def _links(self) -> dict[int, _Link]:
        """Links with a target, by row; the label of a long text is that of its beginning."""
        tree, chunks, hrefs = self.tree, self.tree.chunks, self.tree.attribute_by_row("href")
        links: dict[int, _Link] = {}
        rows = tree.rows("a", "area")
        texts = zip(rows.tolist(), tree.text_at[rows].tolist(), tree.text_end[rows].tolist(), strict=True)
        for row, first, last in texts:
            if not (href := hrefs.get(row)):
                continue
            text = chunks[first] if last - first == 1 else tree.text_of(first, last)
            links[row] = _Link(row, href, parse_label(text if len(text) <= MAX_LABEL_CHARS else TITLE))
        return links

    @cached_property
    def _next_number_row(self) -> int | None:
        numbered = [(link.label.number, row) for row, link in self._links.items() if link.label.number is not None]
        return next_number_row(self.tree, numbered)

    @cached_property
    def last_number(self) -> int:
        """Largest of the page numbers that the link to the next number belongs to; 0 without such a link."""
        row = self._next_number_row
        if row is None:
            return 0
        container = _container_of_numbers(self.tree, int(self.tree.parent[row]))
        numbers = (link.label.number for at, link in self._links.items() if container <= at < self.tree.end[container])
        return max((number for number in numbers if number is not None), default=0)

    def _plausible_links(self) -> list[_Link]:
        """Return the links whose label, markup or place may belong to a pager, and other links to the same targets."""
        tree, rels = self.tree, self.tree.attribute_by_row("rel") if self.uses_rel else {}
        signatures, signature_of = tree.signatures, tree.signature_of
        next_ids = {row for row, name in tree.attribute_by_row("id").items() if _marks(name) & NEXT_MARK}
        chosen: list[_Link] = []
        others: list[_Link] = []
        for row, link in self._links.items():
            label = link.label
            if label.text and not label.is_other:
                is_plausible = not label.is_number
                if label.is_number:
                    is_plausible = row == self._next_number_row or "next" in rels.get(row, "").lower()
            else:
                marks = _signature_marks(signatures[signature_of[row]])
                is_plausible = bool(marks & (NEXT_MARK | PAGER_MARK)) or (row in rels and "next" in rels[row].lower())
                is_plausible = is_plausible or (row in next_ids or int(tree.parent[row]) in next_ids)
                if not is_plausible and not label.text:
                    is_plausible = self._icon_says_next(row)
            (chosen if is_plausible else others).append(link)
        known = {link.href for link in chosen}
        if self.declared_url is not None:
            known |= {link.href for link in others if _resolve(tree, link.href) == self.declared_url}
        return chosen + [link for link in others if link.href in known]

    def _is_off(self, row: int) -> bool:
        """Return True if a link is disabled: scripts of the page make it do nothing."""
        return self.tree.attr(row, "aria-disabled") == "true" or bool(
            _marks(self.tree.signatures[self.tree.signature_of[row]].cls) & OFF_MARK
        )

    def _icon_says_next(self, row: int) -> bool:
        """Return True if an attribute of a link without text, or of the elements inside it, says "next"."""
        return any(_marks(names) & (NEXT_MARK | RIGHT_MARK) for names in self._names(row)) or any(
            _is_next_label(text) for text in self._labels(row)
        )

    def _names(self, row: int) -> list[str]:
        """Return classes, ids and names of image files of a link and the elements inside it."""
        tree, names = self.tree, []
        for inner in range(row, min(int(tree.end[row]), row + MAX_INNER_ROWS)):
            names += [value for name in ("class", "id") if (value := tree.attr(inner, name))]
            if tree.name(inner) in ("img", "input", "use"):
                source = tree.attr(inner, "src") or tree.attr(inner, "href") or tree.attr(inner, "xlink:href") or ""
                names.append(source.split("?")[0].rsplit("/", 1)[-1].rsplit(".", 1)[0])
        return names

    def _labels(self, row: int) -> list[LinkLabel]:
        """Return the texts that replace or explain the text of a link: title, aria-label, alternative texts of images."""
        tree, labels = self.tree, []
        for inner in range(row, min(int(tree.end[row]), row + MAX_INNER_ROWS)):
            for name in ("title", "aria-label", "alt"):
                text = tree.attr(inner, name)
                if text and len(text) <= MAX_LABEL_CHARS and text.strip():
                    labels.append(parse_label(text))
        return labels

    @cached_property
    def _candidates(self) -> tuple[list[str], NDArray[np.float64]]:
        """Return the targets and their features."""
        tree, by_url = self.tree, defaultdict[str, list[_Link]](list)
        for link in self._plausible_links():
            url = _resolve(tree, link.href)
            if url and url != self.page_url and not leaves_site(url, self.host) and not self._is_off(link.row):
                by_url[url].append(link)
        targets: list[str] = []
        rows: list[list[float]] = []
        targets_of_label: defaultdict[str, set[str]] = defaultdict(set)
        for url, links in by_url.items():
            for link in links:
                targets_of_label[link.label.text].add(url)
        has_search = bool(self.query or "?" in self.page_url or len(tree.rows("input")))
        declared, declared_prev = self.declared_url, self._declared("prev")
        number_row = self._next_number_row
        number_url = _resolve(tree, self._links[number_row].href) if number_row is not None else ""
        if number_url and _url_features(self.page_url, number_url)[URL_FEATURES.index("date")]:
            number_row, number_url = None, ""  # the next day of a calendar
        if declared is not None and declared not in by_url:
            by_url[declared] = []
        for url, links in by_url.items():
            if self._acts(url) or any(acts_at(tree, link.row, url) for link in links) or len(targets) >= MAX_CANDIDATES:
                continue
            columns = [self._link_features(link) for link in links]
            best = [max(values) for values in zip(*columns, strict=True)] if columns else [0.0] * len(LINK_FEATURES)
            own = dict(zip(LINK_FEATURES, best, strict=True))
            if url != number_url:
                own["next_number"] = 0.0
            by_step = dict(zip(URL_FEATURES, _url_features(self.page_url, url), strict=True))
            counted = [link.label.text for link in links]
            only_number = bool(links) and all(link.label.is_number for link in links)
            marked = max(
                own[name] for name in ("next_word", "arrow", "double_arrow", "label_next", "class_next", "rel_next")
            )
            step = max(by_step["step_one"], by_step["new_number"], by_step["step_more"])
            in_pager = max(own["class_pager"], own["with_numbers"], own["with_back"])
            repeats = float(has_search and _repeats_search(tree, url, self.query))
            values = {
                **by_step,
                "repeated": float(len(counted) > len(set(counted))),
                "declared": float(url == declared),
                "only_declared": float(not links),
                "declared_prev": float(url == declared_prev),
                "other_number": float(bool(number_url) and url != number_url),
                "beyond_number": float(bool(number_url) and url != number_url and _increase(number_url, url) > 0),
                "many_targets": float(any(len(targets_of_label[text]) > 2 for text in counted if not text.isdigit())),
                "next_number_and_text": own["next_number"] * (not only_number),
                "only_number": float(only_number),
                "only_number_repeats_search": float(only_number) * repeats,
                "repeats_search": repeats,
                "drops_search": float(bool(self.query)) * (1 - repeats),
                "marked": marked,
                "marked_and_step": marked * step,
                "marked_and_no_step": marked * max(by_step["no_step"], by_step["step_back"]),
                "marked_and_search": marked * step * repeats,
                "marked_in_pager": marked * in_pager,
                "marked_without_context": marked * (1 - in_pager) * by_step["other_path"],
                "arrow_in_pager": max(own["arrow"], own["double_arrow"]) * in_pager,
                "next_start_and_step": own["next_start"] * step,
                "more_and_step": own["more"] * step,
                "step_in_pager": step * in_pager,
                "newer_to_right": own["newer"] * own["right_arrow_at_end"],
                "older_to_left": own["older"] * own["left_arrow"],
            }
            targets.append(url)
            rows.append([1.0, *own.values(), *(values[name] for name in TARGET_FEATURES)])
        return targets, np.array(rows, np.float64).reshape(len(rows), len(FEATURES))

    def _link_features(self, link: _Link) -> list[float]:
        """Return the features of one link (`LINK_FEATURES`)."""
        tree, row, label = self.tree, link.row, link.label
        signature = tree.signatures[tree.signature_of[row]]
        marks = _signature_marks(signature) & PAGER_MARK
        for names in self._names(row):
            marks |= _marks(names)
        region, outer = self._region(row)
        for above in outer:  # elements around this link alone
            for name in ("class", "id"):
                marks |= _marks(tree.attr(above, name) or "")
        labels = self._labels(row)
        rel = (tree.attr(row, "rel") or "").lower().split() if self.uses_rel else []
        before = region.rows[region.rows.index(row) - 1] if region is not None and region.rows[0] != row else None
        region_marks = region.marks if region is not None else 0
        is_arrow, current = label.is_arrow, region.current if region is not None else None
        return [
            float(label.is_next_word),
            float(label.starts_with_next),
            float(label.is_next_item),
            float(label.is_more_results),
            float(label.is_more),
            float(label.is_older),
            float(label.is_newer),
            float(is_arrow and not label.is_double_arrow),
            float(label.is_double_arrow),
            float(label.starts_left),
            float(label.ends_right),
            float(label.is_back),
            float(label.is_last),
            float(label.is_number),
            float(row == self._next_number_row),
            float(current is not None and label.number is not None and label.number < current),
            float(current is not None and label.number is not None and label.number > current + 1),
            float(not label.text),
            float(label.is_other),
            float(len(label.text) >= LONG_LABEL_CHARS),
            float(any(map(_is_next_label, labels))),
            float(any(text.is_back or text.starts_left for text in labels)),
            float(any(text.is_last for text in labels)),
            float("next" in rel),
            float("prev" in rel),
            float(bool(marks & NEXT_MARK)),
            float(bool(marks & BACK_MARK)),
            float(bool(marks & END_MARK)),
            float(bool(marks & RIGHT_MARK)),
            float(bool(marks & LEFT_MARK)),
            float(bool((marks | region_marks) & SLIDE_MARK)),
            float(bool((marks | region_marks) & SINGLE_MARK)),
            float(bool((marks | region_marks) & PAGER_MARK)),
            region.share if region else 0.0,
            float(region is not None and region.has_numbers),
            float(region is not None and region.has_back),
            float(current is not None),
            float(region is not None and region.last == row),
            float(before is not None and self._links[before].label.is_number),
            float(region is not None and region.has_little_text),
            float(row > len(tree) / 2),
        ]

    def _region(self, row: int) -> tuple[_Region | None, list[int]]:
        """Return the smallest element with other links around a link, and the elements between them."""
        tree, rows = self.tree, self.link_rows
        outer: list[int] = []
        above = int(tree.parent[row])
        for _ in range(MAX_CLIMB):
            if above <= 0:
                break
            first, last = bisect_left(rows, above), bisect_left(rows, int(tree.end[above]))
            if last - first > 1:
                if above not in self._regions:
                    self._regions[above] = self._describe(above, rows[first:last])
                return self._regions[above], outer
            outer.append(above)
            above = int(tree.parent[above])
        return None, outer

    def _describe(self, element: int, rows: list[int]) -> _Region | None:
        """Describe the links of an element as a pager; None if they are too many."""
        if len(rows) > MAX_REGION_LINKS:
            return None
        tree, labels = self.tree, [self._links[row].label for row in rows]
        numbers = [label.number for label in labels if label.number is not None]
        of_links = sum(tree.chars_of(row) for row in rows)
        without_end = [row for row, label in zip(rows, labels, strict=True) if not label.is_last]
        marks = 0
        signature: PathSignature | None = tree.signatures[tree.signature_of[element]]
        for _ in range(REGION_LEVELS):
            if signature is None or signature.tag in CLASSLESS:
                break
            marks |= _marks(signature.cls) if signature.cls else 0
            signature = signature.above
        for name in ("id", "aria-label"):
            marks |= _marks(tree.attr(element, name) or "")
        unlinked = [number for text in self._own_texts(element, rows) if (number := _page_number(text)) is not None]
        marked = [
            label.number
            for row, label in zip(rows, labels, strict=True)
            if label.number is not None and _is_marked_current(tree, row)
        ]
        return _Region(
            rows=rows,
            share=sum(label.is_of_pager for label in labels) / len(rows),
            has_numbers=len(set(numbers)) > 1 or (bool(numbers) and bool(unlinked)),
            has_back=any(label.is_back or (label.starts_left and not label.is_older) for label in labels),
            current=next(
                (number for number in [*unlinked, *marked] if {number - 1, number + 1}.intersection(numbers)), None
            ),
            has_little_text=tree.chars_of(element) - of_links <= MAX_LABEL_CHARS,
            last=without_end[-1] if without_end else -1,
            marks=marks,
        )

    def _own_texts(self, element: int, rows: list[int]) -> Iterator[str]:
        """Yield the texts of an element outside its links."""
        tree = self.tree
        texts = slice(int(tree.text_at[element]), int(tree.text_end[element]))
        for text, at in zip(tree.chunks[texts], tree.chunk_row[texts].tolist(), strict=True):
            before = bisect_right(rows, at) - 1
            if before < 0 or at >= tree.end[rows[before]]:
                yield text


TITLE = "\0"  # stands for a text that is too long for a pager


def _is_next_label(label: LinkLabel) -> bool:
    return label.is_next_word or label.is_arrow


def further_link(tree: TagTree, query: str = "") -> NextPage | None:
    """Return the link of an answer to further records of the same list."""
    return next(Pager(tree, query).further_links(), None)
