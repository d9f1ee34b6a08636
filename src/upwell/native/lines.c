#include "native.h"
#include <math.h>

enum { GLUED, SPACED, BROKEN };                                             /* as in spots.py */
enum { IS_INLINE = 1, IN_LINK = 2, TAGS_FROM = 4, ROLES_FROM = 16, ROLES = 7 };   /* bits of a code, as in content/lines.py */

static double size_of(PyObject *chunk) {
    Py_ssize_t length = PyUnicode_GET_LENGTH(chunk), unspaced = 0;
    if (PyUnicode_KIND(chunk) != PyUnicode_1BYTE_KIND)
        for (Py_ssize_t i = 0; i < length; i++) unspaced += is_unspaced(PyUnicode_READ_CHAR(chunk, i));
    return (double)(length + 2 * unspaced);
}

/* The text of the chunks first … last. */
static PyObject *text_of(PyObject *chunks, const char *gap, Py_ssize_t first, Py_ssize_t last) {
    if (last - first == 1) return Py_NewRef(PyTuple_GET_ITEM(chunks, first));
    Py_ssize_t length = 0, made = 0;
    Py_UCS4 most = 127;
    for (Py_ssize_t c = first; c < last; c++) {
        PyObject *chunk = PyTuple_GET_ITEM(chunks, c);
        length += PyUnicode_GET_LENGTH(chunk) + (c > first && gap[c] == SPACED);
        if (PyUnicode_MAX_CHAR_VALUE(chunk) > most) most = PyUnicode_MAX_CHAR_VALUE(chunk);
    }
    PyObject *text = PyUnicode_New(length, most);
    for (Py_ssize_t c = first; text && c < last; c++) {
        PyObject *chunk = PyTuple_GET_ITEM(chunks, c);
        if (c > first && gap[c] == SPACED) PyUnicode_WRITE(PyUnicode_KIND(text), PyUnicode_DATA(text), made++, ' ');
        Py_ssize_t size = PyUnicode_GET_LENGTH(chunk);
        if (size && PyUnicode_CopyCharacters(text, made, chunk, 0, size) < 0) Py_CLEAR(text);
        made += size;
    }
    return text;
}

/* The codes of all rows, from those of their spots. */
static int fill_codes(int64_t *codes, PyObject *spots, const Py_buffer *spot, PyObject *known, PyObject *code_of) {
    Py_ssize_t count = PyTuple_GET_SIZE(spots);
    int64_t *of_spot = PyMem_Malloc((size_t)(count + 1) * sizeof(int64_t));
    if (!of_spot) { PyErr_NoMemory(); return -1; }
    int failed = 0;
    for (Py_ssize_t i = 0; i < count && !failed; i++) {
        PyObject *at = PyTuple_GET_ITEM(spots, i), *code = PyDict_GetItemWithError(known, at);
        code = code ? Py_NewRef(code) : PyErr_Occurred() ? NULL : PyObject_CallOneArg(code_of, at);
        of_spot[i] = code ? PyLong_AsLongLong(code) : -1;
        Py_XDECREF(code);
        failed = PyErr_Occurred() != NULL;
    }
    for (Py_ssize_t row = 0; row < spot->len / 4 && !failed; row++) {
        if (AT(*spot, row) < 0 || AT(*spot, row) >= count) { PyErr_SetString(PyExc_IndexError, "no such spot"); failed = 1; }
        else codes[row] = of_spot[AT(*spot, row)];
    }
    PyMem_Free(of_spot);
    return failed ? -1 : 0;
}

static PyObject *new_bytes(Py_ssize_t count, size_t size) { return PyBytes_FromStringAndSize(NULL, count * (Py_ssize_t)size); }
#define COLUMN(type, bytes) ((type *)PyBytes_AS_STRING(bytes))

