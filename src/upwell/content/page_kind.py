"""Judge what kind of page a page is: article, forum, product, collection, listing, documentation or service (judgement `page_kind`).

The evidence is the shape of the text, what tags and classes are used, what the page declares about itself (JSON-LD, `og:type`), and the
words of its own URL (`<link rel=canonical>`).
"""

import re
from collections import Counter
from typing import Literal, get_args
from urllib.parse import urlsplit

import numpy as np

from upwell.content.line_context import CONTEXT_FEATURES, NAMES, names_in
from upwell.content.lines import FEATURES, Floats, Lines
from upwell.judge.judgement import load_judgement
from upwell.page.tree import TagTree

__all__ = ["KINDS", "PAGE_FEATURES", "PageKind", "kind_probabilities", "most_probable_kind", "page_features"]

PageKind = Literal["article", "forum", "product", "collection", "listing", "documentation", "service"]
KINDS: tuple[PageKind, ...] = get_args(PageKind)
LONG_CHARS, VERY_LONG_CHARS = 80, 250
COUNTED_TAGS = (
    "h1", "h2", "h3", "article", "table", "li", "p", "img", "form", "button", "details", "time", "section", "dl", "pre", "code", "input",
)  # fmt: skip
# Types of schema.org, each with the types that say the same.
DECLARED = {
    "article": ("Article", "NewsArticle", "BlogPosting", "Recipe"),
    "product": ("Product", "ProductGroup"),
    "offer": ("Offer", "AggregateOffer"),
    "forum": ("DiscussionForumPosting", "QAPage", "Question"),
    "list": ("ItemList", "CollectionPage", "SearchResultsPage"),
    "faq": ("FAQPage",),
    "technical": ("TechArticle", "APIReference", "HowTo"),
    "organization": ("Organization", "LocalBusiness", "Service", "SoftwareApplication"),
}
MAX_DECLARED = 3.0
MAX_DATA_CHARS = 200_000  # safety limit: characters of JSON-LD that are searched
TYPE = re.compile(r'"@type"\s*+:\s*+\[?\s*+"(\w++)"')
ADDRESS_WORDS = {
    "news": re.compile(r"blog|news|article|post|stor(?:y|ies)|/20\d\d/"),
    "forum": re.compile(r"forum|community|thread|discuss|topic|question|answers|/t/|/q/|board"),
    "product": re.compile(r"product|/dp/|/p/|/itm/|item|/pd/|shop|store"),
    "category": re.compile(r"collection|categor|/c/|/b/|browse|department|archive|/tag"),
    "documentation": re.compile(r"docs?[./]|guide|reference|tutorial|manual|api|learn|help|wiki|support"),
    "service": re.compile(r"service|solution|pricing|feature|platform|about|company|agency|consult"),
}
BODY_NAMES = {
    "single": re.compile(r"single|article|post"),
    "product": re.compile(r"product"),
    "archive": re.compile(r"archive|categor|collection|tag"),
    "forum": re.compile(r"forum|topic|thread|question"),
}
TITLE_OF_LIST = re.compile(r"\b\d+\b")
SHARES = (
    "near_post",
    "near_comment",
    "near_card",
    "near_product",
    "near_review",
    "near_content",
    "near_related",
    "near_code",
    "near_fold",
)
SHARE_COLUMNS = [CONTEXT_FEATURES.index(name) for name in SHARES]
PRICE, QUESTION, HIDDEN = (CONTEXT_FEATURES.index(name) for name in ("price", "ends_question", "hidden"))
DATE = FEATURES.index("date")
PAGE_FEATURES = (
    "lines", "chars", "links", "prose", "long_lines", "very_long_lines", "prose_chars", "hidden_text", "prices", "questions", "dates",
    *(f"share_{name}" for name in SHARES),
    *(f"count_{tag}" for tag in COUNTED_TAGS),
    *(f"classes_{name}" for name in NAMES),
    *(f"declares_{name}" for name in DECLARED),
    "type_article", "type_product", "published",
    "address_steps", "address_words", "address_number", "home",
    *(f"address_{name}" for name in ADDRESS_WORDS),
    *(f"body_{name}" for name in BODY_NAMES),
    "title_words", "title_number",
)  # fmt: skip


