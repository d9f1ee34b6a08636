#include "native.h"

/* Whether a character belongs to a script without marks inside words; texts with others are left to terms.py: Latin, Greek, Cyrillic, Armenian,
   Han, kana, hangul, and signs but for the two that join letters. */
static inline int is_simple(Py_UCS4 c) {
    if (c < 0x1e00) return c < 0x300 || (c >= 0x370 && c < 0x483) || (c >= 0x48a && c < 0x590);
    if (c < 0x2e80) return c != 0x200c && c != 0x200d;
    return c < 0x302a || (c >= 0x3030 && c < 0x3099) || (c >= 0x309b && c < 0xa000) || (c >= 0xac00 && c < 0xd7b0) || (c >= 0xf900 && c < 0xfb00) ||
           (c >= 0xfe30 && c < 0x10000) || (c >= 0x20000 && c < 0x40000);
}

static inline int is_word(Py_UCS4 c) {
    return c < 128 ? ((c | 32) >= 'a' && (c | 32) <= 'z') || (c >= '0' && c <= '9') || c == '_' : Py_UNICODE_ISALNUM(c);
}

typedef struct { int kind; const void *data; Py_ssize_t length; } Chars;

#define INLINE static inline __attribute__((always_inline))   /* so that the compiler makes one loop for each kind of str */

INLINE Py_UCS4 char_at(const Chars *text, Py_ssize_t i) { return i < text->length ? PyUnicode_READ(text->kind, text->data, i) : 0; }

/* The end of an amount in groups of three digits that begins here ("1,250.000"), or -1. */
INLINE Py_ssize_t end_of_amount(const Chars *text, Py_ssize_t begin) {
    Py_ssize_t at = begin, end = -1;
    while (at - begin < 4 && is_decimal(char_at(text, at))) at++;
    if (at == begin || at - begin > 3) return -1;
    for (;;) {
        Py_UCS4 mark = char_at(text, at);
        if (mark != '.' && mark != ',') return end;
        for (int i = 1; i <= 3; i++)
            if (!is_decimal(char_at(text, at + i))) return end;
        at += 4;
        if (!is_word(char_at(text, at))) end = at;
    }
}

/* The end of the token that begins here: TOKEN of terms.py. */
INLINE Py_ssize_t end_of_token(const Chars *text, Py_ssize_t begin) {
    if (is_decimal(char_at(text, begin))) {
        Py_ssize_t end = end_of_amount(text, begin);
        if (end >= 0) return end;
    }
    Py_ssize_t at = begin;
    for (;;) {
        while (is_word(char_at(text, at))) at++;
        Py_UCS4 mark = char_at(text, at);
        if ((mark != '\'' && mark != 0x2019) || !is_word(char_at(text, at + 1))) return at;
        at++;
    }
}

/* The term that begins here in a token: the token, or of one with characters of an unspaced script a run of others, or a pair of these;
   a lone one is a term by itself. `next` gets where the next term begins. */
INLINE Py_ssize_t end_of_term(const Chars *text, Py_ssize_t begin, Py_ssize_t token_end, Py_ssize_t *next) {
    Py_ssize_t at = begin;
    while (at < token_end && !is_unspaced(char_at(text, at))) at++;
    if (at > begin) return *next = at;
    if (at + 1 == token_end || !is_unspaced(char_at(text, at + 1))) return *next = at + 1;
    *next = at + 2 < token_end && is_unspaced(char_at(text, at + 2)) ? at + 1 : at + 2;   /* pairs overlap */
    return at + 2;
}

static int are_simple(const Chars *text, Py_ssize_t begin, Py_ssize_t end) {
    for (Py_ssize_t i = begin; i < end; i++)
        if (!is_simple(char_at(text, i))) return 0;
    return 1;
}

/* Writes a text in lower case with plain apostrophes; -1 where one character has two in lower case, or another one at the end of a word. */
INLINE int write_low(void *low, const Chars *text, int kind) {
    Chars own = {kind, text->data, text->length};
    for (Py_ssize_t i = 0; i < own.length; i++) {
        Py_UCS4 c = char_at(&own, i);
        if (c < 128) c = (Py_UCS4)Py_TOLOWER(c);
        else if (c == 0x2019) c = '\'';
        else if (c == 0x130 || c == 0x3a3) return -1;
        else c = Py_UNICODE_TOLOWER(c);
        PyUnicode_WRITE(kind, low, i, c);
    }
    return 0;
}

