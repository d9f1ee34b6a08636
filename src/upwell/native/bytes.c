#include "native.h"

/* UTF-8 as Python decodes it: no surrogates, no overlong forms, nothing beyond U+10FFFF. */
PyObject *native_is_utf8(PyObject *module, PyObject *argument) {
    (void)module;
    if (!PyBytes_Check(argument)) { PyErr_SetString(PyExc_TypeError, "is_utf8 takes bytes"); return NULL; }
    const unsigned char *at = (const unsigned char *)PyBytes_AS_STRING(argument), *end = at + PyBytes_GET_SIZE(argument);
    while (at < end) {
        uint64_t word;
        while (end - at >= 8 && (memcpy(&word, at, 8), !(word & 0x8080808080808080ull))) at += 8;
        if (at == end) break;
        unsigned char c = *at++;
        if (c < 0x80) continue;
        int more = c >= 0xc2 && c < 0xe0 ? 1 : c >= 0xe0 && c < 0xf0 ? 2 : c >= 0xf0 && c < 0xf5 ? 3 : 0;
        if (!more || end - at < more) Py_RETURN_FALSE;
        if ((c == 0xe0 && at[0] < 0xa0) || (c == 0xed && at[0] >= 0xa0) || (c == 0xf0 && at[0] < 0x90) || (c == 0xf4 && at[0] >= 0x90)) Py_RETURN_FALSE;
        for (; more; more--)
            if ((*at++ & 0xc0) != 0x80) Py_RETURN_FALSE;
    }
    Py_RETURN_TRUE;
}

PyObject *native_to_utf8(PyObject *module, PyObject *args) {
    Py_buffer page, table;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*", &page, &table)) return NULL;
    const unsigned char *at = page.buf, *end = at + page.len, *known = table.buf;
    PyObject *made = NULL;
    char *buffer = table.len == 4 * 128 ? PyMem_Malloc((size_t)page.len * 3 + 8) : NULL, *to = buffer;
    if (table.len != 4 * 128) PyErr_SetString(PyExc_ValueError, "the table has four bytes for each non-ASCII byte");
    else if (!buffer) PyErr_NoMemory();
    else {
        while (at < end) {
            uint64_t word;
            for (; end - at >= 8 && (memcpy(&word, at, 8), !(word & 0x8080808080808080ull)); at += 8, to += 8) memcpy(to, &word, 8);
            if (at == end) break;
            if (*at < 0x80) { *to++ = (char)*at++; continue; }
            const unsigned char *as = known + 4 * (*at++ - 0x80);
            memcpy(to, as + 1, 3);
            to += as[0] <= 3 ? as[0] : 3;
        }
        made = PyBytes_FromStringAndSize(buffer, to - buffer);
    }
    PyMem_Free(buffer);
    PyBuffer_Release(&page);
    PyBuffer_Release(&table);
    return made;
}

static const char *find(const char *at, const char *end, const char *word) {
    size_t size = strlen(word);
    while ((at = memchr(at, word[0], (size_t)(end - at))) && (size_t)(end - at) >= size && memcmp(at, word, size)) at++;
    return at && (size_t)(end - at) >= size ? at : NULL;
}

/* Return the end of a tag, from its name on: the next ">" outside quotes; quotes count only after an equals sign. *end is NUL. */
static const char *end_of_tag(const char *at, const char *end) {
    static const char stops[256] = {['>'] = 1, ['='] = 1, [0] = 1};
    for (;;) {
        while (!stops[(unsigned char)*at]) at++;
        if (at >= end || *at == '>') return at;
        if (*at++ != '=') continue;
        const char *quote = at;
        while (quote < end && Py_ISSPACE(*quote)) quote++;
        if (quote < end && (*quote == '"' || *quote == '\'')) {
            const char *closing = memchr(quote + 1, *quote, (size_t)(end - quote - 1));
            at = (closing ? closing : quote) + 1;   /* a quote that is never closed is an ordinary character */
        }
    }
}

/* Return the end of the raw text of an element such as <script>, whose name is at `name`; NULL if the element has none. */
static const char *end_of_raw(const char *name, const char *tag_end, const char *end) {
    static const char *const raw[] = {"script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes"};
    if (!strchr("stxin", name[0] | 32)) return NULL;
    for (size_t i = 0; i < sizeof raw / sizeof *raw; i++) {
        if ((name[0] | 32) != raw[i][0]) continue;
        size_t size = strlen(raw[i]);
        if ((size_t)(end - name) < size || PyOS_strnicmp(name, raw[i], (Py_ssize_t)size)) continue;
        if (name + size < end && !Py_ISSPACE(name[size]) && name[size] != '/' && name[size] != '>') continue;
        if (tag_end == end) return end;
        for (const char *at = tag_end; (at = find(at, end, "</")); at += 2)
            if ((size_t)(end - at - 2) >= size && !PyOS_strnicmp(at + 2, raw[i], (Py_ssize_t)size)) return at;
        return end;
    }
    return NULL;
}

/* Return 1 if a tag has at least `limit` attributes (`ATTRIBUTE` of page/tree.py). */
static int is_crowded(const char *at, const char *end, Py_ssize_t limit) {
    static const char no_name[256] = {[' '] = 1, ['\t'] = 1, ['\n'] = 1, ['\v'] = 1, ['\f'] = 1, ['\r'] = 1, ['/'] = 1, ['>'] = 1, ['='] = 1};
    Py_ssize_t count = 0;
    while (at < end) {
        if (!Py_ISSPACE(*at) && *at != '/') { at++; continue; }
        while (at < end && (Py_ISSPACE(*at) || *at == '/')) at++;
        const char *name = at;
        while (at < end && !no_name[(unsigned char)*at]) at++;
        if (at == name) continue;
        if (++count >= limit) return 1;
        const char *sign = at;
        while (sign < end && Py_ISSPACE(*sign)) sign++;
        if (sign == end || *sign != '=') continue;
        at = sign + 1;
        while (at < end && Py_ISSPACE(*at)) at++;
        const char *closing = at < end && (*at == '"' || *at == '\'') ? memchr(at + 1, *at, (size_t)(end - at - 1)) : NULL;
        if (closing) at = closing + 1;
        else while (at < end && !Py_ISSPACE(*at) && *at != '>') at++;
    }
    return 0;
}

PyObject *native_has_crowded_tag(PyObject *module, PyObject *args) {
    const char *html;
    Py_ssize_t length, limit;
    (void)module;
    if (!PyArg_ParseTuple(args, "y#n", &html, &length, &limit)) return NULL;
    const char *at = html, *end = html + length;
    while (at < end && (at = memchr(at, '<', (size_t)(end - at)))) {
        if (end - at >= 4 && !memcmp(at, "<!--", 4)) {
            at = find(at + 4, end, "-->");
            if (!at) break;
            continue;
        }
        if (end - at < 2 || (at[1] | 32) < 'a' || (at[1] | 32) > 'z') { at++; continue; }
        const char *tag_end = end_of_tag(at + 1, end), *raw_end;
        if (tag_end - at >= 2 * limit && is_crowded(at, tag_end, limit)) Py_RETURN_TRUE;   /* an attribute has at least two bytes */
        raw_end = end_of_raw(at + 1, tag_end, end);
        at = raw_end ? raw_end : tag_end;
    }
    Py_RETURN_FALSE;
}
