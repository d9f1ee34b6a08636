#include "native.h"

/* The records of a cut: text pieces become fields, links become targets. The order of the work is that of `RecordReader`
   (records/fields.py) and `Columns.records_python` (records/record_columns.py). */

static const uint64_t PLACE_MASK = (1ull << 48) - 1;   /* as in fields.py */
enum { IS_TRANSPARENT = 1, NAMES_TEXT = 2 };           /* flags of signatures */

/* Position of a row inside its record, `PlaceInfo` of fields.py. */
typedef struct {
    uint64_t place;
    int32_t levels_up;          /* levels up to the row whose text it continues */
    int8_t is_term, is_known;
} PlaceInfo;

typedef struct {
    const Leaves *leaves;
    Py_buffer starts, ends, unit_row, link_rows, place_step, tag_step, flags;
    PyObject *targets, *names_of_places, *names, *labels, *other;
    unsigned long long own_place;
    Py_ssize_t own_nth, min_repeated;
    PlaceInfo *info;                          /* of the rows in units that were read, and of rows with links outside of these */
    PyObject *fields, *pieces, *pieces_at;    /* of the current record: dict; list, if it may have labels; dict of counts by place */
    int has_label;                            /* the current record has a text that may be a label */
} Reader;

typedef struct { int32_t first, last, row, begin, end; } Range;   /* RecordRange of fields.py */

static inline int32_t signature_of(const Reader *r, int32_t row) { return AT(r->leaves->signature, row); }
static inline uint64_t step_of(const Py_buffer *steps, int32_t signature) { return ((const uint64_t *)steps->buf)[signature]; }

/* Return the place of a row from that of its parent. */
static inline PlaceInfo place_below(const Reader *r, const PlaceInfo *above, int32_t row) {
    int32_t signature = signature_of(r, row), flags = AT(r->flags, signature);
    PlaceInfo info = *above;
    info.is_known = 1;
    if (flags & IS_TRANSPARENT) info.levels_up++;
    else {
        info.place = ((above->place * 31) ^ step_of(&r->place_step, signature)) & PLACE_MASK;
        info.levels_up = 0;
        info.is_term |= (flags & NAMES_TEXT) != 0;
    }
    return info;
}

/* Set the places of all rows of a unit. */
static void place_unit(Reader *r, int32_t unit, uint64_t place) {
    r->info[unit] = (PlaceInfo){place, 0, (AT(r->flags, signature_of(r, unit)) & NAMES_TEXT) != 0, 1};
    for (int32_t row = unit + 1; row < AT(r->leaves->end, unit); row++) r->info[row] = place_below(r, &r->info[AT(r->leaves->parent, row)], row);
}

/* Return the place of a row: below the unit that contains it, or below the root if no such unit was read. */
static uint64_t place_of_row(Reader *r, int32_t row) {
    static const PlaceInfo root = {0};
    if (!r->info[row].is_known)   /* place all rows outside of units at once; parents come first */
        for (int32_t i = 0; i < (int32_t)(r->leaves->signature.len / 4); i++)
            if (!r->info[i].is_known) r->info[i] = place_below(r, AT(r->leaves->parent, i) < 0 ? &root : &r->info[AT(r->leaves->parent, i)], i);
    return r->info[row].place;
}

static int has_letter(PyObject *text) {
    for (Py_ssize_t i = 0; i < PyUnicode_GET_LENGTH(text); i++)
        if (Py_UNICODE_ISALNUM(PyUnicode_READ_CHAR(text, i))) return 1;
    return 0;
}

static int may_be_label(const Reader *r, int is_term, PyObject *text) {
    if (!is_term && PyUnicode_FindChar(text, ':', 0, PyUnicode_GET_LENGTH(text), 1) < 0) return 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(r->labels); i++)
        if (PyUnicode_Tailmatch(text, PyTuple_GET_ITEM(r->labels, i), 0, PY_SSIZE_T_MAX, -1) == 1) return 1;
    return 0;
}

/* Increase a count of a dict, from 1; return the new count as a new reference. */
static PyObject *count_up(PyObject **counts, PyObject *key) {
    if (!*counts && !(*counts = PyDict_New())) return NULL;
    PyObject *before = PyDict_GetItemWithError(*counts, key), *now = NULL;
    if (!PyErr_Occurred()) now = PyLong_FromLong(before ? PyLong_AsLong(before) + 1 : 1);
    if (now && PyDict_SetItem(*counts, key, now) < 0) Py_CLEAR(now);
    return now;
}

