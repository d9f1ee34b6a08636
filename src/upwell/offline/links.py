"""What the links of saved answers say, as `upwell links` prints it (DESIGN §5)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from upwell.answers.facets import urls_to_fetch
from upwell.answers.next_page import next_page, next_step
from upwell.answers.roles import learn_roles
from upwell.errors import WrongUsage
from upwell.offline.saved_pages import saved_at
from upwell.page.data import read_page
from upwell.page.tree import TagTree

__all__ = ["links_of", "told"]


def links_of(path: Path, base_url: str = "") -> dict[str, Any]:
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
    to_fetch = urls_to_fetch(trees, roles, queries)
    asked = zip(names, trees, queries, strict=True)
    following = {name: further for name, tree, query in asked if (further := next_page(tree, query))}
    return {
        "next": following,
        "steps": _steps(names, trees, queries, following),
        "query": roles.query,
        "arguments": {
            name: {
                "prevalence": argument.prevalence,
                "role": argument.role,
                "irrelevant": argument.irrelevant,
                "why": argument.why,
            }
            for name, argument in roles.arguments.items()
        },
        "keep": list(to_fetch.by_partition.values()),
        "dropped": to_fetch.dropped,
    }


def _steps(
    names: list[str], trees: list[TagTree], queries: list[str], following: dict[str, str]
) -> dict[str, dict[str, object]]:
    """The further pages that no plain link leads to: what a browser would send for them."""
    found: dict[str, dict[str, object]] = {}
    for name, tree, query in zip(names, trees, queries, strict=True):
        step = next_step(tree, query) if name not in following else None
        if step is not None:
            found[name] = {"method": step.method, "url": step.url, "fields": list(step.fields), "via": step.via}
    return found


def told(found: dict[str, Any]) -> Iterator[str]:
    """What `links_of` found, for people."""
    for name, said in found["arguments"].items():
        yield f"{name}: {said['role']}{', irrelevant' if said['irrelevant'] else ''} ({said['why'] or 'nothing speaks'})"
    yield f"further pages: {len(found['next'])} by link, {len(found['steps'])} by other means"
    yield f"second-level URLs: {len(found['keep'])} to fetch, {found['dropped']} dropped"
