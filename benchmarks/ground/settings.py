"""The grid of simulated sources: properties of real sources, changed one at a time and in common combinations."""

from benchmarks.ground.source import Setting

__all__ = ["GATE", "SETTINGS"]


def _grid() -> list[Setting]:
    broad = [
        Setting(name="all", nothing="all"),
        Setting(name="all-star", star="all"),
        Setting(name="all-star-only-letters3", star="all", min_letters=3, nothing="error"),
        Setting(name="all-about", nothing="all", totals="about"),
        Setting(name="all-rounded", nothing="all", totals="rounded"),
        Setting(name="all-silent", nothing="all", totals="none"),
        Setting(name="all-wrong", nothing="all", totals="wrong"),
        Setting(name="all-date", nothing="all", order="date"),
        Setting(name="all-silent-date", nothing="all", totals="none", order="date"),
        Setting(name="all-title", nothing="all", shows="title"),
        Setting(name="all-silent-title", nothing="all", shows="title", totals="none"),
        Setting(name="all-star-silent-number", star="all", totals="none", order="number"),
        Setting(name="all-page10", nothing="all", page=10),
        Setting(name="all-page50", nothing="all", page=50),
        Setting(name="all-offered", nothing="all", page=10, offered=50),
        Setting(name="all-fails", nothing="all", failures=0.05),
        Setting(name="all-duplicates", nothing="all", duplicates=0.05),
        Setting(name="all-silent-facets", nothing="all", totals="none", facets=True, orders=True),
    ]
    words = [
        Setting(name="words"),
        Setting(name="words-stops", stops=True),
        Setting(name="words-letters3", min_letters=3),
        Setting(name="words-any", match="any"),
        Setting(name="words-any-silent", match="any", totals="none"),
        Setting(name="words-prefix", match="prefix"),
        Setting(name="words-prefix-letters3", match="prefix", min_letters=3, stops=True),
        Setting(name="words-part", match="part", totals="none"),
        Setting(name="words-part-title", match="part", shows="title"),
        Setting(name="words-stem", match="stem", stops=True),
        Setting(name="words-silent", totals="none"),
        Setting(name="words-silent-stops", totals="none", stops=True),
        Setting(name="words-about", totals="about"),
        Setting(name="words-rounded-stops", totals="rounded", stops=True),
        Setting(name="words-wrong", totals="wrong"),
        Setting(name="words-wrong-stops", totals="wrong", stops=True),
        Setting(name="words-shown", searches="shown", shows="title", stops=True),
        Setting(name="words-shown-silent", searches="shown", shows="snippet", totals="none", stops=True),
        Setting(name="words-title", shows="title", stops=True),
        Setting(name="words-snippet-date", shows="snippet", order="date", stops=True),
        Setting(name="words-silent-popularity", totals="none", order="popularity", stops=True),
        Setting(name="words-page10", page=10, stops=True),
        Setting(name="words-page100", page=100, stops=True),
        Setting(name="words-fails", failures=0.05, stops=True),
    ]
    capped = [
        Setting(name="cap50", cap=50, page=10),
        Setting(name="cap100", cap=100),
        Setting(name="cap200", cap=200),
        Setting(name="cap200-all", cap=200, nothing="all"),
        Setting(name="cap500", cap=500),
        Setting(name="cap1000", cap=1000, nothing="all"),
        Setting(name="cap200-date", cap=200, order="date", stops=True),
        Setting(name="cap200-popularity", cap=200, order="popularity"),
        Setting(name="cap200-facets", cap=200, facets=True, nothing="all"),
        Setting(name="cap200-facets-date", cap=200, facets=True, order="date", counts=False),
        Setting(name="cap200-orders", cap=200, orders=True, order="number"),
        Setting(name="cap200-any", cap=200, match="any"),
        Setting(name="cap200-prefix", cap=200, match="prefix"),
        Setting(name="cap200-stem", cap=200, match="stem", stops=True),
        Setting(name="cap200-title", cap=200, shows="title"),
        Setting(name="cap200-snippet-date", cap=200, shows="snippet", order="date", stops=True),
        Setting(name="cap200-about", cap=200, totals="about"),
        Setting(name="cap200-capped", cap=200, totals="capped"),
        Setting(name="cap200-silent", cap=200, totals="none"),
        Setting(name="cap200-silent-date", cap=200, totals="none", order="date", stops=True),
        Setting(name="cap200-silent-facets", cap=200, totals="none", facets=True, nothing="all"),
        Setting(name="cap50-silent", cap=50, totals="none", page=50, pager=False),
        Setting(name="cap100-silent-title", cap=100, totals="none", shows="title", stops=True),
        Setting(name="cap1000-silent", cap=1000, totals="none", stops=True),
        Setting(name="cap200-form", cap=200, form="filters", nothing="all"),
        Setting(name="cap200-form-silent", cap=200, form="filters", nothing="none", totals="none"),
        Setting(name="cap200-wrong", cap=200, totals="wrong"),
        Setting(name="cap200-fails", cap=200, failures=0.05),
        Setting(name="cap200-duplicates", cap=200, duplicates=0.05),
    ]
    return broad + words + capped


SETTINGS: dict[str, Setting] = {setting.name: setting for setting in _grid()}
# Settings of the quality gate: one or two of each class.
GATE = (
    "all",
    "all-silent-title",
    "words-stops",
    "words-silent",
    "words-any",
    "cap200",
    "cap200-facets",
    "cap200-silent-date",
)
