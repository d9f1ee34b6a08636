#include "native.h"

/* The records of a cut with their fields and links, as `Columns.records` of records/record_columns.py has them. */

static const uint64_t PLACE_MASK = (1ull << 48) - 1;   /* as in fields.py */

typedef struct {
    Sink sink;
    const Leaves *leaves;
    Py_buffer starts, ends, unit_row, link_rows;
    PyObject *targets;                                      /* a list: of each link its target, or None */
    PyObject *names_of_places, *names, *labels, *other;     /* of the columns */
    unsigned long long own_place;
    Py_ssize_t own_nth;
    PyObject *places, *root, *unit_places;
    PyTypeObject *piece, *range, *record;
    Py_ssize_t shortest;                                    /* of the texts that a record says once; 0: Python makes its text */
    PyObject **below;                                       /* of each row that is a unit of a record that was read */
    PyObject *fields, *pieces, *pieces_at;                  /* of the record at hand */
    int is_labelled;                                        /* it has a text that may be a label: Python makes its fields of its pieces */
} Reading;

typedef struct { int32_t first, last, row, begin, end; } Range;

static PyObject *as_range(const Reading *r, const Range *at) {
    const int32_t numbers[] = {at->first, at->last, at->row, at->begin, at->end};
    PyObject *made = r->range->tp_alloc(r->range, 5);
    for (int i = 0; made && i < 5; i++) {
        PyObject *number = PyLong_FromLong(numbers[i]);
        if (!number) Py_CLEAR(made);
        else PyTuple_SET_ITEM(made, i, number);
    }
    return made;
}

/* The first of the sorted numbers that is not below a value. */
static int32_t bisect(const Py_buffer *sorted, int32_t value) {
    int32_t low = 0, high = (int32_t)(sorted->len / 4);
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (AT(*sorted, middle) < value) low = middle + 1;
        else high = middle;
    }
    return low;
}

static int begins_like_label(const Reading *r, PyObject *info, PyObject *text) {
    if (PyTuple_GET_ITEM(info, 2) != Py_True && PyUnicode_FindChar(text, ':', 0, PyUnicode_GET_LENGTH(text), 1) < 0) return 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(r->labels); i++)
        if (PyUnicode_Tailmatch(text, PyTuple_GET_ITEM(r->labels, i), 0, PY_SSIZE_T_MAX, -1) == 1) return 1;
    return 0;
}

/* The name of the next piece at a place (borrowed); "" where it is no data. */
static PyObject *name_of(Reading *r, PyObject *place) {
    PyObject *name = PyDict_GetItemWithError(r->names_of_places, place);
    if (name || PyErr_Occurred()) return name;
    if (!r->pieces_at && !(r->pieces_at = PyDict_New())) return NULL;
    PyObject *before = PyDict_GetItemWithError(r->pieces_at, place);
    if (PyErr_Occurred()) return NULL;
    PyObject *nth = PyLong_FromLong(before ? PyLong_AsLong(before) + 1 : 1), *key = nth ? PyTuple_Pack(2, place, nth) : NULL;
    if (key && PyDict_SetItem(r->pieces_at, place, nth) == 0) {
        name = PyDict_GetItemWithError(r->names, key);
        if (!name && !PyErr_Occurred()) name = r->other;
    }
    Py_XDECREF(nth);
    Py_XDECREF(key);
    return name;
}

static int add_field(Sink *sink, PyObject *info, PyObject *text, int32_t row) {
    Reading *r = (Reading *)sink;
    if (r->pieces) {
        PyObject *piece = make_piece(r->piece, info, text, row);
        int failed = piece ? PyList_Append(r->pieces, piece) : -1;
        Py_XDECREF(piece);
        return failed;
    }
    if (r->is_labelled || (r->is_labelled = begins_like_label(r, info, text))) return 0;
    PyObject *name = name_of(r, PyTuple_GET_ITEM(info, 0));
    if (!name) return -1;
    if (!PyUnicode_Check(name)) { PyErr_SetString(PyExc_TypeError, "names are str"); return -1; }
    if (!PyUnicode_GET_LENGTH(name)) return 0;
    PyObject *before = PyDict_GetItemWithError(r->fields, name);
    if (!before) return PyErr_Occurred() ? -1 : PyDict_SetItem(r->fields, name, text);
    PyObject *both = PyUnicode_FromFormat("%U; %U", before, text);
    int failed = both ? PyDict_SetItem(r->fields, name, both) : -1;
    Py_XDECREF(both);
    return failed;
}

