#include "native.h"

PyObject *native_tree_sums(PyObject *module, PyObject *args) {
    Py_buffer x, feature, at, leaf;
    Py_ssize_t features;
    int depth;
    (void)module;
    if (!PyArg_ParseTuple(args, "y*niy*y*y*", &x, &features, &depth, &feature, &at, &leaf)) return NULL;
    PyObject *made = NULL;
    Py_ssize_t leaves = depth > 0 && depth < 20 ? (Py_ssize_t)1 << depth : 0, inner = leaves - 1;
    Py_ssize_t trees = leaves ? leaf.len / (Py_ssize_t)sizeof(double) / leaves : 0;
    Py_ssize_t rows = features > 0 ? x.len / (Py_ssize_t)sizeof(double) / features : 0;
    int fits = leaves && features > 0 && leaf.len == trees * leaves * (Py_ssize_t)sizeof(double) && at.len == trees * inner * (Py_ssize_t)sizeof(double) &&
               feature.len == trees * inner * (Py_ssize_t)sizeof(int32_t) && x.len == rows * features * (Py_ssize_t)sizeof(double);
    const int32_t *of = feature.buf;
    for (Py_ssize_t i = 0; fits && i < trees * inner; i++) fits = of[i] >= 0 && of[i] < features;
    if (!fits) PyErr_SetString(PyExc_ValueError, "the columns of the trees do not fit together");
    else if ((made = PyBytes_FromStringAndSize(NULL, rows * (Py_ssize_t)sizeof(double)))) {
        double *sums = (double *)PyBytes_AS_STRING(made);
        const double *values = x.buf, *limit = at.buf, *add = leaf.buf;
        for (Py_ssize_t row = 0; row < rows; row++) {
            double sum = 0;
            const double *own = values + row * features;
            for (Py_ssize_t tree = 0; tree < trees; tree++) {
                const int32_t *tree_of = of + tree * inner;
                const double *tree_limit = limit + tree * inner;
                Py_ssize_t node = 0;
                for (int level = 0; level < depth; level++) node = 2 * node + 1 + (own[tree_of[node]] > tree_limit[node]);
                sum += add[tree * leaves + node - inner];
            }
            sums[row] = sum;
        }
    }
    PyBuffer_Release(&x);
    PyBuffer_Release(&feature);
    PyBuffer_Release(&at);
    PyBuffer_Release(&leaf);
    return made;
}

enum { BEGINS = 1, ENDS = 2, LETTERS = 26 };   /* bits of a word: no letter before it, no letter after it */

static inline int lower(int c) { return c >= 'A' && c <= 'Z' ? c + 'a' - 'A' : c; }
static inline int is_letter(int c) { return c >= 'a' && c <= 'z'; }

static int has_word_at(const unsigned char *text, Py_ssize_t length, Py_ssize_t at, const char *word, Py_ssize_t size, int bits) {
    if (at + size > length) return 0;
    for (Py_ssize_t i = 0; i < size; i++)
        if (lower(text[at + i]) != word[i]) return 0;
    if (bits & BEGINS && at && is_letter(lower(text[at - 1]))) return 0;
    return !(bits & ENDS) || at + size == length || !is_letter(lower(text[at + size]));
}

