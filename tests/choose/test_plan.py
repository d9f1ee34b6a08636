"""The plan of a harvest."""

import ast
import inspect
import pickle
from dataclasses import fields, replace
from itertools import pairwise

import pytest

from upwell.choose.plan import Plan
from upwell.errors import WrongUsage

URL = "https://example.org/search?q={query}"


def test_the_former_name_of_the_search_interface_is_accepted() -> None:
    with pytest.warns(DeprecationWarning, match="search_interface"):
        plan = Plan(template=URL, budget=5)  # type: ignore[call-arg] # accepted at run time for one release
    assert plan == Plan(search_interface=URL, budget=5)
    with pytest.warns(DeprecationWarning, match="search_interface"):
        assert plan.template == URL
    assert replace(plan, search_interface="").search_interface == ""
    assert pickle.loads(pickle.dumps(plan)) == plan  # noqa: S301 # our own bytes


@pytest.mark.parametrize("wrong", [{"budget": 0}, {"seconds": -1.0}, {"coverage": 1.5}, {"goal": "some"}])
def test_invalid_values_are_rejected(wrong: dict[str, object]) -> None:
    (name,) = wrong
    with pytest.raises(WrongUsage, match=name):
        Plan(**wrong)  # type: ignore[arg-type] # invalid on purpose


def test_every_field_has_a_docstring() -> None:
    (definition,) = ast.parse(inspect.getsource(Plan)).body
    assert isinstance(definition, ast.ClassDef)
    documented = {
        field.target.id
        for field, text in pairwise(definition.body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
    }
    assert documented == {field.name for field in fields(Plan)}