/* A text in lower case with plain apostrophes, as terms.py compares it. */
static PyObject *folded(PyObject *text) {
    if (!PyUnicode_Check(text)) { PyErr_SetString(PyExc_TypeError, "text is a str"); return NULL; }
    if (PyUnicode_IS_ASCII(text)) return PyObject_CallMethod(text, "lower", NULL);
    Chars own = {PyUnicode_KIND(text), PyUnicode_DATA(text), PyUnicode_GET_LENGTH(text)};
    char *written = PyMem_Malloc((size_t)own.length * (size_t)own.kind);
    if (!written) return PyErr_NoMemory();
    int failed = own.kind == PyUnicode_1BYTE_KIND   ? write_low(written, &own, PyUnicode_1BYTE_KIND)
                 : own.kind == PyUnicode_2BYTE_KIND ? write_low(written, &own, PyUnicode_2BYTE_KIND)
                                                    : write_low(written, &own, PyUnicode_4BYTE_KIND);
    PyObject *low = failed ? PyObject_CallMethod(text, "lower", NULL) : PyUnicode_FromKindAndData(own.kind, written, own.length);
    PyMem_Free(written);
    if (!failed || !low) return low;
    PyObject *plain = PyObject_CallMethod(low, "replace", "ss", "\xe2\x80\x99", "'");
    Py_DECREF(low);
    return plain;
}

PyObject *page_tokens(PyObject *module, PyObject *argument) {
    (void)module;
    PyObject *low = folded(argument);
    if (!low) return NULL;
    Chars text = {PyUnicode_KIND(low), PyUnicode_DATA(low), PyUnicode_GET_LENGTH(low)};
    if (text.kind != PyUnicode_1BYTE_KIND && !are_simple(&text, 0, text.length)) { Py_DECREF(low); Py_RETURN_NONE; }
    PyObject *list = PyList_New(0);
    for (Py_ssize_t at = 0; list && at < text.length;) {
        if (!is_word(char_at(&text, at))) { at++; continue; }
        for (Py_ssize_t token_end = end_of_token(&text, at), next; list && at < token_end; at = next) {
            PyObject *term = PyUnicode_Substring(low, at, end_of_term(&text, at, token_end, &next));
            if (!term || PyList_Append(list, term) < 0) Py_CLEAR(list);
            Py_XDECREF(term);
        }
    }
    Py_DECREF(low);
    return list;
}

static int is_token(const Chars *text, Py_ssize_t begin, Py_ssize_t end, PyObject *word) {
    if (PyUnicode_GET_LENGTH(word) != end - begin) return 0;
    for (Py_ssize_t i = begin; i < end; i++)
        if (PyUnicode_READ(text->kind, text->data, i) != PyUnicode_READ_CHAR(word, i - begin)) return 0;
    return 1;
}

/* Writes a field's name to `columns` for each of the words that stands in its value and has none yet; how many, or -1. */
static Py_ssize_t name_column(PyObject *words, PyObject *columns, PyObject *name, PyObject *value, PyObject *plain) {
    PyObject *low = folded(value), *others = NULL;
    if (!low) return -1;
    Chars text = {PyUnicode_KIND(low), PyUnicode_DATA(low), PyUnicode_GET_LENGTH(low)};
    Py_ssize_t count = PyList_GET_SIZE(words), named = 0;
    int is_plain = text.kind == PyUnicode_1BYTE_KIND;
    for (Py_ssize_t i = 0; !is_plain && i < text.length && is_simple(char_at(&text, i)) && !is_unspaced(char_at(&text, i)); i++)
        is_plain = i + 1 == text.length;
    if (!is_plain && text.length && !(others = PyObject_CallOneArg(plain, value))) named = -1;
    for (Py_ssize_t i = 0; others && named >= 0 && i < count; i++) {
        int is_in = PyList_GET_ITEM(columns, i) == Py_None ? PySequence_Contains(others, PyList_GET_ITEM(words, i)) : 0;
        if (is_in > 0) PyList_SetItem(columns, i, Py_NewRef(name));
        named = is_in < 0 ? -1 : named + is_in;
    }
    for (Py_ssize_t at = 0, end; is_plain && at < text.length; at = end) {
        if (!is_word(char_at(&text, at))) { end = at + 1; continue; }
        end = end_of_token(&text, at);
        for (Py_ssize_t i = 0; i < count; i++)
            if (PyList_GET_ITEM(columns, i) == Py_None && is_token(&text, at, end, PyList_GET_ITEM(words, i))) {
                PyList_SetItem(columns, i, Py_NewRef(name));
                named++;
            }
    }
    Py_XDECREF(others);
    Py_DECREF(low);
    return named;
}

