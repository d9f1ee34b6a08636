"""Phrases in many languages: next, previous, more, older, last; no matches, error, refusal."""

import re

from upwell.lazy import late_pattern

__all__ = [
    "ACCESS_DENIED",
    "ARROW",
    "BLOCKED",
    "ERROR",
    "LAST",
    "LOGIN_WALL",
    "MORE",
    "MORE_RESULTS",
    "NEXT",
    "NOTHING_FOUND",
    "OLDER",
    "PAGE_MISSING",
    "PLEASE_LOG_IN",
    "PREVIOUS",
    "QUERY_REJECTED",
    "ROBOT_CHECK",
    "TOO_MANY_REQUESTS",
    "in_bytes",
]

_EDGE = r"[\W_\d]*"
# Nouns that may follow "next" for a further page: "page", or things in the plural; "next ticket" is another record.
_THINGS = (
    r"(?:pages?|results?|\w{3,}s|set|batch|seiten?|ergebnisse|treffer|einträge|artikel|pages?|résultats?|página|resultados|pagina|risultati|"
    r"resultaten|sida|side|sivu|stran[ay]|stron[aę]|страниц[аыу]|результат\w*|sayfa|oldal|trang|halaman|ページ|页|頁|페이지)"
)


def _label(words: str) -> re.Pattern[str]:
    return late_pattern(rf"{_EDGE}(?:{words}){_EDGE}", re.I)


NEXT = _label(
    rf"(?:go to |show |view |see |to )?(?:the )?next(?:\s+\d+)?(?:\s+{_THINGS})?|nxt|page suivante|suivante?s?|"
    r"(?:zur )?nächste[rn]?(?:\s+(?:seite|ergebnisse|treffer))?|weiter(?:blättern)?|vorwärts|vor|folgende(?: seite)?|"
    r"(?:página )?siguientes?|(?:ir à )?(?:próxim[ao]s?|seguintes?)(?: página)?|página seguinte|avançar|avanzar|"
    r"(?:pagina )?(?:successiv[aoie]|seguente)|avanti|prossim[ao](?: pagina)?|(?:pagina )?următoare(?:a)?|"
    r"volgende(?: pagina)?|nästa(?: sida)?|neste(?: side)?|næste(?: side)?|seuraava(?: sivu)?|další(?: stránka| strana)?|ďalšia|"
    r"następn[aey](?: strona)?|dalej|következő(?: oldal)?|sljedeća|sledeća|naslednja|sonraki(?: sayfa)?|ileri|επόμεν[ηο](?: σελίδα)?|"
    r"(?:на )?следующ(?:ая|ую|ие)(?: страниц[аеу])?|дал(?:ее|ьше)|вперед|вперёд|наступна|далі|следваща|"
    r"التالي(?:ة)?|الصفحة التالية|بعدی|صفحه بعد|הבא|अगला|ถัดไป|(?:trang )?(?:tiếp(?: theo)?|sau)|(?:halaman )?(?:berikut(?:nya)?|selanjutnya)|"
    r"次へ?|次の(?:ページ|結果|\d+件)?へ?|次ページ|下一?[页頁]|下一個|后一?页|後一?頁|다음(?: ?페이지)?"
)
PREVIOUS = _label(
    r"(?:go to |show )?(?:the )?prev(?:ious)?(?:\s+\d+)?(?:\s+\w+)?|back|zurück|vorherige(?: seite)?|vorige|précédente?s?|page précédente|retour|"
    r"(?:página )?anterior(?:es)?|atrás|voltar|(?:pagina )?precedent[ei]|indietro|vorige|föregående|forrige|edellinen|"
    r"předchozí|predošlá|poprzedni[ae]?|wstecz|"
    r"előző|prethodna|önceki|geri|προηγούμεν[ηο]|предыдущ(?:ая|ую|ие)(?: страниц[ау])?|назад|попередня|السابق(?:ة)?|قبلی|הקודם|sebelumnya|trước|"
    r"前へ?|前の(?:ページ)?へ?|前ページ|上一?[页頁]|이전|first|erste|première|primera|primeira|prima|первая|最初|首页"
)
MORE_RESULTS = _label(
    r"(?:show |load |view |see )?more (?:\w+ )?(?:results|matches|hits|entries|records|items|documents)|"
    r"mehr (?:ergebnisse|treffer)|weitere (?:ergebnisse|treffer)|"
    r"plus de résultats|más resultados|mais resultados|altri risultati|meer resultaten|fler (?:träffar|resultat)|"
    r"больше результатов|検索結果をもっと見る|更多结果"
)
MORE = _label(
    r"(?:show|load|view|see|get|display)?\s*more(?:\s+\w+)?(?:\s+\w+s)?|mehr(?: \w+)?(?: (?:an)?zeigen| laden)?|"
    r"weitere(?: \w+)?(?: (?:an)?zeigen| laden)?|"
    r"(?:afficher|voir|charger)?\s*plus(?: de \w+)?|(?:mostrar|ver|cargar|carregar)?\s*m[áa]i?s(?: \w+)?|(?:mostra|carica|vedi)\s*altr[io](?: \w+)?|"
    r"meer(?: \w+)?(?: laden| tonen)?|(?:visa|ladda|vis|last inn) (?:fler|flere|mer)|(?:показать|загрузить) ещё|(?:показать|загрузить) еще|ещё|еще|"
    r"pokaż więcej|načíst další|daha fazla|もっと(?:見る|読む)|さらに(?:表示|読み込む)|加载更多|載入更多|查看更多|더\s*보기"
)
OLDER = _label(
    r"(?:view |see )?(?:older|earlier)(?:\s+\w+)?|ältere(?: \w+)?|(?:articles|billets) plus anciens|plus anciens|entradas (?:antiguas|anteriores)|"
    r"(?:posts|artigos) (?:mais )?antigos|post più vecchi|oudere(?: berichten)?|äldre(?: inlägg)?|eldre(?: innlegg)?|"
    r"более старые|раньше|過去の\w*|古い\w*|较旧\w*"
)
LAST = _label(
    r"last(?: page)?|end|letzte(?: seite)?|ende|dernière(?: page)?|dernier|última?o?|ultim[ao]|fine|laatste|sista|"
    r"viimeinen|последняя|в конец|ostatni[ae]?|poslední|最後(?:へ)?|最后一?页|末页|尾页|끝"
)
# A single arrow to the right means the next page, a double arrow the next or the last page.
ARROW = late_pattern(r"[\s\[\](){}|]*(?:[›>→▶►⟩❯⇒➔➜»⏵▷〉⟫]|->|=>|>>|››|»»)[\s\[\](){}|]*")