static int step_of(PyObject *spot, const char *name, uint64_t *step) {
    PyObject *value = PyObject_GetAttrString(spot, name);
    *step = value ? PyLong_AsUnsignedLongLongMask(value) : 0;
    Py_XDECREF(value);
    return PyErr_Occurred() ? -1 : 0;
}

/* How often a step has come in the record, with this time. */
static long count_step(PyObject **steps, uint64_t step) {
    if (!*steps && !(*steps = PyDict_New())) return -1;
    PyObject *key = PyLong_FromUnsignedLongLong(step), *before = key ? PyDict_GetItemWithError(*steps, key) : NULL;
    long count = before ? PyLong_AsLong(before) + 1 : 1;
    PyObject *now = key && !PyErr_Occurred() ? PyLong_FromLong(count) : NULL;
    int failed = now ? PyDict_SetItem(*steps, key, now) : -1;
    Py_XDECREF(key);
    Py_XDECREF(now);
    return failed ? -1 : count;
}

/* The place of a unit (-1: a text of the container), `_place_of_unit` of fields.py; what is known below it is kept by its row. */
static PyObject *place_unit(Reading *r, int32_t unit, int is_first, PyObject **steps) {
    PyObject *spot = unit >= 0 ? PyTuple_GET_ITEM(r->leaves->spots, AT(r->leaves->spot, unit)) : NULL;
    uint64_t step = 1;
    long nth = 1;
    if (spot && step_of(spot, is_first ? "tag_step" : "place_step", &step) < 0) return NULL;
    if ((!spot || !is_first) && (nth = count_step(steps, step)) < 0) return NULL;
    PyObject *place = PyLong_FromUnsignedLongLong((step * 31 + (uint64_t)nth) & PLACE_MASK);
    if (!place || !spot) return place;
    PyObject *key = PyTuple_Pack(2, place, spot), *below = key ? PyDict_GetItemWithError(r->places, key) : NULL;
    Py_XDECREF(key);
    below = below ? Py_NewRef(below) : PyErr_Occurred() ? NULL : PyObject_CallFunctionObjArgs(r->unit_places, place, spot, NULL);
    if (below && !PyDict_Check(below)) { PyErr_SetString(PyExc_TypeError, "what is known below a unit is a dict"); Py_CLEAR(below); }
    if (!below) { Py_DECREF(place); return NULL; }
    Py_XSETREF(r->below[unit], below);
    return place;
}

static int read_units(Reading *r, const Range *at) {
    const Leaves *leaves = r->leaves;
    PyObject *steps = NULL;
    int failed = 0;
    for (int32_t leaf = at->first; !failed && leaf < at->last;) {
        int32_t unit = AT(r->unit_row, leaf);
        PyObject *place = place_unit(r, unit, leaf == at->first, &steps);
        if (!place) { failed = -1; break; }
        if (unit >= 0) {
            int32_t end = AT(leaves->row_end, unit) < at->last ? AT(leaves->row_end, unit) : at->last;
            if (end <= leaf) end = leaf + 1;   /* a unit holds its leaves; else nothing would go on */
            failed = read_pieces(leaves, &r->sink, leaf, end, r->below[unit]);
            leaf = end;
        } else {
            PyObject *text = PySequence_Fast_GET_ITEM(leaves->texts, leaf);
            if (has_letter(text)) {
                PyObject *info = PyTuple_Pack(3, place, Py_False, Py_False);
                failed = info ? add_field(&r->sink, info, text, AT(leaves->row, leaf)) : -1;
                Py_XDECREF(info);
            }
            leaf++;
        }
        Py_DECREF(place);
    }
    Py_XDECREF(steps);
    return failed;
}

/* The fields of a record; its pieces where one may be a label. */
static PyObject *read_fields(Reading *r, const Range *at) {
    PyObject *found = NULL;
    r->is_labelled = 0;
    r->fields = PyDict_New();
    if (r->fields && read_units(r, at) == 0) {
        if (!r->is_labelled) found = Py_NewRef(r->fields);
        else if ((r->pieces = PyList_New(0)) && read_units(r, at) == 0) found = Py_NewRef(r->pieces);
    }
    Py_CLEAR(r->fields);
    Py_CLEAR(r->pieces);
    Py_CLEAR(r->pieces_at);
    return found;
}

