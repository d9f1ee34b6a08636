"""Usual names and values of URL arguments: prior knowledge that the evidence of a source can overrule.

Names are compared in lower case without the decoration of some frameworks (`_sort`, `@pagesize`, `sort[]`).
"""

import re
from functools import lru_cache

from upwell.lazy import late_pattern
from upwell.lexicon.vocabulary import alternatives

__all__ = [
    "ANY_LABEL",
    "ANY_VALUES",
    "DISPLAY",
    "FILTER",
    "MAYBE_SORT",
    "OFF",
    "OPAQUE",
    "PAGE",
    "PAGE_SIZE",
    "PLACE",
    "QUERY",
    "SESSION",
    "SORT",
    "SORT_CODE",
    "SORT_TEXT",
    "SORT_VALUE",
    "SWITCH",
    "TRACKING",
    "VIEW_VALUE",
    "is_usual_name",
    "undecorated",
]

MAX_CACHED_NAMES = 2000


def _names(words: str) -> re.Pattern[str]:
    return late_pattern(words, re.I)


@lru_cache(maxsize=MAX_CACHED_NAMES)
def undecorated(name: str) -> str:
    """Remove the decoration of a name.

    >>> [undecorated(name) for name in ("_sort", "@pagesize", "f[0][sort]", "/page", "ctl00$Sort_By", "b_start:int")]
    ['sort', 'pagesize', 'sort', 'page', 'sort_by', 'b_start']
    """
    inner = re.findall(r"\[([^\[\]\d][^\[\]]*)\]", name)
    last = inner[-1] if inner else re.split(r"[$.]", name)[-1] or name
    last = re.sub(r":(?:int|list|record|boolean)$", "", last)
    return re.sub(r"\[\d*\]", "", last).strip("_@/:-[]").lower()


