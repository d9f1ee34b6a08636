"""Queries from logs and knowledge bases (Entity §4)."""

import json
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from upwell import api
from upwell.choose.plan import Plan
from upwell.errors import UpwellError, WrongUsage
from upwell.harvest import loop
from upwell.papers import entity as knowledge
from upwell.papers import entity as logs
from upwell.papers.entity import Affixes, EntityNames, LogCleaning, LogRow

NAMES = ["new york", "where to", "hyatt", "seattle", "review", "harry potter", "star trek"]


def test_mentions_reproduce_example_1() -> None:
    """Two matches of the same greatest length are both kept; three single words, too."""
    names = EntityNames(NAMES)
    words = ["where", "to", "stay", "in", "new", "york"]
    assert names.mentions(words) == [(0, 2), (4, 6)]
    assert names.mentions(["hyatt", "seattle", "review"]) == [(0, 1), (1, 2), (2, 3)]
    assert names.mentions(["nothing"]) == []


def test_affixes_are_aggregated_and_stripped() -> None:
    """Text around many names is stripped; a suffix with a preposition remains; a query never becomes empty."""
    names = EntityNames(["ipad", "wii", "iphone"])
    queries = [f"price of {n}" for n in ("ipad", "wii", "iphone")] + [f"{n} review" for n in ("ipad", "wii")]
    queries += ["ipad in uk", "wii in uk", "odd wii"]
    affixes = logs.count_affixes(queries, names)
    assert logs.clean_query("price of wii", affixes) == "wii"
    assert logs.clean_query("wii review", affixes) == "wii"
    assert logs.clean_query("wii in uk", affixes) == "wii in uk"
    assert logs.clean_query("odd wii", affixes) == "odd wii"
    assert logs.clean_query("review", affixes) == "review"


def test_a_preposition_makes_a_prefix_count_more() -> None:
    """With room for one affix, the rarer prefix with a preposition is chosen."""
    affixes = Affixes(prefixes=Counter({("samsung",): 5, ("map", "of"): 3}))
    affixes.choose(LogCleaning(top=1))
    assert affixes.strip_prefixes == {("map", "of")}


def test_navigational_queries_are_left_out_and_duplicates_merged() -> None:
    """At least 2 pages of the site with 3 clicks each; equal queries are merged after cleaning."""
    rows = [LogRow("ebay uk", "http://shop.example/", 90)]
    for query in ("ipad", "ipad review", "wii review"):
        rows += [LogRow(query, f"http://www.shop.example/{query}/{i}", 3) for i in range(2)]
    rows += [LogRow("rare", "http://shop.example/1", 2), LogRow("rare", "http://shop.example/2", 9)]
    rows += [LogRow("elsewhere", f"http://other.example/{i}", 5) for i in range(2)]
    got = logs.queries_for_site(rows, EntityNames(["ipad", "wii"]), "shop.example")
    assert got == [("ipad", 12), ("wii", 6)]


def base() -> knowledge.Knowledge:
    rows = [("film", "title", f"great film {i}") for i in range(40)]
    rows += [
        ("place", "city", name) for name in ("flowers", "love", "baskets", "zanesville", "old harbour", "new ferry")
    ]
    rows += [("music", "song", name) for name in ("flowers", "love", "yesterday once")]
    return knowledge.Knowledge.of_rows([*rows, ("film", "title", ""), ("film",)])


def test_sites_are_ranked_for_each_type() -> None:
    """TF-IDF penalises names that every site mentions: the flower shop is not a travel site (Entity §4.2)."""
    sites = {
        "flowers.example": Counter({"flowers": 50, "love": 30, "baskets": 20}),
        "travel.example": Counter({"zanesville": 3, "old harbour": 2, "love": 1, "flowers": 1, "baskets": 1}),
        "films.example": Counter({"great film 1": 4, "great film 2": 1, "love": 2, "flowers": 1, "baskets": 1}),
    }
    ranked = knowledge.rank_sites(base(), sites)
    assert [s for s, _ in ranked[knowledge.EntityType("place", "city")]] == ["travel.example"]
    assert [s for s, _ in ranked[knowledge.EntityType("film", "title")]] == ["films.example"]


