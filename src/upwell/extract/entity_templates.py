"""Pages of several templates told apart: pages of one template share most of the places where they have texts."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from upwell.extract.entities import EntityModel, learn
from upwell.extract.entity_texts import places_on
from upwell.page.tree import TagTree

__all__ = ["EntityTemplate", "best_fit", "divide", "learn_template_of"]

# Two pages are of one template if they share this part of the places of the one that has fewer. 0.5 to 0.7 divide none of 40 sites, and
# all 39 mixes of two of them; 0.3 misses one mix.
MIN_SHARED_PLACES = 0.6
COMMON_SHARE = 0.5  # of the pages of a template that have a place by which further pages are compared


class EntityTemplate(NamedTuple):
    """What pages of one template say, and the places that most of them have."""

    model: EntityModel
    places: frozenset[str]


def divide(trees: Sequence[TagTree]) -> list[list[int]]:
    """The numbers of the pages of each template, the template of most pages first."""
    places = [places_on(tree) for tree in trees]
    template = list(range(len(places)))
    for i, here in enumerate(places):
        for j in range(i):
            least = min(len(here), len(places[j]))
            if template[i] != template[j] and len(here & places[j]) >= MIN_SHARED_PLACES * least:
                joining, kept = max(template[i], template[j]), min(template[i], template[j])
                template = [kept if number == joining else number for number in template]
    groups: dict[int, list[int]] = {}
    for i, number in enumerate(template):
        groups.setdefault(number, []).append(i)
    return sorted(groups.values(), key=len, reverse=True)


def learn_template_of(trees: Sequence[TagTree], *, keep_constants: bool = False) -> EntityTemplate:
    """The template of pages that are of one."""
    pages_with = Counter(place for tree in trees for place in places_on(tree))
    common = frozenset(place for place, pages in pages_with.items() if pages >= COMMON_SHARE * len(trees))
    return EntityTemplate(learn(trees, keep_constants=keep_constants), common)


def best_fit(templates: Sequence[EntityTemplate], tree: TagTree) -> tuple[float, int]:
    """The share of places that a page and the template that fits it best have in common, and its number; (0, 0) where there is none."""
    here = places_on(tree) if templates else frozenset()
    fits = [len(here & places) / max(1, min(len(here), len(places))) for _, places in templates]
    return (max(fits), fits.index(max(fits))) if fits else (0.0, 0)