QUERY = _names(
    r"q|qu|query|querytext|querystring|search(?:_?(?:terms?|text|string|words?|for|query))?|s|keywords?|kw|words?|"
    r"terms?|text|phrase|lookfor|find|st|k|p|wd|pattern"
)
PAGE = _names(
    r"pages?|pg|pn|pgn|paged|page_?(?:num(?:ber)?|no|nr|id|index|start|offset)|pageno|cur(?:rent)?_?page|start(?:_?(?:at|"
    r"with|row|rank|index|from|record|number|rec|doc|pos(?:ition)?))?|"
    r"offset|ofs|first(?:_?(?:record|item|hit|row|result))?|begin|skip|cursor|after|before|next_?(?:page|result|"
    r"rec)?|b_?start|limit_?start|from_?(?:index|record)|hits_?from|"
    r"rank_?start|record_?(?:start|num)|position|seite|pagina|página|strona|stranka|sida|sivu|stran|страница|sayfa|np"
)
# Page sizes, if the values are sizes.
PAGE_SIZE = _names(
    r"(?:results?|hits?|matches|items?|records?|rows?|entries|docs?|num(?:ber)?|max)?_?per_?page|page_?(?:size|length|limit)|\w+_(?:limit|per_?page|page_?size)|"
    r"psize|pp|ipp|rpp|hpp|npp|epp|limit|size|count|num|"
    r"max(?:_?(?:hits|results?|rows|items|records|count|num))?|rows|hits(?:perpage)?|n|nh|ps|show|len(?:gth)?|(?:num_?)?results|"
    r"results_?num|shown?|anzahl|anz|iprops|items"
)
SORT = _names(
    r"sort\w*|\w*_(?:sort|order|order_?by|dir)|srt|order(?:_?(?:by|dir|field|type))?|ordering|orderby|descending|ascending|sort_?dir|group_?by|rank_?by|"
    r"sortierung|orden|ordem|ordina|сортировка"
)
# Sort orders, if the values are codes or name an order.
MAYBE_SORT = _names(r"ob|sk|sd|so|o|ord|dir|direction|asc|desc|reverse|rank(?:ing)?|by|tri")
SORT_VALUE = _names(
    r"[-+~!]?(?:relevan\w*|score|rank(?:ing)?|best(?: ?match)?|(?:last)?_?(?:modified|updated?|created|posted|changed|activity)|m?time|"
    r"date\w*|new(?:est)?|old(?:est)?|latest|recent|"
    r"title\w*|name\w*|author\w*|price\w*|popular(?:ity)?|rating|views?|downloads?|size|year\w*|asc(?:ending)?|desc(?:ending)?|"
    r"a-?z|z-?a|alpha\w*|random|stars?|votes?)"
    r"(?:[-_ :,.]?(?:asc(?:ending)?|desc(?:ending)?|up|down|high|low|old|new|\d))?"
)
SORT_CODE = _names(rf"{SORT_VALUE.pattern}|[a-z]{{0,2}}|-?\d{{1,2}}[a-z]?(?:\.-?\d{{1,2}})*|true|false|on|off|yes|no")
# Texts of links that change the sort order: "newest first", "by title", "Price ▲".
SORT_TEXT = _names(
    rf"(?:(?:sort(?:ed)?|order(?:ed)?)(?: results)?(?: by)?|by|nach|par|por|per|op)?:?\s*(?:{SORT_VALUE.pattern}|most \w+|"
    r"relevanz|datum|preis|titel|pertinence|prix|titre|relevancia|fecha|precio|título|rilevanza|prezzo|titolo|relevantie|prijs|"
    r"релевантности|дате|цене|названию)(?:\s+(?:first|zuerst|\w*scending|auf\w*|ab\w*))?\s*[▲▼↑↓⇅↕]?"
)
DISPLAY = _names(
    r"view|view_?(?:mode|type|as|style)?|layout|display(?:_?(?:mode|type|as))?|format|fmt|style|theme|skin|css|template|"
    r"tpl|tmpl|output(?:_?(?:format|mode))?|out|shape|ctype|wt|"
    r"columns?|cols?|column_?list|c(?:ol)?order|detail(?:s|_?level)?|expand(?:ed)?|collapse(?:d)?|summary|hl|locale|"
    r"ui|uilang|setlang|uselang|print(?:able|er|view)?|charset|enc(?:oding)?|ie|oe|utf-?8|"
    r"nl|pretty|callback|jsonp|ajax|partial|embed|mobile|width|height|wide|thumb(?:nail)?s?|grid|context|snippet|excerpt|"
    r"clip|chars|abstract|etal|xhtml|rss|feed|alt|pageview|bare"
)
FILTER = _names(
    r"cat(?:egor(?:y|ies|ie))?|category_?id|type|types|tags?|topics?|subjects?|section|genre|brand|manufacturer|"
    r"mfg\w*|authors?|creator|publisher|language|lang|country|region|city|location|"
    r"state|status|priority|milestone|component|severity|version|year|month|date|since|until|min\w*|max_?price|price|"
    r"colou?r|facets?|fq|filters?|f|field|scope|restrict|exclude|include|"
    r"collection|database|db|index|source|domain|site|group|project|repo|namespaces?|ns|profile|kind|class|mode|"
    r"method|op|operator|default_?op|match|bool(?:ean)?|tab|user|owner|assignee|idx|"
    r"config|realm|lib(?:rary)?|branch|format_?type|media_?type|mime|ext|license|gender|age|size_?filter"
)
TRACKING = _names(
    r"utm_\w+|gclid|fbclid|msclkid|dclid|yclid|igshid|mc_[ce]id|_?ga|_?gl|ref(?:s|src|er{1,2}er|_?id|_src)?|trk\w*|"
    r"track\w*|clk\w*|click\w*|campaign\w*|aff(?:iliate)?_?id|"
    r"rnd|rand(?:om)?|nocache|cache_?bust\w*|cb|ts|time_?stamp|t_?stamp|highlight\w*|hilit\w*|hilight\w*|hl_?terms?|"
    r"ved|ei|sa|sxsrf|spm|scm|src_?id|from_?(?:page|source|search)|via|origin|"
    r"submit\w*|commit|btn\w*|button\w*|search_?(?:btn|button|submit)|go_?button|suggest(?:ed)?_?click|autocomplete|"
    r"x|y|.*\.[xy]|did_?you_?mean|spell(?:check)?"
)
# Names that select a page of the application: neither a filter nor irrelevant.
PLACE = _names(
    r"action|act|do|cmd|command|a|ac|id|ids|\w+_id|title|name|module|mod|controller|route|option|task|method_?name|"
    r"func(?:tion)?|handler|r|hb|object|file|path|url"
)
SESSION = _names(
    r"(?:php|j|asp|cgi|cf|web)?sess(?:ion)?(?:_?(?:id|key|no))?|sid|jsessionid|phpsessid|aspsessionid\w*|cfid|cftoken|"
    r"zenid|oscsid|token\w*|csrf\w*|csrfmiddlewaretoken|nonce|\w*nonce|"
    r"authenticity_?token|__\w+|viewstate\w*|eventvalidation|event(?:target|argument)|return(?:_?(?:to|url|path|"
    r"query))?|returntoquery|redirect(?:_?(?:to|url|uri))?|back(?:_?(?:url|to|link))?|"
    r"back_?link|continue|goto|dest(?:ination)?|came_?from|list_?id|q_?id|search_?id|query_?id|request_?id|uuid|"
    r"guid|cookie|state_?id|form_?(?:id|build_?id|token)|visit(?:or)?_?id"
)
# URLs, paths with arguments and query strings (return addresses), and values of only signs.
OPAQUE = late_pattern(
    r"https?://\S+|/[^\s?]*+\?\S+|/[^\s%]*+%\S*|[\w.-]++=[^&]*+(?:&[\w.-]++=[^&]*+)*+|[\W_]{2,}", re.I
)
# Values that name a view.
VIEW_VALUE = _names(
    r"(?:builtin|view|layout|style)?[-_ ]?(?:normal|standard|plain|short(?:er)?|long(?:er)?|brief|full|compact|condensed|"
    r"detail(?:ed|s)?|summary|verbose|"
    r"list(?:e|ing)?|grid|table|tiles?|"
    r"gallery|cards?|thumbs?|thumbnails?|icons?|html5?|xhtml|json|xml|rss|atom|csv|text|txt|print|mobile|desktop)"
)
# Names that switch something on the page on or off (`nohighlight`), if the value is a switch.
OFF = _names(r"(?:no|hide|skip|disable|without|show|expand)[-_]?[a-z]{3,}")
# Values of a setting that narrows nothing, and labels that begin by saying so ("All regions", "(Todas)").
ANY_VALUES = ("", "all", "any", "*", "everything", "alle", "tout", "tous", "todos", "0", "-1")
ANY_LABEL = late_pattern(lambda: rf"[\W_]*+(?:(?:{alternatives('any_value')})(?!\w).{{0,60}})?", re.I)
# Value of a switch that is on.
SWITCH = late_pattern(r"1|on|true|yes|y|t|ja|oui", re.I)


@lru_cache(maxsize=MAX_CACHED_NAMES)
def is_usual_name(name: str) -> bool:
    """Return True if an argument has a usual name in pagers: of the query, a position, page size, sort order, view or session.

    >>> [is_usual_name(name) for name in ("page", "sort_by", "q", "item_id")]
    [True, True, True, False]
    """
    word = undecorated(name)
    return any(
        known.fullmatch(word) for known in (QUERY, PAGE, PAGE_SIZE, SORT, MAYBE_SORT, DISPLAY, TRACKING, SESSION)
    )
