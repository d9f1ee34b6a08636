"""Columns of pictures, downloads and links to other sites on record pages."""

from upwell.page.tree import TagTree, read
from upwell.records.entity_model import learn_url_columns, read_url_columns


def page(i: int, extra: str = "") -> TagTree:
    html = f"""<html><body><img class=logo src=/logo.png><a href=http://help.example/>Help</a>
    <div class=thing><h1>Thing {i}</h1><img class=cover src=/covers/{i}.jpg><a class=home href=http://maker{i}.example/>Homepage</a>
    <a href=/files/{i}.pdf>PDF</a> <a href=/author/{i}>Author {i}</a> <a href=/thing/{i}/delete>Delete</a>
    <a href="http://share.example/?u=http%3A%2F%2Fx.example%2Fthing%2F{i}">Share</a>{extra}</div></body></html>"""
    return read(html, url=f"http://x.example/thing/{i}")


def test_urls_that_differ_between_pages_are_columns() -> None:
    """Named by the text of the link, if it is the same on all pages; links to pages of the site are not columns."""
    columns = learn_url_columns([page(i) for i in range(6)])
    assert read_url_columns(columns, page(9)) == {
        "image": "http://x.example/covers/9.jpg",
        "homepage": "http://maker9.example/",
        "pdf": "http://x.example/files/9.pdf",
    }


def test_several_pictures_are_a_list() -> None:
    gallery = [page(i, f"<p><img src=/a{i}.jpg><img src=/b{i}.jpg></p>") for i in range(6)]
    urls = read_url_columns(learn_url_columns(gallery), gallery[2])
    assert ["http://x.example/a2.jpg", "http://x.example/b2.jpg"] in urls.values()


def test_a_name_that_another_column_has_gets_a_number() -> None:
    assert learn_url_columns([page(i) for i in range(3)], ["image"])[0].name == "image_2"