/* lines(chunks, gap, chunk_row, parent, spot, spots, known_codes, code_of): the columns of `Lines` of content/lines.py. */
PyObject *page_lines(PyObject *module, PyObject *args) {
    PyObject *chunks, *spots, *known, *code_of, *result = NULL;
    Py_buffer gap, chunk_row, parent, spot;
    (void)module;
    if (!PyArg_ParseTuple(args, "O!y*y*y*y*O!O!O", &PyTuple_Type, &chunks, &gap, &chunk_row, &parent, &spot, &PyTuple_Type, &spots, &PyDict_Type, &known, &code_of))
        return NULL;
    Py_ssize_t count = PyTuple_GET_SIZE(chunks), rows = parent.len / 4, lines = 0;
    const char *gaps = gap.buf;
    int fits = gap.len == count && chunk_row.len == count * 4 && spot.len == rows * 4 && parent.len == rows * 4;
    for (Py_ssize_t c = 0; c < count && fits; c++) {
        fits = PyUnicode_Check(PyTuple_GET_ITEM(chunks, c)) && AT(chunk_row, c) >= 0 && AT(chunk_row, c) < rows;
        lines += !c || gaps[c] == BROKEN;
    }
    for (Py_ssize_t row = 0; row < rows && fits; row++) fits = AT(parent, row) < row;
    PyObject *first = new_bytes(lines, 4), *last = new_bytes(lines, 4), *line_row = new_bytes(lines, 4), *chars = new_bytes(lines, 8);
    PyObject *linked = new_bytes(lines, 8), *codes = new_bytes(rows, 8), *texts = PyTuple_New(lines), *styles = PyTuple_New(lines);
    PyObject **style_of = PyMem_Calloc((size_t)PyTuple_GET_SIZE(spots) + 1, sizeof(PyObject *));   /* of the spots where lines stand */
    if (!fits) PyErr_SetString(PyExc_ValueError, "the columns are of different pages");
    if (!style_of) PyErr_NoMemory();
    if (!fits || !first || !last || !line_row || !chars || !linked || !codes || !texts || !styles || !style_of) goto done;
    int64_t *code = COLUMN(int64_t, codes);
    if (fill_codes(code, spots, &spot, known, code_of) < 0) goto done;
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
        PyObject *text = text_of(chunks, gaps, begin, c), **style = &style_of[AT(spot, row)];
        if (text && !*style) *style = PyObject_GetAttrString(PyTuple_GET_ITEM(spots, AT(spot, row)), "style");
        if (!text || !*style) { Py_XDECREF(text); goto done; }
        PyTuple_SET_ITEM(texts, line, text);
        PyTuple_SET_ITEM(styles, line, Py_NewRef(*style));
        COLUMN(int32_t, first)[line] = (int32_t)begin;
        COLUMN(int32_t, last)[line] = (int32_t)c;
        COLUMN(int32_t, line_row)[line] = row;
        COLUMN(double, chars)[line] = size;
        COLUMN(double, linked)[line] = in_links / size;
    }
    result = PyTuple_Pack(8, first, last, line_row, texts, chars, linked, styles, codes);
done:
    for (Py_ssize_t i = 0; style_of && i < PyTuple_GET_SIZE(spots); i++) Py_XDECREF(style_of[i]);
    PyMem_Free(style_of);
    PyObject *made[] = {first, last, line_row, texts, chars, linked, styles, codes};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) Py_XDECREF(made[i]);
    Py_buffer *buffers[] = {&gap, &chunk_row, &parent, &spot};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) PyBuffer_Release(buffers[i]);
    return result;
}

/* The features of lines, in the order of FEATURES of content/lines.py; those that a code has follow each other as its bits do, … */
enum {
    CONSTANT, SIZE, LINKED, ALL_LINKED, ENDS_SENTENCE, PARTLY_LINKED, PARAGRAPH, IN_HEADER = PARAGRAPH + 11,
    NAMED,      /* … and here those that the roles have */
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
    const int64_t *codes;
    PyObject *texts, *styles;
    Limits limits;
    int32_t *lines_before;                       /* of each chunk, and of the end */
    double *mass, *before, *linked_before;       /* `before` and `linked_before` are sums over lines, of one thing after another */
    double *beside, *half_beside;                /* sums by row */
    int64_t *roles, *above;                      /* of each row, and a sum over it and the rows above it */
    double (*x)[FEATURES];
} Features;

static inline int32_t above_row(const Features *f, int32_t row) { return f->parent[row] < 0 ? 0 : f->parent[row]; }
static inline int is_below(const Features *f, int32_t row, int32_t top) { return row >= top && row < f->end[top]; }
static inline double larger(double a, double b) { return a > b ? a : b; }

/* The sum over the lines of a row. */
static inline double sum_in(const Features *f, const double *before, int32_t row) {
    return before[f->lines_before[f->text_end[row]]] - before[f->lines_before[f->text_at[row]]];
}

/* The last row that has at least this share of what was summed up. */
static int32_t deepest_row(const Features *f, double total, double least) {
    for (Py_ssize_t row = f->rows; row--;)
        if (sum_in(f, f->before, (int32_t)row) / total >= least) return (int32_t)row;
    return 0;
}

