"""Memory and CPU time that pages of more than 50 kinds cost: `python -m benchmarks.reliability.page_memory [KIND…] [--learn] [--steps]`.

Each measurement runs in a fresh process, at two sizes, so that growth is visible. Columns:

    read        peak memory of `read_page` above the memory before, divided by the size of the page
    all         the same for everything that a harvest does with one answer: terms, forms, links, next page, totals, cuts, records, lines
    CPU s/MB    CPU time of all this
    power       exponent of the growth of memory and of CPU time between the two sizes: 1 is linear

With `--learn`, a source is learned as `harvest/reader.py` does, from answers of this kind; the columns are the answers that are held at once,
and the peak memory in MB. `--steps` prints the peak and the CPU time of each step. Bars: 30 times the size of the page, 1,000 MB while
learning, and an exponent of 1.25.
"""

import argparse
import gc
import json
import math
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

MAX_RATIO = 30  # bar: peak memory divided by the size of the page
MAX_LEARNING_MB = 1000  # bar: peak memory while a source is learned
MAX_POWER = 1.25  # bar: exponent of the growth of CPU time
SIZES = (500_000, 2_000_000)
MAX_ADDRESS_SPACE = 6_000_000_000  # of a measured process, so that it cannot fill the memory of the machine
MAX_CPU_SECONDS = 200  # of one measurement
MIN_CPU_SECONDS = 0.3  # shorter times are too noisy for an exponent
URL = "http://site.example/search?q=alpha&page=1"

Piece = Callable[[int, random.Random], str]


def _repeat(piece: Piece, before: str = "<!doctype html><html><body>", after: str = "") -> Callable[[int, int], bytes]:
    """Return the maker of pages of a size and seed that repeat a piece with its number."""

    def make(size: int, seed: int) -> bytes:
        rng = random.Random(seed)
        pieces, length, i = [before], len(before) + len(after), 0
        while length < size:
            pieces.append(piece(i, rng))
            length += (
                len(pieces[-1].encode("utf-8", "surrogateescape")) if not pieces[-1].isascii() else len(pieces[-1])
            )
            i += 1
        return ("".join(pieces) + after).encode("utf-8", "surrogateescape")

    return make


WORDS = (
    "alpha",
    "beta",
    "gamma",
    "delta",
    "river",
    "stone",
    "light",
    "house",
    "green",
    "table",
    "winter",
    "paper",
    "music",
)


def _word(rng: random.Random) -> str:
    return rng.choice(WORDS)


def _letter(rng: random.Random) -> str:
    return rng.choice("abcdefghijklmnopqrstuvwxyz")


def _whole(text: Callable[[int, random.Random], str]) -> Callable[[int, int], bytes]:
    """Return the maker of pages that are made as a whole from a size."""
    return lambda size, seed: text(size, random.Random(seed)).encode()


def _inline(tag: str) -> Callable[[int, int], bytes]:
    return _repeat(lambda i, rng: f"<{tag}>{_letter(rng)}</{tag}>")


def _record(i: int, rng: random.Random) -> str:
    name = f"{_word(rng)} {_word(rng)} {rng.randrange(10**6)}"
    return f'<li class="result"><a href="/item/{i}">{name}</a><p>{_word(rng)} {_word(rng)} of the {_word(rng)}</p><b>{i}</b></li>'


