#include "native.h"

enum { GLUED, SPACED, BROKEN };   /* as in spots.py */

int has_letter(PyObject *text) {
    for (Py_ssize_t i = 0; i < PyUnicode_GET_LENGTH(text); i++) {
        Py_UCS4 c = PyUnicode_READ_CHAR(text, i);
        if (Py_UNICODE_ISALNUM(c)) return 1;
    }
    return 0;
}

/* A piece: a tuple of its place, its text, its row, and whether it is a term. */
PyObject *make_piece(PyTypeObject *type, PyObject *info, PyObject *text, int32_t row) {
    PyObject *number = PyLong_FromLong(row), *made = number ? type->tp_alloc(type, 4) : NULL;
    if (!made) { Py_XDECREF(number); return NULL; }
    PyTuple_SET_ITEM(made, 0, Py_NewRef(PyTuple_GET_ITEM(info, 0)));
    PyTuple_SET_ITEM(made, 1, Py_NewRef(text));
    PyTuple_SET_ITEM(made, 2, number);
    PyTuple_SET_ITEM(made, 3, Py_NewRef(PyTuple_GET_ITEM(info, 2)));
    return made;
}

typedef struct { Sink sink; PyObject *pieces; PyTypeObject *type; } PieceSink;

static int add_piece(Sink *sink, PyObject *info, PyObject *text, int32_t row) {
    PyObject *made = make_piece(((PieceSink *)sink)->type, info, text, row);
    int failed = made ? PyList_Append(((PieceSink *)sink)->pieces, made) : -1;
    Py_XDECREF(made);
    return failed;
}

static PyObject *joined(PyObject *left, PyObject *right, int is_glued) {
    return is_glued ? PyUnicode_Concat(left, right) : PyUnicode_FromFormat("%U %U", left, right);
}

static int check_range(const Leaves *self, Py_ssize_t first, Py_ssize_t last) {
    if (first >= 0 && first <= last && last <= PySequence_Fast_GET_SIZE(self->texts)) return 0;
    PyErr_SetString(PyExc_IndexError, "no such leaves");
    return -1;
}

/* What is known of a spot below a unit (a new reference): a tuple of its place, the levels up to its text, and whether it is a term. */
PyObject *place_info(PyObject *below, PyObject *spot, PyObject *place_of) {
    PyObject *known = PyDict_GetItemWithError(below, spot);
    known = known ? Py_NewRef(known) : PyErr_Occurred() ? NULL : PyObject_CallFunctionObjArgs(place_of, below, spot, NULL);
    if (known && PyTuple_Check(known) && PyTuple_GET_SIZE(known) == 3 && PyLong_Check(PyTuple_GET_ITEM(known, 0))) return known;
    Py_XDECREF(known);
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "what is known of a spot is a tuple of three");
    return NULL;
}

/* Adds a piece, unless it has no letter and no digit. */
static int finish(Sink *sink, PyObject *info, PyObject *text, int32_t row) {
    return has_letter(text) ? sink->add(sink, info, text, row) : 0;
}

/* Hands the pieces of the leaves of one unit to the sink; `below` is what is known of the spots in it. */
int read_pieces(const Leaves *self, Sink *sink, Py_ssize_t first, Py_ssize_t last, PyObject *below) {
    PyObject *text = NULL, *info = NULL;   /* of the piece that is not added yet */
    int32_t text_row = -1, begun_at = -1;
    int failed = 0;
    for (Py_ssize_t i = first; !failed && i < last; i++) {
        int32_t row = AT(self->row, i), own_text_row = row;
        PyObject *known = place_info(below, PyTuple_GET_ITEM(self->spots, AT(self->spot, row)), sink->place_of);
        if (!known) { failed = -1; break; }
        for (long up = PyLong_AsLong(PyTuple_GET_ITEM(known, 1)); up > 0 && own_text_row >= 0; up--) own_text_row = AT(self->parent, own_text_row);
        PyObject *own = PySequence_Fast_GET_ITEM(self->texts, i);
        int gap = ((const char *)self->gap.buf)[i];
        if (text && own_text_row == text_row && gap != BROKEN) {
            PyObject *more = joined(text, own, gap == GLUED);
            Py_DECREF(known);
            if (more) Py_SETREF(text, more);
            else failed = -1;
            continue;
        }
        if (text) failed = finish(sink, info, text, begun_at);
        Py_XDECREF(info);
        Py_XDECREF(text);
        text = Py_NewRef(own);
        info = known;
        text_row = own_text_row;
        begun_at = row;
    }
    if (text && !failed) failed = finish(sink, info, text, begun_at);
    Py_XDECREF(info);
    Py_XDECREF(text);
    return failed || PyErr_Occurred() ? -1 : 0;
}

