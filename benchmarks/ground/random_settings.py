"""Sources with settings drawn at random from the product of all properties, and the classes that a user could name.

A grid varies one property at a time; what fails are combinations. Collections are split: constants are chosen on some (`CHOSEN_ON`)
and judged on others (`JUDGED_ON`).
"""

from dataclasses import fields, replace

import numpy as np

from benchmarks.ground.source import Setting

__all__ = ["classes_of", "draw_setting", "draw_size"]

SMALLEST, LARGEST = 150, 2000  # records of a source; drawn evenly on a logarithmic scale
LISTS_ONLY_SHARE = 0.2  # of the sources have no search
ABOUT_SHARE = 0.07  # of the harvests want only records about a topic


def draw_size(rng: np.random.Generator) -> int:
    """Draw the number of records of a source."""
    return round(float(np.exp(rng.uniform(np.log(SMALLEST), np.log(LARGEST)))))


def draw_setting(name: str, rng: np.random.Generator) -> Setting:
    """Draw the properties of a source."""

    def one(*values: object, p: tuple[float, ...] | None = None) -> object:
        return values[int(rng.choice(len(values), p=p))]

    def chance(share: float) -> bool:
        return bool(rng.random() < share)

    page = one(10, 20, 25, 50)
    drawn: dict[str, object] = {
        "match": one("all", "any", "prefix", "part", "stem", p=(0.5, 0.15, 0.12, 0.08, 0.15)),
        "stops": chance(0.5),
        "min_letters": one(1, 3, p=(0.75, 0.25)),
        "searches": one("everything", "shown", "title", p=(0.65, 0.2, 0.15)),
        "shows": one("all", "title", "snippet", "excerpt"),
        "page": page,
        "cap": one(0, 50, 100, 200, 500, 1000, p=(0.5, 0.1, 0.1, 0.1, 0.1, 0.1)),
        "order": one("relevance", "rank", "date", "popularity", "number", p=(0.25, 0.25, 0.2, 0.1, 0.2)),
        "totals": one("exact", "about", "rounded", "capped", "wrong", "none", p=(0.3, 0.1, 0.1, 0.07, 0.08, 0.35)),
        "nothing": one("all", "none", "error", p=(0.35, 0.45, 0.2)),
        "star": one("all", "none", "error", p=(0.15, 0.65, 0.2)),
        "facets": chance(0.3),
        "counts": chance(0.6),
        "orders": chance(0.15),
        "pager": chance(0.93),
        "failures": one(0.0, 0.03, p=(0.8, 0.2)),
        "duplicates": one(0.0, 0.05, p=(0.85, 0.15)),
        "lists": one("none", "one", "groups", "both", p=(0.55, 0.15, 0.15, 0.15)),
        "listed": one(1.0, 0.95, 0.7, 0.3, p=(0.5, 0.15, 0.2, 0.15)),
        "listed_by": one("chance", "date", p=(0.75, 0.25)),
        "list_totals": one("none", "own", "all", p=(0.6, 0.2, 0.2)),
        "hidden_groups": one(0, 3, p=(0.7, 0.3)),
        "breaks": chance(0.15),
        "sitemap": one(0.0, 1.0, 0.8, p=(0.75, 0.15, 0.1)),
        "numbers": one("none", "dense", "gaps", p=(0.6, 0.2, 0.2)),
    }
    setting = Setting(name=name, **drawn)  # type: ignore[arg-type] # values of the fields, by name
    if chance(LISTS_ONLY_SHARE):
        lists = setting.lists if setting.lists != "none" else str(one("one", "groups", "both"))
        return replace(setting, has_search=False, lists=lists)  # type: ignore[arg-type] # one of the literals
    if setting.searches == "shown" and setting.shows == "excerpt":
        setting = replace(setting, searches="everything")
    if chance(ABOUT_SHARE) and setting.match != "any":
        setting = replace(setting, about=True, lists="none", sitemap=0.0)
    return setting


def classes_of(setting: Setting, size: int) -> list[str]:
    """Return the classes of a source that a user could name."""
    names = [setting.group, f"size {'< 500' if size < 500 else '< 1500' if size < 1500 else '≥ 1500'}"]
    if not setting.has_search:
        names += [f"lists only: {setting.lists}", f"lists only: contain {setting.listed:.0%}"]
        names += [f"lists only: totals {setting.list_totals}"]
        return [*names, "lists only: with sitemap"] if setting.sitemap else names
    for part in fields(setting):
        value = getattr(setting, part.name)
        if part.name in ("match", "searches", "shows", "cap", "order", "totals", "lists", "numbers", "page"):
            names.append(f"{part.name}: {value}")
        elif part.name in ("stops", "facets", "orders", "failures", "duplicates", "about", "sitemap") and value:
            names.append(part.name)
    names += ["one page per query"] if not setting.pager else []
    is_hard = (
        setting.cap and not setting.is_counted and setting.shows != "all" and setting.order in ("rank", "relevance")
    )
    return [*names, "ranked, capped, snippets, no totals"] if is_hard else names
