"""What a page says of its own length: how many matches there are, which of them it shows, and whether that can be believed.

    total     how many matches the source says it has; `least` and `about` mark what is said to be an estimate
    range     the first and last match that the page shows; its length is the page size
    cap       how many of the matches can be seen at all, where the page says so

DESIGN §4.3.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from upwell.page.ranges import NUMBER, RANGE, TO, number, ranges
from upwell.page.tree import TagTree

__all__ = ["StatedTotals", "Trust", "read_totals", "trust"]

Marked = Literal["", "about", "least"]
Trust = Literal["unknown", "constant", "estimate", "growing", "false"]

ABOUT = (
    r"about|approx(?:\.|imately)?|around|roughly|nearly|almost|estimated|some|circa|ca\.?|etwa|ungefähr|rund|zirka|environ|près de|"
    r"aproximadamente|unos|alrededor de|cerca d[ei]|casi|ongeveer|omkring|ungefär|noin|około|asi|přibližně|около|примерно|приблизительно|"
    r"约|約|大约|およそ|약|~|≈"
)
LEAST = (
    r"more than|over|at least|greater than|mehr als|über|mindestens|plus de|au moins|más de|al menos|mais de|pelo menos|più di|oltre|almeno|"
    r"meer dan|minstens|mer än|över|mere end|mer enn|yli|ponad|więcej niż|více než|более|больше|свыше|超过|超過|>|≥"
)
MARK = rf"(?P<mark>{ABOUT}|{LEAST})?\s*"
OF = r"(?:out of|of|from|von|aus|sur|de|di|van|av|af|uit|/|z|ze|od|из|от|su|总共|共|中|in)"
THINGS = (
    r"(?:search |matching |total |relevant |unique |\w+ )?(?:results?|match(?:es|ing)?|hits?|documents?|records?|"
    r"items?|entries|entry|rows?|articles?|"
    r"pages? found|files? found|found|listings?|products?|titles?|books?|jobs?|posts?|cities|objects?|citations?|"
    r"properties|repositories|packages|tickets|"
    r"ergebnisse?n?|treffern?|einträge|dokumente|artikel|résultats?|réponses?|documents?|resultados?|registros?|"
    r"risultat[oi]|documenti|resultat(?:en|er)?|"
    r"träffar|treff|tulos(?:ta)?|osumaa|wynik(?:i|ów)?|výsledk[ůy]|результат\w*|документ\w*|найдено|sonuç|találat|αποτελέσματα|kết quả|hasil)"
    r"(?:\(s\)|\(es\))?(?![\w-])"
)
FOUND = (
    r"(?:found|returned|matched|total(?: of| in database)?|results?(?: found)?|matches(?: found)?|hits|(?:documents?|records?|items)(?:\(s\))? found|"
    r"gefunden|insgesamt|ergebnisse|treffer|trouvés?|résultats|encontrad[oa]s|total de|resultados|trovat[io]|risultati|totale|gevonden|resultaten|"
    r"найдено|результатов|всего|共|全|总共|找到|约有|検索結果|총)"
)
CJK_THINGS = r"(?:件|条|條|个结果|個結果|项|項|건|개|筆|笔|篇)"
RANGE_OF = re.compile(
    rf"(?<![\d.,/:-]){RANGE}\W{{0,4}}(?:\w+\W+){{0,2}}?{OF}\W{{0,3}}(?:(?:a )?total(?: of)?\s*|the\s*)?{MARK}(?:total\s*)?(?P<total>{NUMBER})(?P<plus>\+)?",
    re.I,
)
# Written the other way round: "全123件中 1～20件", "283 matches, 1 to 20 shown".
OF_RANGE = re.compile(rf"{MARK}(?P<total>{NUMBER})\s*{CJK_THINGS}\D{{0,6}}{RANGE}", re.I)
COUNTED = re.compile(rf"(?<![\d.,/:#-]){MARK}(?P<total>{NUMBER})(?P<plus>\+)?\s*(?:{THINGS}|{CJK_THINGS})", re.I)
FOUND_COUNT = re.compile(
    rf"(?<!\w){FOUND}\s*(?:[:：(]|is|are|only|out of|of)?\s*{MARK}(?P<total>{NUMBER})(?P<plus>\+)?(?!\s*(?:{TO})\d)(?!\s*[a-z]?\s*(?:seconds|"
    rf"sec|ms))",
    re.I,
)
CAP = re.compile(
    rf"(?:only(?: the)?(?: first)?|top|first|limited to(?: the first)?|maximum(?: of)?|up to|die ersten|nur die ersten|"
    rf"les|premiers|primer[oa]s|prim[ie]|первые|前)\s+(?P<cap>{NUMBER})",
    re.I,
)
SEEN = re.compile(
    r"shown|showing|display\w*|sorted|available|limited|angezeigt|affich\w*|mostra\w*|показан\w*|显示", re.I
)
# Numbers of another kind: page sizes, pages, what was searched, times.
ASIDE = re.compile(
    r"per page|/ ?page|pro seite|par page|por página|per pagina|на странице|件表示|每页|(?:documents|files|pages|records) (?:searched|indexed)|"
    r"^\W*(?:next|previous|prev|last|show|view|more(?! than)|weiter|suivant)\b|index (?:contains|has)|indexed|more (?:results|hits|matches)",
    re.I,
)
STRONG = re.compile(
    rf"\b(?:results?|match\w*|hits?|found|returned|total|search\w*|query|{FOUND}|trouv\w*|encontrad\w*|gefunden\w*|"
    rf"treffern?|ergebnisse?n?|résultats?|resultado?s?|"
    r"risultat[oi]|resultaten|träffar|treff|tulosta|wynik\w*|výsledk\w*|результат\w*|sonuç|találat)|件|条|條|结果|結果|건",
    re.I,
)
MATCHES_OWN = 6  # different numbers that a page without a range may say; more are numbers of its matches
OTHER = 2.0  # times the matches read that a range may be long: some may be read wrongly; not swept
LONGEST = 240  # characters of a line that may say how many there are; running text is longer


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedTotals:
    """What a page says of its length; None where it does not say."""

    total: int | None = None
    marked: Marked = ""  # how the total is hedged
    first: int | None = None
    last: int | None = None
    cap: int | None = None

    @property
    def page_size(self) -> int | None:
        """How many matches the page says it shows."""
        return None if self.first is None or self.last is None else self.last - self.first + 1


def read_totals(tree: TagTree, texts: Sequence[str] = ()) -> StatedTotals:
    """Reads the total, the range shown and the cap from a page's text; a range with its total is believed before a lone number.

    `texts` are those of the matches read from the page: a number that is smaller than how many there are is no total, a range of
    another length is not theirs, and a lone number in one of them is a match's own.

    >>> from upwell.page.tree import read
    >>> read_totals(read("<p>Results <b>11</b> - <b>20</b> of about <b>1.234</b> for cats"))
    StatedTotals(total=1234, marked='about', first=11, last=20, cap=None)
    """
    records, own = len(texts), "\n".join(texts)
    lines = [line for line in tree.text().split("\n") if len(line) <= LONGEST and re.search(r"\d", line)]
    around = [line for line in lines if " ".join(line.split()) not in own]
    for line in lines:
        for pattern in (RANGE_OF, OF_RANGE):
            for found in pattern.finditer(line):
                first, last, total = (number(found[name]) for name in ("first", "last", "total"))
                if last <= total and _shown(first, last, records):
                    return StatedTotals(
                        total=total, marked=_mark(found), first=first, last=last, cap=_cap(around, total, records)
                    )
    spoken = [(first, last) for line in lines if _speaks(line) for first, last in ranges(line)]
    shown = [(first, last) for first, last in spoken if first and _shown(first, last, records)]
    fallback = StatedTotals()
    for found in _counts(around):
        total = number(found["total"])
        if total < records:
            continue
        fitting = next(((first, last) for first, last in shown if last <= total), None)
        told = StatedTotals(total=total, marked=_mark(found), cap=_cap(around, total, records))
        if fitting or not shown:
            return replace(told, first=fitting[0], last=fitting[1]) if fitting else told
        if fallback.total is None:
            fallback = told
    return (
        fallback
        if fallback.total is not None
        else StatedTotals(first=shown[0][0], last=shown[0][1])
        if shown
        else fallback
    )


def _shown(first: int, last: int, records: int) -> bool:
    """Whether these may be the places of the matches on the page, of which so many were read (0: none were)."""
    length = last - first + 1
    near = not records or records / OTHER <= length <= records * OTHER
    return 0 < length <= 10_000 and not 1900 < first < 2100 and near


def _counts(lines: Sequence[str]) -> list[re.Match[str]]:
    """Lone numbers that may be the total, the likeliest first: those of a line that speaks of finding, then the only other one.

    A count of things that is not said to be found may be a match's own ("12 items in stock"): it counts where it stands alone.
    """
    found = [
        (bool(STRONG.search(line)), match)
        for line in lines
        if not ASIDE.search(line)
        for pattern in (COUNTED, FOUND_COUNT)
        for match in pattern.finditer(line)
    ]
    strong = [match for spoken, match in found if spoken]
    if len({match["total"] for match in strong}) > MATCHES_OWN:
        return []  # "3 hits" at every match
    weak = [match for spoken, match in found if not spoken]
    return strong + (weak if len(weak) == 1 else [])


def _speaks(line: str) -> bool:
    """Whether a line speaks of matches, so that two numbers in it can be a range of them."""
    return bool(
        re.search(rf"\b(?:{THINGS}|showing|shown|display\w*|anzeige|affich\w*|mostrando|{FOUND})", line, re.I)
    ) and not ASIDE.search(line)


def _mark(found: re.Match[str]) -> Marked:
    said = found["mark"]
    if "plus" in found.re.groupindex and found["plus"]:
        return "least"
    return "" if not said else "least" if re.fullmatch(LEAST, said, re.I) else "about"


def _cap(lines: Sequence[str], total: int, records: int) -> int | None:
    """How many of the total a page says can be seen; not fewer than are."""
    caps = [number(found["cap"]) for line in lines if SEEN.search(line) for found in CAP.finditer(line)]
    return next((cap for cap in caps if max(10, records) <= cap < total), None)


def trust(told: Sequence[StatedTotals], seen: int = 0, ended: bool = False) -> Trust:
    """Judges the totals that the pages of one query said: `seen` matches came, and `ended` says that the pager was followed to its end.

    `constant` is said again and again and is not hedged; `growing` changes with every page (a count of what was found so far);
    `estimate` is hedged, or wanders a little; `false` cannot be: fewer than were seen, or more than came where the pager ended
    by itself (more than a tenth off, and no cap was named).
    """
    totals = [page.total for page in told if page.total is not None]
    if not totals:
        return "unknown"
    last = totals[-1]
    hedged = any(page.marked for page in told)
    if not hedged and max(totals) < seen:
        return "growing" if len(set(totals)) > 1 and totals == sorted(totals) else "false"
    if ended and not any(page.cap for page in told) and last > seen * 1.1 + 1:
        return "false"
    if len(set(totals)) > 1:
        rising = totals == sorted(totals) and all(
            p.last is not None and p.total is not None and p.total - p.last <= (p.page_size or 0) for p in told[:-1]
        )
        return "growing" if rising else "estimate"
    return "estimate" if hedged else "constant"