/* columns_of(words, fields, plain): for each word the last field in whose value it stands, or None. */
PyObject *page_columns_of(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *words, *fields, *plain, *columns = NULL, *items = NULL;
    if (!PyArg_ParseTuple(args, "O!O!O", &PyList_Type, &words, &PyDict_Type, &fields, &plain)) return NULL;
    Py_ssize_t left = PyList_GET_SIZE(words);
    for (Py_ssize_t i = 0; i < left; i++)
        if (!PyUnicode_Check(PyList_GET_ITEM(words, i))) { PyErr_SetString(PyExc_TypeError, "a word is a str"); return NULL; }
    if (!(items = PyDict_Items(fields)) || !(columns = PyList_New(left))) goto done;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(words); i++) PyList_SET_ITEM(columns, i, Py_NewRef(Py_None));
    for (Py_ssize_t i = PyList_GET_SIZE(items) - 1; left > 0 && i >= 0; i--) {
        PyObject *item = PyList_GET_ITEM(items, i);
        Py_ssize_t named = name_column(words, columns, PyTuple_GET_ITEM(item, 0), PyTuple_GET_ITEM(item, 1), plain);
        if (named < 0) { Py_CLEAR(columns); goto done; }
        left -= named;
    }
done:
    Py_XDECREF(items);
    return columns;
}

/* shapes(words, stops): the shape of each word as choose/word_index.py has it; 255 where it is not of ASCII, which is left to Python. */
PyObject *page_shapes(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *words, *stops;
    if (!PyArg_ParseTuple(args, "O!O", &PyList_Type, &words, &stops)) return NULL;
    if (!PyAnySet_Check(stops)) { PyErr_SetString(PyExc_TypeError, "stop words are a set"); return NULL; }
    Py_ssize_t count = PyList_GET_SIZE(words);
    PyObject *result = PyBytes_FromStringAndSize(NULL, count);
    for (Py_ssize_t i = 0; result && i < count; i++) {
        PyObject *word = PyList_GET_ITEM(words, i);
        unsigned char *shape = (unsigned char *)PyBytes_AS_STRING(result) + i;
        *shape = 255;
        if (!PyUnicode_Check(word) || !PyUnicode_IS_COMPACT_ASCII(word) || !PyUnicode_GET_LENGTH(word)) continue;
        const unsigned char *at = PyUnicode_DATA(word), *end = at + PyUnicode_GET_LENGTH(word);
        Py_ssize_t length = end - at, digits = 0, around = 0;
        for (; at < end; at++) {
            digits += *at >= '0' && *at <= '9';
            around += *at == ' ' || *at == '.' || *at == ',';
        }
        int is_stop = length == 1 && !digits ? 0 : PySet_Contains(stops, word);
        if (is_stop < 0) { Py_CLEAR(result); break; }
        if (length == 1 && !digits) *shape = 8;
        else if (is_stop) *shape = 7;
        else if (digits && digits + around == length) *shape = (unsigned char)(1 + Py_MIN(5, digits));
        else *shape = digits > 0;
    }
    return result;
}

/* ---- terms: each word once, with a number, in order of appearance -------------------------------------------------------- */

typedef struct { uint64_t hash; const char *data; size_t size; } Word;   /* the bytes of its characters, each as long as those of the text */

typedef struct {
    Chars text;
    PyObject *low, *list, *plain;            /* `plain` is called with the parts that are not simple */
    char **others;                           /* the words that it gave, which do not stand in the text */
    Py_ssize_t other_count;
    Word *words;
    Py_ssize_t count, room;
    int32_t *table;
    size_t mask;
} Words;