/* add_pieces(pieces, first, last, below, Piece, place_of): appends the pieces of the leaves of one unit; `below` is what is known of the
   spots in it, `place_of` is called with it and a spot that is not there yet. Piece is a tuple of four. */
static PyObject *leaves_add_pieces(PyObject *object, PyObject *const *args, Py_ssize_t count) {
    Leaves *self = (Leaves *)object;
    if (count != 6 || !PyList_Check(args[0]) || !PyDict_Check(args[3]) || !PyType_Check(args[4]) || !PyType_IsSubtype((PyTypeObject *)args[4], &PyTuple_Type)) {
        PyErr_SetString(PyExc_TypeError, "add_pieces(pieces, first, last, below, Piece, place_of)");
        return NULL;
    }
    Py_ssize_t first = PyLong_AsSsize_t(args[1]), last = PyLong_AsSsize_t(args[2]);
    if (PyErr_Occurred() || check_range(self, first, last) < 0) return NULL;
    PieceSink sink = {{add_piece, args[5]}, args[0], (PyTypeObject *)args[4]};
    if (read_pieces(self, &sink.sink, first, last, args[3]) < 0) return NULL;
    Py_RETURN_NONE;
}

/* The leaves on one line; of `shortest` characters and more, each text once. */
PyObject *text_of_leaves(const Leaves *self, Py_ssize_t first, Py_ssize_t last, Py_ssize_t shortest) {
    PyObject *said = last - first > 1 ? PySet_New(NULL) : NULL, *pieces = PyList_New(0), *space = PyUnicode_FromStringAndSize(" ", 1), *line = NULL;
    if (!pieces || !space || (last - first > 1 && !said)) goto done;
    for (Py_ssize_t i = first; i < last; i++) {
        PyObject *text = PySequence_Fast_GET_ITEM(self->texts, i);
        if (said && PyUnicode_GET_LENGTH(text) >= shortest) {
            Py_ssize_t before = PySet_GET_SIZE(said);
            if (PySet_Add(said, text) < 0) goto done;
            if (PySet_GET_SIZE(said) == before) continue;
        }
        if (((const char *)self->gap.buf)[i] != GLUED && PyList_GET_SIZE(pieces) && PyList_Append(pieces, space) < 0) goto done;
        if (PyList_Append(pieces, text) < 0) goto done;
    }
    PyObject *nothing = PyUnicode_New(0, 0);
    if (nothing) line = PyUnicode_Join(nothing, pieces);
    Py_XDECREF(nothing);
done:
    Py_XDECREF(said);
    Py_XDECREF(pieces);
    Py_XDECREF(space);
    return line;
}

/* text(first, last, shortest) */
static PyObject *leaves_text(PyObject *object, PyObject *const *args, Py_ssize_t count) {
    Leaves *self = (Leaves *)object;
    if (count != 3) { PyErr_SetString(PyExc_TypeError, "text(first, last, shortest)"); return NULL; }
    Py_ssize_t first = PyLong_AsSsize_t(args[0]), last = PyLong_AsSsize_t(args[1]), shortest = PyLong_AsSsize_t(args[2]);
    if (PyErr_Occurred() || check_range(self, first, last) < 0) return NULL;
    return text_of_leaves(self, first, last, shortest);
}