static int add_roles(Features *f, PyObject *ids, PyObject *role_of_name) {
    for (Py_ssize_t row = 0; row < f->rows; row++) f->roles[row] = f->codes[row] >> ROLES_FROM & ((1 << ROLES) - 1);
    PyObject *key, *name;
    for (Py_ssize_t at = 0; PyDict_Next(ids, &at, &key, &name);) {
        Py_ssize_t row = PyNumber_AsSsize_t(key, PyExc_IndexError);
        if (row == -1 && PyErr_Occurred()) return -1;
        if (row < 0 || row >= f->rows) { PyErr_SetString(PyExc_IndexError, "no such row"); return -1; }
        PyObject *role = PyObject_CallOneArg(role_of_name, name);
        if (!role) return -1;
        f->roles[row] |= PyLong_AsLongLong(role) & ((1 << ROLES) - 1);
        Py_DECREF(role);
        if (PyErr_Occurred()) return -1;
    }
    return 0;
}

/* Turns values of rows, of which `above` has what begins at a row less what ended before it, into sums over each row and those above it. */
static void sum_above(Features *f) {
    for (Py_ssize_t row = 1; row < f->rows; row++) f->above[row] += f->above[row - 1];
}

static void hold(Features *f, int32_t row, int64_t value) {
    f->above[row] += value;
    f->above[f->end[row]] -= value;
}

/* The mass of each line, less where it stands in blocks of items. */
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

/* The first and the last line of prose below a row. */
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

/* The columns about the row that holds most of the prose, which is given back; `last` gets its last line of prose. */
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

/* The share of the prose in the style of each line. */
static int fill_style(Features *f, double total) {
    PyObject *number_of = PyDict_New();
    double *share = f->linked_before;   /* free at this time */
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

/* How many of the blocks around each line have each of the names, below the row that holds the prose: at most two. */
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

/* `_core` of content/lines.py. */
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
        f->linked_before[i + 1] = f->linked_before[i] + (f->chars[i] < f->limits.min_prose);   /* from here on: short lines before each */
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

/* Whether a line may be a date or begin like the name of an author: DATE needs a digit, BYLINE one of few letters. */
static int may_be_dated(PyObject *text) {
    Py_ssize_t length = PyUnicode_GET_LENGTH(text), i = 0;
    while (i < length && Py_UNICODE_ISSPACE(PyUnicode_READ_CHAR(text, i))) i++;
    if (i < length && PyUnicode_READ_CHAR(text, i) < 128 && strchr("abdpv", (int)PyUnicode_READ_CHAR(text, i) | 32)) return 1;
    for (; i < length; i++)
        if (is_decimal(PyUnicode_READ_CHAR(text, i))) return 1;
    return 0;
}

/* The columns about the texts themselves, and about the tags that they stand in. */
static int fill_own(Features *f, PyObject *date_and_byline, PyObject *sentence_ends, PyObject *marks) {
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
        PyObject *found = PyObject_CallOneArg(date_and_byline, text);
        int is_date, is_byline, read = found && PyArg_Parse(found, "(pp)", &is_date, &is_byline);
        Py_XDECREF(found);
        if (!read) return -1;
        x[DATE] = is_date;
        x[BYLINE] = is_byline;
    }
    return 0;
}

/* Whether characters of a text stand in the title, without regard to capitals; -1 with an error. */
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
        int found = lower ? PyUnicode_Contains(title, lower) : -1;
        Py_XDECREF(part);
        Py_XDECREF(lower);
        return found;
    }
    for (Py_ssize_t i = 0; count && i + count <= length; i++) {
        i = PyUnicode_FindChar(title, wanted[0], i, length - count + 1, 1);
        if (i < 0) return i == -2 ? -1 : 0;   /* an error, or nowhere */
        Py_ssize_t k = 1;
        while (k < count && PyUnicode_READ_CHAR(title, i + k) == wanted[k]) k++;
        if (k == count) return 1;
    }
    return !count;
}

/* The lines up to `last` that may agree with the title, as `_titled` of content/lines.py has them. */
static PyObject *titled_lines(const Features *f, PyObject *title, Py_ssize_t last) {
    PyObject *titled = PyList_New(0);
    for (Py_ssize_t i = 0; titled && i <= last; i++) {
        if (f->chars[i] <= f->limits.min_title || f->chars[i] >= f->limits.max_title) continue;
        PyObject *text = PyTuple_GET_ITEM(f->texts, i);
        Py_ssize_t length = PyUnicode_GET_LENGTH(text);
        int found = is_in_title(text, 0, length < 3 ? length : 3, title);
        if (!found) found = is_in_title(text, length < 4 ? 0 : length - 4, length ? length - 1 : 0, title);
        PyObject *number = found > 0 ? PyLong_FromSsize_t(i) : NULL;
        if (found < 0 || (found && (!number || PyList_Append(titled, number) < 0))) Py_CLEAR(titled);
        Py_XDECREF(number);
    }
    return titled;
}