static int more_words(Words *w) {
    size_t mask = w->mask ? w->mask * 2 + 1 : 511;
    int32_t *table = PyMem_Malloc((mask + 1) * sizeof(int32_t));
    Word *words = PyMem_Realloc(w->words, (mask / 2 + 1) * sizeof(Word));
    if (words) w->words = words;
    if (!table || !words) { PyMem_Free(table); PyErr_NoMemory(); return -1; }
    memset(table, -1, (mask + 1) * sizeof(int32_t));
    for (Py_ssize_t i = 0; i < w->count; i++) {
        size_t slot = w->words[i].hash & mask;
        while (table[slot] >= 0) slot = (slot + 1) & mask;
        table[slot] = (int32_t)i;
    }
    PyMem_Free(w->table);
    w->table = table;
    w->mask = mask;
    w->room = (Py_ssize_t)(mask / 2 + 1);
    return 0;
}

/* The number of a word, or -1; its str is `word`, or a part of the text. */
INLINE int32_t number_of(Words *w, const char *data, size_t size, PyObject *word, Py_ssize_t begin, Py_ssize_t end) {
    uint64_t hash = hash_bytes((const unsigned char *)data, size);
    if (w->count == w->room && more_words(w) < 0) return -1;
    size_t slot = hash & w->mask;
    for (; w->table[slot] >= 0; slot = (slot + 1) & w->mask) {
        const Word *known = &w->words[w->table[slot]];
        if (known->hash == hash && known->size == size && !memcmp(known->data, data, size)) return w->table[slot];
    }
    word = word ? Py_NewRef(word) : PyUnicode_Substring(w->low, begin, end);
    int failed = word ? PyList_Append(w->list, word) : -1;
    Py_XDECREF(word);
    if (failed) return -1;
    w->words[w->count] = (Word){hash, data, size};
    w->table[slot] = (int32_t)w->count;
    return (int32_t)w->count++;
}

/* Numbers a word that does not stand in the text as it is. */
static int number_other(Words *w, PyObject *word, Ints *ids) {
    Py_ssize_t length = PyUnicode_Check(word) ? PyUnicode_GET_LENGTH(word) : -1;
    char **others = length < 0 || (int)PyUnicode_KIND(word) > w->text.kind ? NULL : PyMem_Realloc(w->others, (size_t)(w->other_count + 1) * sizeof(char *));
    char *data = others ? PyMem_Malloc((size_t)length * (size_t)w->text.kind + 1) : NULL;
    if (others) w->others = others;
    if (!data) { PyErr_SetString(PyExc_TypeError, "words are parts of the text"); return -1; }
    w->others[w->other_count++] = data;
    for (Py_ssize_t i = 0; i < length; i++) PyUnicode_WRITE(w->text.kind, data, i, PyUnicode_READ_CHAR(word, i));
    int32_t id = number_of(w, data, (size_t)length * (size_t)w->text.kind, word, 0, 0);
    return id < 0 || push(ids, id) ? -1 : 0;
}

/* Numbers the words of a part that is not simple. */
static int number_part(Words *w, Py_ssize_t begin, Py_ssize_t end, Ints *ids) {
    PyObject *part = PyUnicode_Substring(w->low, begin, end), *found = part ? PyObject_CallOneArg(w->plain, part) : NULL;
    int failed = !found || !PyList_Check(found) ? -1 : 0;
    for (Py_ssize_t i = 0; !failed && i < PyList_GET_SIZE(found); i++) failed = number_other(w, PyList_GET_ITEM(found, i), ids);
    Py_XDECREF(part);
    Py_XDECREF(found);
    if (failed && !PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "words come as a list");
    return failed;
}

INLINE int32_t number_here(Words *w, Py_ssize_t begin, Py_ssize_t end) {
    return number_of(w, (const char *)w->text.data + begin * w->text.kind, (size_t)(end - begin) * (size_t)w->text.kind, NULL, begin, end);
}

