"""Detect requests that act: that delete, buy, post, cancel, sign or log out.

`acting_evidence` is the one judgement that every request passes before it is sent, wherever it comes from: forms, buttons, links, pagers,
facets, record pages, declared searches, redirects, robots.txt, consent pages and scripts. It sees the method, the address in every charset,
the body, the headers, and what the page says about the link (`Request.context`): label, title, alternative text, class, click handler, the
text around it.

The words are data (`lexicon/acting_*.toml`). A word is a hit of a *class* (strong, verb, noun, phrase, sign) at a *place* (last path
segment, operation argument, label …); hits are the features of a judgement that is fitted on labelled links (`python -m benchmarks.fit
acting`). A request without hits does not act.

operation   argument that names the operation: `action=…`, `do=…`, `_method=…`
title       path segment or label of many words: it names a thing ("how-to-delete-files-in-linux") and does not act
"""

import json
import re
import unicodedata
from collections.abc import Collection, Iterator
from functools import cache, lru_cache
from typing import NamedTuple
from urllib.parse import unquote_to_bytes, urlsplit

from upwell.judge.judgement import Judgement, load_judgement
from upwell.lazy import late_pattern
from upwell.lexicon.argument_names import is_usual_name
from upwell.lexicon.phrases import SEARCH_WORDS
from upwell.lexicon.vocabulary import alternatives, fold_accents, words
from upwell.types import LinkContext, Request

__all__ = [
    "FEATURES",
    "Hit",
    "acting_evidence",
    "acting_hits",
    "adds_acting_value",
    "feature_values",
    "may_act",
    "names_of_query",
    "posts_without_search",
]


class Hit(NamedTuple):
    """An acting word and the feature that it sets."""

    word: str
    feature: str