PyObject *native_groups_in(PyObject *module, PyObject *args) {
    PyObject *name, *words, *made = NULL;
    Py_buffer groups, first;
    (void)module;
    if (!PyArg_ParseTuple(args, "UO!y*y*", &name, &PyTuple_Type, &words, &groups, &first)) return NULL;
    Py_ssize_t count = PyTuple_GET_SIZE(words);
    const unsigned char *group = groups.buf;
    const int32_t *begin = first.buf;
    int fits = groups.len == 2 * count && first.len == (LETTERS + 1) * 4;
    for (int i = 0; fits && i < LETTERS; i++) fits = begin[i] >= 0 && begin[i] <= begin[i + 1] && begin[i + 1] <= count;
    for (Py_ssize_t i = 0; fits && i < count; i++) fits = PyBytes_Check(PyTuple_GET_ITEM(words, i)) && group[2 * i] < 63;
    if (!fits) PyErr_SetString(PyExc_ValueError, "the columns of the words do not fit together");
    else if (!PyUnicode_IS_ASCII(name)) made = Py_NewRef(Py_None);
    else {
        const unsigned char *text = PyUnicode_1BYTE_DATA(name);
        Py_ssize_t length = PyUnicode_GET_LENGTH(name);
        unsigned long long found = 0;
        for (Py_ssize_t at = 0; at < length; at++) {
            int letter = lower(text[at]) - 'a';
            if (letter < 0 || letter >= LETTERS) continue;
            for (int32_t w = begin[letter]; w < begin[letter + 1]; w++) {
                PyObject *word = PyTuple_GET_ITEM(words, w);
                if (found >> group[2 * w] & 1) continue;
                if (has_word_at(text, length, at, PyBytes_AS_STRING(word), PyBytes_GET_SIZE(word), group[2 * w + 1])) found |= 1ULL << group[2 * w];
            }
        }
        made = PyLong_FromUnsignedLongLong(found);
    }
    PyBuffer_Release(&groups);
    PyBuffer_Release(&first);
    return made;
}

enum { TEXT_FEATURES = 12 };   /* as in content/line_context.py */

/* Return what `_text_features` of content/line_context.py counts in each text, without prices. */
PyObject *native_text_features(PyObject *module, PyObject *args) {
    PyObject *texts, *made = NULL;
    Py_ssize_t max_short;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!n", &PyTuple_Type, &texts, &max_short)) return NULL;
    Py_ssize_t count = PyTuple_GET_SIZE(texts);
    if (!(made = PyBytes_FromStringAndSize(NULL, count * TEXT_FEATURES * (Py_ssize_t)sizeof(double)))) return NULL;
    double *x = (double *)PyBytes_AS_STRING(made);
    for (Py_ssize_t t = 0; t < count; t++, x += TEXT_FEATURES) {
        PyObject *text = PyTuple_GET_ITEM(texts, t);
        Py_ssize_t length = PyUnicode_Check(text) ? PyUnicode_GET_LENGTH(text) : 0;
        if (!length) { PyErr_SetString(PyExc_ValueError, "a line is a text that is not empty"); Py_DECREF(made); return NULL; }
        int kind = PyUnicode_KIND(text), is_short = length < max_short, bars = 0, cased = 0, lower = 0, after_cased = 0, is_title = 1;
        const void *data = PyUnicode_DATA(text);
        Py_ssize_t words = 1, commas = 0, sentences = 0, digits = 0;
        for (Py_ssize_t i = 0; i < length; i++) {
            Py_UCS4 c = PyUnicode_READ(kind, data, i), next = i + 1 < length ? PyUnicode_READ(kind, data, i + 1) : 0;
            words += c == ' ';
            commas += c == ',' || c == ';';
            sentences += ((c == '.' || c == '?' || c == '!') && next == ' ') || c == 0x3002;
            bars |= c == '|' || c == 0xb7 || c == 0x2022;
            if (!is_short) continue;
            digits += Py_UNICODE_ISDIGIT(c) != 0;
            if (Py_UNICODE_ISUPPER(c) || Py_UNICODE_ISTITLE(c)) {
                is_title &= !after_cased;
                lower |= Py_UNICODE_ISTITLE(c);
                cased = after_cased = 1;
            } else if (Py_UNICODE_ISLOWER(c)) {
                is_title &= after_cased;
                lower = cased = after_cased = 1;
            } else after_cased = 0;
        }
        Py_UCS4 first = PyUnicode_READ(kind, data, 0), last = PyUnicode_READ(kind, data, length - 1);
        int asks = last == '?' || last == 0xff1f;
        const double values[TEXT_FEATURES] = {
            (double)words, (double)commas, (double)sentences, asks || last == '.' || last == '!' || last == 0x3002 || last == 0xff01,
            last == ':' || last == 0xff1a, asks, Py_UNICODE_ISLOWER(first) != 0, is_short && cased && is_title, is_short && cased && !lower,
            is_short ? (double)digits / (double)length : 0, 0, bars};
        memcpy(x, values, sizeof values);
    }
    return made;
}
