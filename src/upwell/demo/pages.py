"""What the demo site looks like: one frame, five layouts of the same answer, and the same answers after a redesign (`drift`)."""

from typing import Any

import jinja2

__all__ = ["LAYOUTS", "render"]

LAYOUTS = ("list", "table", "grid", "definitions", "flat")

FRAME = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{% block title %}Cities of the World{% endblock %}</title>
<style>body{font:15px/1.5 sans-serif;max-width:60em;margin:1em auto}nav a{margin-right:1em}aside{background:#f4f4f4;padding:.5em 1em}
.grid{display:grid;grid-template-columns:repeat(4,1fr);gap:1em}.pager a,.pager span{margin-right:.5em}</style></head>
<body>
<header><h1><a href="/">Cities of the World</a></h1>
<nav><a href="/">Home</a><a href="/about">About</a><a href="/contact">Contact</a><a href="/register">Register</a><a href="/logout">Log out</a></nav></header>
{% block search %}{% endblock %}
<main>{% block main %}{% endblock %}</main>
<aside class="ad"><p>Advertisement: {{ ad }}</p></aside>
<aside class="recent"><h3>Recently viewed</h3><ul>{% for c in recent %}<li><a href="/city/{{ c.id }}?ref={{ ref }}">{{ c.name }}</a>{% endfor %}</ul></aside>
<footer><form action="/newsletter" method="post"><label>Newsletter: <input type="email" name="email" placeholder="Your e-mail"></label>
<button>Subscribe</button></form><p>Made of public data. <a href="/about">About this site</a></p></footer>
</body></html>"""

SEARCH_FORM = """{% if s.script == "none" %}<form class="search" action="/search" method="{{ 'post' if s.post else 'get' }}">
{% if s.token %}<input type="hidden" name="token" value="{{ token }}">{% endif %}
<label>Find a city <input type="search" name="q" value="{{ query }}" placeholder="Name, country …"></label> <button>Search</button></form>
{% else %}<div id="app" data-action="/search" data-results="{{ 'json' if s.script == 'results' else 'page' }}"></div><div id="out"></div>
<script>
const app = document.getElementById("app");
const form = document.createElement("form");
form.action = app.dataset.action;
form.innerHTML = '<input type="search" name="q" placeholder="Find a city"> <button>Search</button>';
app.append(form);
if (app.dataset.results === "json") form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const answer = await (await fetch("/api/search?q=" + encodeURIComponent(form.q.value) + "&page=1")).json();
  const list = document.createElement("ul");
  for (const city of answer.results) {
    const item = document.createElement("li");
    item.className = "city";
    item.textContent = city.name + ", " + city.country;
    list.append(item);
  }
  document.getElementById("out").replaceChildren(list);
});
</script>{% endif %}"""

HOME = """{% extends "frame" %}{% block search %}{% include "search" %}{% endblock %}{% block main %}
<p>{{ "{:,}".format(count) }} cities with more than 15,000 people: their country, region, time zone and population.</p>
{% if message %}<p class="message">{{ message }}</p>{% endif %}
<h2>Popular</h2><ul>{% for c in popular %}<li><a href="/city/{{ c.id }}">{{ c.name }}</a>, {{ c.country }}{% endfor %}</ul>
<form class="login" action="/login" method="post"><h2>Sign in</h2><label>Name <input name="user"></label>
<label>Password <input type="password" name="password"></label><button>Log in</button></form>{% endblock %}"""

RESULTS = """{% extends "frame" %}{% block title %}{{ query }} – Cities of the World{% endblock %}
{% block search %}{% include "search" %}{% endblock %}{% block main %}
{% if not total %}<h2>No results</h2><p class="none">Nothing was found for “{{ query }}”. Perhaps you meant one of these?</p>
<ul class="suggestions">{% for c in suggestions %}<li><a href="/search?q={{ c.name|urlencode }}&amp;ref={{ ref }}">{{ c.name }}</a>{% endfor %}</ul>
{% else %}<p class="count">{{ "{:,}".format(first) }}–{{ "{:,}".format(last) }} of {{ "{:,}".format(total) }} cities for “{{ query }}”
{%- if total > limit %} (only the first {{ limit }} are shown){% endif %}</p>
<p class="sort">Sort by <a href="{{ link(sort='') }}">relevance</a> | <a href="{{ link(sort='name') }}">name</a> | <a href="{{ link(sort='population') }}">population</a></p>
{%- if sizes %}<p>Show {% for size in sizes %}<a href="{{ link(show=size) }}">{{ size }}</a> {% endfor %} a page</p>{% endif %}
<div class="facets">Continent: {% for name, n in continents %}<a href="{{ link(continent=name) }}">{{ name }}</a> ({{ n }}) {% endfor %}
Country: {% for name, code, n in countries %}<a href="{{ link(country=code) }}">{{ name }}</a> ({{ n }}) {% endfor %}</div>
{% include layout %}
<p class="pager">{% if page > 1 %}<a href="{{ link(page=page - 1) }}">‹ Previous</a>{% endif %}
{% for n in range(1, pages + 1) %}{% if n == page %}<span>{{ n }}</span>{% else %}<a href="{{ link(page=n) }}">{{ n }}</a>{% endif %}
{% endfor %}{% if page < pages %}<a href="{{ link(page=page + 1) }}">Next ›</a>{% endif %}</p>
{% endif %}{% endblock %}"""

LIST = """<ul class="{{ 'hits' if drift else 'results' }}">{% for c in found %}<li class="{{ 'hit' if drift else 'city' }}">
<h3 class="name"><a href="/city/{{ c.id }}?ref={{ ref }}">{{ c.name }}</a></h3>
<p><span class="country">{{ c.country }}</span> (<span class="region">{{ c.region }}</span>), <span class="continent">{{ c.continent }}</span> · Population: <span class="population">{{ "{:,}".format(c.population) }}</span>
· <span class="timezone">{{ c.timezone }}</span></p>{% if c.also %}<p class="also">Also called {{ c.also|join(", ") }}</p>{% endif %}
<a class="act" href="/trip/add?city={{ c.id }}">Add to trip</a></li>{% endfor %}</ul>"""

TABLE = """<table class="{{ 'hits' if drift else 'results' }}"><thead><tr><th>Name</th><th>Country</th><th>Region</th><th>Continent</th><th>Population</th><th>Time zone</th><th>Also called</th></tr></thead>
<tbody>{% for c in found %}<tr><td><a href="/city/{{ c.id }}?ref={{ ref }}">{{ c.name }}</a></td><td>{{ c.country }}</td><td>{{ c.region }}</td><td>{{ c.continent }}</td>
<td>{{ "{:,}".format(c.population) }}</td><td>{{ c.timezone }}</td><td>{{ c.also|join(", ") }}</td></tr>{% endfor %}</tbody></table>"""

GRID = """<div class="grid {{ 'hits' if drift else 'results' }}">{% for c in found %}<div class="card">
<a class="name" href="/city/{{ c.id }}?ref={{ ref }}">{{ c.name }}</a><div class="country">{{ c.country }}</div><div class="region">{{ c.region }}</div><div class="continent">{{ c.continent }}</div>
<div class="population">Population: {{ "{:,}".format(c.population) }}</div><div class="timezone">{{ c.timezone }}</div>
{% if c.also %}<div class="also">{{ c.also|join(", ") }}</div>{% endif %}</div>{% endfor %}</div>"""

DEFINITIONS = """<dl class="{{ 'hits' if drift else 'results' }}">{% for c in found %}<dt><a href="/city/{{ c.id }}?ref={{ ref }}">{{ c.name }}</a></dt>
<dd>{{ c.country }} ({{ c.region }}), {{ c.continent }}</dd><dd>Population: {{ "{:,}".format(c.population) }}</dd><dd>{{ c.timezone }}{% if c.also %}; also called {{ c.also|join(", ") }}{% endif %}</dd>{% endfor %}</dl>"""

FLAT = """<div class="{{ 'hits' if drift else 'results' }}">{% for c in found %}<h5><a href="/city/{{ c.id }}?ref={{ ref }}">{{ c.name }}</a></h5>
<p>{{ c.country }} ({{ c.region }}), {{ c.continent }}. Population: {{ "{:,}".format(c.population) }}. {{ c.timezone }}</p>{% if c.also %}<p class="also">Also called {{ c.also|join(", ") }}</p>{% endif %}
{% endfor %}</div>"""

CITY = """{% extends "frame" %}{% block title %}{{ c.name }} – Cities of the World{% endblock %}{% block search %}{% include "search" %}{% endblock %}
{% block main %}<article class="city-page"><h2 class="name">{{ c.name }}</h2><dl><dt>Country</dt><dd class="country">{{ c.country }}</dd><dt>Continent</dt>
<dd class="continent">{{ c.continent }}</dd><dt>Region</dt><dd>{{ c.region }}</dd><dt>Population</dt><dd class="population">{{ "{:,}".format(c.population) }}</dd>
<dt>Time zone</dt><dd class="timezone">{{ c.timezone }}</dd><dt>Place</dt><dd>{{ c.latitude }}, {{ c.longitude }}</dd>
{% if c.also %}<dt>Also called</dt><dd class="also">{{ c.also|join(", ") }}</dd>{% endif %}</dl></article>{% endblock %}"""

PLAIN = """{% extends "frame" %}{% block main %}<h2>{{ heading }}</h2><p>{{ message }}</p>{% endblock %}"""

LOGIN = """{% extends "frame" %}{% block main %}<h2>Please sign in</h2><p>You must be signed in to search.</p><form class="login" action="/login" method="post">
<label>Name <input name="user"></label><label>Password <input type="password" name="password"></label><button>Log in</button></form>{% endblock %}"""

CONTACT = """{% extends "frame" %}{% block main %}<h2>Contact</h2><form action="/contact" method="post"><label>Your e-mail <input type="email" name="from"></label>
<label>Message <textarea name="message"></textarea></label><button>Send</button></form>{% endblock %}"""

REGISTER = """{% extends "frame" %}{% block main %}<h2>Register</h2><form action="/register" method="post"><label>Name <input name="user"></label>
<label>E-mail <input type="email" name="email"></label><label>Password <input type="password" name="password"></label>
<label>Again <input type="password" name="again"></label><button>Create account</button></form>
<form action="/forgot" method="post"><h3>Forgot your password?</h3><label>E-mail <input type="email" name="email"></label><button>Reset password</button></form>
<form action="/order" method="post"><h3>The atlas</h3><label>Quantity <input name="qty" value="1"></label><button>Add to cart</button></form>{% endblock %}"""

_PAGES = jinja2.Environment(
    loader=jinja2.DictLoader(
        {
            "frame": FRAME, "search": SEARCH_FORM, "home": HOME, "results": RESULTS, "city": CITY, "plain": PLAIN,
            "login": LOGIN, "contact": CONTACT, "register": REGISTER,
            "list": LIST, "table": TABLE, "grid": GRID, "definitions": DEFINITIONS, "flat": FLAT,
        }
    ),
    autoescape=True,
)  # fmt: skip


def render(name: str, **values: Any) -> str:
    """One page of the site as HTML."""
    return _PAGES.get_template(name).render(values)