/* Numbers the words of the whole text; `kind` is a constant wherever it is called. */
INLINE int number_all(Words *w, int kind, Ints *ids, Ints *begins) {
    w->text.kind = kind;
    Chars text = {kind, w->text.data, w->text.length};
    Py_ssize_t seen = 0;   /* how far the parts are known to be simple */
    for (Py_ssize_t at = 0; at < text.length;) {
        Py_UCS4 c = char_at(&text, at);
        if (kind != PyUnicode_1BYTE_KIND && at >= seen) {
            Py_ssize_t end = at;
            while (end < text.length && char_at(&text, end)) end++;
            if (!are_simple(&text, at, end)) {
                if (number_part(w, at, end, ids) < 0) return -1;
                at = seen = end;
                continue;
            }
            seen = end + 1;
        }
        if (!is_word(c)) {
            if (!c && push(begins, (int32_t)ids->length)) return -1;
            at++;
            continue;
        }
        Py_ssize_t token_end = end_of_token(&text, at);
        if (kind == PyUnicode_1BYTE_KIND) {
            int32_t id = number_here(w, at, token_end);
            if (id < 0 || push(ids, id)) return -1;
            at = token_end;
        }
        for (Py_ssize_t next; at < token_end; at = next) {
            int32_t id = number_here(w, at, end_of_term(&text, at, token_end, &next));
            if (id < 0 || push(ids, id)) return -1;
        }
    }
    return 0;
}

PyObject *page_terms(PyObject *module, PyObject *args) {
    PyObject *text, *plain, *result = NULL;
    (void)module;
    if (!PyArg_ParseTuple(args, "UO", &text, &plain)) return NULL;
    PyObject *low = folded(text);
    if (!low) return NULL;
    Words w = {.text = {PyUnicode_KIND(low), PyUnicode_DATA(low), PyUnicode_GET_LENGTH(low)}, .low = low, .list = PyList_New(0), .plain = plain};
    Ints ids = {0}, begins = {0};
    int failed = !w.list || push(&begins, 0);
    if (!failed) {
        if (w.text.kind == PyUnicode_1BYTE_KIND) failed = number_all(&w, PyUnicode_1BYTE_KIND, &ids, &begins);
        else if (w.text.kind == PyUnicode_2BYTE_KIND) failed = number_all(&w, PyUnicode_2BYTE_KIND, &ids, &begins);
        else failed = number_all(&w, PyUnicode_4BYTE_KIND, &ids, &begins);
    }
    if (!failed && !push(&begins, (int32_t)ids.length)) result = Py_BuildValue("(ONN)", w.list, as_bytes(&ids), as_bytes(&begins));
    Py_XDECREF(w.list);
    Py_DECREF(low);
    for (Py_ssize_t i = 0; i < w.other_count; i++) PyMem_Free(w.others[i]);
    PyMem_Free(w.others);
    PyMem_Free(w.words);
    PyMem_Free(w.table);
    PyMem_Free(ids.at);
    PyMem_Free(begins.at);
    return result;
}

/* ---- tags with too many attributes: TAG and ATTRIBUTE of attribute_limit.py ------------------------------------------------------------------- */

static const char *find(const char *at, const char *end, const char *word) {
    size_t size = strlen(word);
    while ((at = memchr(at, word[0], (size_t)(end - at))) && (size_t)(end - at) >= size && memcmp(at, word, size)) at++;
    return at && (size_t)(end - at) >= size ? at : NULL;
}

/* Where a tag ends whose name has been read: at ">", where quotes count only after an equals sign. `end` is a NUL. */
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
            at = (closing ? closing : quote) + 1;   /* a quote that is never closed is a character like others */
        }
    }
}

/* The end of the raw text of an element such as <script>, whose name is at `name`; NULL where it has none. */
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

/* Whether a tag has so many attributes. */
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

PyObject *page_has_crowded_tag(PyObject *module, PyObject *args) {
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
        if (tag_end - at >= 2 * limit && is_crowded(at, tag_end, limit)) Py_RETURN_TRUE;   /* an attribute has two bytes at least */
        raw_end = end_of_raw(at + 1, tag_end, end);
        at = raw_end ? raw_end : tag_end;
    }
    Py_RETURN_FALSE;
}

/* ---- what is asked of the bytes of a page before they are parsed ------------------------------------------------------------------- */

