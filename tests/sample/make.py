"""Write the labelled sample anew: `python -m tests.sample.make`.

Every page is made here, from the cities of the demo site and from phrases written for it. The truth is what this module put into a page,
never what Upwell reads in it. A page is determined by a number, so that the same pages are written each time.
"""

import html
import json
import random
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from upwell.demo.cities import City, all_cities

FOLDER = Path(__file__).parent
TAG = re.compile(r"<[^>]*>")


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page and its truth."""

    body: str
    url: str
    truth: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Site:
    """Pages that are learned together."""

    name: str
    pages: list[Page] = field(default_factory=list)


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
    password: str = "Password"  # noqa: S105 # a label
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
    labels=("Land", "Einwohner", "Zeitzone"), thousands=".", login="Anmelden", password="Passwort", newsletter="Newsletter abonnieren",  # noqa: S106
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
    labels=("Pays", "Habitants", "Fuseau horaire"), thousands="\u202f", login="Connexion", password="Mot de passe",  # noqa: S106
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
    labels=("País", "Habitantes", "Huso horario"), thousands=".", login="Iniciar sesión", password="Contraseña",  # noqa: S106
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
    labels=("Страна", "Население", "Часовой пояс"), thousands="\u00a0", login="Войти", password="Пароль",  # noqa: S106
    newsletter="Подписаться на рассылку", message="Ваше сообщение",
)  # fmt: skip
JAPANESE = Language(
    code="ja", next="次へ", previous="前へ", search="検索", menu="ホーム|カタログ|地図|会社概要|ヘルプ|お問い合わせ",
    range="全{total}件中 {first}～{last}件", count="{total}件", nothing="該当するデータは見つかりませんでした。",
    sentences=("{name}は{country}の都市で、人口は約{population}人である。", "古い地図では{other}と呼ばれている。"),
    labels=("国", "人口", "時間帯"), login="ログイン", password="パスワード",  # noqa: S106
)  # fmt: skip
CHINESE = Language(
    code="zh", next="下一页", previous="上一页", search="搜索", menu="首页|目录|地图|关于我们|帮助|联系",
    range="第 {first}-{last} 条，共 {total} 条", count="共找到 {total} 条结果", nothing="没有找到相关结果。",
    sentences=("{name}是{country}的一座城市，人口约{population}。", "旧地图上称为{other}。"),
    labels=("国家", "人口", "时区"), login="登录", password="密码",  # noqa: S106
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
        name=city.name, country=city.country, population=number(city.population, language), zone=city.timezone, other=other
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

    def extra(self, city: City) -> str:
        """Return an optional line; "" for most records."""
        if city.id % 100 >= 100 * self.rare:
            return ""
        return f"<div{self.name('note')}>{e(', '.join(city.other_names[:3]) or city.region)}</div>"


Layout = Callable[[Answer], tuple[str, list[str]]]


def _joined(records: list[str], before: str, after: str, between: str = "") -> tuple[str, list[str]]:
    return before + between.join(records) + after, [plain(record) for record in records]


def _items(a: Answer) -> tuple[str, list[str]]:
    records = [
        f"<li{a.name('hit')}><h3>{a.title(c)}</h3><p>{a.snippet(c)}</p>{a.extra(c)}"
        + "".join(f"<span{a.name('fact')}>{label}: {e(value)}</span> " for label, value in a.values(c))
        + "</li>"
        for c in a.cities
    ]
    return _joined(records, f"<ul{a.name('hits')}>", "</ul>")


def _numbered(a: Answer) -> tuple[str, list[str]]:
    records = [
        f"<div{a.name('result')}>{a.first + i}. <b>{a.title(c)}</b><br>{a.snippet(c)}{a.extra(c)}</div>"
        for i, c in enumerate(a.cities)
    ]
    return _joined(records, f"<div{a.name('results')}>", "</div>")


def _rows(a: Answer) -> tuple[str, list[str]]:
    records = [
        f"<tr{a.name(f'row{i % 2}')}><td>{a.title(c)}{a.extra(c)}</td>" + "".join(f"<td>{e(v)}</td>" for _, v in a.values(c)) + "</tr>"
        for i, c in enumerate(a.cities)
    ]
    head = "".join(f"<th>{e(label)}</th>" for label in ("Name", *a.language.labels[: a.facts]))
    return _joined(records, f"<table{a.name('list')}><tr>{head}</tr>", "</table>")


def _double_rows(a: Answer) -> tuple[str, list[str]]:
    records = [
        f"<tr><td>{a.first + i}.</td><td>{a.title(c)}</td></tr><tr><td></td><td>{a.snippet(c)}{a.extra(c)}</td></tr>"
        for i, c in enumerate(a.cities)
    ]
    return _joined(records, f"<table{a.name('list')}>", "</table>")


def _flat(a: Answer) -> tuple[str, list[str]]:
    records = [f"<h4>{a.title(c)}</h4><p>{a.snippet(c)}</p>{a.extra(c)}" for c in a.cities]
    return _joined(records, f"<div{a.name('answers')}>", "</div>")


def _terms(a: Answer) -> tuple[str, list[str]]:
    records = [f"<dt>{a.title(c)}</dt><dd>{a.snippet(c)}</dd>" + (f"<dd>{x}</dd>" if (x := a.extra(c)) else "") for c in a.cities]
    return _joined(records, f"<dl{a.name('answers')}>", "</dl>")


def _breaks(a: Answer) -> tuple[str, list[str]]:
    records = [f"{a.title(c)} - {a.snippet(c)}<br>" for c in a.cities]
    return _joined(records, f"<div{a.name('answers')}>", "</div>", "<br>")


def _ruled(a: Answer) -> tuple[str, list[str]]:
    records = [f"<b>{a.title(c)}</b><br>{a.snippet(c)}<br><i>{e(c.timezone)}</i>" for c in a.cities]
    return _joined(records, "<td>", "</td>", "<hr>")


def _grid(a: Answer) -> tuple[str, list[str]]:
    records = [
        f"<td{a.name('cell')}><img src='/i/{c.id}.jpg' alt=''><p>{a.title(c)}</p><p>{e(c.country)}</p>{a.extra(c)}</td>" for c in a.cities
    ]
    rows = ["<tr>" + "".join(records[i : i + 3]) + "</tr>" for i in range(0, len(records), 3)]
    return f"<table{a.name('grid')}>" + "".join(rows) + "</table>", [plain(record) for record in records]


def _cards(a: Answer) -> tuple[str, list[str]]:
    records = [
        f"<div{a.name('card')}><div{a.name('head')}>{a.title(c)}</div><div{a.name('body')}><p>{a.snippet(c)}</p>"
        f"<ul>{''.join(f'<li>{e(n)}</li>' for n in c.other_names[:2])}</ul></div>{a.extra(c)}</div>"
        for c in a.cities
    ]
    return _joined(records, f"<div{a.name('cards')}>", "</div>")


def _columns(a: Answer) -> tuple[str, list[str]]:
    """Two columns of cards: records in several containers."""
    records = [f"<article><h2>{a.title(c)}</h2><p>{a.snippet(c)}</p>{a.extra(c)}</article>" for c in a.cities]
    half = (len(records) + 1) // 2
    left, right = "".join(records[:half]), "".join(records[half:])
    return f"<div{a.name('half')}>{left}</div><div{a.name('half')}>{right}</div>", [plain(record) for record in records]


def _groups(a: Answer) -> tuple[str, list[str]]:
    records = [f"<li>{a.title(c)} <span>{e(c.timezone)}</span> {a.snippet(c)}</li>" for c in a.cities]
    groups = [records[i : i + 4] for i in range(0, len(records), 4)]
    body = "".join(f"<h3>{e(c.continent)}</h3><ul>{''.join(g)}</ul>" for g, c in zip(groups, a.cities[::4], strict=True))
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
    return "<ul class=menu>" + "".join(f'<li><a href="/m/{i}">{e(name)}</a></li>' for i, name in enumerate(names)) + "</ul>"


def _facets(rng: random.Random, language: Language, query: str) -> str:
    names = sorted({c.country for c in rng.sample(all_cities()[:400], rng.randint(4, 9))})
    links = "".join(
        f'<li><a href="/search?q={quote(query)}&amp;country={quote(name)}">{e(name)}</a> ({rng.randint(1, 90)})</li>' for name in names
    )
    return f"<div class=facets><h4>{language.labels[0]}</h4><ul>{links}</ul></div>"


def _news(rng: random.Random, language: Language) -> str:
    cities = rng.sample(all_cities()[:400], rng.randint(3, 6))
    items = "".join(
        f'<div class=item><h4><a href="/news/{c.id}">{e(c.name)}</a></h4><p>{e(sentence(rng, c, language))}</p></div>' for c in cities
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
    return "<div class=related>" + " ".join(f'<a href="/search?q={quote(c.name)}">{e(query)} {e(c.name)}</a>' for c in cities) + "</div>"


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
    boxes = "".join(f'<div><label><input type=checkbox name=c value={c.id}> {e(c.country)} {e(c.region)}</label></div>' for c in cities[:9])
    return f'<form action="/search"><select name=zone>{options}</select>{boxes}<button>{language.search}</button></form>'


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


def _pager(rng: random.Random, language: Language, query: str, page: int, pages: int, style: str, argument: str, step: int) -> tuple[str, str | None]:
    following = _address(query, page + 1, argument, step) if page < pages else None
    previous = _address(query, page - 1, argument, step) if page > 1 else None
    last = _address(query, pages, argument, step)
    h = html.escape

    def link(address: str | None, text: str, attributes: str = "") -> str:
        return f'<a href="{h(address)}"{attributes}>{text}</a>' if address else f"<span>{text}</span>"

    numbers = " ".join(
        f"<b>{n}</b>" if n == page else link(_address(query, n, argument, step), str(n)) for n in range(max(1, page - 3), min(pages, page + 4) + 1)
    )
    if style == "words":
        return f"<p>{link(previous, language.previous) if previous else ''} {link(following, language.next) if following else ''}</p>", following
    if style == "numbers":
        return f"<div class=pages>{numbers}</div>", following
    if style == "both":
        return f"<div class=pages>{link(previous, language.previous)} {numbers} {link(following, language.next)} {link(last, '»')}</div>", following
    if style == "arrows":
        return f"<p>{link(previous, '‹') if previous else ''} {page} / {pages} {link(following, '›') if following else ''}</p>", following
    if style == "rel":
        return f"<p>{link(previous, 'A', ' rel=prev') if previous else ''} {link(following, 'B', ' rel=next') if following else ''}</p>", following
    if style == "image":
        picture = f'<img src="/i/arrow-right.png" alt="{language.next}">'
        return f"<p>{link(following, picture) if following else ''}</p>", following
    if style == "class":
        icon = '<i class="icon-chevron-right"></i>'
        return f"<p>{link(following, icon, ' class=pager-next') if following else ''}</p>", following
    if style == "list":
        items = "".join(
            f"<li{' class=active' if n == page else ''}>{link(_address(query, n, argument, step), str(n))}</li>" for n in range(1, min(pages, 7) + 1)
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
    traps = rng.sample(("facets", "news", "ads", "related", "calendar", "slides", "letters", "tour", "filters", "nearby"), rng.randint(1, 4))
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
            _facets(rng, language, query) if trap == "facets"
            else _related(rng, query) if trap == "related"
            else _nearby(rng, language) if trap == "nearby"
            else fixed[trap]
            for trap in traps
        )
        form = f'<form action="/search"><input name=q value="{query}"><input type=submit value="{language.search}"></form>'
        main = f"<div id=main>{stated}{body}{pager}</div>"
        parts = [f"<div id=side>{side}</div>", main] if sidebar_first else [main, f"<div id=side>{side}</div>"]
        foot = f"<div id=foot>© 2024 <a href=/imprint>{language.menu.split('|')[3]}</a></div>"
        document = (
            f'<!DOCTYPE html><html lang={language.code}><head><meta charset=utf-8><title>{language.search}: {query}</title></head>'
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


def main() -> None:
    """Write all pages and `truth.jsonl`."""
    raise NotImplementedError(shutil, json, FOLDER)
