"""Shape of the final table: constants removed, labels cut off, equal facts merged, edits kept."""

from typing import Any

from upwell.table.schema import (
    PAGE_PREFIX,
    FieldOrigin,
    TableColumn,
    columns_from_json,
    columns_to_json,
    infer_columns,
    shape_rows,
)

CITIES = ["Lima", "Oslo", "Kyoto", "Quito", "Perth", "Turin", "Izmir"]


def table(rows: list[dict[str, Any]], **how: Any) -> tuple[list[TableColumn], list[dict[str, Any]]]:
    columns = infer_columns(rows, **how)
    return columns, list(shape_rows(rows, columns))


def test_constants_are_removed_and_labels_cut_off() -> None:
    """A text in all rows is not data; a label before the values names a column that has no name."""
    rows = [
        {"_key": c, "name": c, "li_p": "· Population:", "li_p2": f"Founded in: {1500 + i}"}
        for i, c in enumerate(CITIES)
    ]
    columns, tidy = table(rows)
    assert [column.name for column in columns] == ["name", "founded_in"]
    assert [row["founded_in"] for row in tidy] == [str(1500 + i) for i in range(7)]
    assert columns[1].type == "integer"


def test_a_prefix_of_few_texts_is_kept() -> None:
    rows = [{"name": f"New {c}"} for c in CITIES]
    assert [row["name"] for row in table(rows)[1]] == [f"New {c}" for c in CITIES]


def test_equal_facts_of_list_and_record_page_are_one_column() -> None:
    """The full text of the page replaces the truncated one of the list; other columns of the page are added."""
    whole = [f"{c} is a city with a long description number {i}" for i, c in enumerate(CITIES)]
    rows = [
        {"title": f"{text[:30]}…", PAGE_PREFIX + "headline": text, PAGE_PREFIX + "mayor": f"M. {i}"}
        for i, text in enumerate(whole)
    ]
    columns, tidy = table(rows)
    assert [(column.name, column.of) for column in columns] == [
        ("title", ("title", "page.headline")),
        ("mayor", ("page.mayor",)),
    ]
    assert [row["title"] for row in tidy] == whole


def test_rare_columns_are_moved_to_other() -> None:
    rows = [{"_key": str(i), "n": str(i), **({"odd": f"x{i}"} if i % 50 == 0 else {})} for i in range(100)]
    columns, tidy = table(rows)
    assert [column.name for column in columns] == ["n"]
    assert [row["_other"] for row in tidy if row["_other"]] == ["odd: x0", "odd: x50"]


def test_edits_in_source_json_are_kept() -> None:
    """A name, a drop and a pin written by a user apply to the next table."""
    rows = [{"_key": c, "name": c, "n": str(i), "same": "x"} for i, c in enumerate(CITIES)]
    saved = columns_to_json(infer_columns(rows))
    saved[0]["name"], saved[1]["drop"] = "city", True
    edited = columns_from_json([*saved, {"name": "kind", "of": ["same"], "pin": True}])
    columns, tidy = table(rows, earlier=edited)
    assert [column.name for column in columns] == ["city", "n", "kind"]
    assert tidy[0] == {"_key": "Lima", "city": "Lima", "kind": "x"}


def test_columns_with_several_texts_are_lists() -> None:
    rows = [{"tags": "red; green"}, {"tags": "blue"}]
    assert [row["tags"] for row in table(rows, lists=["tags"])[1]] == [["red", "green"], ["blue"]]


def test_texts_with_common_phrases_are_split_into_columns() -> None:
    """The text after a phrase that all texts have is a column; a phrase may be missing."""
    rows = [
        {
            "about": f"Kept by person{i}; section s{i % 4};{f' homepage http://h{i}/;' if i % 3 else ''} installed size {i} kB."
        }
        for i in range(40)
    ]
    columns, tidy = table(rows)
    assert [column.name for column in columns] == ["about", "section", "homepage", "installed_size_kb"]
    assert tidy[7] == {"about": "person7", "section": "s3", "homepage": "http://h7/", "installed_size_kb": "7 kB"}
    assert tidy[9]["homepage"] is None


def test_prose_is_not_split() -> None:
    rows = [{"about": f"The {c} region has a river and the town of {c}ville, which is old."} for c in CITIES]
    assert len(table(rows)[0]) == 1


