"""What the links of saved answers say, as `upwell links` prints it (DESIGN §5)."""

from pathlib import Path
from urllib.parse import urljoin

from upwell.answers.facets import second_level
from upwell.answers.next_page import next_page, next_step
from upwell.answers.pager import NextPage
from upwell.answers.roles import learn_roles
from upwell.errors import WrongUsage
from upwell.offline.saved_pages import saved_at
from upwell.page.data import read_page
from upwell.page.tree import TagTree
from upwell.results import LinksOfAnswers

__all__ = ["links_of"]


def links_of(path: Path, base_url: str = "") -> LinksOfAnswers:
    """The next page of each answer, the roles of the source's URL arguments, and which second-level URLs are worth fetching.

    `base_url` says where a file came from, or what the names of a folder are relative to, where `pages.jsonl` does not say.
    """
    if path.is_file() and path.suffix.lower() in (".html", ".htm"):
        names, trees, queries = [path.name], [read_page(path.read_bytes(), base_url)], [""]
    elif path.exists():
        names, trees, queries = [], [], []
        for saved in saved_at(path):
            url = saved.url or (urljoin(base_url, saved.page) if base_url else "")
            names.append(saved.page)
            trees.append(read_page(saved.body, url, saved.headers))
            queries.append(saved.query)
    else:
        raise WrongUsage(f"{path} is neither a saved page nor a folder of them")
    roles = learn_roles(trees, queries)
    kept = second_level(trees, roles, queries)
    asked = zip(names, trees, queries, strict=True)
    following = {name: further for name, tree, query in asked if (further := next_page(tree, query))}
    return LinksOfAnswers(
        next=following,
        steps=_steps(names, trees, queries, following),
        query=roles.query,
        arguments=roles.arguments,
        keep=tuple(kept.keep.values()),
        dropped=kept.dropped,
    )


def _steps(
    names: list[str], trees: list[TagTree], queries: list[str], following: dict[str, str]
) -> dict[str, NextPage]:
    """The further pages that no plain link leads to: what a browser would send for them."""
    found: dict[str, NextPage] = {}
    for name, tree, query in zip(names, trees, queries, strict=True):
        step = next_step(tree, query) if name not in following else None
        if step is not None:
            found[name] = step
    return found
