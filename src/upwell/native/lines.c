#include "native.h"

enum { IS_INLINE = 1, IN_LINK = 2, TAGS_FROM = 4 };   /* bits of a code, as in content/lines.py */
enum { ROLES = 7 };                                   /* roles of class names; the last is "items" */

/* Return the characters of a chunk; those of unspaced scripts count as three. */
static double size_of(PyObject *chunk) {
    Py_ssize_t length = PyUnicode_GET_LENGTH(chunk), unspaced = 0;
    if (PyUnicode_KIND(chunk) != PyUnicode_1BYTE_KIND)
        for (Py_ssize_t i = 0; i < length; i++) unspaced += is_unspaced(PyUnicode_READ_CHAR(chunk, i));
    return (double)(length + 2 * unspaced);
}

/* Return the text of the chunks first … last of one line. */
static PyObject *text_of(PyObject *chunks, const char *gap, Py_ssize_t first, Py_ssize_t last) {
    if (last - first == 1) return Py_NewRef(PyTuple_GET_ITEM(chunks, first));
    Py_ssize_t length = 0, made = 0;
    Py_UCS4 most = 127;
    for (Py_ssize_t c = first; c < last; c++) {
        PyObject *chunk = PyTuple_GET_ITEM(chunks, c);
        length += PyUnicode_GET_LENGTH(chunk) + (c > first && gap[c] != GLUED);
        if (PyUnicode_MAX_CHAR_VALUE(chunk) > most) most = PyUnicode_MAX_CHAR_VALUE(chunk);
    }
    PyObject *text = PyUnicode_New(length, most);
    for (Py_ssize_t c = first; text && c < last; c++) {
        PyObject *chunk = PyTuple_GET_ITEM(chunks, c);
        if (c > first && gap[c] != GLUED) PyUnicode_WRITE(PyUnicode_KIND(text), PyUnicode_DATA(text), made++, gap[c] == SPACED ? ' ' : '\n');
        Py_ssize_t size = PyUnicode_GET_LENGTH(chunk);
        if (size && PyUnicode_CopyCharacters(text, made, chunk, 0, size) < 0) Py_CLEAR(text);
        made += size;
    }
    return text;
}

static PyObject *new_bytes(Py_ssize_t count, size_t size) { return PyBytes_FromStringAndSize(NULL, count * (Py_ssize_t)size); }
#define COLUMN(type, bytes) ((type *)PyBytes_AS_STRING(bytes))

PyObject *native_lines(PyObject *module, PyObject *args) {
    PyObject *chunks, *result = NULL;
    Py_buffer gap, chunk_row, parent, codes;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!y*y*y*y*", &PyTuple_Type, &chunks, &gap, &chunk_row, &parent, &codes)) return NULL;
    Py_ssize_t count = PyTuple_GET_SIZE(chunks), rows = parent.len / 4, lines = 0;
    const char *gaps = gap.buf;
    const int64_t *code = codes.buf;
    int fits = gap.len == count && chunk_row.len == count * 4 && codes.len == rows * 8 && parent.len == rows * 4;
    for (Py_ssize_t c = 0; c < count && fits; c++) {
        fits = PyUnicode_Check(PyTuple_GET_ITEM(chunks, c)) && AT(chunk_row, c) >= 0 && AT(chunk_row, c) < rows;
        lines += !c || gaps[c] == BROKEN;
    }
    for (Py_ssize_t row = 0; row < rows && fits; row++) fits = AT(parent, row) < row;
    PyObject *first = new_bytes(lines, 4), *last = new_bytes(lines, 4), *line_row = new_bytes(lines, 4), *chars = new_bytes(lines, 8);
    PyObject *linked = new_bytes(lines, 8), *texts = PyTuple_New(lines);
    if (!fits) PyErr_SetString(PyExc_ValueError, "the columns are of different pages");
    if (!fits || !first || !last || !line_row || !chars || !linked || !texts) goto done;
    for (Py_ssize_t c = 0, line = 0; c < count; line++) {
        Py_ssize_t begin = c;
        double size = 0, in_links = 0;
        do {
            double own = size_of(PyTuple_GET_ITEM(chunks, c));
            size += own;
            if (code[AT(chunk_row, c)] & IN_LINK) in_links += own;
            c++;
        } while (c < count && gaps[c] != BROKEN);
        int32_t row = AT(chunk_row, begin);
        while (code[row] & IS_INLINE && AT(parent, row) >= 0) row = AT(parent, row);
        PyObject *text = text_of(chunks, gaps, begin, c);
        if (!text) goto done;
        PyTuple_SET_ITEM(texts, line, text);
        COLUMN(int32_t, first)[line] = (int32_t)begin;
        COLUMN(int32_t, last)[line] = (int32_t)c;
        COLUMN(int32_t, line_row)[line] = row;
        COLUMN(double, chars)[line] = size;
        COLUMN(double, linked)[line] = in_links / size;
    }
    result = PyTuple_Pack(6, first, last, line_row, texts, chars, linked);
done:;
    PyObject *made[] = {first, last, line_row, texts, chars, linked};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) Py_XDECREF(made[i]);
    RELEASE(&gap, &chunk_row, &parent, &codes);
    return result;
}

