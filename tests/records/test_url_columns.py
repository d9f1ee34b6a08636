"""Pictures, downloads and links to other sites of record pages."""

from upwell.page.tree import TagTree, read
from upwell.records.entity_model import learn_url_columns, read_url_columns


def page(i: int, extra: str = "") -> TagTree:
    html = f"""<html><body><img class=logo src=/logo.png><a href=http://help.example/>Help</a>
    <div class=thing><h1>Thing {i}</h1><img class=cover src=/covers/{i}.jpg><a class=home href=http://maker{i}.example/>Homepage</a>
    <a href=/files/{i}.pdf>PDF</a> <a href=/author/{i}>Author {i}</a> <a href=/thing/{i}/delete>Delete</a>
    <a href="http://share.example/?u=http%3A%2F%2Fx.example%2Fthing%2F{i}">Share</a>{extra}</div></body></html>"""
    return read(html, url=f"http://x.example/thing/{i}")


def test_what_differs_from_page_to_page_is_a_column() -> None:
    """Named by the link's own text where it has one; the logo and the help are of no record, and pages of the site are texts."""
    columns = learn_url_columns([page(i) for i in range(6)])
    assert read_url_columns(columns, page(9)) == {
        "image": "http://x.example/covers/9.jpg",
        "homepage": "http://maker9.example/",
        "pdf": "http://x.example/files/9.pdf",
    }


def test_several_pictures_are_a_list() -> None:
    """A gallery of each record."""
    gallery = [page(i, f"<p><img src=/a{i}.jpg><img src=/b{i}.jpg></p>") for i in range(6)]
    found = read_url_columns(learn_url_columns(gallery), gallery[2])
    assert ["http://x.example/a2.jpg", "http://x.example/b2.jpg"] in found.values()


def test_names_that_are_taken() -> None:
    """A column of texts keeps its name."""
    assert learn_url_columns([page(i) for i in range(3)], ["image"])[0].name == "image_2"