static int is_column(const Py_buffer *buffer, Py_ssize_t items, Py_ssize_t size) { return buffer->len == items * size; }

static void leaves_dealloc(PyObject *object) {
    Leaves *self = (Leaves *)object;
    Py_XDECREF(self->texts);
    Py_XDECREF(self->spots);
    Py_buffer *buffers[] = {&self->row, &self->gap, &self->spot, &self->parent, &self->end, &self->row_start, &self->row_end};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) if (buffers[i]->obj) PyBuffer_Release(buffers[i]);
    Py_TYPE(object)->tp_free(object);
}

/* Leaves(texts, row, gap, spots, spot, parent, end, row_start, row_end) */
static PyObject *leaves_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *texts, *spots;
    (void)kwargs;
    Leaves *self = (Leaves *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    if (!PyArg_ParseTuple(args, "Oy*y*O!y*y*y*y*y*", &texts, &self->row, &self->gap, &PyTuple_Type, &spots, &self->spot, &self->parent, &self->end,
                          &self->row_start, &self->row_end)) {
        Py_DECREF(self);
        return NULL;
    }
    self->texts = PySequence_Fast(texts, "texts are a tuple or a list");
    self->spots = Py_NewRef(spots);
    if (!self->texts) { Py_DECREF(self); return NULL; }
    Py_ssize_t leaves = PySequence_Fast_GET_SIZE(self->texts), rows = self->spot.len / 4;
    int fits = is_column(&self->row, leaves, 4) && is_column(&self->gap, leaves, 1) && is_column(&self->spot, rows, 4) && is_column(&self->parent, rows, 4) &&
               is_column(&self->end, rows, 4) && is_column(&self->row_start, rows, 4) && is_column(&self->row_end, rows, 4);
    for (Py_ssize_t i = 0; fits && i < leaves; i++) fits = AT(self->row, i) >= 0 && AT(self->row, i) < rows && PyUnicode_Check(PySequence_Fast_GET_ITEM(self->texts, i));
    for (Py_ssize_t i = 0; fits && i < rows; i++)
        fits = AT(self->spot, i) >= 0 && AT(self->spot, i) < PyTuple_GET_SIZE(spots) && AT(self->parent, i) >= -1 && AT(self->parent, i) < i &&
               AT(self->end, i) > i && AT(self->end, i) <= rows && AT(self->row_start, i) >= 0 && AT(self->row_start, i) <= AT(self->row_end, i) &&
               AT(self->row_end, i) <= leaves;
    if (!fits) {
        PyErr_SetString(PyExc_ValueError, "the columns are of different pages");
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static PyMethodDef leaves_methods[] = {
    {"add_pieces", (PyCFunction)(void (*)(void))leaves_add_pieces, METH_FASTCALL, "add_pieces(pieces, first, last, below, Piece, place_of): appends the pieces of the leaves of one unit."},
    {"cuts", leaves_cuts, METH_VARARGS, "cuts(known, of_spot, how, all_containers, leader, mean_share, usual_paths, longest, separators, limits): the cuts of a rule."},
    {"records", leaves_records, METH_VARARGS, "records(starts, ends, unit_row, link_rows, targets, columns, places, shortest): the records of a cut."},
    {"text", (PyCFunction)(void (*)(void))leaves_text, METH_FASTCALL, "text(first, last, shortest): the leaves on one line."},
    {NULL, NULL, 0, NULL},
};
PyTypeObject LeavesType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "upwell.native._native.Leaves",
    .tp_basicsize = sizeof(Leaves),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "The leaves of a page, of which records are made.",
    .tp_new = leaves_new,
    .tp_dealloc = leaves_dealloc,
    .tp_methods = leaves_methods,
};