/* Features of lines, in the order of FEATURES of content/lines.py. PARAGRAPH … IN_HEADER are in the order of the bits of a code, … */
enum {
    CONSTANT, SIZE, LINKED, ALL_LINKED, ENDS_SENTENCE, PARTLY_LINKED, PARAGRAPH, IN_HEADER = PARAGRAPH + 11,
    NAMED,      /* … and these in the order of the bits of roles */
    IN_TITLE = NAMED + ROLES, DATE, BYLINE, COPYRIGHT, PROSE_IN_STYLE, PROSE_IN_PARENT, IN_MAIN, BEFORE_MAIN, AFTER_MAIN, PROSE_BESIDE,
    PROSE_AROUND, LINKED_IN_PARENT, LINKED_ABOVE, SHORT_IN_PARENT, COMPANY, IN_CORE, IN_WIDE_CORE, BEFORE_CORE, AFTER_CORE, FEATURES
};
enum { COUNT_BITS = 9, AROUND = 3 };

typedef struct {
    double min_prose, short_line, item_mass, items_share, main_share, core_share, distance, min_title, max_title;
} Limits;

typedef struct {
    Py_ssize_t count, rows;
    const int32_t *row, *parent, *end, *text_at, *text_end;
    const double *chars, *linked;
    const int64_t *codes, *roles;
    PyObject *texts, *styles;
    Limits limits;
    int32_t *lines_before;                       /* lines that begin before each chunk, and all lines */
    double *mass, *before, *linked_before;       /* mass of each line; `before` and `linked_before`: cumulative sums over lines, reused */
    double *beside, *half_beside;                /* mass of the lines whose parent, or half of those whose grandparent, is the row */
    int64_t *above;                              /* differences by row, which `sum_above` turns into sums over a row and its ancestors */
    double (*x)[FEATURES];
} Features;

static inline int32_t above_row(const Features *f, int32_t row) { return f->parent[row] < 0 ? 0 : f->parent[row]; }
static inline int is_below(const Features *f, int32_t row, int32_t top) { return row >= top && row < f->end[top]; }
static inline double larger(double a, double b) { return a > b ? a : b; }

/* Return the sum over the lines in a subtree, from the cumulative sums `before`. */
static inline double sum_in(const Features *f, const double *before, int32_t row) {
    return before[f->lines_before[f->text_end[row]]] - before[f->lines_before[f->text_at[row]]];
}

/* Return the last row whose subtree has at least a share `least` of `total`. */
static int32_t deepest_row(const Features *f, double total, double least) {
    for (Py_ssize_t row = f->rows; row--;)
        if (sum_in(f, f->before, (int32_t)row) / total >= least) return (int32_t)row;
    return 0;
}

/* Sum `above`, so that each row has the sum of the values that `hold` gave to it and its ancestors. */
static void sum_above(Features *f) {
    for (Py_ssize_t row = 1; row < f->rows; row++) f->above[row] += f->above[row - 1];
}

/* Give a value to all rows of a subtree. */
static void hold(Features *f, int32_t row, int64_t value) {
    f->above[row] += value;
    f->above[f->end[row]] -= value;
}