CAMEL_CASE = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
INVISIBLE = re.compile(
    "[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]"
)
WORD = re.compile(r"[^\W\d_]+")
# Sequence of letters and digits that is an identifier ("f3add9", "dQw4w9WgXcQ") and not words with a number ("post143", "2fa").
ALPHANUMERIC = re.compile(r"[^\W_]{6,}+")
NOUN_AND_NUMBER = re.compile(r"[^\W\d_]++\d{1,9}")
HEXADECIMAL = re.compile(r"\b[0-9a-f]{16,}\b", re.I)
# Cyrillic and Greek letters that look like Latin ones; folded in words that mix the scripts.
LOOKALIKES = str.maketrans("авеёіјкмнорсттухѕԁһԛԝγαβεηικμνορτυχω", "abeeijkmhopcttyxsdhqwyabenikuvoptuxw")
CURSORS = frozenset(
    ("next", "cursor", "after", "start", "offset", "skip")
)  # their value may be the first record of a page
OPERATION = re.compile(
    r"_?(?:action|act|do|doing|cmd|command|op|operation|oper|task|todo|method|_method|http_?method|mode|event|func|function|fn|func_name|call|intent|"
    r"verb|step|perform|what|aktion|accion|acao|azione|actie|submit\w*|btn\w*|button\w*|commit|go|methodname|operationname|soapaction|rpc|proc|"
    r"x-http-method|x-http-method-override|x-method-override|module|route|option|section|p|page|r|a|m|c|pg|tab|view|screen|path|url|run|execute|job|transition|workflow|trigger|process|eventtarget|formaction)",
    re.I,
)
WEAK_OPERATION = re.compile(
    r"(?:module|route|option|section|p|page|r|a|m|c|pg|tab|view|screen|path|url|what|go|step|event|process)", re.I
)
BUTTON_NAME = re.compile(r"submit|btn|button|commit|go", re.I)
TOKEN = re.compile(
    r"(?:csrf\w*|xsrf\w*|_?token|authenticity_token|nonce|_wpnonce|sesskey|form_?key|formhash|authkey|hash|sid_token|crumb|sectoken)",
    re.I,
)
# File names of programs, whose words say what they do ("wp-login.php", "DeleteIssue!default.jspa"), unlike those of documents.
PROGRAM_FILE = re.compile(
    r"\.(?:php\d?|cgi|f?pl|py|rb|aspx?|ashx|asmx|jspx?|jspa|do|action|cfm|dll|exe|srf|seam|faces|xhtml|svc)$", re.I
)
# Hidden fields that return what the server wrote there itself, encoded: they name no operation, though their letters may.
SERVER_STATE = re.compile(
    r"__(?:view|control)?state\w*|__viewstate\w*|__eventvalidation|__previouspage|javax\.faces\.viewstate", re.I
)
STATIC_FILE = re.compile(r"\.(?:js|mjs|css)$", re.I)
STATIC_FOLDERS = frozenset((
    "js", "javascript", "javascripts", "script", "scripts", "static", "assets", "asset", "dist", "build", "lib", "libs", "vendor", "modules",
    "themes", "theme", "media", "chunks", "public", "cdn", "resources", "bundles", "bundle", "packages", "plugins", "css", "files", "npm",
))  # fmt: skip
MAX_WORDS = 4  # words of a path segment or value that may name an operation; more are a title
MAX_LABEL_WORDS = 8  # words of the label of a button or link; more are a title
MAX_COMMAND_WORDS = 3  # words of a label that begins or ends with a verb: "send message", not "send in the clowns"
MAX_UNSPACED_CHARS = 14  # characters of such a label in a language without spaces
MAX_LABEL_CHARS = 300  # characters of a label that are read
MAX_AROUND_CHARS = 600  # characters of the text around a link that are read
MAX_SEGMENTS = 50  # path segments; a longer path counts as acting
MAX_PATH_CHARS = 8000  # characters of a path that are read; RFC 9110 §4.1: longer URLs are not sent
MAX_DECODINGS = 3  # times that nested percent-encoding is decoded
MAX_BODY_CHARS = 200_000
MAX_CACHED = 8192  # cached URLs, paths, fields and labels
MAX_CACHED_CHARS = 200  # longer fields and labels are not cached
# Charsets of percent-encoded bytes that are not UTF-8, tried besides that of the page.
LEGACY_CHARSETS = (
    "cp1252", "cp1251", "koi8-r", "cp1250", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "gb18030", "big5", "shift_jis", "euc-jp",
    "euc-kr", "cp874", "cp866",
)  # fmt: skip
UNICODE_ESCAPE = re.compile(r"%u([0-9a-f]{4})", re.I)
# Words before the verb that add nothing: `doDelete`, `btn-delete`, "please confirm", "click to buy".
VERB_PREFIXES = frozenset((
    "do", "btn", "button", "submit", "action", "cmd", "go", "fa", "fas", "far", "icon", "ico", "glyphicon", "bi", "mdi", "ion", "ti", "la",
    "js", "link", "please", "click", "to", "now", "jetzt", "on", "ajax", "api", "just", "quick", "quickly", "a", "bulk", "mass", "multi",
    "admin", "user", "my", "the", "hier", "bitte", "handle", "process", "perform", "exec", "try",
))  # fmt: skip
# Words after which the word before is not a verb: "order by", "post type", "update results".
NO_OBJECTS = frozenset((
    "by", "per", "asc", "desc", "dir", "direction", "type", "types", "field", "number", "no", "id", "ids", "date", "nr", "results", "in", "of",
    "search", "filter", "filters", "view", "office", "language", "name", "status", "count", "title", "format", "size", "column", "per",
    "and", "or", "history", "log",
    "slug", "author", "tag", "category", "parent", "time", "price", "page", "pages", "week", "book",
))  # fmt: skip
IDENTIFIERS = frozenset(("id", "ids", "uuid", "guid"))  # last words of names whose value identifies a thing
SMALL_WORDS = frozenset((
    "the", "a", "an", "this", "that", "it", "to", "from", "my", "your", "our", "me", "now", "here", "all", "and", "of", "for", "in", "on",
    "with", "i", "we", "you", "via",
    "der", "die", "das", "den", "dem", "diese", "diesen", "dieses", "mein", "meine", "le", "la", "les", "l", "un", "une", "ce", "cette",
    "mon", "ma", "el", "los", "las", "una", "este", "esta", "mi", "il", "lo", "gli", "questo", "o", "os", "as", "um", "uma", "meu", "de",
    "het", "een", "dit", "deze", "mijn", "se", "sa", "sie", "et", "ol", "yap", "ver",
))  # fmt: skip
# Verbs of one language that stand inside the texts of another as an article: Danish "del" (share) in Spanish "registro del estado".
ARTICLES = frozenset(("del",))
# Adjectives that differ only by an accent from a verb that acts: "consulta pública" (public) and "publica" (publish).
ACCENTED_ADJECTIVES = frozenset(("pública", "públicas", "público", "válida", "válido"))
# Verbs that name what is searched inside the text of a form that searches: "search the register".
NOUNS_OF_SEARCHES = frozenset((Hit("register", "around inner verb"),))
# Words that make a label a command instead of a title: "delete this item", "buy now".
COMMAND_WORDS = frozenset((
    "this", "now", "my", "your", "item", "items", "cart", "basket", "bag", "account", "me", "here", "order", "comment", "post", "message",
    "all", "selected",
    "jetzt", "diesen", "dieses", "diese", "ce", "cette", "cet", "este", "esta", "questo", "questa", "ahora", "maintenant", "ora", "agora",
    "nu", "teraz", "simdi", "bu",
))  # fmt: skip
NUMBERED = re.compile(r"(?<=\D)\d++$")  # segment that names a page by a noun and a number: post-143
FRAMEWORK_PLACES = (
    "path",
    "name",
    "value",
    "camel",
)  # where frameworks write verbs: "/update", "syncInput", "sendEvent"
MUTATION = re.compile(r"^\s*+(?:#[^\n]*+\s*+)*+mutation\b", re.I)
GRAPHQL_READ = re.compile(r"^\s*+(?:#[^\n]*+\s*+)*+(?:query\b|\{)", re.I)
SENTENCE_END = re.compile(r"[.!?;:\n]")
XML_METHOD = re.compile(r"<(?:\w+:)?(?:methodName>\s*([^<\s]+)|Body[^>]*>\s*<(?:\w+:)?(\w+))", re.I)
PHRASES = late_pattern(lambda: rf"\b(?:{alternatives('acting_phrases')})\b")
INSIDE_WORDS = late_pattern(lambda: alternatives("acting_inside_words"))
UNSPACED_WORDS = late_pattern(lambda: rf"(?:{alternatives('acting_unspaced')})(?!{alternatives('acting_passive')})")
SIGNS = late_pattern(lambda: f"[{''.join(words('acting_symbols'))}]")