/* Whether the columns belong together: every number leads to something that is there. */
static int do_fit(const Features *f, Py_ssize_t chunks) {
    if (PyTuple_GET_SIZE(f->texts) != f->count || PyTuple_GET_SIZE(f->styles) != f->count || !f->count || !f->rows) return 0;
    for (Py_ssize_t i = 0; i < f->count; i++)
        if (f->row[i] < 0 || f->row[i] >= f->rows || !PyUnicode_Check(PyTuple_GET_ITEM(f->texts, i))) return 0;
    for (Py_ssize_t row = 0; row < f->rows; row++)
        if (f->parent[row] >= row || f->end[row] <= row || f->end[row] > f->rows || f->text_at[row] < 0 || f->text_at[row] > chunks ||
            f->text_end[row] < f->text_at[row] || f->text_end[row] > chunks)
            return 0;
    return 1;
}

/* How many lines begin before each chunk; -1 where lines do not begin one after the other. */
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

/* line_features(x, columns of the lines, columns of the page, texts, what is asked of texts, limits): fills the features, as content/lines.py
   has them, into x, which is all zeros; gives the lines that may agree with the title. */
PyObject *page_line_features(PyObject *module, PyObject *args) {
    PyObject *ids, *title, *role_of_name, *date_and_byline, *sentence_ends, *marks, *titled = NULL;
    Py_buffer x, first, row, chars, linked, codes, parent, end, text_at, text_end;
    Features f = {0};
    Limits *l = &f.limits;
    void *room = NULL;
    (void)module;
    if (!PyArg_ParseTuple(args, "w*(y*y*y*y*y*)(y*y*y*y*)(O!O!O!U)(OOUO!)(ddddddddd)", &x, &first, &row, &chars, &linked, &codes, &parent, &end, &text_at,
                          &text_end, &PyTuple_Type, &f.texts, &PyTuple_Type, &f.styles, &PyDict_Type, &ids, &title, &role_of_name, &date_and_byline,
                          &sentence_ends, &PyTuple_Type, &marks, &l->min_prose, &l->short_line, &l->item_mass, &l->items_share, &l->main_share,
                          &l->core_share, &l->distance, &l->min_title, &l->max_title))
        return NULL;
    f.count = first.len / 4;
    f.rows = parent.len / 4;
    f.row = row.buf, f.parent = parent.buf, f.end = end.buf, f.text_at = text_at.buf, f.text_end = text_end.buf;
    f.chars = chars.buf, f.linked = linked.buf, f.codes = codes.buf, f.x = x.buf;
    int fits = row.len == f.count * 4 && chars.len == f.count * 8 && linked.len == f.count * 8 && codes.len == f.rows * 8 && parent.len == f.rows * 4 &&
               end.len == f.rows * 4 && text_at.len == f.rows * 4 && text_end.len == f.rows * 4 && x.len == f.count * FEATURES * 8;
    Py_ssize_t chunks = fits && f.rows ? f.text_end[0] : 0, last = 0;
    if (!fits || !do_fit(&f, chunks)) { PyErr_SetString(PyExc_ValueError, "the columns are of different pages"); goto done; }
    size_t lines = (size_t)f.count, rows = (size_t)f.rows;
    if (!(room = PyMem_Calloc(3 * (lines + 1) + 4 * (rows + 1) + ((size_t)chunks + 2) / 2, 8))) { PyErr_NoMemory(); goto done; }
    f.mass = room, f.before = f.mass + lines + 1, f.linked_before = f.before + lines + 1;
    f.beside = f.linked_before + lines + 1, f.half_beside = f.beside + rows + 1;
    f.roles = (int64_t *)(f.half_beside + rows + 1), f.above = f.roles + rows + 1;
    f.lines_before = (int32_t *)(f.above + rows + 1);
    if (number_lines(&f, first.buf, chunks) < 0) { PyErr_SetString(PyExc_ValueError, "lines begin one after the other"); goto done; }
    if (add_roles(&f, ids, role_of_name) < 0 || fill_own(&f, date_and_byline, sentence_ends, marks) < 0) goto done;
    weigh(&f);
    double total = 0;
    for (Py_ssize_t i = 0; i < f.count; i++) total += f.mass[i];
    total = larger(1, total);
    if (fill_style(&f, total) < 0) goto done;
    fill_named(&f, fill_main(&f, total, &last));
    fill_core(&f);
    titled = titled_lines(&f, title, last);
done:
    PyMem_Free(room);
    Py_buffer *buffers[] = {&x, &first, &row, &chars, &linked, &codes, &parent, &end, &text_at, &text_end};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) PyBuffer_Release(buffers[i]);
    return titled;
}