# -- no matches, an error, a refusal ---------------------------------------------------------------------------------------

NOTHING_FOUND = late_pattern(
    r"\b(?:no|0|zero|not? any|without) (?:\w+ ){0,3}(?:results?|match(?:es)?|hits?|records?|documents?|items?|entries|"
    r"pages?|articles?|products?|books?|files?|cities|rows?|data)\b|"
    r"\b(?:results?|match(?:es)?|hits?|items?|documents?|total|found)\s*[:(]?\s*0\b|did(?: not|n't|n’t) (?:match|"
    r"return|find)|nothing (?:was |has been )?(?:found|matched|to show)|"
    r"(?:could|can)(?: not|n't|not) (?:be )?f(?:ind|ound)|(?:was|were) not found|no (?:such|luck)|not found|there (?:is|"
    r"are|were|was) no|sorry|unfortunately|"
    r"keine? (?:\w+ ){0,2}(?:ergebnisse?|treffer|einträge|dokumente|artikel|seiten|daten)|nichts gefunden|nicht gefunden|leider|"
    r"aucune? (?:\w+ )?(?:résultats?|réponse|documents?|article)|n'a (?:donné|retourné) aucun|introuvable|"
    r"no se (?:han? )?(?:encontr\w+|hall\w+)|ning[uú]n (?:resultado|registro)|sin resultados|nenhum (?:resultado|registro)|não (?:foram|foi|há) \w+|"
    r"nessun (?:risultato|documento)|non (?:ha|sono stati) \w+|geen (?:\w+ )?(?:resultaten|treffers)|niets gevonden|"
    r"inga (?:träffar|resultat)|ingen (?:treff|resultater|resultat)|"
    r"ei (?:tuloksia|osumia)|brak wyników|nie znaleziono|žádné výsledky|nenalezeno|ничего не найдено|не найден\w*|"
    r"нет результатов|нічого не знайдено|sonuç bulunamadı|nincs találat|"
    r"δεν βρέθηκ\w+|không tìm thấy|tidak (?:ada|ditemukan)|見つかりません|見つかりませんでした|該当(?:なし|する)|"
    r"0 ?件|没有(?:找到|结果|符合)|未找到|沒有(?:找到|結果)|結果がありません|없습니다|검색 ?결과가 ?없",
    re.I,
)
# Titles and headings of error pages.
ERROR = late_pattern(
    r"\b(?:errors?|fehler|erreur|errore|erro|fel|virhe|chyba|błąd|ошибка|exception|traceback|bad request|invalid|internal server|"
    r"service unavailable|forbidden|denied|timed? ?out)\b|エラー|错误|錯誤|오류",
    re.I,
)
# Titles and headings of pages that do not exist.
PAGE_MISSING = late_pattern(
    r"\b(?:404|page (?:was )?not found|not found|no such (?:\w+ )?(?:page|file)|does(?: not|n't) exist|seite nicht gefunden|"
    r"page introuvable|página no encontrada|pagina non trovata|страница не найдена)\b|页面不存在|ページが見つかりません",
    re.I,
)
# Short messages of a source that rejects the query.
QUERY_REJECTED = late_pattern(
    r"\b(?:errors?|exception|unknown|invalid|too (?:short|long|many|few|common)|at least (?:\w+ )?(?:characters?|"
    r"letters?|words?)|(?:is|are) required|"
    r"could(?: not|n't)|can(?:not|'t| not)|unable to|no such|not (?:allowed|permitted|supported|available)|failed|"
    r"fehler|ungültig|zu kurz|mindestens (?:\w+ )?zeichen|"
    r"erreur|invalide|trop court|inválid[oa]|demasiado cort[oa]|errore|non valido|ongeldig|ошибка|слишком короткий|недопустим\w*)\b|短すぎ|太短",
    re.I,
)
# The four kinds of refusal, searched in the bytes of a page (`in_bytes`).
ROBOT_CHECK = late_pattern(
    r"captcha|are you (?:a )?(?:human|robot)|not a robot|verify (?:that )?you are (?:a )?human|unusual traffic|type the characters you see",
    re.I,
)
TOO_MANY_REQUESTS = late_pattern(
    r"too many requests|rate limit(?:ed)? exceeded|exceeded (?:the|your) (?:rate|request|query|download) limit|"
    r"temporarily (?:blocked|banned)|(?:your )?ip(?: address)? (?:has been|is|was) (?:temporarily )?(?:blocked|banned)|slow down",
    re.I,
)
ACCESS_DENIED = late_pattern(r"access denied|request blocked|zugriff verweigert|accès refusé|acceso denegado", re.I)
PLEASE_LOG_IN = late_pattern(
    r"(?:please|must|need to|have to|required to|to continue,?)\s+(?:first\s+)?(?:be\s+)?(?:sign(?:ed)?|log(?:ged)?)[ -]?(?:in|on)",
    re.I,
)
# Also occurs on ordinary pages: counts only on a page with a password field.
LOGIN_WALL = late_pattern(
    rf"{PLEASE_LOG_IN.pattern}|(?:members|subscribers) only|bitte (?:melden sie sich|einloggen)|veuillez vous (?:connecter|identifier)|"
    r"inicie sesi|(?:login|sign-?in) required",
    re.I,
)
BLOCKED = late_pattern(
    "|".join(kind.pattern for kind in (ROBOT_CHECK, TOO_MANY_REQUESTS, ACCESS_DENIED, PLEASE_LOG_IN)), re.I
)


def in_bytes(phrases: re.Pattern[str]) -> re.Pattern[bytes]:
    """Return the pattern for UTF-8 or ASCII bytes of a page that is not parsed yet."""
    return re.compile(phrases.pattern.encode(), re.I)