/* Whether bytes are UTF-8 as Python decodes it: no surrogates, nothing longer than needed, nothing beyond U+10FFFF. */
PyObject *page_is_utf8(PyObject *module, PyObject *argument) {
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

/* Bytes of a charset of single bytes as UTF-8. `table` has four bytes for each of the 128 beyond ASCII: how many it becomes, and these. */
PyObject *page_recoded(PyObject *module, PyObject *args) {
    Py_buffer page, table;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*y*", &page, &table)) return NULL;
    const unsigned char *at = page.buf, *end = at + page.len, *known = table.buf;
    PyObject *made = NULL;
    char *buffer = table.len == 4 * 128 ? PyMem_Malloc((size_t)page.len * 3 + 8) : NULL, *to = buffer;
    if (table.len != 4 * 128) PyErr_SetString(PyExc_ValueError, "the table has four bytes for each of 128");
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

/* How often a byte occurs. */
__attribute__((optimize("O3"))) PyObject *page_count(PyObject *module, PyObject *args) {
    Py_buffer page;
    unsigned char byte;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*b", &page, &byte)) return NULL;
    const unsigned char *at = page.buf, *end = at + page.len;
    Py_ssize_t found = 0;
    while (at < end) {   /* in pieces so short that a byte can count */
        const unsigned char *stop = end - at > 255 ? at + 255 : end;
        unsigned char few = 0;
        for (; at < stop; at++) few = (unsigned char)(few + (*at == byte));
        found += few;
    }
    PyBuffer_Release(&page);
    return PyLong_FromSsize_t(found);
}

/* ---- marks inside words: glue_inside_words of word_marks.py ------------------------------------------------------------------- */

enum { GLUED, SPACED, BROKEN };   /* as in spots.py */

/* finish_gaps(gaps, spaced, chunks, chunk_row, rows_before, parent, spot, is_marking of each spot): white space at the edges of texts, then marks. */
PyObject *page_finish_gaps(PyObject *module, PyObject *args) {
    Py_buffer gaps, spaced, chunk_row, rows_before, parent, spot, marking;
    PyObject *chunks, *result = NULL;
    (void)module;
    if (!PyArg_ParseTuple(args, "w*y*O!y*y*y*y*y*", &gaps, &spaced, &PyTuple_Type, &chunks, &chunk_row, &rows_before, &parent, &spot, &marking)) return NULL;
    char *gap = gaps.buf;
    const char *space = spaced.buf, *is_marking = marking.buf;
    const int32_t *row_of = chunk_row.buf, *begun = rows_before.buf, *above = parent.buf, *spot_of = spot.buf;
    Py_ssize_t count = PyTuple_GET_SIZE(chunks), rows = spot.len / 4;
    if (gaps.len != count || spaced.len != count || chunk_row.len != 4 * count || rows_before.len != 4 * count || parent.len != 4 * rows) {
        PyErr_SetString(PyExc_ValueError, "the columns are of different pages");
        goto done;
    }
    for (Py_ssize_t c = 0; c < count; c++)
        if (gap[c] < SPACED && (space[c] & 1 || (c && space[c - 1] & 2))) gap[c] = SPACED;
    for (Py_ssize_t c = 1; c < count; c++) {
        if (gap[c] != SPACED || space[c] & 1 || space[c - 1] & 2) continue;
        PyObject *left = PyTuple_GET_ITEM(chunks, c - 1), *right = PyTuple_GET_ITEM(chunks, c);
        if (!PyUnicode_Check(left) || !PyUnicode_Check(right) || !PyUnicode_GET_LENGTH(left) || !PyUnicode_GET_LENGTH(right)) continue;
        Py_UCS4 last = PyUnicode_READ_CHAR(left, PyUnicode_GET_LENGTH(left) - 1), first = PyUnicode_READ_CHAR(right, 0);
        if (!Py_UNICODE_ISALPHA(last) || !Py_UNICODE_ISALPHA(first) || Py_UNICODE_ISUPPER(first)) continue;
        int32_t before = row_of[c - 1], after = row_of[c], new_rows = begun[c] - begun[c - 1];
        if (before < 0 || after < 0 || before >= rows || after >= rows || spot_of[before] >= marking.len || spot_of[after] >= marking.len) continue;
        int ends_mark = above[before] == after && !new_rows && is_marking[spot_of[before]];
        int begins_mark = above[after] == before && new_rows == 1 && is_marking[spot_of[after]];
        if (begins_mark) begins_mark = c + 1 < count && row_of[c + 1] == before && gap[c + 1] != BROKEN;   /* what ends a text may be a badge */
        if (ends_mark || begins_mark) gap[c] = GLUED;
    }
    result = Py_NewRef(Py_None);
done:;
    Py_buffer *buffers[] = {&gaps, &spaced, &chunk_row, &rows_before, &parent, &spot, &marking};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) PyBuffer_Release(buffers[i]);
    return result;
}
