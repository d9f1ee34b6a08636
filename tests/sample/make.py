"""Write the labelled sample anew: `python -m tests.sample.make`.

Every page is made here, from the cities of the demo site and from phrases written for it. The truth is what this module put into a page,
never what Upwell reads in it. A page is determined by a number, so that the same pages are written each time.
"""

import html
import json
import random
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from tests.sample.pages import FOLDER, TRUTH, Page, Site, lines_of
from upwell.demo.cities import City, all_cities

TAG = re.compile(r"<[^>]*>")


@dataclass(frozen=True, kw_only=True)
class Language:
    """Phrases of a site in one language."""

    code: str
    next: str
    previous: str
    search: str
    menu: str
    range: str  # with {first}, {last}, {total}
    count: str  # with {total}
    nothing: str
    sentences: tuple[str, ...]  # with {name}, {country}, {population}, {zone}, {other}
    labels: tuple[str, str, str]  # country, population, time zone
    thousands: str = ","
    login: str = "Log in"
    password: str = "Password"  # a label
    newsletter: str = "Newsletter"
    message: str = "Your message"
    months: str = "January February March April May June July August September October November December"
    by: str = "By"


ENGLISH = Language(
    code="en", next="Next", previous="Previous", search="Search", menu="Home|Catalogue|Maps|About us|Help|Contact",
    range="Results {first} - {last} of {total}", count="{total} results found", nothing="No results were found for your search.",
    sentences=(
        "{name} is a city in {country} with about {population} inhabitants, and its clocks follow {zone}.",
        "Travellers who reach {name} from the coast of {country} are surprised by its markets and its old harbour.",
        "The council of {name} counted {population} people last spring, more than in any year before.",
        "Older maps call it {other}, a name that some families in {country} still use.",
        "Trains between {name} and the capital take less than three hours since the bridge was opened.",
    ),
    labels=("Country", "Population", "Time zone"),
)  # fmt: skip
GERMAN = Language(
    code="de", next="Weiter", previous="Zurück", search="Suchen", menu="Startseite|Katalog|Karten|Über uns|Hilfe|Kontakt",
    range="Treffer {first} bis {last} von {total}", count="{total} Treffer gefunden", nothing="Ihre Suche ergab keine Treffer.",
    sentences=(
        "{name} ist eine Stadt in {country} mit rund {population} Einwohnern in der Zeitzone {zone}.",
        "Wer {name} zum ersten Mal besucht, staunt über die Märkte und den alten Hafen an der Küste.",
        "Auf älteren Karten heißt der Ort {other}, und in {country} kennt man diesen Namen bis heute.",
    ),
    labels=("Land", "Einwohner", "Zeitzone"), thousands=".", login="Anmelden", password="Passwort", newsletter="Newsletter abonnieren",
    message="Ihre Nachricht", by="Von",
    months="Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
)  # fmt: skip
FRENCH = Language(
    code="fr", next="Suivant", previous="Précédent", search="Rechercher", menu="Accueil|Catalogue|Cartes|À propos|Aide|Contact",
    range="Résultats {first} à {last} sur {total}", count="{total} résultats trouvés", nothing="Aucun résultat ne correspond à votre recherche.",
    sentences=(
        "{name} est une ville de {country} d'environ {population} habitants, dans le fuseau {zone}.",
        "Le voyageur qui arrive à {name} découvre ses marchés couverts et son vieux port près de la côte.",
        "Les anciennes cartes la nomment {other}, et ce nom reste vivant en {country}.",
    ),
    labels=("Pays", "Habitants", "Fuseau horaire"), thousands="\u202f", login="Connexion", password="Mot de passe",
    newsletter="S'abonner à la lettre", message="Votre message", by="Par",
    months="janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
)  # fmt: skip
SPANISH = Language(
    code="es", next="Siguiente", previous="Anterior", search="Buscar", menu="Inicio|Catálogo|Mapas|Quiénes somos|Ayuda|Contacto",
    range="Resultados {first} - {last} de {total}", count="{total} resultados encontrados", nothing="No se encontraron resultados para su búsqueda.",
    sentences=(
        "{name} es una ciudad de {country} con unos {population} habitantes y la hora de {zone}.",
        "Quien llega a {name} por primera vez recuerda sus mercados y el puerto viejo junto a la costa.",
        "Los mapas antiguos la llaman {other}, nombre que se conserva en {country}.",
    ),
    labels=("País", "Habitantes", "Huso horario"), thousands=".", login="Iniciar sesión", password="Contraseña",
    newsletter="Suscribirse al boletín", message="Su mensaje", by="Por",
    months="enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
)  # fmt: skip
ITALIAN = Language(
    code="it", next="Successiva", previous="Precedente", search="Cerca", menu="Home|Catalogo|Mappe|Chi siamo|Aiuto|Contatti",
    range="Risultati {first} - {last} di {total}", count="{total} risultati trovati", nothing="Nessun risultato per la ricerca.",
    sentences=("{name} è una città in {country} con circa {population} abitanti.", "Le carte antiche la chiamano {other}."),
    labels=("Paese", "Abitanti", "Fuso orario"), thousands=".",
)  # fmt: skip
PORTUGUESE = Language(
    code="pt", next="Próxima", previous="Anterior", search="Pesquisar", menu="Início|Catálogo|Mapas|Sobre nós|Ajuda|Contato",
    range="Resultados {first} - {last} de {total}", count="{total} resultados encontrados", nothing="Nenhum resultado encontrado.",
    sentences=("{name} é uma cidade de {country} com cerca de {population} habitantes.", "Nos mapas antigos chama-se {other}."),
    labels=("País", "População", "Fuso horário"), thousands=".",
)  # fmt: skip
DUTCH = Language(
    code="nl", next="Volgende", previous="Vorige", search="Zoeken", menu="Home|Catalogus|Kaarten|Over ons|Hulp|Contact",
    range="{first} - {last} van {total} resultaten", count="{total} resultaten gevonden", nothing="Er zijn geen resultaten gevonden.",
    sentences=("{name} is een stad in {country} met ongeveer {population} inwoners.", "Op oude kaarten heet zij {other}."),
    labels=("Land", "Inwoners", "Tijdzone"), thousands=".",
)  # fmt: skip
SWEDISH = Language(
    code="sv", next="Nästa", previous="Föregående", search="Sök", menu="Hem|Katalog|Kartor|Om oss|Hjälp|Kontakt",
    range="{first}-{last} av {total} träffar", count="{total} träffar", nothing="Inga träffar hittades.",
    sentences=("{name} är en stad i {country} med omkring {population} invånare.", "På gamla kartor heter den {other}."),
    labels=("Land", "Invånare", "Tidszon"), thousands="\u00a0",
)  # fmt: skip
POLISH = Language(
    code="pl", next="Następna", previous="Poprzednia", search="Szukaj", menu="Strona główna|Katalog|Mapy|O nas|Pomoc|Kontakt",
    range="{first} - {last} z {total} wyników", count="{total} wyników", nothing="Nie znaleziono żadnych wyników.",
    sentences=("{name} to miasto w kraju {country}, ma około {population} mieszkańców.", "Na starych mapach to {other}."),
    labels=("Kraj", "Ludność", "Strefa"), thousands="\u00a0",
)  # fmt: skip
RUSSIAN = Language(
    code="ru", next="Следующая", previous="Предыдущая", search="Поиск", menu="Главная|Каталог|Карты|О нас|Помощь|Контакты",
    range="Результаты {first} - {last} из {total}", count="Найдено {total} результатов", nothing="По вашему запросу ничего не найдено.",
    sentences=("{name} — город в стране {country}, около {population} жителей.", "На старых картах он назван {other}."),
    labels=("Страна", "Население", "Часовой пояс"), thousands="\u00a0", login="Войти", password="Пароль",
    newsletter="Подписаться на рассылку", message="Ваше сообщение",
)  # fmt: skip
JAPANESE = Language(
    code="ja", next="次へ", previous="前へ", search="検索", menu="ホーム|カタログ|地図|会社概要|ヘルプ|お問い合わせ",
    range="全{total}件中 {first}～{last}件", count="{total}件", nothing="該当するデータは見つかりませんでした。",
    sentences=("{name}は{country}の都市で、人口は約{population}人である。", "古い地図では{other}と呼ばれている。"),
    labels=("国", "人口", "時間帯"), login="ログイン", password="パスワード",
)  # fmt: skip
CHINESE = Language(
    code="zh", next="下一页", previous="上一页", search="搜索", menu="首页|目录|地图|关于我们|帮助|联系",
    range="第 {first}-{last} 条，共 {total} 条", count="共找到 {total} 条结果", nothing="没有找到相关结果。",
    sentences=("{name}是{country}的一座城市，人口约{population}。", "旧地图上称为{other}。"),
    labels=("国家", "人口", "时区"), login="登录", password="密码",
)  # fmt: skip
LANGUAGES = (
    ENGLISH, GERMAN, FRENCH, SPANISH, ITALIAN, PORTUGUESE, DUTCH, SWEDISH, POLISH, RUSSIAN, JAPANESE, CHINESE,
)  # fmt: skip


