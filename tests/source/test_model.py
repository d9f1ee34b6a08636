"""The source model as `source.json`."""

import json

import pytest

from tests.extract.shapes import SHAPES, page, things
from upwell.errors import WrongUsage
from upwell.source.apply import apply
from upwell.source.learn import learn_source
from upwell.source.model import VERSION, load, load_all


@pytest.mark.parametrize("shape", SHAPES)
def test_a_model_goes_through_json_and_reads_later_answers(shape: str) -> None:
    """Learned from three answers, saved, loaded: a fourth answer and one with a single record are read the same way."""
    model = learn_source([page(shape, things(first)) for first in (0, 4, 8)])
    again = load(model.to_json())
    assert again == model
    assert len(model.to_json()) < 5000
    for found in (things(2, 5), things(6, 1)):
        reading = apply(again, page(shape, found))
        assert [record.text for record in reading.records] == [f"{title} {text}" for _, title, text in found]
        assert reading.kind == "multi"


def test_files_that_are_no_model_are_refused() -> None:
    """The message says what to do: another version, no source, several sources where one is wanted, a part that is missing."""
    for text in (
        "[]",
        "no json",
        "{}",
        json.dumps({"version": VERSION}),
        json.dumps([{"version": VERSION, "rules": 3}]),
    ):
        with pytest.raises(WrongUsage, match="learn the source again"):
            load(text)
    with pytest.raises(WrongUsage, match=f"version 1, this Upwell reads {VERSION}; learn the source again"):
        load(json.dumps({"version": 1}))
    model = learn_source([page("list", things())])
    two = f"[{model.to_json()}, {model.to_json()}]"
    assert load_all(two) == (model, model)
    with pytest.raises(WrongUsage, match="2 sources"):
        load(two)