Class = str  # "strong", "verb", "noun", "sign"
CLASSES = ("strong", "verb", "noun")
PATH_PLACES = ("alone", "lead", "end", "inner", "title", "numbered", "no object")
LABEL_PLACES = ("command", "alone", "lead", "end", "inner", "title", "no object")
FEATURES: tuple[str, ...] = (
    "constant",
    *(f"path {position} {place} {kind}" for position in ("last", "before id", "early") for place in PATH_PLACES for kind in CLASSES),
    *(f"program {kind}" for kind in CLASSES),
    *(f"camel {place} {kind}" for place in ("lead", "end") for kind in CLASSES),
    *(f"host {kind}" for kind in CLASSES),
    *(f"operation {place} {kind}" for place in ("alone", "lead", "inner") for kind in CLASSES),
    *(f"weak operation {place} {kind}" for place in ("alone", "lead", "inner") for kind in CLASSES),
    *(f"name {place} {kind}" for place in ("flag", "alone", "lead", "inner", "no object") for kind in CLASSES),
    *(f"value {place} {kind}" for place in ("alone", "lead", "inner", "usual", "cursor") for kind in CLASSES),
    *(f"address in value {kind}" for kind in CLASSES),
    *(f"label {place} {kind}" for place in LABEL_PLACES for kind in CLASSES),
    *(f"hint {place} {kind}" for place in LABEL_PLACES for kind in CLASSES),
    "label sign",
    *(f"mark {place} {kind}" for place in ("alone", "other") for kind in CLASSES),
    "handler",
    *(f"around {place} {kind}" for place in ("phrase", "lead", "inner") for kind in CLASSES),
    "post",
    "button",
    "button label",
    "token",
    "search",
    "repeated label",
    "record title",
    "several places",
)  # fmt: skip


WHOLE_VALUES = frozenset(f"value {place} {kind}" for place in ("alone", "usual") for kind in ("strong", "verb"))


class _Vocabulary(NamedTuple):
    """Sets of words by class."""

    strong: frozenset[str]  # act in almost any position
    verbs: frozenset[str]  # act if they lead
    nouns: frozenset[str]  # also nouns
    objects: frozenset[str]  # objects of verbs
    any: frozenset[str]  # of the first three


@cache
def _vocabulary() -> _Vocabulary:
    strong, verbs, nouns = words("acting_words"), words("acting_verbs"), words("acting_nouns")
    return _Vocabulary(strong, verbs, nouns, words("acting_objects"), strong | verbs | nouns)


@cache
def _judgement() -> Judgement:
    return load_judgement("acting")