/* Compute the mass of each line, reduced in blocks of items (`_without_items`). */
static void weigh(Features *f) {
    for (Py_ssize_t i = 0; i < f->count; i++) {
        int is_prose = f->chars[i] > f->limits.min_prose && f->linked[i] < 0.5;
        f->mass[i] = is_prose ? f->chars[i] * (1 - f->linked[i]) : 0;
        f->before[i + 1] = f->before[i] + f->mass[i];
    }
    int has_items = 0;
    for (int32_t row = 0; row < f->rows; row++)
        if (f->roles[row] >> (ROLES - 1) & 1 && sum_in(f, f->before, row) < f->limits.items_share * f->before[f->count]) {
            hold(f, row, 1);
            has_items = 1;
        }
    if (!has_items) return;
    sum_above(f);
    for (Py_ssize_t i = 0; i < f->count; i++)
        if (f->above[f->row[i]] > 0) f->mass[i] *= f->limits.item_mass;
}

/* Find the first and the last line of prose below a row. */
static void find_prose(const Features *f, int32_t top, Py_ssize_t *first, Py_ssize_t *last) {
    *first = -1;
    for (Py_ssize_t i = 0; i < f->count; i++)
        if (f->mass[i] > 0 && is_below(f, f->row[i], top)) {
            if (*first < 0) *first = i;
            *last = i;
        }
    if (*first < 0) { *first = 0; *last = f->count - 1; }
}

static double distance(const Features *f, Py_ssize_t lines) {
    double share = (double)lines / f->limits.distance;
    return share < 0 ? 0 : share > 1 ? 1 : share;
}

/* Fill the features relative to the deepest row with most of the prose; return that row and set `last` to its last line of prose. */
static int32_t fill_main(Features *f, double total, Py_ssize_t *last) {
    for (Py_ssize_t i = 0; i < f->count; i++) f->before[i + 1] = f->before[i] + f->mass[i] / total;
    int32_t main_row = deepest_row(f, 1, f->limits.main_share);
    Py_ssize_t first;
    find_prose(f, main_row, &first, last);
    for (Py_ssize_t i = 0; i < f->count; i++) {
        double *x = f->x[i];
        int around = 0, beside = 0;
        for (Py_ssize_t j = i - AROUND; j <= i + AROUND; j++) {
            if (j < 0 || j >= f->count || f->mass[j] <= 0) continue;
            around++;
            beside += j == i - 1 || j == i + 1;
        }
        x[PROSE_IN_PARENT] = sum_in(f, f->before, above_row(f, f->row[i]));
        x[IN_MAIN] = is_below(f, f->row[i], main_row);
        x[BEFORE_MAIN] = distance(f, first - i);
        x[AFTER_MAIN] = distance(f, i - *last);
        x[PROSE_BESIDE] = beside / 2.0;
        x[PROSE_AROUND] = around / (2.0 * AROUND + 1);
    }
    return main_row;
}

/* Fill the share of the prose in the style of each line. */
static int fill_style(Features *f, double total) {
    PyObject *number_of = PyDict_New();
    double *share = f->linked_before;   /* not in use yet */
    int32_t *number = PyMem_Malloc((size_t)f->count * sizeof(int32_t)), styles = 0;
    int failed = !number_of || !number;
    for (Py_ssize_t i = 0; i < f->count && !failed; i++) {
        PyObject *style = PyTuple_GET_ITEM(f->styles, i), *known = PyDict_GetItemWithError(number_of, style);
        if (!known && !PyErr_Occurred()) {
            PyObject *made = PyLong_FromLong(styles);
            failed = !made || PyDict_SetItem(number_of, style, made) < 0;
            Py_XDECREF(made);
            share[number[i] = styles++] = 0;
        } else if (known) number[i] = (int32_t)PyLong_AsLong(known);
        failed |= PyErr_Occurred() != NULL;
        if (!failed) share[number[i]] += f->mass[i] / total;
    }
    for (Py_ssize_t i = 0; i < f->count && !failed; i++) f->x[i][PROSE_IN_STYLE] = share[number[i]];
    Py_XDECREF(number_of);
    PyMem_Free(number);
    if (failed && !PyErr_Occurred()) PyErr_NoMemory();
    return failed ? -1 : 0;
}

