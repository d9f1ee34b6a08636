"""How pages in many languages say next, previous, more, older and last."""

import re

__all__ = ["ARROW", "LAST", "MORE", "MORE_RESULTS", "NEXT", "OLDER", "PREVIOUS"]

_EDGE = r"[\W_\d]*"
# What may stand beside "next" when a further page is meant: a page or things in the plural; "next ticket" is another page.
_THINGS = (
    r"(?:pages?|results?|\w{3,}s|set|batch|seiten?|ergebnisse|treffer|einträge|artikel|pages?|résultats?|página|resultados|pagina|risultati|"
    r"resultaten|sida|side|sivu|stran[ay]|stron[aę]|страниц[аыу]|результат\w*|sayfa|oldal|trang|halaman|ページ|页|頁|페이지)"
)


def _said(words: str) -> re.Pattern[str]:
    return re.compile(rf"{_EDGE}(?:{words}){_EDGE}", re.I)


NEXT = _said(
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
PREVIOUS = _said(
    r"(?:go to |show )?(?:the )?prev(?:ious)?(?:\s+\d+)?(?:\s+\w+)?|back|zurück|vorherige(?: seite)?|vorige|précédente?s?|page précédente|retour|"
    r"(?:página )?anterior(?:es)?|atrás|voltar|(?:pagina )?precedent[ei]|indietro|vorige|föregående|forrige|edellinen|předchozí|predošlá|poprzedni[ae]?|wstecz|"
    r"előző|prethodna|önceki|geri|προηγούμεν[ηο]|предыдущ(?:ая|ую|ие)(?: страниц[ау])?|назад|попередня|السابق(?:ة)?|قبلی|הקודם|sebelumnya|trước|"
    r"前へ?|前の(?:ページ)?へ?|前ページ|上一?[页頁]|이전|first|erste|première|primera|primeira|prima|первая|最初|首页"
)
MORE_RESULTS = _said(
    r"(?:show |load |view |see )?more (?:\w+ )?(?:results|matches|hits|entries|records|items|documents)|"
    r"mehr (?:ergebnisse|treffer)|weitere (?:ergebnisse|treffer)|"
    r"plus de résultats|más resultados|mais resultados|altri risultati|meer resultaten|fler (?:träffar|resultat)|"
    r"больше результатов|検索結果をもっと見る|更多结果"
)
MORE = _said(
    r"(?:show|load|view|see|get|display)?\s*more(?:\s+\w+)?(?:\s+\w+s)?|mehr(?: \w+)?(?: (?:an)?zeigen| laden)?|weitere(?: \w+)?(?: (?:an)?zeigen| laden)?|"
    r"(?:afficher|voir|charger)?\s*plus(?: de \w+)?|(?:mostrar|ver|cargar|carregar)?\s*m[áa]i?s(?: \w+)?|(?:mostra|carica|vedi)\s*altr[io](?: \w+)?|"
    r"meer(?: \w+)?(?: laden| tonen)?|(?:visa|ladda|vis|last inn) (?:fler|flere|mer)|(?:показать|загрузить) ещё|(?:показать|загрузить) еще|ещё|еще|"
    r"pokaż więcej|načíst další|daha fazla|もっと(?:見る|読む)|さらに(?:表示|読み込む)|加载更多|載入更多|查看更多|더\s*보기"
)
OLDER = _said(
    r"(?:view |see )?(?:older|earlier)(?:\s+\w+)?|ältere(?: \w+)?|(?:articles|billets) plus anciens|plus anciens|entradas (?:antiguas|anteriores)|"
    r"(?:posts|artigos) (?:mais )?antigos|post più vecchi|oudere(?: berichten)?|äldre(?: inlägg)?|eldre(?: innlegg)?|"
    r"более старые|раньше|過去の\w*|古い\w*|较旧\w*"
)
LAST = _said(
    r"last(?: page)?|end|letzte(?: seite)?|ende|dernière(?: page)?|dernier|última?o?|ultim[ao]|fine|laatste|sista|"
    r"viimeinen|последняя|в конец|ostatni[ae]?|poslední|最後(?:へ)?|最后一?页|末页|尾页|끝"
)
# A lone arrow to the right: one is a step, two are a step or the end.
ARROW = re.compile(r"[\s\[\](){}|]*(?:[›>→▶►⟩❯⇒➔➜»⏵▷〉⟫]|->|=>|>>|››|»»)[\s\[\](){}|]*")
