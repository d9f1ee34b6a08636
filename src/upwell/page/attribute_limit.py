"""Tags with thousands of attributes are cut before the parser sees them: it compares each attribute of a tag with all before it."""

import re

from upwell.page.compiled import compiled

__all__ = ["MAX_ATTRIBUTES", "cut_attributes"]

MAX_ATTRIBUTES = 1000  # of a tag: written pages have at most a few dozen; 1,000 cost the parser 4 ms
LONG_TAG_BYTES = 2 * MAX_ATTRIBUTES  # a tag with more attributes is at least so long
# A tag up to its end; quotes count only after an equals sign, as in the HTML standard. It never goes back, so it is linear.
TAG = re.compile(rb"""<!--|<[a-zA-Z](?:[^>=]++|=\s*+(?:"[^"]*+"|'[^']*+')?+)*+""")
RAW = re.compile(
    rb"<(script|style|textarea|title|xmp|iframe|noembed|noframes)(?![^\s/>])", re.I
)  # whose text has no tags
ATTRIBUTE = re.compile(rb"""[\s/]++[^\s/>=]++(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s>]*+))?+""")


def cut_attributes(html: bytes) -> tuple[bytes, int]:
    """The page with at most so many attributes in each tag, and how many tags were cut.

    >>> page, cut = cut_attributes(b"<p id=a>x</p><div " + b" ".join(b"a%d='>'" % i for i in range(5000)) + b">y</div>")
    >>> cut, page.count(b"="), page[-8:]
    (1, 1001, b'>y</div>')
    >>> cut_attributes(b"<script>if (a<b) { " + b"x y " * 5000 + b"}</script>")[1]
    0
    """
    if compiled is not None and not compiled.has_crowded_tag(html, MAX_ATTRIBUTES):
        return html, 0
    return _cut(html)


def _cut(html: bytes) -> tuple[bytes, int]:
    pieces: list[bytes] = []
    done = cut = position = 0
    while (tag := TAG.search(html, position)) is not None:
        position = _end_of_text(html, tag)
        if tag.end() - tag.start() < LONG_TAG_BYTES:
            continue
        for number, attribute in enumerate(ATTRIBUTE.finditer(html, tag.start(), tag.end()), 1):
            if number == MAX_ATTRIBUTES:
                pieces.append(html[done : attribute.end()])
                done = tag.end()
                cut += 1
                break
    return (b"".join([*pieces, html[done:]]) if cut else html), cut


def _end_of_text(html: bytes, tag: re.Match[bytes]) -> int:
    """Where the next tag may begin: behind a comment, and behind the text of a script and the like."""
    if tag[0] == b"<!--":
        end = html.find(b"-->", tag.end())
        return len(html) if end < 0 else end
    raw = RAW.match(tag[0])
    if raw is None:
        return tag.end()
    closing = re.compile(rb"</" + raw[1], re.I).search(html, tag.end())
    return closing.start() if closing else len(html)