/* Fill how many ancestors of each line have each role, not counting ancestors of the row with the prose; at most two (`_named_roles`). */
static void fill_named(Features *f, int32_t top) {
    memset(f->above, 0, (size_t)(f->rows + 1) * sizeof(int64_t));
    for (int32_t row = 0; row < f->rows; row++) {
        if (!f->roles[row] || (row <= top && f->end[row] > top)) continue;
        int64_t counts = 0;
        for (int k = 0; k < ROLES; k++) counts |= (f->roles[row] >> k & 1) << COUNT_BITS * k;
        hold(f, row, counts);
    }
    sum_above(f);
    for (Py_ssize_t i = 0; i < f->count; i++)
        for (int k = 0; k < ROLES; k++) {
            int64_t count = f->above[f->row[i]] >> COUNT_BITS * k & ((1 << COUNT_BITS) - 1);
            f->x[i][NAMED + k] = (count > 2 ? 2 : (double)count) / 2;
        }
}

/* Fill the features about the blocks around each line (`_core`). */
static void fill_core(Features *f) {
    f->linked_before[0] = 0;
    for (Py_ssize_t i = 0; i < f->count; i++) {
        f->before[i + 1] = f->before[i] + f->chars[i];
        f->linked_before[i + 1] = f->linked_before[i] + f->chars[i] * f->linked[i];
        f->beside[above_row(f, f->row[i])] += f->mass[i];
        f->half_beside[above_row(f, above_row(f, f->row[i]))] += f->mass[i] / 2;
    }
    double most = 1;
    for (Py_ssize_t row = 0; row < f->rows; row++) most = larger(most, f->beside[row] += f->half_beside[row]);
    for (Py_ssize_t i = 0; i < f->count; i++) {
        int32_t parent = above_row(f, f->row[i]), above = above_row(f, parent);
        f->x[i][LINKED_IN_PARENT] = sum_in(f, f->linked_before, parent) / larger(sum_in(f, f->before, parent), 1);
        f->x[i][LINKED_ABOVE] = sum_in(f, f->linked_before, above) / larger(sum_in(f, f->before, above), 1);
        f->x[i][COMPANY] = larger(f->beside[parent], f->beside[above]) / most;
    }
    for (Py_ssize_t i = 0; i < f->count; i++) {
        f->before[i + 1] = f->before[i] + f->mass[i] * f->x[i][COMPANY];
        f->linked_before[i + 1] = f->linked_before[i] + (f->chars[i] < f->limits.min_prose);   /* now: short lines */
    }
    double total = larger(1, f->before[f->count]);
    int32_t core = deepest_row(f, total, f->limits.main_share), wide = deepest_row(f, total, f->limits.core_share);
    Py_ssize_t first, last = 0;
    find_prose(f, wide, &first, &last);
    for (Py_ssize_t i = 0; i < f->count; i++) {
        int32_t parent = above_row(f, f->row[i]);
        f->x[i][SHORT_IN_PARENT] = sum_in(f, f->linked_before, parent) / larger(f->lines_before[f->text_end[parent]] - f->lines_before[f->text_at[parent]], 1);
        f->x[i][IN_CORE] = is_below(f, f->row[i], core);
        f->x[i][IN_WIDE_CORE] = is_below(f, f->row[i], wide);
        f->x[i][BEFORE_CORE] = distance(f, first - i);
        f->x[i][AFTER_CORE] = distance(f, i - last);
    }
}

/* Return 1 if a line may match DATE, which needs a digit, or BYLINE, which begins with one of a few letters. */
static int may_be_dated(PyObject *text) {
    Py_ssize_t length = PyUnicode_GET_LENGTH(text), i = 0;
    while (i < length && Py_UNICODE_ISSPACE(PyUnicode_READ_CHAR(text, i))) i++;
    if (i < length && PyUnicode_READ_CHAR(text, i) < 128 && strchr("abdpv", (int)PyUnicode_READ_CHAR(text, i) | 32)) return 1;
    for (; i < length; i++)
        if (is_decimal(PyUnicode_READ_CHAR(text, i))) return 1;
    return 0;
}