def test_types_are_ranked_for_one_site() -> None:
    """Ambiguous names (one word, several types) have a low weight."""
    found = knowledge.count_mentions(
        ["we show Great Film 7", "great film 9, with love", "flowers", "love"], base().names
    )
    assert found["great film 7"] == 1
    best, _ = knowledge.rank_types(base(), found)[0]
    assert best == knowledge.EntityType("film", "title")
    assert base().skipped == 2


def test_input_files_are_read_and_invalid_lines_reported(tmp_path: Path) -> None:
    """Snapshot as JSON Lines, log as TSV and Parquet, knowledge base as TSV."""
    (tmp_path / "s.jsonl").write_text(
        "".join(json.dumps({"text": f"word{i % 7} other{i % 3}"}) + "\n" for i in range(40)) + "{broken\n"
    )
    warnings: list[str] = []
    found = api.queries(snapshot=tmp_path / "s.jsonl", warn=warnings.append)
    assert {row.query for row in found} <= {f"word{i}" for i in range(7)} | {f"other{i}" for i in range(3)}
    assert warnings == [f"{tmp_path / 's.jsonl'}: 1 of 41 lines were skipped"]
    lines = ["query\turl\tclicks", "no clicks\thttp://s.example/\tmany", "short line"]
    lines += [f"buy {name}\thttp://s.example/{name}/{i}\t4" for name in ("ipad", "wii") for i in range(2)]
    (tmp_path / "log.tsv").write_text("\n".join(lines))
    (tmp_path / "kb.tsv").write_text("shop\tthing\tipad\nshop\tthing\twii\nshop\tthing\t\n")
    warnings.clear()
    log, base = tmp_path / "log.tsv", tmp_path / "kb.tsv"
    found = api.queries(log=log, knowledge_base=base, site="s.example", warn=warnings.append)
    assert [row.query for row in found] == ["ipad", "wii"]
    assert len(warnings) == 3
    rows = [line.split("\t") for line in lines[3:]]
    pq.write_table(
        pa.table({n: [r[i] for r in rows] for i, n in enumerate(("query", "url", "clicks"))}), tmp_path / "log.parquet"
    )
    assert api.queries(log=tmp_path / "log.parquet", knowledge_base=base, site="s.example") == found
    assert api.queries(snapshot=tmp_path / "s.jsonl", knowledge_base=base) == []


@pytest.mark.parametrize("has_log", [False, True])
def test_queries_and_knowledge_are_added_to_the_plan(
    has_log: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words and queries are asked first, those of the log are candidates; the knowledge base is shared by all sites."""
    plans: list[Plan] = []

    async def run(_: str, plan: Plan, *__: object, **___: object) -> None:
        plans.append(plan)
        raise UpwellError("this is as far as the test goes")

    monkeypatch.setattr(loop, "run", run)
    log, base = tmp_path / "log.tsv", tmp_path / "kb.tsv"
    log.write_text("".join(f"buy wii\thttp://{site}.example/{i}\t4\n" for site in "ab" for i in range(2)))
    base.write_text("shop\tthing\tipad\nshop\tthing\twii\nshop\tthing\t\n")
    api.harvest_all(
        ["http://a.example/", "http://b.example/"],
        out=tmp_path,
        plan=Plan(words=("lima",)),
        queries=["new york", "san juan"],
        query_log=log if has_log else None,
        knowledge_base=base,
    )
    assert [plan.words for plan in plans] == 2 * [("lima", "new york", "san juan")]
    assert [plan.log_queries for plan in plans] == 2 * [("wii",) if has_log else ()]
    assert plans[0].knowledge is plans[1].knowledge is not None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "--snapshot"),
        ({"snapshot": "none.jsonl"}, "neither a file nor a folder"),
        ({"snapshot": "empty.jsonl"}, "no row"),
        ({"snapshot": "binary.jsonl"}, "no row"),
        ({"snapshot": "some.xml"}, "should end in"),
        ({"log": "log.tsv"}, "--site"),
        ({"knowledge_base": "log.tsv"}, "no row"),
    ],
)
def test_invalid_files_are_rejected(arguments: dict[str, str], message: str, tmp_path: Path) -> None:
    """Missing, empty, binary, or of another kind."""
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "binary.jsonl").write_bytes(bytes(range(256)) * 9)
    (tmp_path / "some.xml").touch()
    (tmp_path / "log.tsv").write_text("only one cell\n")
    with pytest.raises(WrongUsage, match=message):
        api.queries(**{name: tmp_path / file for name, file in arguments.items()})  # type: ignore[arg-type] # files by name