def test_a_field_at_one_of_two_places_is_one_column() -> None:
    """A title may be a link or not: one column; two fields that some records lack remain two."""
    turns = [{"t": f"T{i}"} if i % 3 else {"t_2": f"T{i}"} for i in range(40)] + [{"t": "both", "t_2": "both"}]
    assert [(column.name, column.of) for column in infer_columns(turns)] == [("t", ("t_2", "t"))]
    apart = [{"t": f"T{i}", **({"t_2": f"U{i}"} if i % 3 else {})} for i in range(40)]
    assert [column.of for column in infer_columns(apart)] == [("t",), ("t_2",)]


def test_an_unnamed_distinguishing_column_is_the_title() -> None:
    """A class that two columns share names neither; a name given by the site stays."""
    rows = [{"list": f"by {i % 3}", "list_2": f"Fix {i} of them"} for i in range(30)]
    assert [column.name for column in infer_columns(rows)] == ["title", "list"]
    rows = [{"page_title": f"T{i}", "by": f"by {i % 3}", "by_2": f"Fix {i} of them"} for i in range(30)]
    assert [column.name for column in infer_columns(rows)] == ["page_title", "by", "by_2"]
    rows = [{"author": f"by {i % 3}", "subject": f"Fix {i} of them"} for i in range(30)]
    assert [column.name for column in infer_columns(rows)] == ["author", "subject"]


def test_a_label_of_the_record_page_replaces_a_class_of_the_list() -> None:
    """But not a title, and not a name that is part of the label."""
    rows = [
        {
            "name": c, "fact_value": f"{i}00", "also": f"x{i}", PAGE_PREFIX + "heading": c, PAGE_PREFIX + "population": f"{i}00",
            PAGE_PREFIX + "also_called": f"x{i}",
        }
        for i, c in enumerate(CITIES)
    ]  # fmt: skip
    origins = {PAGE_PREFIX + name: FieldOrigin("label") for name in ("heading", "population", "also_called")}
    assert [column.name for column in infer_columns(rows, origins=origins)] == ["name", "population", "also"]


def test_a_constant_fact_is_a_column() -> None:
    """It varied when the source was learned, or has a label; other constants are furniture."""
    rows = [{"name": c, "country": "Peru", "by": "Read more"} for c in CITIES]
    assert [column.name for column in infer_columns(rows)] == ["name"]
    origins = {"country": FieldOrigin("class", is_fact=True), "by": FieldOrigin("class")}
    assert [column.name for column in infer_columns(rows, origins=origins)] == ["name", "country"]


def test_columns_that_are_the_same_without_their_units_are_one() -> None:
    rows = [{"name": c, "td6": f"{i + 1}0", PAGE_PREFIX + "size": f"{i + 1}0 bytes"} for i, c in enumerate(CITIES)]
    columns, tidy = table(rows)
    assert [(column.name, column.of) for column in columns] == [("name", ("name",)), ("size_bytes", ("td6",))]
    assert tidy[2]["size_bytes"] == "30"


def test_paragraphs_of_a_text_are_part_of_it() -> None:
    """The longer text is kept, under the better name."""
    first = [
        f"{c} lies at the river number {i}, and has been there for many hundreds of years."
        for i, c in enumerate(CITIES)
    ]
    whole = [f"{text} Nobody knows how it was called before that time." for text in first]
    rows = [
        {"name": c, PAGE_PREFIX + "description": part, PAGE_PREFIX + "text": text}
        for c, part, text in zip(CITIES, first, whole, strict=True)
    ]
    columns, tidy = table(rows)
    assert [column.name for column in columns] == ["name", "description"]
    assert [row["description"] for row in tidy] == whole


def test_sentences_keep_their_common_words() -> None:
    """Neither is their beginning a label, nor are they split at words that all of them have."""
    rows = [
        {
            "name": f"n{i}",
            "text": f"The company Smith{i} looks for help in Town{i}. We offer {i} days of holidays and a good team of people.",
        }
        for i in range(30)
    ]
    columns, tidy = table(rows)
    assert [column.name for column in columns] == ["name", "text"]
    assert tidy[3]["text"] == rows[3]["text"]


def test_the_common_beginning_of_labelled_values_is_kept() -> None:
    """Without a label it may be one."""
    rows = [{"name": f"n{i}", PAGE_PREFIX + "call_number": f"GB {'abcdefghij'[i % 10]}{i}x"} for i in range(30)]
    origins = {PAGE_PREFIX + "call_number": FieldOrigin("label")}
    columns = infer_columns(rows, origins=origins)
    assert list(shape_rows(rows, columns))[3]["call_number"] == "GB d3x"
    assert list(shape_rows(rows, infer_columns(rows)))[3]["call_number"] == "d3x"
