"""The frontier holds each URL once, up to what is irrelevant, and survives being killed."""

import subprocess
import sys
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from upwell.answers.roles import Argument, Roles
from upwell.store.frontier import Frontier

ROLES = Roles(
    query="q",
    arguments={
        "q": Argument(role="query", prevalence=0.1, why=""),
        "page": Argument(role="page", prevalence=0.5, why=""),
        "sort": Argument(role="sort", prevalence=0.5, why=""),
    },
)


def test_roles_are_applied(tmp_path: Path) -> None:
    """Order, page and the order of arguments make no difference; a filter does."""
    with Frontier(tmp_path / "f.sqlite", canonical=ROLES.canonical) as frontier:
        assert frontier.add(["http://x/s?q=a&page=1", "http://x/s?page=2&q=a&sort=name"]) == 1
        assert frontier.seen("http://x/s?sort=date&q=a")
        assert not frontier.seen("http://x/s?q=a&brand=acme")


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 3), st.floats(0, 1))))
def test_like_a_set_in_memory(added: list[tuple[str, int, float]]) -> None:
    """Whatever is added, it hands out each canonical text once, the highest priority first."""
    known: dict[str, float] = {}
    with Frontier(":memory:", canonical=ROLES.canonical) as frontier:
        for word, page, priority in added:
            url = f"http://x/s?q={word}&page={page}"
            assert frontier.seen(url) == (ROLES.canonical(url) in known)
            assert frontier.add([url], priority) == (ROLES.canonical(url) not in known)
            known.setdefault(ROLES.canonical(url), priority)
        taken = [ROLES.canonical(url) for url in frontier.take(100)]
    assert taken == sorted(taken, key=lambda text: -known[text])
    assert sorted(taken) == sorted(known)


def test_a_kill_costs_what_was_out(tmp_path: Path) -> None:
    """What was handed out and not reported waits again; what was reported does not."""
    path = tmp_path / "f.sqlite"
    code = (
        "import os; from upwell.store.frontier import Frontier\n"
        f"f = Frontier({str(path)!r}); f.add([f'http://x/{{i}}' for i in range(10)]); taken = f.take(4); f.done(taken[:3]); os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 9
    with Frontier(path) as frontier:
        assert frontier.counts() == {"waiting": 7, "out": 0, "done": 3}
        assert frontier.take(1) == ["http://x/3"]
        assert frontier.seen("http://x/0")


def test_what_is_known_is_not_handed_out(tmp_path: Path) -> None:
    """What was asked by a form is seen, and nothing to fetch."""
    with Frontier(tmp_path / "f.sqlite", canonical=ROLES.canonical) as frontier:
        assert frontier.know(["http://x/s?q=a"]) == 1
        assert frontier.add(["http://x/s?q=a&page=2", "http://x/s?q=b"]) == 1
        assert frontier.take(5) == ["http://x/s?q=b"]


def test_roles_learned_again() -> None:
    """URLs that have become one are dropped, and what was fetched is what stays."""
    with Frontier(":memory:") as frontier:
        frontier.add(f"http://x/s?q={word}&page={page}" for word in "ab" for page in range(3))
        first = frontier.take(1)
        frontier.done(first)
        assert frontier.rekey(ROLES.canonical) == 4
        assert frontier.counts() == {"waiting": 1, "out": 0, "done": 1}
        assert frontier.take(5) == ["http://x/s?q=b&page=0"]
        assert frontier.seen("http://x/s?q=a&page=77")
