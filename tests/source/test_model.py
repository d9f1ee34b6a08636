"""Saving the source model as `source.json`, and loading it."""

import json

import pytest

from tests.records.shapes import SHAPES, page, things
from upwell.errors import WrongUsage
from upwell.source.apply import apply
from upwell.source.learn import learn_source
from upwell.source.model import VERSION, interface_entry, load, load_all
from upwell.types import FormInterface, interface_of


@pytest.mark.parametrize("shape", SHAPES)
def test_a_saved_model_reads_later_answers(shape: str) -> None:
    """A loaded model reads a further answer, and an answer with a single record."""
    model = learn_source([page(shape, things(first)) for first in (0, 4, 8)])
    again = load(model.to_json())
    assert again == model
    assert len(model.to_json()) < 5000
    for shown in (things(2, 5), things(6, 1)):
        reading = apply(again, page(shape, shown))
        assert [record.text for record in reading.records] == [f"{title} {text}" for _, title, text in shown]
        assert reading.kind == "multi"


def test_invalid_files_are_rejected() -> None:
    """The message names the remedy: other versions, no source, several sources, missing keys."""
    for text in (
        "[]",
        "no json",
        "{}",
        json.dumps({"version": VERSION}),
        json.dumps([{"version": VERSION, "rules": 3}]),
    ):
        with pytest.raises(WrongUsage):
            load(text)
    with pytest.raises(WrongUsage, match=f"version 1.*{VERSION}"):
        load(json.dumps({"version": 1}))
    model = learn_source([page("list", things())])
    two = f"[{model.to_json()}, {model.to_json()}]"
    assert load_all(two) == (model, model)
    with pytest.raises(WrongUsage, match="2 sources"):
        load(two)


def test_the_search_interface_is_read_under_its_old_key() -> None:
    """Files of Upwell 0.2 call the search interface `template`."""
    interface = FormInterface(method="GET", url="http://x/find", query_field="q", fields=(("q", ""),))
    model = json.loads(learn_source([page("list", things())]).to_json())
    for key in ("search_interface", "template"):
        saved = json.loads(json.dumps({**model, key: interface.as_dict()}))
        entry = interface_entry(saved)
        assert entry is not None
        assert interface_of(entry) == interface
        assert load(json.dumps(saved)).leader
    assert interface_entry(model) is None
