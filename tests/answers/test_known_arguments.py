"""Roles of the arguments of well-known search applications that are not in the labelled corpora."""

import pytest

from upwell.answers.argument_roles import learn_roles
from upwell.page.tree import read

WORDS = ("cat", "dog", "cow", "hen", "pig", "fox", "owl", "bee")
IRRELEVANT = ("page", "sort", "display", "tracking", "session")
# Markup of an answer (WORD: the query, TOK: a token of the answer), its URL, and the roles of its arguments.
APPLICATIONS: dict[str, tuple[str, str, dict[str, str]]] = {
    "vufind": (
        """<form><input name=lookfor value=WORD><select name=type><option value=AllFields><option value=Title></select></form>
<a href="?lookfor=WORD&type=AllFields&view=list">x</a><a href="?lookfor=WORD&type=AllFields&view=grid">x</a>
<form><select name=sort><option value=relevance><option value=year></select><select name=limit><option>20<option>40</select>
<input type=hidden name=lookfor value=WORD></form>
<a href='?lookfor=WORD&type=AllFields&filter[]=format:"Book"'>Book</a> 12
<a href='?lookfor=WORD&type=AllFields&filter[]=format:"Map"'>Map</a> 3
<b>1</b> <a href="?lookfor=WORD&type=AllFields&page=2">2</a> <a href="?lookfor=WORD&type=AllFields&page=3">3</a>""",
        "http://h/Search/Results?lookfor=WORD&type=AllFields",
        dict(type="filter", view="display", sort="sort", limit="display", **{"filter[]": "filter"}, page="page"),
    ),
    "phpbb": (
        """<form><input name=keywords value=WORD><input type=radio name=terms value=all checked><input type=radio name=terms value=any>
<input name=author><select name=sk><option value=a><option value=t></select><input type=radio name=sd value=a>
<input type=radio name=sd value=d><select name=st><option value=0>All<option value=7>week</select>
<input type=submit name=submit value=Search></form>
<a href="search.php?keywords=WORD&start=10&sid=TOK">Next</a> <a href="viewtopic.php?t=3&hilit=WORD&sid=TOK">x</a>""",
        "http://h/search.php?keywords=WORD",
        {
            "terms": "filter",
            "author": "filter",
            "sk": "sort",
            "sd": "sort",
            "st": "filter",
            "submit": "tracking",
            "start": "page",
            "sid": "session",
            "hilit": "tracking",
        },
    ),
    "redmine": (
        """<form><input name=q value=WORD><input name=utf8 type=hidden value=✓><input type=checkbox name=issues value=1><select name=scope>
<option value=all><option value=my></select><input type=submit name=commit value=Go></form>
<a href="?q=WORD&utf8=✓&issues=1&scope=all&page=2">Next »</a>
<a href="?q=WORD&utf8=✓&issues=1&scope=all&per_page=50">50</a>""",
        "http://h/search?q=WORD&scope=all",
        {
            "utf8": "display",
            "issues": "filter",
            "scope": "filter",
            "commit": "tracking",
            "page": "page",
            "per_page": "display",
        },
    ),
    "cgit": (
        """<form><input type=hidden name=qt value=grep><select name=qt><option value=grep><option value=author></select>
<input name=q value=WORD></form><a href="?qt=grep&q=WORD&ofs=50">[next]</a><a href="?qt=grep&q=WORD&showmsg=1">Expand</a>""",
        "http://h/log/?qt=grep&q=WORD",
        {"qt": "filter", "ofs": "page", "showmsg": "display"},
    ),
    "drupal": (
        """<form method=post><input name=keys value=WORD><input type=hidden name=form_build_id value=form-TOK>
<input type=hidden name=form_id value=search_form><input type=submit name=op value=Search></form>
<a href="/search/node?keys=WORD&page=1">next ›</a>
<a href="/search/node?keys=WORD&f[0]=type:story">Story</a> (4)
<a href="/search/node?keys=WORD&f[0]=type:blog">Blog</a> (9)""",
        "http://h/search/node?keys=WORD",
        {"form_build_id": "session", "form_id": "session", "op": "tracking", "page": "page", "f[0]": "filter"},
    ),
    "magento": (
        """<a href="?q=WORD&product_list_order=name">Name</a><a href="?q=WORD&product_list_order=price">Price</a>
<a href="?q=WORD&product_list_dir=desc">v</a><a href="?q=WORD&product_list_mode=list">l</a><a href="?q=WORD&product_list_limit=24">24</a>
<a href="?q=WORD&cat=7">Shoes</a> (3) <a href="?q=WORD&cat=9">Hats</a> (3)
<strong>1</strong> <a href="?q=WORD&p=2">2</a> <a href="?q=WORD&p=3">3</a> <a href="?q=WORD&p=2">Next</a>""",
        "http://h/s?q=WORD",
        {
            "product_list_order": "sort",
            "product_list_dir": "sort",
            "product_list_mode": "display",
            "product_list_limit": "display",
            "cat": "filter",
            "p": "page",
        },
    ),
    "roundup": (
        """<a
href="issue?@search_text=WORD&@sort=-activity&@group=priority&@columns=id,title&@pagesize=50&@startwith=50&@filter=status&status=1,2">next &gt;&gt;</a>
<a href="issue?@search_text=WORD&@sort=title&@columns=id,title&@pagesize=50&@startwith=0&@filter=status&status=1,2">Title</a>""",
        "http://h/issue?@search_text=WORD",
        {"@sort": "sort", "@columns": "display", "@pagesize": "display", "@startwith": "page", "status": "filter"},
    ),
    "koha": (
        """<form><input name=q value=WORD><select name=idx><option value=kw><option value=ti></select>
<input type=submit name=do value=Search></form><a href="?q=WORD&idx=kw&sort_by=relevance_dsc&offset=20&count=20">Next</a>
<a href="?q=WORD&idx=kw&limit=su-to:Maps">Maps</a> (2) <a href="?q=WORD&idx=kw&limit=su-to:Art">Art</a> (2)""",
        "http://h/s?idx=kw&q=WORD",
        {"idx": "filter", "sort_by": "sort", "offset": "page", "count": "display", "limit": "filter"},
    ),
    "searx": (
        """<form><input name=q value=WORD><input type=checkbox name=category_general value=1><select name=time_range><option value="">
<option value=day></select><select name=language><option value=all><option value=en></select><select name=safesearch><option value=0>
<option value=1></select><input type=hidden name=theme value=simple></form><form><input type=hidden name=q value=WORD>
<input type=hidden name=pageno value=2><input type=hidden name=theme value=simple><button>Next page</button></form>""",
        "http://h/search?q=WORD",
        {
            "category_general": "filter",
            "time_range": "filter",
            "language": "filter",
            "safesearch": "filter",
            "theme": "display",
            "pageno": "page",
        },
    ),
    "moin": (
        """<a href="?action=fullsearch&value=WORD&context=180&from=10">Next</a><a href="/Page?highlight=WORD">x</a><form>
<input type=hidden name=action value=fullsearch><input type=hidden name=context value=180><input name=value value=WORD>
<input type=submit name=fullsearch value=Text><input type=submit name=titlesearch value=Titles></form>""",
        "http://h/Front?action=fullsearch&context=180&value=WORD",
        {"context": "display", "highlight": "tracking", "fullsearch": "tracking"},
    ),
    "joomla": (
        """<form><input name=searchword value=WORD><input type=radio name=searchphrase value=all>
<input type=radio name=searchphrase value=any><select name=ordering><option value=newest><option value=oldest></select>
<input type=hidden name=task value=search></form><a href="?searchword=WORD&searchphrase=all&limit=20&limitstart=20">Next</a>""",
        "http://h/s?searchword=WORD",
        {"searchphrase": "filter", "ordering": "sort", "limit": "display", "limitstart": "page"},
    ),
    "jobs": (
        """<a href="/jobs/WORD/page/2">2</a><b>1</b><a href="/jobs/WORD/page/3">3</a><a href="/jobs/WORD/sort/date">Date</a>
<a href="/jobs/WORD/city/berlin">Berlin</a> (4)""",
        "http://h/jobs/WORD",
        {"/page": "page", "/sort": "sort", "/city": "filter"},
    ),
}


@pytest.mark.parametrize("name", APPLICATIONS)
def test_arguments_of_known_applications(name: str) -> None:
    """Exactly the irrelevant arguments are recognised as irrelevant."""
    markup, url, expected = APPLICATIONS[name]
    answers = [
        read(markup.replace("WORD", word).replace("TOK", f"{i * 7919 + 99991:010x}"), url=url.replace("WORD", word))
        for i, word in enumerate(WORDS)
    ]
    roles = learn_roles(answers, WORDS)
    assert {argument: roles.arguments[argument].irrelevant for argument in expected} == {
        argument: role in IRRELEVANT for argument, role in expected.items()
    }