def kind_probabilities(page: Floats) -> Floats:
    """Return the probability of each of KINDS from the features of a page."""
    return np.asarray(load_judgement("page_kind").probability(page[np.newaxis])[0])


def most_probable_kind(probabilities: Floats) -> PageKind:
    """Return the kind with the greatest probability."""
    return KINDS[int(probabilities.argmax())]


def page_features(tree: TagTree, lines: Lines, x: Floats, context: Floats) -> Floats:
    """Return the features of a page, in the order of PAGE_FEATURES, from its lines, their features and their context."""
    chars, linked = lines.chars, lines.linked
    total = max(1.0, chars.sum())
    is_prose = (chars > LONG_CHARS) & (linked < 0.3)
    prose = float(chars[is_prose].sum())
    values = [
        np.log1p(len(lines)),
        np.log1p(total),
        (chars * linked).sum() / total,
        prose / total,
        np.log1p(is_prose.sum()),
        np.log1p(((chars > VERY_LONG_CHARS) & is_prose).sum()),
        np.log1p(prose / max(1, is_prose.sum())),
        chars[context[:, HIDDEN] > 0].sum() / total,
        *np.log1p([context[:, PRICE].sum(), context[:, QUESTION].sum(), x[:, DATE].sum()]),
        *((context[:, SHARE_COLUMNS] > 0).T @ chars / total),
        *np.log1p(_counted_tags(tree)),
        *_class_shares(tree),
        *_declared(tree),
        *_address(tree),
        *(float(words.search(_body_class(tree)) is not None) for words in BODY_NAMES.values()),
        len(tree.title.split()),
        float(TITLE_OF_LIST.search(tree.title) is not None),
    ]
    return np.array(values, np.float64)


def _counted_tags(tree: TagTree) -> list[int]:
    counts = np.bincount(tree.tag, minlength=len(tree.tags)).tolist()
    by_tag = dict(zip(tree.tags, counts, strict=True))
    return [by_tag.get(tag, 0) for tag in COUNTED_TAGS]


def _class_shares(tree: TagTree) -> list[float]:
    """Return the share of the classes of the page that match each of NAMES."""
    names = [name for name in tree.classes if name]
    counts = Counter(i for name in names for i in names_in(name))
    return [counts[i] / max(1, len(names)) for i in range(len(NAMES))]


def _declared(tree: TagTree) -> list[float]:
    """Return what JSON-LD and <meta> declare."""
    types: Counter[str] = Counter()
    for row, data in tree.data.items():
        if "ld+json" in (tree.attr(row, "type") or "").lower():
            types.update(TYPE.findall(data[:MAX_DATA_CHARS]))
    declared = [min(MAX_DECLARED, sum(types[name] for name in names)) for names in DECLARED.values()]
    by_row = tree.attribute_by_row("property")
    og_type = next((tree.attr(row, "content") or "" for row, name in by_row.items() if name == "og:type"), "")
    published = any(name == "article:published_time" for name in by_row.values())
    return [*declared, float("article" in og_type), float("product" in og_type), float(published)]


def _address(tree: TagTree) -> list[float]:
    """Return features of the URL that the page declares as its own, else of the URL it was fetched from."""
    canonical = (row for row, name in tree.attribute_by_row("rel").items() if name.lower() == "canonical")
    url = next((url for row in canonical if (url := tree.attr(row, "href"))), tree.url)
    try:
        parts = urlsplit(url.lower())
    except ValueError:
        parts = urlsplit("")
    path = parts.path.strip("/")
    steps = path.split("/") if path else []
    words = len(re.findall(r"[a-z]+", steps[-1])) if steps else 0
    return [
        len(steps),
        words,
        float(re.search(r"\d{4,}", path) is not None),
        float(not path and bool(parts.netloc)),
        *(float(found.search(f"{parts.netloc}/{path}") is not None) for found in ADDRESS_WORDS.values()),
    ]


def _body_class(tree: TagTree) -> str:
    rows = tree.rows("body").tolist()
    return " ".join([tree.attr(row, "class") or "" for row in (0, *rows[:1])]).lower()