/* Whether a link stands at the place of the links to records' own pages: 1 or 0, -1 for an error. */
static int is_own_place(const Reading *r, PyObject *alone, int32_t row) {
    const Leaves *leaves = r->leaves;
    PyObject *below = alone;
    for (int32_t unit = row; !below; unit = AT(leaves->parent, unit)) below = unit < 0 ? r->root : r->below[unit];
    PyObject *info = place_info(below, PyTuple_GET_ITEM(leaves->spots, AT(leaves->spot, row)), r->sink.place_of);
    if (!info) return -1;
    unsigned long long place = PyLong_AsUnsignedLongLongMask(PyTuple_GET_ITEM(info, 0));
    Py_DECREF(info);
    return place == r->own_place;
}

/* The targets of the links of a record; `own` gets that of the link to its own page, borrowed, or None. */
static PyObject *read_links(const Reading *r, const Range *at, PyObject **own) {
    int32_t first = bisect(&r->link_rows, at->begin), last = bisect(&r->link_rows, at->end);
    PyObject *alone = at->end == AT(r->leaves->end, at->row) ? r->below[at->row] : NULL;   /* it is one unit */
    PyObject *found = PyList_New(0);
    Py_ssize_t left = r->own_nth;
    *own = Py_None;
    for (int32_t k = first; found && k < last; k++) {
        PyObject *target = PyList_GET_ITEM(r->targets, k);
        if (target == Py_None) continue;
        if (PyList_Append(found, target) < 0) { Py_CLEAR(found); break; }
        if (left <= 0) continue;
        int is_own = is_own_place(r, alone, AT(r->link_rows, k));
        if (is_own < 0) { Py_CLEAR(found); break; }
        if (is_own && !--left) *own = target;
    }
    PyObject *targets = found ? PyList_AsTuple(found) : NULL;
    Py_XDECREF(found);
    return targets;
}

static PyObject *read_record(Reading *r, Py_ssize_t i) {
    const Leaves *leaves = r->leaves;
    Range at = {.first = AT(r->starts, i), .last = AT(r->ends, i)};
    int32_t first_unit = AT(r->unit_row, at.first), last_unit = AT(r->unit_row, at.last - 1);
    at.row = at.begin = first_unit >= 0 ? first_unit : AT(leaves->row, at.first);
    if (first_unit < 0) { int32_t begin = bisect(&leaves->row_start, at.first); if (begin > at.row) at.begin = begin; }
    at.end = last_unit >= 0 ? AT(leaves->end, last_unit) : bisect(&leaves->row_start, at.last);
    if (last_unit < 0 && at.end < at.begin) at.end = at.begin;
    PyObject *own, *fields = read_fields(r, &at), *targets = fields ? read_links(r, &at, &own) : NULL, *range = targets ? as_range(r, &at) : NULL;
    PyObject *text = !range ? NULL : r->shortest > 0 ? text_of_leaves(leaves, at.first, at.last, r->shortest) : Py_NewRef(Py_None);
    PyObject *made = text ? r->record->tp_alloc(r->record, 5) : NULL;
    if (!made) {
        Py_XDECREF(fields);
        Py_XDECREF(targets);
        Py_XDECREF(range);
        Py_XDECREF(text);
        return NULL;
    }
    PyTuple_SET_ITEM(made, 0, range);
    PyTuple_SET_ITEM(made, 1, fields);
    PyTuple_SET_ITEM(made, 2, targets);
    PyTuple_SET_ITEM(made, 3, Py_NewRef(own));
    PyTuple_SET_ITEM(made, 4, text);
    return made;
}

static int is_tuple_type(PyObject *object) { return PyType_Check(object) && PyType_IsSubtype((PyTypeObject *)object, &PyTuple_Type); }

/* Whether the records, units and links lie on the page. */
static int do_fit(const Reading *r) {
    Py_ssize_t leaves = PySequence_Fast_GET_SIZE(r->leaves->texts), rows = r->leaves->spot.len / 4;
    if (r->starts.len != r->ends.len || r->starts.len % 4 || r->unit_row.len != 4 * leaves || r->link_rows.len != 4 * PyList_GET_SIZE(r->targets)) return 0;
    for (Py_ssize_t i = 0; i < r->starts.len / 4; i++)
        if (AT(r->starts, i) < 0 || AT(r->starts, i) >= AT(r->ends, i) || AT(r->ends, i) > leaves) return 0;
    for (Py_ssize_t i = 0; i < leaves; i++)
        if (AT(r->unit_row, i) < -1 || AT(r->unit_row, i) >= rows) return 0;
    for (Py_ssize_t i = 0; i < r->link_rows.len / 4; i++)
        if (AT(r->link_rows, i) < 0 || AT(r->link_rows, i) >= rows) return 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(r->labels); i++)
        if (!PyUnicode_Check(PyTuple_GET_ITEM(r->labels, i))) return 0;
    return is_tuple_type((PyObject *)r->piece) && is_tuple_type((PyObject *)r->range) && is_tuple_type((PyObject *)r->record);
}