def acting_evidence(request: Request, allowed: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """Return the words that show that a request acts; empty if it only reads. The query in its own field and `allowed` words are ignored.

    >>> acting_evidence(Request(url="http://x/item/7/d%65lete")), acting_evidence(Request(url="http://x/s?q=delete&order=asc", query="delete"))
    (('delete',), ())
    >>> acting_evidence(Request(url="http://x/post-143.html")), acting_evidence(Request(url="http://x/l%F6schen"))
    ((), ('loschen',))
    >>> acting_evidence(Request(url="http://x/item/7", context=LinkContext(label="Delete this item")))
    ('delete',)
    """
    if request.is_consent:  # the answer to a consent or age page changes only what the site shows
        allowed = allowed | words("consent_answers")
    hits = acting_hits(request)
    if allowed:
        hits = [hit for hit in hits if hit.word not in allowed]
    if not hits:
        return ()
    features = frozenset(feature_values(request, hits).items())
    return tuple(dict.fromkeys(hit.word for hit in hits)) if _is_acting(features) else ()


def may_act(text: str) -> bool:
    """Return False if a label cannot act because no word of it is acting; a quick test that ignores nouns and parts of words."""
    known = _vocabulary()
    own = _split(text)
    return not (known.strong.isdisjoint(own) and known.verbs.isdisjoint(own)) or not text.isascii()


@lru_cache(MAX_CACHED)
def _is_acting(features: frozenset[tuple[str, float]]) -> bool:
    judgement = _judgement()
    return bool(judgement.accepts(judgement.row(dict(features)))[0])


def acting_hits(request: Request) -> list[Hit]:
    """Return all acting words of a request with their classes and places; most requests have none."""
    context = request.context
    fields = (request.query and names_of_query(request)) or ()
    hits = list(_url_hits(request.url, fields, context.charset if context else "", bool(context and context.is_script)))
    if request.body:
        for name, value in _body_fields(request):
            hits += _field_hits(name, "" if name in fields else value)
    for name, value in request.headers:
        if OPERATION.fullmatch(name):
            hits += _field_hits("_method", value)
    if context is not None:
        hits += _context_hits(context)
        if context.is_typed:
            hits = [
                hit for hit in hits if hit.feature.endswith("strong") or not hit.feature.startswith(FRAMEWORK_PLACES)
            ]
    return hits


def feature_values(request: Request, hits: Collection[Hit]) -> dict[str, float]:
    """Return the features of a request with these hits; absent ones are 0."""
    values = {"constant": 1.0}
    places = set()
    for hit in hits:
        values[hit.feature] = 1.0
        places.add(hit.feature.partition(" ")[0])
    context = request.context
    values["several places"] = float(min(len(places) - 1, 2))
    if request.method == "POST":
        values["post"] = 1.0
    parts = request.url.partition("?")
    if TOKEN_ARGUMENT.search(parts[2]):
        values["token"] = 1.0
    if SEARCH_WORDS.search(parts[0].partition("://")[2].partition("/")[2]):
        values["search"] = 1.0
    if context is not None:
        if context.is_button:
            values["button"] = 1.0
            if "label" in places:
                values["button label"] = 1.0
        if context.same_label > 1:
            values["repeated label"] = 1.0
        elif (
            context.alike > MIN_ALIKE and not context.is_button and not any(NO_TITLE.match(hit.feature) for hit in hits)
        ):
            values["record title"] = 1.0
        if context.is_search or SEARCH_WORDS.search(context.label):
            values["search"] = 1.0
    return values


TOKEN_ARGUMENT = re.compile(rf"(?:^|&){TOKEN.pattern}=", re.I)
# Hits by which a link is no title of a record, although others at its place have other labels: a command, or an address that only acts.
NO_TITLE = re.compile(r"label command|(?:path .+|name) alone (?:strong|verb)|operation|program strong|name flag")
MIN_ALIKE = 4  # other links at the same place from which they are a list, whose labels are titles; not swept


def names_of_query(request: Request) -> tuple[str, ...]:
    """Return the names of the arguments that hold the query: those the page names, else those with its value that name no operation.

    >>> names_of_query(Request(url="http://x/s?q=delete&action=delete", query="delete"))
    ('q',)
    """
    context = request.context
    if context is not None and context.query_fields is not None:
        return context.query_fields
    plain = _normalized(request.query)
    pairs = list(_pairs(urlsplit(request.url).query)) if "?" in request.url else []
    if ";" in request.url:
        pairs += _pairs(urlsplit(request.url).path.partition(";")[2])
    if request.body:
        pairs += _body_fields(request)
    own = [name for name, value in pairs if value and _normalized(value) == plain]
    return tuple(name for name in own if not OPERATION.fullmatch(_bare(name)) or WEAK_OPERATION.fullmatch(_bare(name)))


def posts_without_search(request: Request) -> bool:
    """Return True if a request posts, and neither its address nor its button says that it searches.

    >>> posts_without_search(Request(url="http://x/wall", method="POST")), posts_without_search(Request(url="http://x/find", method="POST"))
    (True, False)
    """
    if request.method != "POST":
        return False
    parts, context = urlsplit(request.url), request.context
    address = " ".join(_decodings(f"{parts.path}?{parts.query}"))
    if SEARCH_WORDS.search(re.sub(r"[_+-]", " ", CAMEL_CASE.sub(" ", address))):
        return False
    if context is not None and (context.is_search or (context.is_button and SEARCH_WORDS.search(context.label))):
        return False
    return not _reads_by_graphql(request)


def _reads_by_graphql(request: Request) -> bool:
    """Return True if the body is a GraphQL query, which only reads (GraphQL specification §6.2.1)."""
    try:
        content = json.loads(request.body) if "json" in request.content_type else None
    except (ValueError, RecursionError):
        return False
    operations = content if isinstance(content, list) else [content]
    texts = [operation.get("query") for operation in operations if isinstance(operation, dict)]
    return bool(texts) and all(
        isinstance(text, str) and GRAPHQL_READ.match(text) and "{" in text and not re.search(r"\bmutation\b", text)
        for text in texts
    )


# Addresses and bodies


@lru_cache(MAX_CACHED)
def _url_hits(url: str, query_fields: tuple[str, ...], charset: str, is_script: bool) -> tuple[Hit, ...]:
    try:
        parts = urlsplit(url)
    except ValueError:
        return ()
    path = parts.path[:MAX_PATH_CHARS]
    if is_script:
        path = _without_file(path)
    hits = list(_path_hits(path, query_fields, charset))
    if parts.fragment.startswith(("/", "!")):  # a route of a single-page application
        hits += _path_hits(parts.fragment.lstrip("!"), (), charset)
    subdomains = parts.netloc.rpartition("@")[2].split(".")[:-2]
    hits += [
        Hit(word, f"host {kind}") for label in subdomains for word, kind, _ in _placed(_split(label)) if kind != "noun"
    ]
    if parts.query:
        for name, value in _pairs(parts.query, charset):
            hits += _field_hits(name, "" if name in query_fields else value)
    return tuple(dict.fromkeys(hits))


def _without_file(path: str) -> str:
    """Remove the file name of a script, which names a thing (`/js/cart.js`), and folders for scripts; a lone name outside of them stays.

    >>> _without_file("/app/build/main_view.js"), _without_file("/build/delete.js"), _without_file("/delete.js")
    ('/app', '', '/delete.js')
    """
    folder, _, name = path.rpartition("/")
    if not STATIC_FILE.search(name):
        return path
    stem_words = _split(STATIC_FILE.sub("", name))
    folders = folder.split("/")
    others = [part for part in folders if part.lower() not in STATIC_FOLDERS]
    return "/".join(others) if len(stem_words) > 1 or len(others) < len(folders) else path


@lru_cache(MAX_CACHED)
def _path_hits(path: str, query_fields: tuple[str, ...], charset: str) -> tuple[Hit, ...]:
    """Return the hits of a path; cached, as many URLs of a site share a path."""
    hits: list[Hit] = []
    for decoded in _decodings(path, charset):
        segments = [segment for segment in re.split(r"[/\\]", decoded) if segment]
        if len(segments) > MAX_SEGMENTS:
            return (Hit(f"a path of {len(segments)} segments", "path last alone strong"),)
        stems = []
        for segment in segments:
            name, *matrix = segment.split(";")
            for field, value in _pairs("&".join(matrix), charset):
                hits += _field_hits(field, "" if field in query_fields else value)
            stems.append(re.sub(r"\.\w{1,5}$", "", name))
        split = [_split(stem) for stem in stems]
        last_with_words = max((i for i, own in enumerate(split) if own), default=-1)
        for number, own in enumerate(split):
            if not own:
                continue
            position = "early" if number < last_with_words else "last" if number == len(split) - 1 else "before id"
            is_numbered = bool(NUMBERED.search(stems[number])) and number == len(split) - 1
            is_searched = any(
                SEARCH_WORDS.search(stem) for stem in stems[number + 1 :]
            )  # /register/search, /vote/search
            for word, kind, place in _placed(own):
                if is_searched and kind != "strong":
                    continue
                if is_numbered and place in ("alone", "lead") and len(own) == 1:
                    place = "numbered"
                hits.append(Hit(word, f"path {position} {place} {kind}"))
                if number == last_with_words and PROGRAM_FILE.search(segments[number]) and len(own) <= MAX_WORDS:
                    hits.append(Hit(word, f"program {kind}"))
            if position != "before id" or number == last_with_words:
                hits += _camel_hits(stems[number])
    return tuple(dict.fromkeys(hits))


def _camel_hits(name: str) -> list[Hit]:
    """Return the hits of the first and last word of a name that is written like those of programs: `AddTag`, `Special:UserLogout`.

    >>> _camel_hits("Special:UserLogout"), _camel_hits("User_logout")
    ([Hit(word='logout', feature='camel end strong')], [])
    """
    compound = name.rpartition(":")[2].partition("!")[0]
    if not compound.isascii() or not compound.isalpha() or compound.islower() or compound.isupper():
        return []
    own = _split(compound)
    if not 2 <= len(own) <= MAX_WORDS:
        return []
    at_ends = (("lead", own[0]), ("end", own[-1]))
    return [Hit(word, f"camel {place} {kind}") for place, word in at_ends if (kind := _class_of(word))]


def _field_hits(name: str, value: str) -> tuple[Hit, ...]:
    """Return the hits of a name and its value, as sent in an address or a body."""
    if SERVER_STATE.fullmatch(name):
        return ()
    if len(name) + len(value) <= MAX_CACHED_CHARS:
        return _cached_field_hits(name, value)
    return _find_field_hits(name, value)


def _find_field_hits(name: str, value: str) -> tuple[Hit, ...]:
    hits = []
    bare = _bare(name)
    name_words = _split(bare)
    if value and BUTTON_NAME.fullmatch(bare) and SEARCH_WORDS.search(value):
        return ()  # the button of a search form: `submit=Search`
    is_flag = value in ("", "1", "true", "on", "yes")
    last = name_words[-1].lower() if name_words else ""
    for word, kind, place in _placed(name_words):
        if kind == "noun" and last in IDENTIFIERS:
            continue  # `application_id=…` names a thing
        if place in ("end", "title"):
            place = "inner"
        if is_flag and place == "alone":
            place = "flag"
        hits.append(Hit(word, f"name {place} {kind}"))
    if not value:
        return tuple(hits)
    if MUTATION.search(value):
        hits.append(Hit("mutation", "operation alone strong"))
    is_operation = OPERATION.fullmatch(bare) or OPERATION.fullmatch(last)
    prefix = "value"
    if is_operation:
        prefix = "weak operation" if WEAK_OPERATION.fullmatch(bare) or WEAK_OPERATION.fullmatch(last) else "operation"
    is_address = "://" in value or value.startswith("/")
    value_words = _split(value)
    placed = _placed(value_words) if not is_address and (len(value_words) <= MAX_WORDS or is_operation) else ()
    for word, kind, place in placed:
        if place in ("end", "title", "no object"):
            place = "inner"
        if prefix == "value" and place == "alone" and is_usual_name(name):
            place = "usual"
        if prefix == "value" and last in CURSORS and len(value_words) > 1:
            place = "cursor"
        hits.append(Hit(word, f"{prefix} {place} {kind}"))
    if placed:
        hits += _camel_hits(value)
    if is_address and len(value) < 2000:
        inner = _url_hits(value, (), "", False)
        hits += [Hit(hit.word, f"address in value {hit.feature.rpartition(' ')[2]}") for hit in inner]
    return tuple(hits)


_cached_field_hits = lru_cache(MAX_CACHED)(_find_field_hits)  # many URLs of a site share fields


def _bare(name: str) -> str:
    """Return the name of an argument without brackets and prefixes of frameworks: `ctl00$btnDelete`, `data[action]`."""
    name = re.sub(r"[._][xy]$", "", name)  # coordinates of an image button
    return re.split(r"[$:.\[]", name.strip("[]$:."))[-1].rstrip("]") or name


# Labels and marks


def _context_hits(context: LinkContext) -> list[Hit]:
    hits = (
        [Hit(word, f"label {place} {kind}") for word, kind, place in _label_hits(context.label)]
        if context.label
        else []
    )
    if context.label and (sign := _lone_sign(context.label)):
        hits.append(Hit(sign, "label sign"))
    for hint in context.hints:
        if hint and hint != context.label:
            hits += [Hit(word, f"hint {place} {kind}") for word, kind, place in _label_hits(hint)]
            if not context.label and (sign := _lone_sign(hint)):
                hits.append(Hit(sign, "label sign"))
    for mark in context.marks:
        hits += _mark_hits(mark)
    if context.around:
        around = _around_hits(context.around[:MAX_AROUND_CHARS], context.is_button)
        hits += [hit for hit in around if not (context.is_search and hit in NOUNS_OF_SEARCHES)]
    return hits


def _lone_sign(label: str) -> str:
    """Return the sign that is the whole label, besides digits and spaces; "" if there is none."""
    if len(label) > 20 or label.isascii():
        return ""
    plain = INVISIBLE.sub("", label)
    signs = SIGNS.findall(plain)
    return str(signs[0]) if len(signs) == 1 and not WORD.search(plain) else ""


def _label_hits(text: str) -> tuple[tuple[str, Class, str], ...]:
    return _cached_label_hits(text) if len(text) <= MAX_CACHED_CHARS else _find_label_hits(text[:MAX_LABEL_CHARS])


def _find_label_hits(text: str) -> tuple[tuple[str, Class, str], ...]:
    return _placed(_split(text), text if not text.isascii() else "", MAX_LABEL_WORDS)


_cached_label_hits = lru_cache(MAX_CACHED)(_find_label_hits)


@lru_cache(MAX_CACHED)
def _mark_hits(mark: str) -> tuple[Hit, ...]:
    """Return the hits of a class, id, icon or click handler; the names of a class attribute are judged one by one."""
    if "(" in mark:  # a click handler
        return tuple(Hit(word, "handler") for word, kind, _ in _placed(_split(mark)[:6], "", 99) if kind == "strong")[
            :1
        ]
    hits = []
    for name in mark.split()[:20]:
        for word, kind, place in _placed(_split(name)):
            is_alone = place in ("alone", "end") or (place == "lead" and kind == "strong")
            hits.append(Hit(word, f"mark {'alone' if is_alone else 'other'} {kind}"))
    return tuple(hits)


def _around_hits(text: str, is_form: bool) -> list[Hit]:
    """Return the acting words of the text around a link or in a form, whose sentences are often orders ("Delete your account.")."""
    folded = " ".join(_split(text))
    hits = [Hit(match[0], "around phrase strong") for match in PHRASES.finditer(folded)][:2]
    for word, kind, place in _placed(_split(text), text if not text.isascii() else "", 99):
        if kind != "noun":
            hits.append(Hit(word, f"around {'lead' if place in ('lead', 'alone') else 'inner'} {kind}"))
    for sentence in SENTENCE_END.split(text) if is_form else ():
        first = _split(sentence)[:1]
        if first and _class_of(first[0]) == "strong":
            hits.append(Hit(first[0], "around lead strong"))
    return hits


# Words


def _placed(own: list[str], text: str = "", most: int = MAX_WORDS) -> tuple[tuple[str, Class, str], ...]:
    """Return the acting words among the folded words of a segment, value or label, each with its class and place.

    `text` is the unfolded text if it is not ASCII, to be searched for words of languages without spaces.
    """
    known = _vocabulary()
    unspaced = [] if not text and all(map(str.isascii, own)) else _unspaced_hits(text or "".join(own))
    if known.any.isdisjoint(own) and not unspaced and not _may_have_parts(own):
        return ()
    while len(own) > 1 and own[0] in VERB_PREFIXES and not (len(own) == 2 and own[0] == "to"):
        own = own[1:]
    found = list(unspaced)
    count = len(own)
    classes = [_class_of(word) for word in own]
    phrase = _phrase_in(own) if count > 1 else PHRASES.fullmatch(own[0]) if count else None
    is_label = most == MAX_LABEL_WORDS
    covered = 0
    if phrase is not None:
        before = len(phrase.string[: phrase.start()].split())
        covered = len(phrase[0].split())
        place = "title" if count > most else "alone" if covered >= count - 2 else "lead" if not before else "inner"
        if place == "alone" and is_label and before == 0 and covered > 1:
            place = "command"
        found.append((phrase[0], "strong", place))
    rest = sum(
        kind is None and word not in known.objects and word not in SMALL_WORDS
        for word, kind in zip(own, classes, strict=True)
    )
    for i, (word, kind) in enumerate(zip(own, classes, strict=True)):
        if kind is None or (most > MAX_WORDS and 0 < i < count - 1 and word in ARTICLES):
            continue
        if count > most:
            place = "title"
        elif kind != "strong" and i + 1 < count and own[i + 1] in NO_OBJECTS:
            place = "no object"
        elif rest == 0 and (count == 1 or kind != "noun" or i == 0):
            place = "command" if is_label and count > 1 and not COMMAND_WORDS.isdisjoint(own) else "alone"
        elif count > MAX_COMMAND_WORDS - (not is_label and kind != "strong"):
            place = "inner"
        elif i == 0:
            place = "lead"
        elif i == count - 1:
            place = "end"
        else:
            place = "inner"
        found.append((word, kind, place))
    return tuple(dict.fromkeys(found))


@lru_cache(MAX_CACHED)
def adds_acting_value(url: str, page_url: str) -> bool:
    """Return True if a link adds an argument to the URL of its page whose whole value is an acting word, as no pager does.

    >>> adds_acting_value("/find?q=a&page=2&x=delete", "/find?q=a"), adds_acting_value("/find?q=delete&page=2", "/find?q=delete")
    (True, False)
    """
    try:
        added, known = urlsplit(url).query, set(_pairs(urlsplit(page_url).query, ""))
    except ValueError:
        return True
    hits = (hit for name, value in _pairs(added, "") if (name, value) not in known for hit in _field_hits(name, value))
    return any(hit.feature in WHOLE_VALUES for hit in hits)


def _class_of(word: str) -> Class | None:
    known = _vocabulary()
    if word in known.strong:
        return "strong"
    if word in known.verbs:
        return "verb"
    if word in known.nouns:
        return "noun"
    return "strong" if _has_acting_part(word) else None


def _has_acting_part(word: str) -> bool:
    return len(word) > 5 and bool(INSIDE_WORDS.search(word))  # shorter words are listed themselves


def _may_have_parts(own: list[str]) -> bool:
    """Return True if a phrase or a part of a word may be acting although no word is."""
    return any(_class_of(word) for word in own if len(word) > 5) or (len(own) <= 12 and _phrase_in(own) is not None)


@cache
def _words_of_phrases() -> frozenset[str]:
    """Return the words that occur in phrases; a text with fewer than two of them, apart from articles, contains no phrase."""
    return frozenset(re.findall(r"[^\W\d_]+", re.sub(r"\\[wbsdW]", " ", alternatives("acting_phrases"))))


def _phrase_in(own: list[str]) -> re.Match[str] | None:
    known = _words_of_phrases().intersection(own)
    if len(own) > 1 and ((len(known) < 2 and len(own) > 3) or known <= SMALL_WORDS):
        return None
    return PHRASES.search(" ".join(own))


def _unspaced_hits(text: str) -> list[tuple[str, Class, str]]:
    """Return the acting words of languages that are written without spaces, at their places by the number of characters."""
    plain = unicodedata.normalize("NFC", INVISIBLE.sub("", text)) if not text.isascii() else text
    found = []
    for match in list(UNSPACED_WORDS.finditer(plain))[:3]:
        chars = len(re.sub(r"[\W\d_]+", "", plain, flags=re.ASCII)) if plain.isascii() else len("".join(plain.split()))
        if chars <= len(match[0]) + 4:
            place = "alone"
        elif chars > MAX_UNSPACED_CHARS + len(match[0]):
            place = "title"
        else:
            place = "lead" if match.start() == 0 else "end" if match.end() == len(plain) else "inner"
        found.append((match[0], "strong", place))
    return found


def _split(text: str) -> list[str]:
    """Return the folded words of a name as programmers and others write it: `deleteItem`, `delete_item`, `delete item`; no identifiers."""
    if text.isascii():
        if not any(map(str.isalpha, text)):
            return []
        if any(map(str.isdigit, text)):
            text = _without_identifiers(HEXADECIMAL.sub(" ", text))
        return WORD.findall(CAMEL_CASE.sub(" ", text).lower())
    text = _without_identifiers(INVISIBLE.sub("", text))
    return [_folded(word) for word in _letters(CAMEL_CASE.sub(" ", text))]


def _without_identifiers(text: str) -> str:
    """Replace words that mix letters and digits by a space, except a noun with a number (`post143`).

    >>> _without_identifiers("delete post143 a7f3c9e2")
    'delete post143  '
    """
    return ALPHANUMERIC.sub(lambda match: " " if _is_identifier(match[0]) else match[0], text)


def _is_identifier(word: str) -> bool:
    return not word.isalpha() and not word.isdigit() and NOUN_AND_NUMBER.fullmatch(word) is None


def _letters(text: str) -> list[str]:
    """Return the words of a text, with combining signs, which Python does not count as letters."""
    return WORD.findall(text if unicodedata.is_normalized("NFC", text) else unicodedata.normalize("NFC", text))


@lru_cache(MAX_CACHED)
def _folded(word: str) -> str:
    if word.lower() in ACCENTED_ADJECTIVES:
        return word.lower()
    folded = fold_accents(word)
    if folded.startswith("ال") and folded not in _vocabulary().any:  # the Arabic article
        return folded[2:] if len(folded) > 4 else folded
    if folded.isascii() or not re.search("[a-z]", folded):
        return folded
    return folded.translate(LOOKALIKES)


# Decoding


def _decodings(text: str, charset: str = "") -> tuple[str, ...]:
    """Return a percent-encoded text in every charset that its bytes may have; nested encoding is decoded."""
    if "%" not in text and "+" not in text:
        return (text,)
    return _all_decodings(text, charset)


@lru_cache(MAX_CACHED)
def _all_decodings(text: str, charset: str) -> tuple[str, ...]:
    texts = [text.replace("+", " ")]
    for _ in range(MAX_DECODINGS):
        texts = list(dict.fromkeys(decoded for own in texts for decoded in _decoded_once(own, charset)))
        if not any("%" in own for own in texts):
            break
    return tuple(texts)


def _decoded_once(text: str, charset: str) -> list[str]:
    if "%" not in text:
        return [text]
    if "%u" in text or "%U" in text:
        text = UNICODE_ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)
    encoded = unquote_to_bytes(text.encode("utf-8", "surrogatepass"))
    decoded = []
    is_utf8 = False
    try:
        decoded.append(encoded.decode("utf-8"))
        is_utf8 = True
    except UnicodeDecodeError:
        decoded.append(encoded.decode("utf-8", "replace"))
    if encoded.isascii():
        return decoded
    for name in (charset, *(() if is_utf8 else LEGACY_CHARSETS)):
        try:
            decoded += [encoded.decode(name)] if name else []
        except (UnicodeDecodeError, LookupError):
            continue
    return decoded


