"""Settings of a search form whose preset hides records: opened to "any", else each value is a source of its own."""

from collections.abc import Sequence
from dataclasses import replace

from upwell.answers import argument_names as names
from upwell.model import Form, FormInterface, SearchInterface
from upwell.page.tree import TagTree
from upwell.site import interfaces
from upwell.site.interface_trial import Accepted, Trials, is_usable
from upwell.site.items import items_of_page, items_of_response, without_query
from upwell.site.steps import Steps

__all__ = ["open_presets"]

ANY_VALUES = ("", "all", "any", "*", "everything", "alle", "tout", "tous", "todos", "0", "-1")
# In an address it may select records, but in a form it is the language of the site: with another one every link is new.
LANGUAGE_NAMES = ("lang", "language")


def open_presets(trials: Trials, form: Form, page: TagTree) -> Steps[None]:
    """Tries other values of the form that was accepted last (Entity §3: on 6 % of sites a preset hides records).

    Where a setting has an "any" that brings more, it is set; else values that bring other records are sources of their own.
    """
    accepted = trials.accepted[-1]
    interface, word = accepted.interface, accepted.word
    if not isinstance(interface, FormInterface):
        return
    known_items = without_query(items_of_page(page) | trials.nonsense_items, word)
    requests_left = trials.limits.setting_requests
    for name, values in interfaces.settings(form):
        preset = dict(interface.fields).get(name)
        if preset is None or preset.lower() in ANY_VALUES or only_changes_display(name, values):
            continue
        any_values = [value for value in values if value.lower() in ANY_VALUES]
        others = any_values or [value for value in values if value != preset][: trials.limits.values]
        sources: list[Accepted] = []
        for value in others[:requests_left]:
            requests_left -= 1
            changed = replace(interface, fields=tuple((n, value if n == name else v) for n, v in interface.fields))
            answer = yield from trials.ask(changed, word)
            if answer is None or not is_usable(answer):
                continue
            items = without_query(items_of_response(answer), word) - known_items
            if any_values and len(items - accepted.items) > 1:
                trials.accepted[-1] = Accepted(interface=changed, word=word, items=items)
                break
            if len(items - accepted.items) * 2 > len(items) > max(2, len(accepted.items) / 10):
                sources.append(Accepted(interface=changed, word=word, items=items))
        if sources and (yield from _have_same_records(trials, interface, sources[0].interface, known_items)):
            continue
        if sources and interfaces.are_informative([accepted.items, *(source.items for source in sources)]):
            trials.accepted += sources
            return  # one setting at a time, never the cross product (Madhavan et al. 2008 §5)


def only_changes_display(name: str, values: Sequence[str]) -> bool:
    """Whether a setting changes how records are shown (order, page, layout, language), not which there are.

    >>> only_changes_display("sort_by", ["title", "date"]), only_changes_display("show", ["10", "50", "all"])
    (True, True)
    >>> only_changes_display("show", ["open", "closed"]), only_changes_display("category", ["book", "film"])
    (False, False)
    """
    word = names.plain(name)
    selecting = [value for value in values if value.lower() not in ANY_VALUES]
    if names.SORT.fullmatch(word) or names.DISPLAY.fullmatch(word) or word in LANGUAGE_NAMES:
        return True
    if names.PAGE.fullmatch(word) or names.PAGE_SIZE.fullmatch(word):
        return all(value.isdecimal() for value in selecting)
    return bool(names.MAYBE_SORT.fullmatch(word)) and all(names.SORT_CODE.fullmatch(value) for value in selecting)


def _have_same_records(
    trials: Trials, interface: SearchInterface, other: SearchInterface, known_items: frozenset[str]
) -> Steps[bool]:
    """Whether two settings show the same for an empty query: then they choose what is searched in a record, not which records."""
    shown = []
    for each in (interface, other):
        answer = yield from trials.ask(each, "")
        items = items_of_response(answer) if answer is not None and answer.status < 400 else frozenset()
        shown.append(without_query(items) - known_items)
    return len(shown[0] & shown[1]) * 2 > max(map(len, shown)) > 2