/* Fill the features of texts and of the tags around them; append short lines that may be a date or a byline to `dated`. */
static int fill_own(Features *f, PyObject *sentence_ends, PyObject *marks, PyObject *dated) {
    for (Py_ssize_t i = 0; i < f->count; i++) {
        double *x = f->x[i], linked = f->linked[i], size = log2(1 + f->chars[i] * ((1 - linked) * (1 - linked))) / 8;
        PyObject *text = PyTuple_GET_ITEM(f->texts, i);
        Py_ssize_t length = PyUnicode_GET_LENGTH(text);
        x[CONSTANT] = 1;
        x[SIZE] = size * size;
        x[LINKED] = linked;
        x[ALL_LINKED] = linked > 0.9;
        x[PARTLY_LINKED] = linked > 0 && linked < 0.5;
        for (int k = 0; k <= IN_HEADER - PARAGRAPH; k++) x[PARAGRAPH + k] = (double)(f->codes[f->row[i]] >> (TAGS_FROM + k) & 1);
        x[ENDS_SENTENCE] = length && PyUnicode_FindChar(sentence_ends, PyUnicode_READ_CHAR(text, length - 1), 0, PyUnicode_GET_LENGTH(sentence_ends), 1) >= 0;
        for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(marks) && !x[COPYRIGHT]; k++) {
            int has_mark = PyUnicode_Contains(text, PyTuple_GET_ITEM(marks, k));
            if (has_mark < 0) return -1;
            x[COPYRIGHT] = has_mark;
        }
        if (f->chars[i] >= f->limits.short_line || !may_be_dated(text)) continue;
        PyObject *number = PyLong_FromSsize_t(i);
        int failed = number ? PyList_Append(dated, number) : -1;
        Py_XDECREF(number);
        if (failed) return -1;
    }
    return 0;
}

/* Return 1 if the title contains the characters begin … end of a text, ignoring case; -1 with an error set. */
static int is_in_title(PyObject *text, Py_ssize_t begin, Py_ssize_t end, PyObject *title) {
    Py_UCS4 wanted[3] = {0};
    Py_ssize_t count = 0, length = PyUnicode_GET_LENGTH(title);
    while (begin + count < end && count < 3) {
        Py_UCS4 c = PyUnicode_READ_CHAR(text, begin + count);
        if (c >= 128) break;
        wanted[count++] = (Py_UCS4)Py_TOLOWER(c);
    }
    if (begin + count < end) {
        PyObject *part = PyUnicode_Substring(text, begin, end), *lower = part ? PyObject_CallMethod(part, "lower", NULL) : NULL;
        int matches = lower ? PyUnicode_Contains(title, lower) : -1;
        Py_XDECREF(part);
        Py_XDECREF(lower);
        return matches;
    }
    for (Py_ssize_t i = 0; count && i + count <= length; i++) {
        i = PyUnicode_FindChar(title, wanted[0], i, length - count + 1, 1);
        if (i < 0) return i == -2 ? -1 : 0;   /* -2 is an error */
        Py_ssize_t k = 1;
        while (k < count && PyUnicode_READ_CHAR(title, i + k) == wanted[k]) k++;
        if (k == count) return 1;
    }
    return !count;
}

/* Return the lines up to `last` that may agree with the title (`_title_candidates`). */
static PyObject *titled_lines(const Features *f, PyObject *title, Py_ssize_t last) {
    PyObject *titled = PyList_New(0);
    for (Py_ssize_t i = 0; titled && i <= last; i++) {
        if (f->chars[i] <= f->limits.min_title || f->chars[i] >= f->limits.max_title) continue;
        PyObject *text = PyTuple_GET_ITEM(f->texts, i);
        Py_ssize_t length = PyUnicode_GET_LENGTH(text);
        int matches = is_in_title(text, 0, length < 3 ? length : 3, title);
        if (!matches) matches = is_in_title(text, length < 4 ? 0 : length - 4, length ? length - 1 : 0, title);
        PyObject *number = matches > 0 ? PyLong_FromSsize_t(i) : NULL;
        if (matches < 0 || (matches && (!number || PyList_Append(titled, number) < 0))) Py_CLEAR(titled);
        Py_XDECREF(number);
    }
    return titled;
}

/* Return 1 if the columns fit together: every index is in range. */
static int features_fit(const Features *f, Py_ssize_t chunks) {
    if (PyTuple_GET_SIZE(f->texts) != f->count || PyTuple_GET_SIZE(f->styles) != f->count || !f->count || !f->rows) return 0;
    for (Py_ssize_t i = 0; i < f->count; i++)
        if (f->row[i] < 0 || f->row[i] >= f->rows || !PyUnicode_Check(PyTuple_GET_ITEM(f->texts, i))) return 0;
    for (Py_ssize_t row = 0; row < f->rows; row++)
        if (f->parent[row] >= row || f->end[row] <= row || f->end[row] > f->rows || f->text_at[row] < 0 || f->text_at[row] > chunks ||
            f->text_end[row] < f->text_at[row] || f->text_end[row] > chunks)
            return 0;
    return 1;
}