def number(value: int, language: Language) -> str:
    """Write a number with the thousands separator of a language."""
    return f"{value:,}".replace(",", language.thousands)


def sentence(rng: random.Random, city: City, language: Language, which: int | None = None) -> str:
    """Write a sentence about a city."""
    chosen = rng.choice(language.sentences) if which is None else language.sentences[which % len(language.sentences)]
    other = city.other_names[0] if city.other_names else city.name
    return chosen.format(
        name=city.name,
        country=city.country,
        population=number(city.population, language),
        zone=city.timezone,
        other=other,
    )


def plain(markup: str) -> str:
    """Return the text of markup on one line."""
    return " ".join(html.unescape(TAG.sub(" ", markup)).split())


def e(text: str) -> str:
    """Escape a text."""
    return html.escape(text, quote=False)


# Answers.


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Everything that a layout of records needs."""

    rng: random.Random
    language: Language
    cities: list[City]
    first: int  # number of the first record
    total: int
    has_classes: bool
    links: bool
    lengths: tuple[int, int]  # sentences per record
    facts: int  # labelled facts per record, up to 3
    rare: float  # share of records with an additional line
    mention: str = ""  # a word of the query, which every record contains

    def name(self, value: str) -> str:
        """Return a class attribute, or nothing on a site without classes."""
        return f' class="{value}"' if self.has_classes else ""

    def title(self, city: City) -> str:
        """Return the title of a record, mostly a link."""
        return f'<a href="/city/{city.id}">{e(city.name)}</a>' if self.links else e(city.name)

    def snippet(self, city: City) -> str:
        """Return the sentences of a record."""
        rng = random.Random(city.id)
        count = rng.randint(*self.lengths)
        mention = [f"({self.mention} {city.id % 90})"] if self.mention else []
        return " ".join([e(sentence(rng, city, self.language, i)) for i in range(count)] + mention)

    def values(self, city: City) -> list[tuple[str, str]]:
        """Return the labelled facts of a record."""
        values = (city.country, number(city.population, self.language), city.timezone)
        return list(zip(self.language.labels, values, strict=True))[: self.facts]

    def optional_line(self, city: City) -> str:
        """Return an optional line; "" for most records."""
        if city.id % 100 >= 100 * self.rare:
            return ""
        return f"<div{self.name('note')}>{e(', '.join(city.other_names[:3]) or city.region)}</div>"


Layout = Callable[[Answer], tuple[str, list[str]]]


def _joined(records: list[str], before: str, after: str, between: str = "") -> tuple[str, list[str]]:
    return before + between.join(records) + after, [plain(record) for record in records]


def _items(a: Answer) -> tuple[str, list[str]]:
    records = [
        f"<li{a.name('hit')}><h3>{a.title(c)}</h3><p>{a.snippet(c)}</p>{a.optional_line(c)}"
        + "".join(f"<span{a.name('fact')}>{label}: {e(value)}</span> " for label, value in a.values(c))
        + "</li>"
        for c in a.cities
    ]
    return _joined(records, f"<ul{a.name('hits')}>", "</ul>")


def _numbered(a: Answer) -> tuple[str, list[str]]:
    records = [
        f"<div{a.name('result')}>{a.first + i}. <b>{a.title(c)}</b><br>{a.snippet(c)}{a.optional_line(c)}</div>"
        for i, c in enumerate(a.cities)
    ]
    return _joined(records, f"<div{a.name('results')}>", "</div>")


def _rows(a: Answer) -> tuple[str, list[str]]:
    records = [
        f"<tr{a.name(f'row{i % 2}')}><td>{a.title(c)}{a.optional_line(c)}</td>"
        + "".join(f"<td>{e(v)}</td>" for _, v in a.values(c))
        + "</tr>"
        for i, c in enumerate(a.cities)
    ]
    head = "".join(f"<th>{e(label)}</th>" for label in ("Name", *a.language.labels[: a.facts]))
    return _joined(records, f"<table{a.name('list')}><tr>{head}</tr>", "</table>")


def _double_rows(a: Answer) -> tuple[str, list[str]]:
    records = [
        f"<tr><td>{a.first + i}.</td><td>{a.title(c)}</td></tr><tr><td></td><td>{a.snippet(c)}{a.optional_line(c)}</td></tr>"
        for i, c in enumerate(a.cities)
    ]
    return _joined(records, f"<table{a.name('list')}>", "</table>")


def _flat(a: Answer) -> tuple[str, list[str]]:
    records = [f"<h4>{a.title(c)}</h4><p>{a.snippet(c)}</p>{a.optional_line(c)}" for c in a.cities]
    return _joined(records, f"<div{a.name('answers')}>", "</div>")


def _terms(a: Answer) -> tuple[str, list[str]]:
    records = [
        f"<dt>{a.title(c)}</dt><dd>{a.snippet(c)}</dd>" + (f"<dd>{x}</dd>" if (x := a.optional_line(c)) else "")
        for c in a.cities
    ]
    return _joined(records, f"<dl{a.name('answers')}>", "</dl>")


def _breaks(a: Answer) -> tuple[str, list[str]]:
    records = [f"{a.title(c)} - {a.snippet(c)}<br>" for c in a.cities]
    return _joined(records, f"<div{a.name('answers')}>", "</div>", "<br>")


def _ruled(a: Answer) -> tuple[str, list[str]]:
    records = [f"<b>{a.title(c)}</b><br>{a.snippet(c)}<br><i>{e(c.timezone)}</i>" for c in a.cities]
    return _joined(records, "<td>", "</td>", "<hr>")


def _grid(a: Answer) -> tuple[str, list[str]]:
    records = [
        f"<td{a.name('cell')}><img src='/i/{c.id}.jpg' alt=''><p>{a.title(c)}</p><p>{e(c.country)}</p>{a.optional_line(c)}</td>"
        for c in a.cities
    ]
    rows = ["<tr>" + "".join(records[i : i + 3]) + "</tr>" for i in range(0, len(records), 3)]
    return f"<table{a.name('grid')}>" + "".join(rows) + "</table>", [plain(record) for record in records]


def _cards(a: Answer) -> tuple[str, list[str]]:
    records = [
        f"<div{a.name('card')}><div{a.name('head')}>{a.title(c)}</div><div{a.name('body')}><p>{a.snippet(c)}</p>"
        f"<ul>{''.join(f'<li>{e(n)}</li>' for n in c.other_names[:2])}</ul></div>{a.optional_line(c)}</div>"
        for c in a.cities
    ]
    return _joined(records, f"<div{a.name('cards')}>", "</div>")


def _columns(a: Answer) -> tuple[str, list[str]]:
    """Two columns of cards: records in several containers."""
    records = [f"<article><h2>{a.title(c)}</h2><p>{a.snippet(c)}</p>{a.optional_line(c)}</article>" for c in a.cities]
    half = (len(records) + 1) // 2
    left, right = "".join(records[:half]), "".join(records[half:])
    return f"<div{a.name('half')}>{left}</div><div{a.name('half')}>{right}</div>", [plain(record) for record in records]


def _groups(a: Answer) -> tuple[str, list[str]]:
    records = [f"<li>{a.title(c)} <span>{e(c.timezone)}</span> {a.snippet(c)}</li>" for c in a.cities]
    groups = [records[i : i + 4] for i in range(0, len(records), 4)]
    body = "".join(
        f"<h3>{e(c.continent)}</h3><ul>{''.join(g)}</ul>" for g, c in zip(groups, a.cities[::4], strict=True)
    )
    return f"<div{a.name('groups')}>{body}</div>", [plain(record) for record in records]


def _tables(a: Answer) -> tuple[str, list[str]]:
    """A table for each record."""
    records = [
        f"<table{a.name('record')}><tr><td>{a.title(c)}</td></tr>"
        + "".join(f"<tr><td>{label}</td><td>{e(value)}</td></tr>" for label, value in a.values(c))
        + "</table>"
        for c in a.cities
    ]
    return _joined(records, f"<div{a.name('records')}>", "</div>")


def _marked(a: Answer) -> tuple[str, list[str]]:
    records = [
        f"<div><span{a.name('number')}>{a.first + i}</span> {a.title(c)} <em>{e(c.region)}</em><p>{a.snippet(c)}</p>"
        f"<p><a href='/save/{c.id}'>Map</a> <a href='/nearby?of={c.id}'>Nearby</a></p></div>"
        for i, c in enumerate(a.cities)
    ]
    return _joined(records, "<section>", "</section>")


def _spaced(a: Answer) -> tuple[str, list[str]]:
    """Titles and texts in different tags, with the same mark between any two of them."""
    mark, second = a.rng.choice(("<br>", "<hr>", "<p></p>")), a.rng.choice(("span", "div", "p", "i"))
    last = a.rng.choice(("", "small", "div"))
    records = [
        f"<h4>{a.title(c)}</h4>{mark}<{second}>{a.snippet(c)}</{second}>"
        + (f"{mark}<{last}>{e(c.timezone)}</{last}>" if last else "")
        for c in a.cities
    ]
    return _joined(records, f"<div{a.name('answers')}>", "</div>", mark)


def _lines(a: Answer) -> tuple[str, list[str]]:
    """Lines of a title and of one or two texts; only the formatting tells where a record begins."""
    mark, tag = a.rng.choice(("<br>", "<br>", "<hr>", "\n")), a.rng.choice(("b", "strong", "i", "u", "font"))
    second = a.rng.choice(("", "small", "i", "span"))
    opened, closed = (f"<{second}>", f"</{second}>") if second else ("", "")
    lines = a.rng.choice((1, 1, 2))
    records = [
        f"<{tag}>{a.title(c)}</{tag}>{mark}"
        + mark.join(f"{opened}{e(text)}{closed}" for text in (sentence(a.rng, c, a.language, 0), c.timezone)[:lines])
        for c in a.cities
    ]
    if mark == "\n":
        return _joined(records, "<pre>", "</pre>", mark)
    return _joined(records, f"<div{a.name('answers')}>", "</div>", mark)


def _twins(a: Answer) -> tuple[str, list[str]]:
    """Two lines of similar length for each record, in different tags, with the same break after each."""
    tag, mark = a.rng.choice(("b", "strong", "h5", "div")), a.rng.choice(("<br>", "<hr>"))
    tail, linked = a.rng.choice(("", "", "<br>")), a.rng.random() < 0.5
    records = []
    for c in a.cities:
        second = f"{e(c.timezone)}, {number(c.population, a.language)}"
        second = f'<a href="/zone/{quote(c.timezone)}">{e(c.timezone)}</a>' if linked else second
        records.append(f"<{tag}>{a.title(c)} {e(c.country)}</{tag}>{mark}{second}{tail}")
    return _joined(records, f"<div{a.name('answers')}>", "</div>", mark)


def _pairs(a: Answer) -> tuple[str, list[str]]:
    """Blocks of two kinds for each record, whose texts alternate."""
    title, text = a.rng.choice((("div", "div"), ("p", "div"), ("h5", "blockquote"), ("div", "ul")))
    inner = "li" if text == "ul" else "span"
    records = [
        f"<{title}><b>{a.title(c)}</b> {e(c.country)}</{title}><{text}><{inner}><b>{e(c.timezone)}</b> {a.snippet(c)}</{inner}></{text}>"
        for c in a.cities
    ]
    return _joined(records, f"<div{a.name('answers')}>", "</div>")


LAYOUTS: dict[str, Layout] = {
    "items": _items, "numbered": _numbered, "rows": _rows, "double-rows": _double_rows, "flat": _flat, "terms": _terms, "breaks": _breaks,
    "ruled": _ruled, "grid": _grid, "cards": _cards, "columns": _columns, "groups": _groups, "tables": _tables, "marked": _marked,
    "spaced": _spaced, "pairs": _pairs, "lines": _lines, "twins": _twins,
}  # fmt: skip


# Parts of a page that are not records.


def _menu(rng: random.Random, language: Language, entries: int) -> str:
    names = language.menu.split("|")
    cities = rng.sample(all_cities()[:400], entries)
    names += [c.country for c in cities]
    return (
        "<ul class=menu>"
        + "".join(f'<li><a href="/m/{i}">{e(name)}</a></li>' for i, name in enumerate(names))
        + "</ul>"
    )


def _facets(rng: random.Random, language: Language, query: str) -> str:
    names = sorted({c.country for c in rng.sample(all_cities()[:400], rng.randint(4, 9))})
    links = "".join(
        f'<li><a href="/search?q={quote(query)}&amp;country={quote(name)}">{e(name)}</a> ({rng.randint(1, 90)})</li>'
        for name in names
    )
    return f"<div class=facets><h4>{language.labels[0]}</h4><ul>{links}</ul></div>"


def _news(rng: random.Random, language: Language) -> str:
    cities = rng.sample(all_cities()[:400], rng.randint(3, 6))
    items = "".join(
        f'<div class=item><h4><a href="/news/{c.id}">{e(c.name)}</a></h4><p>{e(sentence(rng, c, language))}</p></div>'
        for c in cities
    )
    return f"<div class=news>{items}</div>"


def _advertisements(rng: random.Random, language: Language) -> str:
    cities = rng.sample(all_cities()[:400], 3)
    return "".join(
        f'<div class=ad><a href="http://ads.example/{c.id}">{e(c.country)} {rng.randint(19, 99)} €</a><p>{e(sentence(rng, c, language))}</p></div>'
        for c in cities
    )


def _related(rng: random.Random, query: str) -> str:
    cities = rng.sample(all_cities()[:400], rng.randint(4, 8))
    return (
        "<div class=related>"
        + " ".join(f'<a href="/search?q={quote(c.name)}">{e(query)} {e(c.name)}</a>' for c in cities)
        + "</div>"
    )


def _calendar(rng: random.Random) -> str:
    rows = "".join("<tr>" + "".join(f"<td>{7 * w + d}</td>" for d in range(1, 8)) + "</tr>" for w in range(4))
    month = rng.randint(2, 11)
    return (
        f'<table class=calendar><caption><a href="/events?month={month - 1}">&laquo;</a> 2024-{month} '
        f'<a href="/events?month={month + 1}">&raquo;</a></caption>{rows}</table>'
    )


def _slideshow(rng: random.Random, language: Language) -> str:
    city = rng.choice(all_cities()[:400])
    return f'<div class=slides><a class=prev href="#1">‹</a><img src="/s/{city.id}.jpg" alt=""><a class=next href="#2">›</a> {e(city.name)}</div>'


def _filters(rng: random.Random, language: Language) -> str:
    cities = rng.sample(all_cities()[:400], rng.randint(5, 25))
    options = "".join(f"<option>{e(c.timezone)}</option>" for c in cities)
    boxes = "".join(
        f"<div><label><input type=checkbox name=c value={c.id}> {e(c.country)} {e(c.region)}</label></div>"
        for c in cities[:9]
    )
    return (
        f'<form action="/search"><select name=zone>{options}</select>{boxes}<button>{language.search}</button></form>'
    )


def _nearby(rng: random.Random, language: Language) -> str:
    """A list that differs from answer to answer, though it does not belong to the query."""
    cities = rng.sample(all_cities()[:900], rng.randint(3, 7))
    return "<ul class=nearby>" + "".join(f'<li><a href="/city/{c.id}">{e(c.name)}</a></li>' for c in cities) + "</ul>"


def _with_noise(rng: random.Random, body: str, language: Language) -> str:
    """Put an introduction and a closing line into the element that contains the records."""
    cities = rng.sample(all_cities()[:400], 2)
    first, last = (f"<p>{e(sentence(rng, c, language))}</p>" for c in cities)
    opened = body.index(">") + 1
    closed = body.rindex("</")
    return body[:opened] + first + body[opened:closed] + last + body[closed:]


def _letters() -> str:
    return "<p class=letters>" + " ".join(f'<a href="/list/{x}">{x}</a>' for x in "ABCDEFGHIJKLMNOPQRSTUVWXYZ") + "</p>"


def _steps(rng: random.Random, language: Language) -> str:
    """A tour of the site whose link says "next"."""
    return f'<p class=tour>Tour: <a href="/tour/{rng.randint(2, 9)}">{language.next}</a></p>'


# Pagers. Each returns markup and the address of the next page.


def _address(query: str, page: int, argument: str, step: int) -> str:
    value = page if step == 1 else (page - 1) * step
    return f"/search?q={quote(query)}&{argument}={value}"


def _pager(
    rng: random.Random, language: Language, query: str, page: int, pages: int, style: str, argument: str, step: int
) -> tuple[str, str | None]:
    following = _address(query, page + 1, argument, step) if page < pages else None
    previous = _address(query, page - 1, argument, step) if page > 1 else None
    last = _address(query, pages, argument, step)
    h = html.escape

    def link(address: str | None, text: str, attributes: str = "") -> str:
        return f'<a href="{h(address)}"{attributes}>{text}</a>' if address else f"<span>{text}</span>"

    numbers = " ".join(
        f"<b>{n}</b>" if n == page else link(_address(query, n, argument, step), str(n))
        for n in range(max(1, page - 3), min(pages, page + 4) + 1)
    )
    if style == "words":
        return (
            f"<p>{link(previous, language.previous) if previous else ''} {link(following, language.next) if following else ''}</p>",
            following,
        )
    if style == "numbers":
        return f"<div class=pages>{numbers}</div>", following
    if style == "both":
        return (
            f"<div class=pages>{link(previous, language.previous)} {numbers} {link(following, language.next)} {link(last, '»')}</div>",
            following,
        )
    if style == "arrows":
        return (
            f"<p>{link(previous, '‹') if previous else ''} {page} / {pages} {link(following, '›') if following else ''}</p>",
            following,
        )
    if style == "rel":
        return (
            f"<p>{link(previous, 'A', ' rel=prev') if previous else ''} {link(following, 'B', ' rel=next') if following else ''}</p>",
            following,
        )
    if style == "image":
        picture = f'<img src="/i/arrow-right.png" alt="{language.next}">'
        return f"<p>{link(following, picture) if following else ''}</p>", following
    if style == "class":
        icon = '<i class="icon-chevron-right"></i>'
        return f"<p>{link(following, icon, ' class=pager-next') if following else ''}</p>", following
    if style == "list":
        items = "".join(
            f"<li{' class=active' if n == page else ''}>{link(_address(query, n, argument, step), str(n))}</li>"
            for n in range(1, min(pages, 7) + 1)
        )
        return f"<ul class=pagination>{items}</ul>", following
    return "", None


STYLES = ("words", "numbers", "both", "arrows", "rel", "image", "class", "list", "")


def answer_site(seed: int, name: str = "") -> Site:
    """Make the answers of a source: layout, language, pager, total and traps are drawn with the seed."""
    rng = random.Random(seed)
    language = rng.choice(LANGUAGES)
    layout = list(LAYOUTS)[seed % 20 % len(LAYOUTS)]
    has_classes, links = rng.random() < 0.6, rng.random() < 0.8
    least = rng.choice((0, 1, 1, 2))
    lengths = (max(least, int(layout in ("breaks", "flat", "terms"))), rng.choice((1, 2, 3, 5)))
    lengths = (min(lengths), max(lengths))
    facts, rare = rng.randint(1, 3), rng.choice((0.0, 0.0, 0.2, 0.5))
    size, style = rng.choice((2, 3, 5, 8, 10, 10, 15)), rng.choice(STYLES)
    argument, step = rng.choice((("page", 1), ("p", 1), ("start", size), ("offset", size), ("pg", 1)))
    traps = rng.sample(
        ("facets", "news", "ads", "related", "calendar", "slides", "letters", "tour", "filters", "nearby"),
        rng.randint(1, 4),
    )
    statement = rng.choice(("range", "count", "range", ""))
    menu = _menu(rng, language, rng.choice((0, 0, 5, 25)))
    fixed = {"news": _news(rng, language), "ads": _advertisements(rng, language), "calendar": _calendar(rng), "letters": _letters(),
             "slides": _slideshow(rng, language), "tour": _steps(rng, language), "filters": _filters(rng, language)}  # fmt: skip
    knows_query, mentions_query = rng.random() < 0.5, rng.random() < 0.4
    has_noise = rng.random() < 0.3 and layout in ("numbered", "flat", "breaks", "cards", "marked", "tables", "groups")
    sidebar_first = rng.random() < 0.5
    count = rng.choice((1, 1, 2, 3))
    host = f"http://s{seed}.example"
    pages = []
    pool = all_cities()[:3000]
    for n in range(count):
        query = rng.choice(("river", "north", "port", "hill", "saint", "new"))
        total = rng.randint(size * 2, 2500)
        page = 1 if n != 1 else rng.randint(1, 2)
        cities = rng.sample(pool, size)
        answer = Answer(
            rng=rng, language=language, cities=cities, first=(page - 1) * size + 1, total=total, has_classes=has_classes, links=links,
            lengths=lengths, facts=facts, rare=rare, mention=query if mentions_query else "",
        )  # fmt: skip
        body, records = LAYOUTS[layout](answer)
        if has_noise:
            body = _with_noise(rng, body, language)
        pager, following = _pager(rng, language, query, page, -(-total // size), style, argument, step)
        stated = ""
        values = {"first": answer.first, "last": answer.first + size - 1, "total": number(total, language)}
        if statement:
            stated = f"<p>{(language.range if statement == 'range' else language.count).format(**values)}</p>"
        side = "".join(
            _facets(rng, language, query)
            if trap == "facets"
            else _related(rng, query)
            if trap == "related"
            else _nearby(rng, language)
            if trap == "nearby"
            else fixed[trap]
            for trap in traps
        )
        form = (
            f'<form action="/search"><input name=q value="{query}"><input type=submit value="{language.search}"></form>'
        )
        main = f"<div id=main>{stated}{body}{pager}</div>"
        parts = [f"<div id=side>{side}</div>", main] if sidebar_first else [main, f"<div id=side>{side}</div>"]
        foot = f"<div id=foot>© 2024 <a href=/imprint>{language.menu.split('|')[3]}</a></div>"
        document = (
            f"<!DOCTYPE html><html lang={language.code}><head><meta charset=utf-8><title>{language.search}: {query}</title></head>"
            f"<body><div id=top>{menu}{form}</div>{''.join(parts)}{foot}</body></html>"
        )
        url = f"{host}{_address(query, page, argument, step)}" if page > 1 else f"{host}/search?q={quote(query)}"
        truth = {
            "query": query if knows_query else "",
            "records": records,
            "next": host + following if following else None,
            "total": total if statement else None,
            "kind": "multi",
        }
        pages.append(Page(body=document, url=url, truth=truth))
    return Site(name=name or f"answers-{seed}", pages=pages)


# Pages without records.


def empty_site(language: Language, seed: int) -> Site:
    """Make a source with two answers, and then an empty answer, a refusal of the query, a missing page, an error and a captcha."""
    rng = random.Random(seed)
    full = answer_site(seed, f"kinds-{language.code}")
    first = full.pages[0]
    start, end = first.body.index("<div id=main>"), first.body.index("<div id=foot>")
    words = rng.sample(("qxzvw", "wvkjq", "zzqpx", "kkwvx"), 4)
    main_texts = {
        "none": (f"<div id=main><h2>{language.nothing}</h2></div>", 200),
        "rejected": ("<div id=main><h2>Error</h2><p>The query is too short.</p></div>", 200),
        "missing": ("<div id=main><h1>404 - page not found</h1></div>", 404),
        "error": ("<div id=main><h1>Internal server error</h1></div>", 500),
    }
    pages = list(full.pages)
    for word, (kind, (main, status)) in zip(words, main_texts.items(), strict=True):
        body = first.body[:start] + main + first.body[end:]
        body = body.replace(f'value="{first.truth["query"] or "river"}"', f'value="{word}"')
        truth: dict[str, Any] = {
            "query": word,
            "records": [],
            "next": None,
            "total": None,
            "status": status,
            "kind": {"none": "none"}.get(kind, "error"),
        }
        pages.append(Page(body=body, url=f"http://s{seed}.example/search?q={word}", truth=truth))
    return Site(name=f"kinds-{language.code}", pages=pages)


# Pagers with decoys.


def pager_page(seed: int) -> Page:
    """Make a list with a pager in one of many styles, and other links that say "next" or count up."""
    rng = random.Random(seed)
    language = rng.choice(LANGUAGES)
    query, size = rng.choice(("river", "old town", "isla")), 4
    page = rng.choice((1, 1, 2, 3))
    pages = rng.choice((page, page + 1, page + 5))
    argument, step = rng.choice((("page", 1), ("start", size), ("p", 1), ("seite", 1), ("from", size)))
    host = f"http://p{seed}.example"

    def at(n: int) -> str:
        return _address(query, n, argument, step)

    following = host + at(page + 1) if page < pages else None
    h = html.escape
    style = rng.choice((
        "words", "numbers", "both", "arrows", "rel", "image", "class", "list", "double", "title", "button", "more", "data", "head", "newer",
        "brackets", "input", "aria", "tens",
    ))  # fmt: skip
    pager, _ = _pager(rng, language, query, page, pages, style, argument, step)
    if style == "double" and following:
        pager = f'<a href="{h(at(page + 1))}">&gt;</a> <a href="{h(at(pages))}">&gt;&gt;</a>'
    elif style == "title" and following:
        pager = f'<a href="{h(at(page + 1))}" title="{language.next}">→</a>'
    elif style == "button" and following:
        here, there = (page, page + 1) if step == 1 else ((page - 1) * step, page * step)
        pager = (
            f'<form action="/search"><input type=hidden name=q value="{query}"><input type=hidden name={argument} value={here}>'
            f"<button name={argument} value={there}>{language.next}</button></form>"
        )
        following = None
    elif style == "more" and following:
        pager = f'<a href="{h(at(page + 1))}">More results</a>'
    elif style == "data" and following:
        pager = f'<button class="load-more" data-url="{h(at(page + 1))}">Load more</button>'
    elif style == "newer" and following:
        pager = f'<a class="next-page" href="{h(at(page + 1))}">Newer posts →</a>'
    elif style == "brackets" and following:
        pager = f'[ <a href="{h(at(page + 1))}">{language.next}</a> ]'
    elif style == "input" and following:
        pager = f'<a class="btn next" href="{h(at(page + 1))}"><span class="sr">{language.search}</span></a>'
    elif style == "aria" and following:
        pager = f'<a href="{h(at(page + 1))}" aria-label="{language.next}"><svg></svg></a>'
    elif style == "tens" and following:
        numbers = "".join(f'<li><a href="{h(at(n))}">{n}</a></li>' for n in range(1, pages + 1) if n != page)
        pager = f"<ul>{numbers}</ul><a href='{h(at(page + 10))}'>»</a>"
        following = following if page == 1 or page < pages else None
    head = f'<link rel=next href="{h(at(page + 1))}">' if style == "head" and following else ""
    decoys = rng.sample((
        f'<p><a href="/tour/2">{language.next}</a></p>',
        '<p><a href="/events?month=5">»</a></p>',
        '<ol class=crumbs><li><a href="/">Home</a> › <li><a href="/list">List</a> ›</ol>',
        '<div class=slides><a class=next href="#s2">›</a></div>',
        "".join(f'<p><a href="/city/{c.id}">{language.next}</a></p>' for c in all_cities()[:3]),
        '<p><a href="/more/about">More about us</a></p>',
        '<p>2023 <a href="/archive/2024">2024</a> <a href="/archive/2025">2025</a></p>',
        f'<p><a href="/search?q={quote(query)}&amp;rooms=2">2</a> <a href="/search?q={quote(query)}&amp;rooms=3">3</a> rooms</p>',
        f'<a class="next disabled" href="{h(at(page + 7))}">›</a>',
        f'<a href="http://other.example/search?page=2">{language.next}</a>',
        f'<a href="/search?q={quote(query)}&amp;sort=name">Next best order</a>',
        f'<a rel=prev href="{h(at(max(1, page - 1)))}">‹</a>',
    ), rng.randint(1, 4))  # fmt: skip
    records = "".join(
        f'<li><a href="/city/{c.id}">{e(c.name)}</a> {e(sentence(rng, c, language))}</li>'
        for c in rng.sample(all_cities()[:900], size)
    )
    order = [f"<ul>{records}</ul>", f"<div>{pager}</div>", *decoys]
    rng.shuffle(order)
    body = (
        f"<!DOCTYPE html><html lang={language.code}><head><meta charset=utf-8><title>{query}</title>{head}</head><body>"
        f'<form action="/search"><input name=q value="{query}"><button>{language.search}</button></form>{"".join(order)}</body></html>'
    )
    url = host + (at(page) if page > 1 else f"/search?q={quote(query)}")
    return Page(body=body, url=url, truth={"query": query, "style": style, "next": following})


# Statements of totals.


def totals_page(seed: int) -> Page:
    """Make a list with one statement of its total, and numbers that count something else."""
    rng = random.Random(seed)
    language = rng.choice(LANGUAGES)
    size = rng.choice((3, 5, 10))
    first = rng.choice((1, 1, size + 1))
    total = rng.choice((size, rng.randint(first + size, 90), rng.randint(200, 1000), rng.randint(1500, 250_000)))
    total = max(total, first + size - 1)
    values = {"first": first, "last": first + size - 1, "total": number(total, language)}
    statement = rng.choice(
        (
            language.range,
            language.count,
            "{total} matches",
            "Towns ({total})",
            "About {total} results",
            "{total} books in this shelf",
        )
    )
    line = statement.format(**values)
    noise = rng.sample((
        "<p>Show 10 20 50 per page</p>", "<p>1900 - 2024</p>", f"<p>Indexed: {rng.randint(5000, 90_000)} documents searched</p>",
        "<p>Opening hours 9 - 17</p>", f"<p>Posted {rng.randint(1, 28)} May 2021</p>", "<p>12 items in your basket</p>",
        "<p>Only the first 200 results are shown</p>", "<ul>" + "".join(f"<li>Shelf {i}: {i + 3} hits</li>" for i in range(8)) + "</ul>",
    ), rng.randint(1, 3))  # fmt: skip
    cities = rng.sample(all_cities()[:900], size)
    records = [f"{e(c.name)} {e(c.country)}, {number(c.population, language)} ({c.id % 7} photos)" for c in cities]
    listed = "".join(f'<li><a href="/city/{c.id}">{text}</a></li>' for c, text in zip(cities, records, strict=True))
    pager = (
        '<p><a href="/search?q=x&amp;page=2">2</a> <a href="/search?q=x&amp;page=3">3</a></p>' if total > size else ""
    )
    parts = [f"<p>{line}</p>", *noise[:1], f"<ul>{listed}</ul>", pager, *noise[1:]]
    body = f"<!DOCTYPE html><html lang={language.code}><head><meta charset=utf-8></head><body>{''.join(parts)}</body></html>"
    return Page(
        body=body,
        url=f"http://t{seed}.example/search?q=x",
        truth={"records": [plain(r) for r in records], "total": total, "line": line},
    )


# Forms.


def forms_page(seed: int) -> Page:
    """Make a page with several forms of which each has a purpose."""
    rng = random.Random(seed)
    language = rng.choice(LANGUAGES)
    s, chosen = language.search, []

    def one(kind: str) -> tuple[str, str | None]:
        name = rng.choice(("q", "query", "search", "s", "keywords", "text", "term", "field1", "wd", "words"))
        method = rng.choice(("", "", " method=post"))
        button = rng.choice(
            (
                f"<button>{s}</button>",
                f'<input type=submit value="{s}">',
                "<button>OK</button>",
                '<input type=image alt="Go">',
                "",
            )
        )
        box = rng.choice(("text", "search", "text"))
        if kind == "search":
            action = rng.choice(("/search", "/find", "/list", "/suche", "/catalog/results"))
            label = rng.choice(
                (
                    f"<label>{s} <input type={box} name={name}></label>",
                    f'<input type={box} name="{name}" placeholder="{s}">',
                )
            )
            more = rng.choice(("", '<select name=in><option value="">*</option><option>1</option></select>', "<input type=number name=year>",
                               "<input name=author><input name=title><input name=publisher><input name=isbn><input name=town>"))  # fmt: skip
            return f'<form action="{action}"{method}>{label}{more}{button}</form>', name
        if kind == "login":
            return (
                f"<form action=/session method=post><input name=user><input type=password name=p><button>{language.login}</button></form>",
                None,
            )
        if kind == "registration":
            return (
                f"<form action=/account method=post><input name=name><input name=email type=email><input name=town><input type=password name=p1>"
                f"<input type=password name=p2><button>{language.login}</button></form>"
            ), None
        if kind == "mailing list":
            return (
                f"<form action=/letter method=post>{language.newsletter}<input type=email name=email><button>OK</button></form>",
                None,
            )
        if kind == "contact":
            return (
                f"<form action=/write method=post><input name=name><input name=mail><textarea name=text>{language.message}</textarea>"
                f"<button>OK</button></form>",
                None,
            )
        if kind == "order":
            return (
                "<form action=/cart method=post><input type=number name=qty value=1><button>Add to cart</button></form>",
                None,
            )
        return (
            "<form action=/language><select name=lang><option>de</option><option>en</option></select><button>OK</button></form>",
            None,
        )

    kinds = rng.sample(
        ("search", "search", "login", "registration", "mailing list", "contact", "order", "other"), rng.randint(2, 4)
    )
    if "search" not in kinds:
        kinds[0] = "search"
    bodies = []
    for kind in kinds:
        body, name = one(kind)
        bodies.append(f"<div>{body}</div>")
        chosen.append({"kind": kind, "query_field": name})
    body = f"<!DOCTYPE html><html lang={language.code}><head><meta charset=utf-8></head><body>{_menu(rng, language, 0)}{''.join(bodies)}</body></html>"
    return Page(body=body, url=f"http://f{seed}.example/", truth={"forms": chosen})


# Articles.

PROSE = (ENGLISH, ENGLISH, GERMAN, FRENCH, SPANISH, RUSSIAN, JAPANESE, CHINESE)


def article_site(seed: int) -> Site:
    """Make one to three pages of a site with an article each; the frame and what surrounds the text are drawn with the seed."""
    rng = random.Random(seed)
    language = rng.choice(PROSE)
    count, pages = rng.choice((1, 1, 1, 3)), []
    wrap = rng.choice(("article", "main", "div class=story", "div", "div id=content", "td", "section class=post-body"))
    layout = {key: rng.random() < share for key, share in (
        ("header", 0.3), ("figure", 0.25), ("caption", 0.15), ("subheads", 0.4), ("list", 0.25), ("quote", 0.25), ("comments", 0.35),
        ("related", 0.4), ("newsletter", 0.3), ("cookie", 0.2), ("links", 0.15), ("share", 0.12), ("aside", 0.25), ("gallery", 0.15), ("form", 0.2),
        ("bio", 0.1), ("breaks", 0.15), ("teasers", 0.2), ("linked", 0.4),
    )}  # fmt: skip
    frame_rng = random.Random(seed + 1)
    menu, side = _menu(frame_rng, language, rng.choice((0, 6, 20))), _news(frame_rng, language)
    site_name = "Evening Post"
    for _ in range(count):
        lines: list[str] = []
        cities = rng.sample(all_cities()[:900], 9)
        city = cities[0]
        title = rng.choice(
            (
                f"{city.name} and {cities[1].name} agree on a new railway",
                f"A long summer in {city.name}",
                f"{city.name}: {city.country}",
            )
        )
        paragraphs = [
            " ".join(sentence(rng, c, language, i + j) for j in range(rng.choice((1, 2, 2, 3))))
            for i, c in enumerate(cities[: rng.choice((2, 4, 6, 8))])
        ]
        month = language.months.split()[city.id % 12]
        date = {
            "de": f"{city.id % 28 + 1}. {month} 2021",
            "ja": "2021年3月4日",
            "zh": "2021年3月4日",
            "ru": f"{city.id % 28 + 1}.03.2021",
        }.get(
            language.code,
            f"{city.id % 28 + 1} {month} 2021" if language.code != "en" else f"{month} {city.id % 28 + 1}, 2021",
        )
        author = f"{language.by} Anna {cities[2].name.split()[0]}"
        parts: list[str] = []
        for i, paragraph in enumerate(paragraphs):
            marked = e(paragraph)
            if layout["linked"] and i == 1:
                marked = marked.replace(e(cities[1].name), f"<a href=/city/{cities[1].id}>{e(cities[1].name)}</a>", 1)
            if layout["subheads"] and i == 2:
                parts.append(f"<h2>{e(cities[2].country)} {e(cities[2].name)}</h2>")
                lines.append(f"{cities[2].country} {cities[2].name}")
            parts.append(f"{marked}<br><br>" if layout["breaks"] else f"<p>{marked}</p>")
            lines.append(paragraph)
            if layout["quote"] and i == 1:
                parts.append(f"<blockquote><p>{e(cities[3].name)}, {e(cities[4].name)}!</p></blockquote>")
                lines.append(f"{cities[3].name}, {cities[4].name}!")
            if layout["list"] and i == 1:
                parts.append("<ul>" + "".join(f"<li>{e(c.name)}, {e(c.country)}</li>" for c in cities[5:8]) + "</ul>")
                lines += [f"{c.name}, {c.country}" for c in cities[5:8]]
            if layout["figure"] and i == 0 and len(paragraphs) > 1:
                parts.append(
                    f"<figure><img src=/i/{city.id}.jpg><figcaption>{e(city.name)}, {e(city.timezone)}</figcaption></figure>"
                )
                lines.append(f"{city.name}, {city.timezone}")
            if layout["caption"] and i == 1:
                parts.append(f"<div class=photo-credit>{e(cities[4].name)} / {e(cities[4].country)}</div>")
            if layout["teasers"] and i == 2:
                parts.append(
                    f"<div class=related-links><a href=/a/{cities[6].id}>{e(cities[6].name)}: {e(cities[6].country)}</a></div>"
                )
        headline = f"<h1>{e(title)}</h1>"
        meta = f"<p class=dateline>{date}</p><p class=byline>{e(author)}</p>"
        before = f"<header>{headline}{meta}</header>" if layout["header"] else headline + meta
        after = ""
        if layout["share"]:
            after += "<ul class=share><li><a href=/s1>Facebook</a><li><a href=/s2>E-mail</a></ul>"
        if layout["bio"]:
            after += f"<div class=author-bio><p>{e(author)} {e(sentence(rng, cities[8], language, 1))}</p></div>"
        if layout["links"]:
            after += (
                f"<h3>{e(language.menu.split('|')[1])}</h3><ul>"
                + "".join(f"<li><a href=/a/{c.id}>{e(c.name)}, {e(c.country)}</a></li>" for c in cities[3:7])
                + "</ul>"
            )
        tag = wrap.split()[0]
        story = f"<{wrap}>{before}{''.join(parts)}{after}</{tag}>"
        if tag == "td":
            story = f"<table><tr><td>{menu}</td>{story}<td>{side}</td></tr></table>"
        comments = "".join(
            f"<div class=comment><b>{e(c.region)}</b><p>{e(sentence(rng, c, language, i))} {e(sentence(rng, c, language, i + 1))}</p></div>"
            for i, c in enumerate(cities)
        )
        below = f"<div class=comments>{comments}</div>" if layout["comments"] else ""
        if layout["gallery"]:
            below += (
                "<div class=gallery>"
                + "".join(f"<div class=slide><p>{e(sentence(rng, c, language, 1))}</p></div>" for c in cities[:5])
                + "</div>"
            )
        if layout["related"]:
            below += (
                "<div class=related>"
                + "".join(
                    f"<h4><a href=/r/{c.id}>{e(c.name)}</a></h4><p>{e(sentence(rng, c, language, 3))}</p>"
                    for c in cities[4:8]
                )
                + "</div>"
            )
        if layout["newsletter"]:
            below += f"<div class=newsletter><p>{language.newsletter}: {e(sentence(frame_rng, all_cities()[5], language, 1))}</p></div>"
        if layout["aside"]:
            below = f"<aside><p>{e(sentence(rng, cities[7], language, 0))}</p></aside>" + below
        if layout["form"]:
            below += f"<form action=/write><p>{e(sentence(rng, cities[6], language, 1))}</p><input name=name></form>"
        top = (
            f"<div class=cookie-banner><p>{e(sentence(frame_rng, all_cities()[7], language, 1))}</p><button>OK</button></div>"
            if layout["cookie"]
            else ""
        )
        foot = f"<footer><p>© 2021 {site_name}. {e(sentence(frame_rng, all_cities()[9], language, 1))}</p></footer>"
        body = (
            f"<!DOCTYPE html><html lang={language.code}><head><meta charset=utf-8><title>{e(title)} | {site_name}</title></head><body>"
            f"{top}{menu if tag != 'td' else ''}{story}{below}{side if tag != 'td' else ''}{foot}</body></html>"
        )
        truth = {"title": title, "lines": lines, "date": date, "author": author}
        pages.append(Page(body=body, url=f"http://a{seed}.example/story/{city.id}.html", truth=truth))
    return Site(name=f"articles-{seed}", pages=pages)


SHORT = (
    "{name} was quiet.", "Nobody in {name} had seen it.", "In {country}, the rain came late.", "{name}: {zone}.", "Why {name}?",
    "It rained in {name} for two days and two nights.", "The mayor of {name} shook his head and left the hall.",
    "People from {country} came by boat, by train and on foot to see the lights of {name} once more.",
)  # fmt: skip
NAMES = (
    "box",
    "widget",
    "teaser",
    "text-block",
    "meta",
    "photo",
    "slide",
    "comment",
    "promo",
    "content",
    "info",
    "note",
    "c12",
    "",
)


def short_article_site(seed: int) -> Site:
    """Make an article of short lines, beside which stand short lines that do not belong to it."""
    rng = random.Random(seed)
    cities = rng.sample(all_cities()[:2000], 60)
    used = iter(cities)

    def line(least: int = 0) -> str:
        c = next(used)
        return rng.choice(SHORT[least:]).format(name=c.name, country=c.country, zone=c.timezone)

    count = rng.choice((1, 1, 2))
    wrap = rng.choice(("article", "main", "div", "div class=content", "div class=story", "section", "td", "form"))
    pages: list[Page] = []
    repeated = [line(4) for _ in range(2)]
    shape = [
        rng.choice(("p", "p", "p", "li", "quote", "h3", "cell", "div", "br", "figure"))
        for _ in range(rng.choice((4, 7, 10)))
    ]
    outside = [
        rng.choice(
            ("aside", "footer", "label", "copyright", "named", "links", "header", "li", "linked", "p", "repeated")
        )
        for _ in range(rng.choice((2, 4, 6)))
    ]
    places = [rng.choice(("before", "after", "inside", "after")) for _ in outside]
    names = [rng.choice(NAMES) for _ in outside]
    for _ in range(count):
        used = iter(rng.sample(all_cities()[:2000], 60))
        title = line(5).rstrip(".")
        lines: list[str] = []
        parts: list[str] = []
        for kind in shape:
            text = line()
            if kind == "p" and rng.random() < 0.5:
                text = f"{text} {line(5)} {line(5)}"
            lines.append(text)
            parts.append({
                "p": f"<p>{e(text)}</p>", "li": f"<ul><li>{e(text)}</li></ul>", "quote": f"<blockquote>{e(text)}</blockquote>", "h3": f"<h3>{e(text)}</h3>",
                "cell": f"<table><tr><td>{e(text)}</td></tr></table>", "div": f"<div>{e(text)}</div>", "br": f"{e(text)}<br>",
                "figure": f"<figure><figcaption>{e(text)}</figcaption></figure>",
            }[kind])  # fmt: skip
        last = f"{line(5)} {line(5)} {line(5)}"
        lines.append(last)
        parts.append(f"<p>{e(last)}</p>")
        around: dict[str, list[str]] = {"before": [], "after": [], "inside": []}
        for kind, place, name in zip(outside, places, names, strict=True):
            text, named = line(3), f" class={name}" if name else ""
            around[place].append({
                "aside": f"<aside><p>{e(text)}</p></aside>", "footer": f"<footer>{e(text)}</footer>", "label": f"<label>{e(text)}</label>",
                "copyright": f"<p>© 2021 {e(text)}</p>", "named": f"<div{named}><p>{e(text)}</p></div>", "header": f"<header>{e(text)}</header>",
                "links": "<ul>" + "".join(f"<li><a href=/x{i}>{e(line(3))}</a></li>" for i in range(3)) + "</ul>", "li": f"<ul{named}><li>{e(text)}</li></ul>",
                "linked": f"<p><a href=/y>{e(text)}</a></p>", "p": f"<p{named}>{e(text)}</p>", "repeated": f"<p>{e(repeated[0])}</p>",
            }[kind])  # fmt: skip
        middle = "".join(around["inside"])
        story = f"<{wrap}><h1>{e(title)}</h1>{''.join(parts[:-1])}{parts[-1]}{middle}</{wrap.split()[0]}>"
        if wrap == "td":
            story = f"<table><tr>{story}</tr></table>"
        body = (
            f"<!DOCTYPE html><html lang=en><head><meta charset=utf-8><title>{e(title)} - Evening Post</title></head><body>"
            f"{_menu(random.Random(seed), ENGLISH, 0)}{''.join(around['before'])}{story}{''.join(around['after'])}</body></html>"
        )
        truth = {"title": title, "lines": lines, "date": None, "author": None}
        pages.append(Page(body=body, url=f"http://n{seed}.example/{len(pages)}.html", truth=truth))
    return Site(name=f"articles-{seed}", pages=pages)


def contents_page(seed: int) -> Page:
    """Make a page with one list of links to content among menus, tags and pagers; the truth is the addresses of the list."""
    rng = random.Random(seed)
    language = rng.choice((ENGLISH, GERMAN, FRENCH, RUSSIAN, JAPANESE))
    cities = rng.sample(all_cities()[:900], rng.choice((2, 3, 5, 8, 12)))
    style = rng.choice(("titles", "teasers", "names", "table", "headings", "dated", "short"))
    texts = {c: sentence(rng, c, language, 1) for c in cities}
    links = {c: f"/read/{c.id}.html" for c in cities}
    if style == "titles":
        listed = "<ul>" + "".join(f"<li><a href={links[c]}>{e(texts[c][:50])}</a></li>" for c in cities) + "</ul>"
    elif style == "teasers":
        listed = (
            "<div>"
            + "".join(f"<div class=t><a href={links[c]}>{e(c.name)}</a><p>{e(texts[c])}</p></div>" for c in cities)
            + "</div>"
        )
    elif style == "names":
        listed = (
            "<ul>" + "".join(f"<li><a href={links[c]}>{e(c.name)}, {e(c.country)}</a></li>" for c in cities) + "</ul>"
        )
    elif style == "table":
        listed = (
            "<table>"
            + "".join(
                f"<tr><td><a href={links[c]}>{e(c.name)}</a></td><td>{e(c.timezone)}, {c.population}</td></tr>"
                for c in cities
            )
            + "</table>"
        )
    elif style == "headings":
        listed = "<div>" + "".join(f"<h3><a href={links[c]}>{e(texts[c][:60])}</a></h3>" for c in cities) + "</div>"
    elif style == "dated":
        listed = (
            "<ul>"
            + "".join(f"<li>{c.published} - <a href={links[c]}>{e(texts[c][:50])}</a></li>" for c in cities)
            + "</ul>"
        )
    else:
        listed = "<p>" + "".join(f"<a href={links[c]}>{e(c.name)}</a><br>" for c in cities) + "</p>"
    tags = (
        "<div class=tags>"
        + " ".join(f"<a href=/tag/{x}>{x}</a>" for x in ("air", "sea", "rail", "road", "news"))
        + "</div>"
    )
    pager = '<div class=pages><a href="/read?p=2">2</a> <a href="/read?p=3">3</a> <a href="/read?p=2">&gt;</a></div>'
    parts = [tags, listed, pager]
    if rng.random() < 0.5:
        parts.reverse()
    menu = f"<nav>{_menu(rng, language, 5)}</nav>" if rng.random() < 0.6 else _menu(rng, language, 0)
    body = (
        f"<!DOCTYPE html><html lang={language.code}><head><meta charset=utf-8><title>Archive</title></head><body>{menu}"
        f"{''.join(parts)}<footer><a href=/imprint>Imprint</a> <a href=/terms>Terms of use</a></footer></body></html>"
    )
    host = f"http://c{seed}.example"
    return Page(
        body=body, url=f"{host}/read", truth={"contents": sorted(host + links[c] for c in cities), "style": style}
    )


# Record pages.


def entity_site(seed: int) -> Site:
    """Make the record pages of a source: labelled and unlabelled fields, some of them optional, and furniture."""
    rng = random.Random(seed)
    language = rng.choice((ENGLISH, GERMAN, FRENCH, SPANISH, RUSSIAN))
    style = rng.choice(("table", "terms", "bold", "lines", "divs", "colon"))
    count = rng.choice((4, 6, 9))
    optional, wide, stated, lists = rng.random() < 0.6, rng.random() < 0.25, rng.random() < 0.3, rng.random() < 0.4
    menu, foot = _menu(rng, language, 4), sentence(rng, all_cities()[3], language, 1)
    tag, long_text, related = rng.choice(("h1", "h2", "b", "div class=name")), rng.random() < 0.5, rng.random() < 0.5
    pages = []
    for n, c in enumerate(rng.sample(all_cities()[:1500], count)):
        r = random.Random(c.id)
        facts = {
            language.labels[0]: c.country,
            language.labels[1]: number(c.population, language),
            language.labels[2]: c.timezone,
        }
        if not optional or n % 3 != 1:
            facts["Code"] = f"{c.country_code}-{c.id}"
        if optional and n % 4 == 0:
            facts["Note"] = f"{c.region} {c.id % 97}"
        if lists:
            facts["Names"] = ""
        rows = []
        for label, value in facts.items():
            shown = e(value)
            if label == "Names":
                shown = ", ".join(f"<a href=/name/{quote(x)}>{e(x)}</a>" for x in c.other_names[:3])
            rows.append({
                "table": f"<tr><td>{label}</td><td>{shown}</td></tr>", "terms": f"<dt>{label}</dt><dd>{shown}</dd>",
                "bold": f"<p><b>{label}:</b> {shown}</p>", "lines": f"<b>{label}</b> {shown}<br>",
                "divs": f"<div class=f><span class=l>{label}</span><span class=v>{shown}</span></div>", "colon": f"<li>{label}: {shown}</li>",
            }[style])  # fmt: skip
        around = {"table": "table", "terms": "dl", "colon": "ul"}.get(style, "div")
        about = " ".join(sentence(r, c, language, i) for i in range(r.choice((1, 3)) if long_text else 1))
        noise = (
            "".join(f"<li>{e(x.name)} {x.id % 1000}</li>" for x in r.sample(all_cities()[:3000], 45)) if wide else ""
        )
        other = r.sample(all_cities()[:1500], 4)
        beside = (
            "<div class=nearby>" + "".join(f"<a href=/city/{o.id}>{e(o.name)}</a> " for o in other) + "</div>"
            if related
            else ""
        )
        json_ld = json.dumps(
            {"@type": "City", "name": c.name, "identifier": f"ID{c.id}", "geo": {"latitude": c.latitude}},
            ensure_ascii=False,
        )
        script = f'<script type="application/ld+json">{json_ld}</script>' if stated else ""
        closing = tag.split()[0]
        body = (
            f"<!DOCTYPE html><html lang={language.code}><head><meta charset=utf-8><title>{e(c.name)} - Gazetteer</title>{script}</head><body>{menu}"
            f"<{tag}>{e(c.name)}</{closing}><p class=about>{e(about)}</p><{around}>{''.join(rows)}</{around}>{beside}<ol>{noise}</ol>"
            f"<p>{e(foot)}</p></body></html>"
        )
        fields = {"title": c.name} | {
            label.lower().replace(" ", "_"): value for label, value in facts.items() if label != "Names"
        }
        if lists and c.other_names:
            fields["names"] = "; ".join(c.other_names[:3])
        pages.append(
            Page(
                body=body,
                url=f"http://e{seed}.example/city/{c.id}",
                truth={"fields": fields, "furniture": [foot, *language.menu.split("|")]},
            )
        )
    return Site(name=f"entities-{seed}", pages=pages)


# The sample: for each kind of page the numbers with which pages are drawn. Most were chosen from several hundred because a judgement
# decides them narrowly: the page is read wrongly if one weight is missing.
ANSWERS = (
    5, 8, 16, 26, 48, 103, 157, 236, 290, 330, 369, 425, 432, 531, 643, 715, 783, 834, 924, 931, 1057, 1126, 1137,
)  # fmt: skip
KINDS = ((ENGLISH, 21), (GERMAN, 33), (SPANISH, 41), (CHINESE, 60))
PAGERS = (0, 5, 13, 20, 26, 30, 34, 44, 60, 75, 80, 87, 90, 101, 145, 149)
TOTALS = (4, 5, 7, 9, 10, 15, 18, 25, 33, 133)
FORMS = (1, 3, 12, 47, 102, 114, 143, 226)
ARTICLES = (10, 46, 53, 61, 71, 83, 88, 95, 120, 155, 244)
SHORT_ARTICLES = (1000, 1004, 1010, 1012, 1020, 1027, 1037, 1038, 1041, 1043, 1050, 1057)
CONTENTS = (0, 1, 5, 6, 11, 23, 27)
ENTITIES = (3, 7, 8, 10)


def sample() -> Iterator[Site]:
    """Make all sites of the sample."""
    yield from map(answer_site, ANSWERS)
    yield from (empty_site(language, seed) for language, seed in KINDS)
    yield from map(article_site, ARTICLES)
    yield from map(short_article_site, SHORT_ARTICLES)
    yield from map(entity_site, ENTITIES)
    single = (
        ("pagers", pager_page, PAGERS),
        ("totals", totals_page, TOTALS),
        ("forms", forms_page, FORMS),
        ("contents", contents_page, CONTENTS),
    )
    for judgement, make_page, seeds in single:
        yield from (Site(name=f"{judgement}-{seed}", pages=[make_page(seed)]) for seed in seeds)


def main() -> None:
    """Write all pages and `truth.jsonl`."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    lines = []
    for file, body, line in lines_of(sample()):
        (FOLDER / file).write_text(body, encoding="utf-8")
        lines.append(line)
    (FOLDER / TRUTH).write_text("\n".join(lines) + "\n", encoding="utf-8")
    size = sum(path.stat().st_size for path in FOLDER.iterdir())
    print(f"{len(lines)} pages, {size:,} bytes")


if __name__ == "__main__":
    main()
