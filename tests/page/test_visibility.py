"""Elements hidden by the style sheets of the page have no visible text."""

import pytest

from upwell.page.tree import read

BODY = "<p>A long text that everybody who opens the page can read at once.</p><p class='x open' id='i'>secret</p>"


def text(style: str, body: str = BODY) -> str:
    return " ".join(read(f"<html><head>{style}</head><body>{body}</body></html>".encode()).chunks)


@pytest.mark.parametrize(
    "style",
    [
        "<style>.x{display:none}</style>",
        "<STYLE type='text/css'>\n/* p { } */ b, P.x { color: red; Display : none !important }</STYLE>",
        "<style>#i{visibility:hidden}</style>",
        "<style media='screen'><!-- .y{} .x.open{display:none} --></style>",
        "<style>@media print{.z{color:red}} .x{display:none}</style>",
        "<style>#i{display:none} .x{display:block}</style>",
        "<style>.x{display:block}</style><style>.open{display:none}</style>",
    ],
)
def test_a_rule_for_a_class_or_id_hides_elements(style: str) -> None:
    assert "secret" not in text(style)


@pytest.mark.parametrize(
    "style",
    [
        "<style media='print'>.x{display:none}</style>",
        "<style>@media print{.x{display:none}}</style>",
        "<style>.a .x{display:none} .x:hover{display:none} .x+p{display:none}</style>",
        "<style>.x{display:none} .x.open{display:block}</style>",
        "<style>.x{display:none} .open{display:block}</style>",
        "<style>.xy{display:none} p{display:none}</style>",
        "<style>/* .x{display:none} */</style>",
        "<style>.x{display:none",
    ],
)
def test_other_rules_hide_nothing(style: str) -> None:
    """Rules for other media, with other selectors, or overridden."""
    body = BODY if "</style>" in style else "</style>" + BODY
    assert "secret" in text(style, body)


def test_a_page_that_is_hidden_until_its_script_runs_is_read() -> None:
    """If nearly everything is hidden, a script shows it."""
    assert "everybody" in text("<style>#all{display:none}</style>", f"<div id=all>{BODY}</div>")


def test_a_style_attribute_overrides_a_rule() -> None:
    """Such as that of an element that a script has opened."""
    body = BODY.replace("id='i'", "id='i' style='display:block'")
    assert "secret" in text("<style>.x{display:none}</style>", body)
