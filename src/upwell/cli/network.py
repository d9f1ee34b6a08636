"""The options of all verbs that fetch, as one argument: a verb that takes `manners` gets them on the command line."""

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from upwell import options
from upwell.net.manners import Manners

__all__ = ["OPTIONS", "manners_of", "takes_manners"]

# name → type with its help, and default
OPTIONS: dict[str, tuple[Any, Any]] = {
    "rate": (options.Rate, 1.0),
    "contact": (options.Contact, ""),
    "ignore_robots": (options.IgnoreRobots, False),
}


def takes_manners(verb: Callable[..., None]) -> Callable[..., None]:
    """Puts the options that make up `manners` in its place among the options of a verb."""
    own = inspect.signature(verb).parameters.values()
    parameters = []
    for parameter in own:
        if parameter.name == "manners":
            parameters += [
                inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=annotation)
                for name, (annotation, default) in OPTIONS.items()
            ]
        else:
            parameters.append(parameter)

    @wraps(verb)
    def command(**values: Any) -> None:
        manners = manners_of({name: values.pop(name) for name in OPTIONS})
        verb(**values, manners=manners)

    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined] # what Typer reads
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def manners_of(values: Mapping[str, Any]) -> Manners:
    """The manners that the options ask for."""
    return Manners(rate=values["rate"], contact=values["contact"], ignore_robots=values["ignore_robots"])