def _json_records(size: int, rng: random.Random) -> str:
    rows = [
        {"id": i, "name": f"{_word(rng)} {i}", "url": f"/item/{i}", "tags": [_word(rng), _word(rng)]}
        for i in range(size // 90)
    ]
    return json.dumps({"results": rows})


KINDS: dict[str, Callable[[int, int], bytes]] = {
    "letters in <i>": _inline("i"),
    "letters in <b>": _inline("b"),
    "letters in <span>": _inline("span"),
    "letters in <a>": _repeat(lambda i, rng: f"<a href=/{i}>{_letter(rng)}</a>"),
    "letters in <p>": _repeat(lambda i, rng: f"<p>{_letter(rng)}"),
    "letters in <font>": _repeat(lambda i, rng: f"<font color={i}>{_letter(rng)}</font>"),
    "letters and <br>": _repeat(lambda i, rng: f"{_letter(rng)}<br>"),
    "letters and <wbr>": _repeat(lambda i, rng: f"{_letter(rng)}<wbr>"),
    "empty elements": _repeat(lambda i, rng: "<p>"),
    "nested formatting": _repeat(lambda i, rng: f"<p>{_letter(rng)}", before="".join(f"<font a={i}>" for i in range(30))),
    "dense cells": _repeat(lambda i, rng: "<tr>" * (i % 20 == 0) + f"<td>{rng.randrange(10)}", before="<table>"),
    "one table row": _repeat(lambda i, rng: f"<td>{rng.randrange(10)}", before="<table><tr>"),
    "small tables": _repeat(lambda i, rng: f"<table><td>{_letter(rng)}</table>"),
    "distinct ids": _repeat(lambda i, rng: f"<p id=i{i}>{_letter(rng)}"),
    "distinct classes": _repeat(lambda i, rng: f"<p class=c{i}>{_letter(rng)}"),
    "distinct tags": _repeat(lambda i, rng: f"<t{i}>{_letter(rng)}</t{i}>"),
    "distinct itemprops": _repeat(lambda i, rng: f"<p itemprop=c{i}>{_letter(rng)}"),
    "distinct attributes": _repeat(lambda i, rng: f"<p a{i}=1>{_letter(rng)}"),
    "deep nesting": _repeat(lambda i, rng: f"<div>{_letter(rng)}"),
    "deep towers": _repeat(lambda i, rng: "<div class=a>" * 300 + _word(rng) + "</div>" * 300),
    "long attributes": _repeat(lambda i, rng: f"<p title='{_word(rng) * 1000}'>{_word(rng)}</p>"),
    "many attributes": _repeat(lambda i, rng: "<p " + " ".join(f"a{k}" for k in range(500)) + f">{_word(rng)}"),
    "short attributes": _repeat(lambda i, rng: "<p a b c d e f g h i j k l m>" + _letter(rng)),
    "entities": _repeat(lambda i, rng: "&lt;&amp;&eacute;&#x4e2d; "),
    "comments": _repeat(lambda i, rng: f"<!---->{_letter(rng)}"),
    "scripts": _repeat(lambda i, rng: f"<script>var a{i} = '{_word(rng)}';</script>"),
    "JSON scripts": _repeat(lambda i, rng: f'<script type="application/ld+json">{{"@type": "Thing", "name": "{_word(rng)} {i}"}}</script>'),
    "one large JSON script": _whole(lambda size, rng: f"<script type=application/json>{_json_records(size, rng)}</script><p>x"),
    "JSON, records": _whole(_json_records),
    "JSON, deep": _whole(lambda size, rng: '{"a":' * 900 + "[" + ",".join(str(rng.randrange(10)) for _ in range(size // 2)) + "]" + "}" * 900),
    "JSON, wide": _whole(lambda size, rng: "[" + ",".join(str(rng.randrange(10)) for _ in range(size // 2)) + "]"),
    "JSON, empty objects": _whole(lambda size, rng: "[" + ",".join("{}" for _ in range(size // 3)) + "]"),
    "JSON, long strings": _whole(lambda size, rng: json.dumps([f"{_word(rng)} " * 20_000 for _ in range(size // 120_000 + 1)])),
    "JSON, many keys": _whole(lambda size, rng: json.dumps({f"k{i}": rng.randrange(10) for i in range(size // 12)})),
    "CSV": _whole(lambda size, rng: "name,place,year\n" + "".join(f"{_word(rng)} {i},{_word(rng)},{1900 + i % 100}\n" for i in range(size // 25))),
    "XML": _repeat(lambda i, rng: f"<row><a>{i}</a><b>{_word(rng)}</b></row>", before="<?xml version='1.0'?><rows>", after="</rows>"),
    "RSS": _repeat(lambda i, rng: f"<item><title>{_word(rng)} {i}</title><link>/{i}</link></item>", before="<rss><channel>", after="</channel></rss>"),
    "text, one line": _repeat(lambda i, rng: _word(rng) + " "),
    "text, many lines": _repeat(lambda i, rng: _letter(rng) + "\n", before="<pre>"),
    "text, letters": _repeat(lambda i, rng: _letter(rng) + " "),
    "text, one word": _repeat(lambda i, rng: _word(rng)),
    "text, distinct words": _repeat(lambda i, rng: f"{rng.randrange(36**4):x} "),
    "plain text": _repeat(lambda i, rng: _letter(rng) + "\n", before=""),
    "form with many controls": _repeat(lambda i, rng: f"<input name=q{i}>", before="<form action=/s>"),
    "form with labels": _repeat(lambda i, rng: f"<label for=i{i}>{_letter(rng)}</label><input id=i{i} name=q{i}>", before="<form action=/s>"),
    "select with many options": _repeat(lambda i, rng: f"<option>{i}", before="<form action=/s><input name=q><select name=s>"),
    "many selects": _repeat(lambda i, rng: f"<select name=s{i}><option>a<option>b</select>", before="<form action=/s><input name=q>"),
    "small forms": _repeat(lambda i, rng: f"<form action=/f{i}><input name=q></form>"),
    "links with long URLs": _repeat(lambda i, rng: f"<a href='/{_word(rng) * 150}{i}'>{_word(rng)}</a> "),
    "distinct links": _repeat(lambda i, rng: f"<a href=/s?q={i}&page={i}>{i}</a> "),
    "pager": _repeat(lambda i, rng: f"<a class=next href='/search?q=alpha&page={i}'>Next</a>"),
    "facets": _repeat(lambda i, rng: f"<li><a href='/search?q=alpha&c={i}'>{_word(rng)}</a> ({i})</li>"),
    "definition lists": _repeat(lambda i, rng: f"<dt>{_letter(rng)}<dd>{i}", before="<dl>"),
    "nested lists": _repeat(lambda i, rng: f"<ul><li>{_letter(rng)}<ul><li>{i}</ul></ul>"),
    "Chinese": _repeat(lambda i, rng: chr(0x4E00 + rng.randrange(5000))),
    "Chinese, short chunks": _repeat(lambda i, rng: f"<p>{chr(0x4E00 + rng.randrange(5000))}"),
    "combining characters": _repeat(lambda i, rng: "e" + "\u0301" * 3 + " " * (i % 5 == 0)),
    "invalid UTF-8": lambda size, seed: b"<p>" + random.Random(seed).randbytes(size - 3),
    "UTF-16": lambda size, seed: KINDS["repeated records"](size // 2, seed).decode().encode("utf-16"),
    "styles": _repeat(lambda i, rng: f".c{i} {{color:red}}\n", before="<style>", after="</style><p class=c1>x"),
    "styles that hide": _repeat(lambda i, rng: f".c{i}{{display:none}}", before="<style>", after="</style>" + "<p class=c1>x" * 10),
    "hidden elements": _repeat(lambda i, rng: f"<p hidden>{_letter(rng)}"),
    "pictures": _repeat(lambda i, rng: f"<img src=/{i}.png>"),
    "meta tags": _repeat(lambda i, rng: f"<meta name=m{i} content={_word(rng)}>", before="<head>"),
    "repeated records": _repeat(_record, before="<html><body><form action=/search><input name=q></form><ul>", after="</ul>"),
    "records of many fields": _repeat(lambda i, rng: "<li>" * (i % 1000 == 0) + f"<span class=f{i % 1000}>{_word(rng)}</span> ", before="<ul>"),
    "white space": _repeat(lambda i, rng: "<p> \n\t " + _letter(rng) + " " * 200),
    "unclosed tags": _repeat(lambda i, rng: f"<{rng.choice(('p', 'b', 'li', 'td', 'font', 'div', 'em', 'h2', 'table'))}>{_letter(rng)}"),
    "crossed tags": _repeat(lambda i, rng: f"<b><i>{_letter(rng)}</b></i>"),
    "text in tables": _repeat(lambda i, rng: f"<table><tr>{_letter(rng)}<td>{i}</table>"),
    "templates": _repeat(lambda i, rng: f"<template><p>{_letter(rng)}</template>"),
    "one template": _repeat(lambda i, rng: f"<p>{_letter(rng)}", before="<template>"),
    "SVG": _repeat(lambda i, rng: f"<path d=M{i} />", before="<svg>"),
    "headings": _repeat(lambda i, rng: f"<h2>{_letter(rng)}</h2>"),
    "source sets": _repeat(lambda i, rng: f"<img srcset='/{i}-1.png 1x, /{i}-2.png 2x' src=/{i}.png>"),
    "data URIs": _repeat(lambda i, rng: f"<img src='data:image/png;base64,{'QUJD' * 200}'>"),
    "CDATA": _repeat(lambda i, rng: f"<item><title><![CDATA[{_word(rng)}]]></title></item>", before="<rss><channel>", after="</channel></rss>"),
    "RSS, empty items": _repeat(lambda i, rng: "<item></item>", before="<rss><channel>", after="</channel></rss>"),
    "XML, sitemap": _repeat(lambda i, rng: f"<url><loc>http://site.example/item/{i}</loc></url>", before="<?xml version='1.0'?><urlset>", after="</urlset>"),
    "style attributes": _repeat(lambda i, rng: f"<p style='color:#{i % 1000:03}'>{_letter(rng)}"),
    "crowded document type": _repeat(lambda i, rng: "<!doctype html>"),
    "amounts": _repeat(lambda i, rng: f"<p>{i} results for alpha</p>"),
}  # fmt: skip
HEADERS = {"JSON": "application/json", "CSV": "text/plain", "plain": "text/plain", "XML": "text/xml", "RSS": "text/xml"}


def headers_of(kind: str) -> dict[str, str]:
    """Return the HTTP headers of an answer of this kind."""
    is_html = kind in ("JSON scripts",)
    found = next((value for name, value in HEADERS.items() if kind.startswith(name) and not is_html), "text/html")
    return {"content-type": found}


# The measured process.


def peak_and_now() -> tuple[int, int]:
    """Return the peak of the resident memory since `reset_peak`, and its current size, in bytes."""
    status = Path("/proc/self/status").read_text()
    peak, now = (int(status.partition(f"{name}:")[2].split()[0]) * 1024 for name in ("VmHWM", "VmRSS"))
    return peak, now


def reset_peak() -> None:
    """Start a new peak."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")


def write_page(kind: str, size: int, seed: int, path: Path) -> None:
    """Write a page to a file, in a child process: the memory for making it would be used again for reading it."""
    if not (child := os.fork()):
        path.write_bytes(KINDS[kind](size, seed))
        os._exit(0)
    os.waitpid(child, 0)


def steps_of(tree: object, body: bytes, small: Sequence[object]) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield everything that a harvest and `upwell blocks` do with one answer; `small` are small pages of the kind, to learn a model from."""
    from upwell.answers.answer import Answer
    from upwell.answers.argument_roles import learn_roles
    from upwell.answers.facets import facet_links, related_queries
    from upwell.answers.kind import judge_answer, learn_empty, refusal_reason
    from upwell.answers.next_page import next_page
    from upwell.answers.totals import read_totals
    from upwell.content.main_content import find_blocks
    from upwell.discover import forms, interfaces
    from upwell.discover.consent_page import click_through
    from upwell.discover.link_ranking import promising_links
    from upwell.discover.probe_words import trial_words, words_of_page
    from upwell.discover.trial import items_of_page
    from upwell.page.embedded_data import largest_collection
    from upwell.page.language import language_of
    from upwell.page.tokens import terms_of
    from upwell.records.cuts import candidate_cuts
    from upwell.records.leaves import split_leaves
    from upwell.source.apply import apply
    from upwell.source.learn import learn_source
    from upwell.source.paging import next_page_of
    from upwell.types import Request, Response

    model = learn_source([Answer(page, "alpha") for page in small])  # type: ignore[arg-type] # pages
    empty = learn_empty([(small[0], "")], [(small[1], "alpha")])  # type: ignore[list-item]
    page: object = tree
    reading = None

    def read_records() -> object:
        nonlocal reading
        reading = apply(model, page, query="alpha")  # type: ignore[arg-type]
        return len(reading.records)

    response = Response(request=Request(url=URL), url=URL, status=200, headers={}, body=b"")
    steps: dict[str, Callable[..., object]] = {
        "blocks": find_blocks,
        "refusal": lambda t: refusal_reason(response, t),
        "language": language_of,
        "terms": terms_of,
        "stems": lambda t: terms_of(t, stemmed=True, stops=False),
        "forms": forms.find,
        "interfaces": interfaces.find,
        "consent": lambda t: next(click_through(t, URL), None),
        "links": promising_links,
        "items": items_of_page,
        "words": lambda t: trial_words(t, t, [], 9),
        "page words": words_of_page,
        "embedded data": lambda t: len(largest_collection(body)),
        "apply": lambda t: read_records(),
        "next page": lambda t: next_page(t, "alpha"),
        "next page of": lambda t: next_page_of(t, reading, "alpha") if reading else None,
        "totals": lambda t: read_totals(t, [record.text for record in reading.records] if reading else []),
        "roles": lambda t: facet_links(t, learn_roles([t], ["alpha"], query_field="q"), "alpha"),
        "related": lambda t: related_queries(t, learn_roles([t], ["alpha"], query_field="q"), "alpha"),
        "kind": lambda t: judge_answer(empty, t, "alpha", records=0),
        "cuts": lambda t: len(candidate_cuts(split_leaves(t))),
    }
    for name, step in steps.items():
        yield name, lambda step=step: step(tree)  # type: ignore[misc]


def measure(kind: str, size: int, with_steps: bool) -> dict[str, object]:
    """Return the cost of one page, in this process."""
    from upwell.page.formats import read_page

    headers = headers_of(kind)
    small = [read_page(KINDS[kind](5000, seed), URL, headers) for seed in (1, 2)]
    warm = read_page(KINDS["repeated records"](5000, 1), URL)
    for page in (warm, small[0]):  # loads what a process loads once: modules, and the word list of a language
        for _, step in steps_of(page, b"", [warm, warm]):
            step()
    with tempfile.NamedTemporaryFile() as file:
        write_page(kind, size, 3, Path(file.name))
        reset_peak()
        base, began = peak_and_now()[1], time.process_time()
        body = Path(file.name).read_bytes()
    tree = read_page(body, URL, headers)
    read = peak_and_now()[0]
    read_cpu = time.process_time() - began
    steps: dict[str, tuple[float, float]] = {}
    peak = read
    reset_peak()
    held = peak_and_now()[1]
    work = steps_of(tree, body, small)
    while True:
        reset_peak()
        before = time.process_time()
        if (following := next(work, None)) is None:
            break
        result = following[1]()
        del result
        step_peak = peak_and_now()[0]
        steps[following[0]] = (round((step_peak - base) / len(body), 1), round(time.process_time() - before, 2))
        peak = max(peak, step_peak)
    cpu = read_cpu + sum(seconds for _, seconds in steps.values())
    return {
        "bytes": len(body),
        "elements": len(tree),
        "read": (read - base) / len(body),
        "held": (held - base) / len(body),
        "all": (peak - base) / len(body),
        "peak": peak - base,
        "cpu": cpu,
        "read_cpu": read_cpu,
        "problems": tree.problems,
        "steps": steps if with_steps else {},
    }


def measure_learning(kind: str, size: int) -> dict[str, object]:
    """Return the cost of learning a source whose answers are of this kind, in this process."""
    import numpy as np

    from upwell.choose.plan import Plan
    from upwell.discover.discovery import Discovery
    from upwell.errors import UpwellError
    from upwell.harvest.reader import BudgetUse, SiteContext, SourceReader
    from upwell.page.formats import read_page
    from upwell.page.tree import TagTree
    from upwell.store.state import State
    from upwell.types import FormInterface, Request, Response

    headers = headers_of(kind)
    home = read_page(b"<form action=/search><input name=q></form><p>alpha beta gamma river stone", URL)
    interface = FormInterface(method="GET", url="http://site.example/search", query_field="q")
    np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder, State(Path(folder) / "state.sqlite") as state:
        context = SiteContext(
            discovery=Discovery(home=home, pages=[home]),
            plan=Plan(),
            state=state,
            observe=lambda event: None,
            spent=lambda: BudgetUse(requests=0, limit_reached=None),
        )
        steps = SourceReader(interface, context).probe()
        reset_peak()
        base, began, requests, held, outcome = peak_and_now()[1], time.process_time(), 0, 0, "learned"
        try:
            wanted = next(steps)
            while True:
                requests += 1
                name = Path(folder) / "page"
                write_page(kind, size, requests, name)
                request = wanted if isinstance(wanted, Request) else Request(url=wanted.url)
                response = Response(
                    request=request, url=request.url, status=200, headers=headers, body=name.read_bytes()
                )
                held = max(held, sum(isinstance(value, TagTree) for value in gc.get_objects()))
                wanted = steps.send(response)
        except StopIteration:
            pass
        except UpwellError as error:
            outcome = type(error).__name__
    cpu = time.process_time() - began
    return {"peak": peak_and_now()[0] - base, "requests": requests, "held": held, "cpu": cpu, "outcome": outcome}


# The measuring process.


def run(kind: str, size: int, *options: str) -> dict[str, object]:
    """Return what a fresh process measures."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.reliability.page_memory",
        kind,
        "--measure",
        "--size",
        str(size),
        *options,
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == -signal.SIGXCPU:
        return {"failed": f"{size:,} bytes took more than {MAX_CPU_SECONDS} s of CPU time"}
    if done.returncode:
        return {
            "failed": done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit code {done.returncode}"
        }
    measured: dict[str, object] = json.loads(done.stdout)
    return measured


def _power(small: float, large: float, sizes: tuple[int, int]) -> float:
    return math.log(max(large, 1e-9) / max(small, 1e-9)) / math.log(sizes[1] / sizes[0])


def table(kinds: list[str], sizes: tuple[int, int], *options: str) -> int:
    """Print one line for each kind; return the number of kinds beyond the bars."""
    beyond = 0
    print(f"{'kind':<26}{'read':>7}{'held':>7}{'all':>7}{'CPU s/MB':>10}{'power':>7}{'CPU':>6}  notes")
    for kind in kinds:
        small, large = (run(kind, size, *options) for size in sizes)
        if failed := small.get("failed") or large.get("failed"):
            print(f"{kind:<26}  {failed}", flush=True)
            beyond += 1
            continue
        ratio = {name: max(float(small[name]), float(large[name])) for name in ("read", "held", "all")}  # type: ignore[arg-type]
        seconds = float(small["cpu"]), float(large["cpu"])  # type: ignore[arg-type]
        power = _power(float(small["peak"]), float(large["peak"]), sizes)  # type: ignore[arg-type]
        cpu_power = _power(max(seconds[0], MIN_CPU_SECONDS), max(seconds[1], MIN_CPU_SECONDS), sizes)
        is_beyond = ratio["all"] > MAX_RATIO or cpu_power > MAX_POWER
        beyond += is_beyond
        per_megabyte = 1e6 * seconds[1] / float(large["bytes"])  # type: ignore[arg-type]
        print(f"{kind:<26}{ratio['read']:>7.1f}{ratio['held']:>7.1f}{ratio['all']:>7.1f}{per_megabyte:>10.2f}{power:>7.2f}{cpu_power:>6.2f}  "
              f"{'BEYOND ' if is_beyond else ''}{'; '.join(large['problems'])}", flush=True)  # type: ignore[arg-type] # fmt: skip
        for size, measured in zip(sizes, (small, large), strict=True):
            if steps := measured["steps"]:
                worst = sorted(steps.items(), key=lambda step: -step[1][0])[:4]  # type: ignore[attr-defined]
                slow = sorted(steps.items(), key=lambda step: -step[1][1])[:4]  # type: ignore[attr-defined]
                print(f"    {size:>9,}: {', '.join(f'{name} {peak:.0f}x' for name, (peak, _) in worst)}; read {measured['read_cpu']:.2f} s, "
                      f"{', '.join(f'{name} {seconds:.2f} s' for name, (_, seconds) in slow)}", flush=True)  # fmt: skip
    print(f"{len(kinds)} kinds, {beyond} beyond the bars")
    return beyond


def learning_table(kinds: list[str], size: int) -> int:
    """Print one line for each kind; return the number of kinds beyond the bar."""
    beyond = 0
    print(f"{'kind':<26}{'answers':>9}{'held':>7}{'MB':>8}{'CPU s':>8}  outcome")
    for kind in kinds:
        measured = run(kind, size, "--learn")
        if failed := measured.get("failed"):
            print(f"{kind:<26}  {failed}", flush=True)
            beyond += 1
            continue
        megabytes = int(measured["peak"]) / 1e6  # type: ignore[call-overload]
        beyond += megabytes > MAX_LEARNING_MB
        print(f"{kind:<26}{measured['requests']:>9}{measured['held']:>7}{megabytes:>8.0f}{measured['cpu']:>8.1f}  {measured['outcome']}"
              f"{' BEYOND' if megabytes > MAX_LEARNING_MB else ''}", flush=True)  # fmt: skip
    print(f"{len(kinds)} kinds, {beyond} beyond the bar")
    return beyond


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reliability.page_memory", description=__doc__)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help="default: all")
    parser.add_argument("--learn", action="store_true", help="measure learning a source")
    parser.add_argument("--steps", action="store_true", help="print the largest and slowest steps")
    parser.add_argument("--sizes", type=int, nargs=2, default=SIZES)
    parser.add_argument("--size", type=int, default=SIZES[-1], help="of one page, with --learn")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    kinds = arguments.kinds or list(KINDS)
    if arguments.measure:
        resource.setrlimit(resource.RLIMIT_AS, (MAX_ADDRESS_SPACE, MAX_ADDRESS_SPACE))
        resource.setrlimit(resource.RLIMIT_CPU, (MAX_CPU_SECONDS, MAX_CPU_SECONDS + 1))
        cost = (
            measure_learning(kinds[0], arguments.size)
            if arguments.learn
            else measure(kinds[0], arguments.size, arguments.steps)
        )
        print(json.dumps(cost))
        return 0
    if arguments.learn:
        return int(learning_table(kinds, arguments.size) > 0)
    return int(table(kinds, tuple(arguments.sizes), *(["--steps"] if arguments.steps else [])) > 0)


if __name__ == "__main__":
    sys.exit(main())