/* Return the column of the next piece at a place (borrowed); "" if it is not data. */
static PyObject *column_at(Reader *r, PyObject *place) {
    PyObject *name = PyDict_GetItemWithError(r->names_of_places, place);
    if (name || PyErr_Occurred()) return name;
    PyObject *nth = count_up(&r->pieces_at, place), *key = nth ? PyTuple_Pack(2, place, nth) : NULL;
    if (key && !(name = PyDict_GetItemWithError(r->names, key)) && !PyErr_Occurred()) name = r->other;
    Py_XDECREF(nth);
    Py_XDECREF(key);
    return name;
}

/* Add a text to the fields of the current record. */
static int add_field(Reader *r, PyObject *place, PyObject *text) {
    PyObject *name = column_at(r, place);
    if (!name) return -1;
    if (!PyUnicode_Check(name)) { PyErr_SetString(PyExc_TypeError, "column names are str"); return -1; }
    if (!PyUnicode_GET_LENGTH(name)) return 0;
    PyObject *before = PyDict_GetItemWithError(r->fields, name);
    if (!before) return PyErr_Occurred() ? -1 : PyDict_SetItem(r->fields, name, text);
    PyObject *both = PyUnicode_FromFormat("%U; %U", before, text);
    int failed = both ? PyDict_SetItem(r->fields, name, both) : -1;
    Py_XDECREF(both);
    return failed;
}

/* Add a piece to the current record, unless it has no letter and no digit: to its pieces if it may have labels, else to its fields. */
static int add_piece(Reader *r, const PlaceInfo *info, PyObject *text, int32_t row) {
    if (!has_letter(text)) return 0;
    if (!r->pieces && (r->has_label || (r->has_label = may_be_label(r, info->is_term, text)))) return 0;
    PyObject *place = PyLong_FromUnsignedLongLong(info->place);
    int failed = -1;
    if (place && r->pieces) {
        PyObject *piece = Py_BuildValue("OOiO", place, text, (int)row, info->is_term ? Py_True : Py_False);
        failed = piece ? PyList_Append(r->pieces, piece) : -1;
        Py_XDECREF(piece);
    } else if (place) failed = add_field(r, place, text);
    Py_XDECREF(place);
    return failed;
}

/* Add the pieces of the leaves of one unit. */
static int read_pieces(Reader *r, int32_t first, int32_t last) {
    const Leaves *leaves = r->leaves;
    PyObject *text = NULL;         /* of the piece that is not added yet, … */
    int32_t text_row = -1, begin = -1;   /* … the row whose text it is, and the row where it begins */
    int failed = 0;
    for (int32_t leaf = first; !failed && leaf < last; leaf++) {
        int32_t row = AT(leaves->row, leaf), own_text_row = row;
        for (int32_t up = r->info[row].levels_up; up > 0 && own_text_row >= 0; up--) own_text_row = AT(leaves->parent, own_text_row);
        PyObject *own = PySequence_Fast_GET_ITEM(leaves->texts, leaf);
        int gap = ((const char *)leaves->gap.buf)[leaf];
        if (text && own_text_row == text_row && gap != BROKEN) {
            PyObject *both = gap == GLUED ? PyUnicode_Concat(text, own) : PyUnicode_FromFormat("%U %U", text, own);
            Py_DECREF(text);
            if (!(text = both)) failed = -1;
            continue;
        }
        if (text) failed = add_piece(r, &r->info[begin], text, begin);
        Py_XDECREF(text);
        text = Py_NewRef(own);
        text_row = own_text_row;
        begin = row;
    }
    if (text && !failed) failed = add_piece(r, &r->info[begin], text, begin);
    Py_XDECREF(text);
    return failed;
}

/* Set `place` to that of the next unit of a record (-1: a text of the container), and the places of the rows in the unit. */
static int place_next_unit(Reader *r, int32_t unit, int is_first, PyObject **steps, uint64_t *place) {
    uint64_t step = 1;
    long nth = 1;
    if (unit >= 0) step = step_of(is_first ? &r->tag_step : &r->place_step, signature_of(r, unit));
    if (unit < 0 || !is_first) {
        PyObject *key = PyLong_FromUnsignedLongLong(step), *count = key ? count_up(steps, key) : NULL;
        if (count) nth = PyLong_AsLong(count);
        Py_XDECREF(key);
        Py_XDECREF(count);
        if (!count) return -1;
    }
    *place = (step * 31 + (uint64_t)nth) & PLACE_MASK;
    if (unit >= 0) place_unit(r, unit, *place);
    return 0;
}

