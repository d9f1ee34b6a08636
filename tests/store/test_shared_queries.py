"""A knowledge base and a query log in one file give the same results as both in memory, here and in other processes."""

import pickle
from collections import Counter
from pathlib import Path

from upwell.choose.proposers import KnowledgeNames
from upwell.page.tokens import tokens
from upwell.papers.entity import Knowledge, LogRow, count_mentions, queries_for_site, rank_types
from upwell.store.shared_queries import open_shared_queries, write_shared_queries

NAMES = [
    *(("book", "author", f"{first} {last}") for first in ("anna", "boris") for last in ("lima", "quito", "oslo")),
    *(("book", "title", title) for title in ("the tides", "the tides of lima", "oslo")),
    *(("film", "director", f"carl quito {number}") for number in range(20)),
]
LOG = [
    LogRow(f"{affix}{name}", f"http://{host}/{page}", 5)
    for host in ("shop.org", "www.films.org")
    for name in ("anna lima", "carl quito 3")
    for affix in ("", "price of ", "buy ")
    for page in ("a", "b")
]


def test_the_file_gives_the_same_results_as_memory(tmp_path: Path) -> None:
    """Mentions, types of a site, names to ask in order, and the queries of each host; also after pickling."""
    base = Knowledge.of_rows(NAMES)
    file = tmp_path / "shared.sqlite"
    write_shared_queries(file, lambda: base, lambda: LOG)
    write_shared_queries(file, lambda: None, None)  # it exists: nothing is read again
    shared = open_shared_queries(file)
    kept = pickle.loads(pickle.dumps(shared.knowledge("x")))  # noqa: S301 # our own
    texts = ["Anna Lima, The Tides of Lima (1999)", "Boris Oslo and Carl Quito 7", "nobody"]
    found = count_mentions(texts, base.names)
    assert found == count_mentions(texts, kept.names) != Counter()
    assert [list(base.names.all_mentions(tokens(text))) for text in texts] == [
        list(kept.names.all_mentions(tokens(text))) for text in texts
    ]
    assert rank_types(base, found) == rank_types(kept, found)
    asked = []
    for knowledge in (base, kept):
        questions = KnowledgeNames(knowledge)
        for number in range(60):
            questions.hold(texts[number % 2])
        names = []
        while (name := questions.next()) is not None:
            questions.observe(name, 1)
            names.append(name)
        asked.append(names)
    assert asked[0] == asked[1]
    assert len(asked[0]) >= 6
    for host in ("shop.org", "films.org"):
        assert list(shared.queries(host)) == [query for query, _ in queries_for_site(LOG, base.names, host)] != []
    assert shared.queries("nowhere.org") == ()
