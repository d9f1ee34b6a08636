#include "native.h"

/* Return 1 if a character belongs to a script without combining marks: Latin, Greek, Cyrillic, Armenian, Han, kana, hangul, and all
   signs except the two joiners. Texts with other characters are split by page/tokens.py. */
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

#define INLINE static inline __attribute__((always_inline))   /* the compiler then makes one loop per kind of str */

INLINE Py_UCS4 char_at(const Chars *text, Py_ssize_t i) { return i < text->length ? PyUnicode_READ(text->kind, text->data, i) : 0; }

/* Return the end of an amount in groups of three digits that begins here ("1,250.000"), or -1. */
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

/* Return the end of the token that begins here (`TOKEN` of page/tokens.py). */
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

/* Return the end of the term that begins here in a token, and set `next` to the beginning of the next term. A term is the whole token; in
   a token with characters of an unspaced script it is a run of other characters, a pair of unspaced characters, or a single one. */
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

/* Write a text in lower case with ASCII apostrophes; return -1 if its lower case is longer (U+0130) or depends on the context (U+03A3). */
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

/* Return a text in lower case with ASCII apostrophes. */
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

PyObject *native_tokens(PyObject *module, PyObject *argument) {
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

/* Set `columns` to a field's name for each word in its value that has no column yet. Return how many were set; -1 if only Python can
   split the value, or with an error set. */
static Py_ssize_t name_column(PyObject *words, PyObject *columns, PyObject *name, PyObject *value) {
    PyObject *low = folded(value);
    if (!low) return -1;
    Chars text = {PyUnicode_KIND(low), PyUnicode_DATA(low), PyUnicode_GET_LENGTH(low)};
    Py_ssize_t named = 0;
    for (Py_ssize_t i = 0; text.kind != PyUnicode_1BYTE_KIND && i < text.length; i++)
        if (!is_simple(char_at(&text, i)) || is_unspaced(char_at(&text, i))) { Py_DECREF(low); return -1; }
    for (Py_ssize_t at = 0, end; at < text.length; at = end) {
        if (!is_word(char_at(&text, at))) { end = at + 1; continue; }
        end = end_of_token(&text, at);
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(words); i++)
            if (PyList_GET_ITEM(columns, i) == Py_None && is_token(&text, at, end, PyList_GET_ITEM(words, i))) {
                PyList_SetItem(columns, i, Py_NewRef(name));
                named++;
            }
    }
    Py_DECREF(low);
    return named;
}

PyObject *native_columns_of(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *words, *fields, *columns = NULL, *items = NULL;
    if (!PyArg_ParseTuple(args, "O!O!", &PyList_Type, &words, &PyDict_Type, &fields)) return NULL;
    Py_ssize_t left = PyList_GET_SIZE(words);
    for (Py_ssize_t i = 0; i < left; i++)
        if (!PyUnicode_Check(PyList_GET_ITEM(words, i))) { PyErr_SetString(PyExc_TypeError, "a word is a str"); return NULL; }
    if (!(items = PyDict_Items(fields)) || !(columns = PyList_New(left))) goto done;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(words); i++) PyList_SET_ITEM(columns, i, Py_NewRef(Py_None));
    for (Py_ssize_t i = PyList_GET_SIZE(items) - 1; left > 0 && i >= 0; i--) {
        PyObject *item = PyList_GET_ITEM(items, i);
        Py_ssize_t named = name_column(words, columns, PyTuple_GET_ITEM(item, 0), PyTuple_GET_ITEM(item, 1));
        if (named < 0) {
            Py_CLEAR(columns);
            if (!PyErr_Occurred()) columns = Py_NewRef(Py_None);
            goto done;
        }
        left -= named;
    }
done:
    Py_XDECREF(items);
    return columns;
}

/* Terms: each distinct word gets a number, in order of appearance. */

typedef struct { const char *data; uint32_t hash, size; } Word;   /* its characters, each as wide as those of the text */