static int read_units(Reader *r, const Range *at) {
    const Leaves *leaves = r->leaves;
    PyObject *steps = NULL;   /* how many units of the record have each step */
    int failed = 0;
    for (int32_t leaf = at->first; !failed && leaf < at->last;) {
        int32_t unit = AT(r->unit_row, leaf);
        uint64_t place;
        if ((failed = place_next_unit(r, unit, leaf == at->first, &steps, &place))) break;
        if (unit >= 0) {
            int32_t end = AT(leaves->row_end, unit) < at->last ? AT(leaves->row_end, unit) : at->last;
            failed = read_pieces(r, leaf, end);
            leaf = end;
        } else {
            failed = add_piece(r, &(PlaceInfo){.place = place}, PySequence_Fast_GET_ITEM(leaves->texts, leaf), AT(leaves->row, leaf));
            leaf++;
        }
    }
    Py_XDECREF(steps);
    return failed;
}

/* Return the fields of a record, or its pieces if one of them may be a label. */
static PyObject *read_fields(Reader *r, const Range *at) {
    PyObject *result = NULL;
    r->has_label = 0;
    r->fields = PyDict_New();
    if (r->fields && read_units(r, at) == 0) {
        if (!r->has_label) result = Py_NewRef(r->fields);
        else if ((r->pieces = PyList_New(0)) && read_units(r, at) == 0) result = Py_NewRef(r->pieces);
    }
    Py_CLEAR(r->fields);
    Py_CLEAR(r->pieces);
    Py_CLEAR(r->pieces_at);
    return result;
}

/* Return the index of the first of some sorted numbers that is not below a value. */
static int32_t bisect(const Py_buffer *sorted, int32_t value) {
    int32_t low = 0, high = (int32_t)(sorted->len / 4);
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (AT(*sorted, middle) < value) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* Return the targets of the links of a record; set `own` to the target of the link to its record page (borrowed), or None. */
static PyObject *read_links(Reader *r, const Range *at, PyObject **own) {
    int32_t first = bisect(&r->link_rows, at->begin), last = bisect(&r->link_rows, at->end);
    PyObject *list = PyList_New(0);
    Py_ssize_t left = r->own_nth;
    *own = Py_None;
    for (int32_t k = first; list && k < last; k++) {
        PyObject *target = PyList_GET_ITEM(r->targets, k);
        if (target == Py_None) continue;
        if (PyList_Append(list, target) < 0) { Py_CLEAR(list); break; }
        if (left > 0 && place_of_row(r, AT(r->link_rows, k)) == r->own_place && !--left) *own = target;
    }
    PyObject *targets = list ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    return targets;
}

/* Return the text of some leaves on one line, without repeated texts of at least `min_repeated` characters. */
static PyObject *text_of(const Leaves *leaves, Py_ssize_t first, Py_ssize_t last, Py_ssize_t min_repeated) {
    PyObject *seen = last - first > 1 ? PySet_New(NULL) : NULL, *pieces = PyList_New(0), *space = PyUnicode_FromStringAndSize(" ", 1);
    PyObject *empty = PyUnicode_New(0, 0), *line = NULL;
    if (!pieces || !space || !empty || (last - first > 1 && !seen)) goto done;
    for (Py_ssize_t i = first; i < last; i++) {
        PyObject *text = PySequence_Fast_GET_ITEM(leaves->texts, i);
        if (seen && PyUnicode_GET_LENGTH(text) >= min_repeated) {
            Py_ssize_t before = PySet_GET_SIZE(seen);
            if (PySet_Add(seen, text) < 0) goto done;
            if (PySet_GET_SIZE(seen) == before) continue;
        }
        if (((const char *)leaves->gap.buf)[i] != GLUED && PyList_GET_SIZE(pieces) && PyList_Append(pieces, space) < 0) goto done;
        if (PyList_Append(pieces, text) < 0) goto done;
    }
    line = PyUnicode_Join(empty, pieces);
done:
    Py_XDECREF(seen);
    Py_XDECREF(pieces);
    Py_XDECREF(space);
    Py_XDECREF(empty);
    return line;
}

static Range range_of(const Reader *r, Py_ssize_t i) {
    const Leaves *leaves = r->leaves;
    Range at = {.first = AT(r->starts, i), .last = AT(r->ends, i)};
    int32_t first_unit = AT(r->unit_row, at.first), last_unit = AT(r->unit_row, at.last - 1);
    at.row = at.begin = first_unit >= 0 ? first_unit : AT(leaves->row, at.first);
    if (first_unit < 0) { int32_t begin = bisect(&leaves->row_start, at.first); if (begin > at.row) at.begin = begin; }
    at.end = last_unit >= 0 ? AT(leaves->end, last_unit) : bisect(&leaves->row_start, at.last);
    if (last_unit < 0 && at.end < at.begin) at.end = at.begin;
    return at;
}

/* Return 1 if records, units, links and signatures are those of the page. */
static int fits(const Reader *r) {
    const Leaves *l = r->leaves;
    Py_ssize_t leaves = PySequence_Fast_GET_SIZE(l->texts), rows = l->signature.len / 4;
    if (r->starts.len != r->ends.len || r->starts.len % 4 || r->unit_row.len != 4 * leaves || r->link_rows.len != 4 * PyList_GET_SIZE(r->targets) ||
        r->place_step.len != 8 * l->signatures || r->tag_step.len != 8 * l->signatures || r->flags.len != 4 * l->signatures)
        return 0;
    for (Py_ssize_t i = 0; i < r->starts.len / 4; i++)
        if (AT(r->starts, i) < 0 || AT(r->starts, i) >= AT(r->ends, i) || AT(r->ends, i) > leaves) return 0;
    for (Py_ssize_t i = 0; i < leaves; i++) {   /* a unit contains its leaves */
        int32_t unit = AT(r->unit_row, i);
        if (unit < -1 || unit >= rows || (unit >= 0 && (AT(l->row, i) < unit || AT(l->row, i) >= AT(l->end, unit) || AT(l->row_end, unit) <= i))) return 0;
    }
    for (Py_ssize_t i = 0; i < r->link_rows.len / 4; i++)
        if (AT(r->link_rows, i) < 0 || AT(r->link_rows, i) >= rows) return 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(r->labels); i++)
        if (!PyUnicode_Check(PyTuple_GET_ITEM(r->labels, i))) return 0;
    return 1;
}