/* Count the lines that begin before each chunk; return -1 if the lines are not in order. */
static int number_lines(Features *f, const int32_t *first, Py_ssize_t chunks) {
    Py_ssize_t line = 0;
    for (Py_ssize_t i = 0; i < f->count; i++)
        if (first[i] < 0 || first[i] >= chunks || (i && first[i] <= first[i - 1])) return -1;
    for (Py_ssize_t c = 0; c <= chunks; c++) {
        f->lines_before[c] = (int32_t)line;
        line += line < f->count && first[line] == c;
    }
    return 0;
}

PyObject *native_line_features(PyObject *module, PyObject *args) {
    PyObject *title, *sentence_ends, *marks, *titled = NULL, *dated = NULL, *result = NULL;
    Py_buffer x, first, row, chars, linked, roles, codes, parent, end, text_at, text_end;
    Features f = {0};
    Limits *l = &f.limits;
    void *room = NULL;
    (void)module;
    if (!PyArg_ParseTuple(args, "w*y*y*y*y*y*y*y*y*y*y*O!O!UUO!(ddddddddd)", &x, &first, &row, &chars, &linked, &roles, &codes, &parent, &end,
                          &text_at, &text_end, &PyTuple_Type, &f.texts, &PyTuple_Type, &f.styles, &title, &sentence_ends, &PyTuple_Type, &marks,
                          &l->min_prose, &l->short_line, &l->item_mass, &l->items_share, &l->main_share, &l->core_share, &l->distance,
                          &l->min_title, &l->max_title))
        return NULL;
    f.count = first.len / 4;
    f.rows = parent.len / 4;
    f.row = row.buf, f.parent = parent.buf, f.end = end.buf, f.text_at = text_at.buf, f.text_end = text_end.buf;
    f.chars = chars.buf, f.linked = linked.buf, f.roles = roles.buf, f.codes = codes.buf, f.x = x.buf;
    int fits = row.len == f.count * 4 && chars.len == f.count * 8 && linked.len == f.count * 8 && roles.len == f.rows * 8 &&
               codes.len == f.rows * 8 && parent.len == f.rows * 4 && end.len == f.rows * 4 && text_at.len == f.rows * 4 &&
               text_end.len == f.rows * 4 && x.len == f.count * FEATURES * 8;
    Py_ssize_t chunks = fits && f.rows ? f.text_end[0] : 0, last = 0;
    if (!fits || !features_fit(&f, chunks)) { PyErr_SetString(PyExc_ValueError, "the columns are of different pages"); goto done; }
    size_t lines = (size_t)f.count, rows = (size_t)f.rows;
    if (!(room = PyMem_Calloc(3 * (lines + 1) + 3 * (rows + 1) + ((size_t)chunks + 2) / 2, 8))) { PyErr_NoMemory(); goto done; }
    f.mass = room, f.before = f.mass + lines + 1, f.linked_before = f.before + lines + 1;
    f.beside = f.linked_before + lines + 1, f.half_beside = f.beside + rows + 1;
    f.above = (int64_t *)(f.half_beside + rows + 1);
    f.lines_before = (int32_t *)(f.above + rows + 1);
    if (number_lines(&f, first.buf, chunks) < 0) { PyErr_SetString(PyExc_ValueError, "the lines are not in order"); goto done; }
    if (!(dated = PyList_New(0)) || fill_own(&f, sentence_ends, marks, dated) < 0) goto done;
    weigh(&f);
    double total = 0;
    for (Py_ssize_t i = 0; i < f.count; i++) total += f.mass[i];
    total = larger(1, total);
    if (fill_style(&f, total) < 0) goto done;
    fill_named(&f, fill_main(&f, total, &last));
    fill_core(&f);
    if ((titled = titled_lines(&f, title, last))) result = PyTuple_Pack(2, titled, dated);
done:
    PyMem_Free(room);
    Py_XDECREF(titled);
    Py_XDECREF(dated);
    RELEASE(&x, &first, &row, &chars, &linked, &roles, &codes, &parent, &end, &text_at, &text_end);
    return result;
}