/* records(starts, ends, unit_row, link_rows, targets, (names_of_places, names, labels, other, own_place, own_nth),
           (places, root, unit_places, place_of, Piece, RecordRange, ReadRecord), shortest) */
PyObject *leaves_records(PyObject *object, PyObject *args) {
    Reading r = {.sink = {.add = add_field}, .leaves = (Leaves *)object};
    PyObject *found = NULL;
    if (!PyArg_ParseTuple(args, "y*y*y*y*O!(O!O!O!UKn)(O!O!OOOOO)n", &r.starts, &r.ends, &r.unit_row, &r.link_rows, &PyList_Type, &r.targets,
                          &PyDict_Type, &r.names_of_places, &PyDict_Type, &r.names, &PyTuple_Type, &r.labels, &r.other, &r.own_place, &r.own_nth,
                          &PyDict_Type, &r.places, &PyDict_Type, &r.root, &r.unit_places, &r.sink.place_of, &r.piece, &r.range, &r.record,
                          &r.shortest))
        return NULL;
    size_t rows = (size_t)r.leaves->spot.len / 4;
    if (!do_fit(&r)) PyErr_SetString(PyExc_ValueError, "the columns are of different pages");
    else if (!(r.below = PyMem_Calloc(rows ? rows : 1, sizeof(PyObject *)))) PyErr_NoMemory();
    else found = PyList_New(r.starts.len / 4);
    for (Py_ssize_t i = 0; found && i < r.starts.len / 4; i++) {
        PyObject *record = read_record(&r, i);
        if (record) PyList_SET_ITEM(found, i, record);
        else Py_CLEAR(found);
    }
    for (size_t row = 0; r.below && row < rows; row++) Py_XDECREF(r.below[row]);
    PyMem_Free(r.below);
    Py_buffer *buffers[] = {&r.starts, &r.ends, &r.unit_row, &r.link_rows};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) PyBuffer_Release(buffers[i]);
    return found;
}

/* steps_below(row, end, spot, spots): `TagTree.steps_below`. */
PyObject *page_steps_below(PyObject *module, PyObject *args) {
    Py_ssize_t row;
    Py_buffer end, spot;
    PyObject *spots, *found = NULL, *often = NULL;
    (void)module;
    if (!PyArg_ParseTuple(args, "ny*y*O!", &row, &end, &spot, &PyTuple_Type, &spots)) return NULL;
    Py_ssize_t rows = end.len / 4, last = row >= 0 && row < rows && spot.len == end.len ? AT(end, row) : -1;
    if (last < 0 || last > rows) PyErr_SetString(PyExc_IndexError, "no such row");
    else { found = PyDict_New(); often = PyDict_New(); }
    for (Py_ssize_t child = row + 1; found && often && child < last; child = AT(end, child)) {
        int32_t number = AT(spot, child);
        if (number < 0 || number >= PyTuple_GET_SIZE(spots) || AT(end, child) <= child) { PyErr_SetString(PyExc_IndexError, "no such spot"); Py_CLEAR(found); break; }
        PyObject *tag = PyObject_GetAttrString(PyTuple_GET_ITEM(spots, number), "tag"), *key = PyLong_FromSsize_t(child), *nth = NULL, *step = NULL;
        PyObject *before = tag ? PyDict_GetItemWithError(often, tag) : NULL;
        if (tag && key && !PyErr_Occurred()) nth = PyLong_FromLong(before ? PyLong_AsLong(before) + 1 : 1);
        if (nth) step = PyUnicode_FromFormat("%U[%S]", tag, nth);
        if (!step || PyDict_SetItem(often, tag, nth) < 0 || PyDict_SetItem(found, key, step) < 0) Py_CLEAR(found);
        Py_XDECREF(tag);
        Py_XDECREF(key);
        Py_XDECREF(nth);
        Py_XDECREF(step);
    }
    if (!often) Py_CLEAR(found);
    Py_XDECREF(often);
    PyBuffer_Release(&end);
    PyBuffer_Release(&spot);
    return found;
}