PyObject *leaves_records(PyObject *object, PyObject *args) {
    Reader r = {.leaves = (Leaves *)object};
    if (!PyArg_ParseTuple(args, "y*y*y*y*O!y*y*y*O!O!O!UKnn", &r.starts, &r.ends, &r.unit_row, &r.link_rows, &PyList_Type, &r.targets, &r.place_step,
                          &r.tag_step, &r.flags, &PyDict_Type, &r.names_of_places, &PyDict_Type, &r.names, &PyTuple_Type, &r.labels, &r.other,
                          &r.own_place, &r.own_nth, &r.min_repeated))
        return NULL;
    size_t rows = (size_t)r.leaves->signature.len / 4;
    PyObject *columns[4] = {NULL}, *result = NULL;   /* fields, targets, own, texts */
    Ints ranges = {0};
    int failed = 0;
    if (!fits(&r)) PyErr_SetString(PyExc_ValueError, "the columns are of different pages");
    else if (!(r.info = PyMem_Calloc(rows + 1, sizeof(PlaceInfo)))) PyErr_NoMemory();
    else for (size_t k = 0; k < 4; k++) failed |= !(columns[k] = PyList_New(0));
    for (Py_ssize_t i = 0; r.info && !failed && i < r.starts.len / 4; i++) {
        Range at = range_of(&r, i);
        PyObject *own = NULL, *fields = read_fields(&r, &at), *targets = fields ? read_links(&r, &at, &own) : NULL;
        PyObject *text = !targets ? NULL : r.min_repeated > 0 ? text_of(r.leaves, at.first, at.last, r.min_repeated) : Py_NewRef(Py_None);
        failed = !text || PyList_Append(columns[0], fields) < 0 || PyList_Append(columns[1], targets) < 0 || PyList_Append(columns[2], own) < 0 ||
                 PyList_Append(columns[3], text) < 0 || push(&ranges, at.first) < 0 || push(&ranges, at.last) < 0 || push(&ranges, at.row) < 0 ||
                 push(&ranges, at.begin) < 0 || push(&ranges, at.end) < 0;
        Py_XDECREF(fields);
        Py_XDECREF(targets);
        Py_XDECREF(text);
    }
    if (r.info && !failed) result = Py_BuildValue("NOOOO", as_bytes(&ranges), columns[0], columns[1], columns[2], columns[3]);
    for (size_t k = 0; k < 4; k++) Py_XDECREF(columns[k]);
    PyMem_Free(r.info);
    PyMem_Free(ranges.at);
    RELEASE(&r.starts, &r.ends, &r.unit_row, &r.link_rows, &r.place_step, &r.tag_step, &r.flags);
    return result;
}