def _normalized(text: str) -> str:
    return " ".join(_decodings(text)[0].lower().replace("-", " ").split())


def _pairs(arguments: str, charset: str = "") -> Iterator[tuple[str, str]]:
    for part in re.split(r"[&;]", arguments):
        name, _, value = part.partition("=")
        if "%" not in part and "+" not in part:
            if part:
                yield name, value
            continue
        for own_name in _decodings(name, charset):
            for own_value in _decodings(value, charset):
                if own_name or own_value:
                    yield own_name, own_value


def _body_fields(request: Request) -> list[tuple[str, str]]:
    """Return the names and values in the body of a request; an invalid JSON body counts as an operation."""
    text = request.body[:MAX_BODY_CHARS].decode("utf-8", "replace")
    start = text.lstrip()[:1]
    if "json" in request.content_type or start in ("{", "["):
        try:
            return list(_json_fields(json.loads(request.body)))
        except (ValueError, RecursionError):
            return [("action", text[:1000])]
    if "multipart" in request.content_type:
        return list(_multipart_fields(text))
    if "xml" in request.content_type or start == "<":
        return [("action", method or element) for method, element in XML_METHOD.findall(text)]
    if "graphql" in request.content_type:
        return [("query", text)]
    return list(_pairs(text.replace("\r\n", "&")))


def _multipart_fields(text: str) -> Iterator[tuple[str, str]]:
    """Yield the names and values of a multipart body (RFC 7578); a value that is cut off counts, too."""
    for part in text.replace("\r\n", "\n").split("\n--"):
        head, blank_line, value = part.partition("\n\n")
        name = re.search(r'name="([^"]*)"', head)
        if name and blank_line:
            yield name[1], value


def _json_fields(value: object) -> Iterator[tuple[str, str]]:
    waiting: list[tuple[str, object]] = [("", value)]
    while waiting:
        name, inner = waiting.pop()
        if isinstance(inner, dict):
            waiting += [(str(key), part) for key, part in inner.items()]
        elif isinstance(inner, list):
            waiting += [(name, part) for part in inner]
        else:
            yield name, "" if inner is None else str(inner)