typedef struct {
    Chars text;
    PyObject *low, *list;                    /* list: NULL if no str is made for a word */
    Ints spans;                              /* else begin and end of each word in the text */
    PyObject *parts, *left;                  /* lists: tokens of the chunks that only Python splits, and chunks without tokens */
    Py_ssize_t next_part;
    char **others;                           /* copies of those tokens, which are not parts of the text */
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

/* Return the number of a word, or -1; its str is `word`, or if that is NULL the part of the text from begin to end. */
INLINE int32_t number_of(Words *w, const char *data, size_t size, PyObject *word, Py_ssize_t begin, Py_ssize_t end) {
    uint64_t whole = hash_bytes((const unsigned char *)data, size);
    uint32_t hash = (uint32_t)(whole ^ whole >> 32);
    if (w->count == w->room && more_words(w) < 0) return -1;
    size_t slot = hash & w->mask;
    for (; w->table[slot] >= 0; slot = (slot + 1) & w->mask) {
        const Word *known = &w->words[w->table[slot]];
        if (known->hash == hash && known->size == size && !memcmp(known->data, data, size)) return w->table[slot];
    }
    if (!w->list) {
        if (push(&w->spans, (int32_t)begin) || push(&w->spans, (int32_t)end)) return -1;
    } else {
        word = word ? Py_NewRef(word) : PyUnicode_Substring(w->low, begin, end);
        int failed = word ? PyList_Append(w->list, word) : -1;
        Py_XDECREF(word);
        if (failed) return -1;
    }
    w->words[w->count] = (Word){data, hash, (uint32_t)size};
    w->table[slot] = (int32_t)w->count;
    return (int32_t)w->count++;
}

/* Number a word that is not a part of the text. */
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

/* Number the words of a chunk that only Python splits, or note that they are missing. */
static int number_part(Words *w, Py_ssize_t begin, Py_ssize_t end, Ints *ids) {
    if (w->next_part >= PyList_GET_SIZE(w->parts)) {
        PyObject *part = PyUnicode_Substring(w->low, begin, end);
        int failed = part ? PyList_Append(w->left, part) : -1;
        Py_XDECREF(part);
        return failed;
    }
    PyObject *tokens = PyList_GET_ITEM(w->parts, w->next_part++);
    if (!PyList_Check(tokens)) { PyErr_SetString(PyExc_TypeError, "the tokens of a part are a list"); return -1; }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(tokens); i++)
        if (number_other(w, PyList_GET_ITEM(tokens, i), ids) < 0) return -1;
    return 0;
}

INLINE int32_t number_here(Words *w, Py_ssize_t begin, Py_ssize_t end) {
    return number_of(w, (const char *)w->text.data + begin * w->text.kind, (size_t)(end - begin) * (size_t)w->text.kind, NULL, begin, end);
}

/* Number the words of the whole text; `kind` is a constant at every call. */
INLINE int number_all(Words *w, int kind, Ints *ids, Ints *begins) {
    w->text.kind = kind;
    Chars text = {kind, w->text.data, w->text.length};
    Py_ssize_t seen = 0;   /* chunks up to here are known to be simple */
    for (Py_ssize_t at = 0; at < text.length;) {
        Py_UCS4 c = char_at(&text, at);
        if (kind != PyUnicode_1BYTE_KIND && at >= seen) {
            Py_ssize_t end = at;
            while (end < text.length && char_at(&text, end)) end++;
            int is_simple_part = are_simple(&text, at, end);
            if (!is_simple_part && number_part(w, at, end, ids) < 0) return -1;
            if (!is_simple_part || (end > at && PyList_GET_SIZE(w->left))) {   /* the call is repeated if parts are missing: only look for others */
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

PyObject *native_terms(PyObject *module, PyObject *args) {
    PyObject *text, *parts, *result = NULL;
    (void)module;
    int as_spans = 0;
    if (!PyArg_ParseTuple(args, "UO!|p", &text, &PyList_Type, &parts, &as_spans)) return NULL;
    if (as_spans && PyList_GET_SIZE(parts)) { PyErr_SetString(PyExc_ValueError, "words of parts are no parts of the text"); return NULL; }
    PyObject *low = folded(text);
    if (!low) return NULL;
    Words w = {.text = {PyUnicode_KIND(low), PyUnicode_DATA(low), PyUnicode_GET_LENGTH(low)}, .low = low, .list = as_spans ? NULL : PyList_New(0),
               .parts = parts, .left = PyList_New(0)};
    Ints ids = {0}, begins = {0};
    int failed = (!w.list && !as_spans) || !w.left || w.text.length > INT32_MAX || push(&begins, 0);
    if (!failed) {
        if (w.text.kind == PyUnicode_1BYTE_KIND) failed = number_all(&w, PyUnicode_1BYTE_KIND, &ids, &begins);
        else if (w.text.kind == PyUnicode_2BYTE_KIND) failed = number_all(&w, PyUnicode_2BYTE_KIND, &ids, &begins);
        else failed = number_all(&w, PyUnicode_4BYTE_KIND, &ids, &begins);
    }
    PyMem_Free(w.words);   /* before the columns are copied */
    PyMem_Free(w.table);
    if (!failed && !push(&begins, (int32_t)ids.length)) {
        PyObject *words = as_spans ? Py_BuildValue("(ON)", low, as_bytes(&w.spans)) : Py_NewRef(w.list);
        PyMem_Free(w.spans.at);
        w.spans.at = NULL;
        if (words) result = Py_BuildValue("(NNNO)", words, as_bytes(&ids), as_bytes(&begins), w.left);
    }
    Py_XDECREF(w.list);
    Py_XDECREF(w.left);
    Py_DECREF(low);
    for (Py_ssize_t i = 0; i < w.other_count; i++) PyMem_Free(w.others[i]);
    PyMem_Free(w.others);
    PyMem_Free(w.spans.at);
    PyMem_Free(ids.at);
    PyMem_Free(begins.at);
    return result;
}
