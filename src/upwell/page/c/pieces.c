#include "compiled.h"

/* The leaves of a page as `extract.leaves` has them, and how they become the pieces and texts of records (`extract.fields`). */
typedef struct {
    PyObject_HEAD
    PyObject *texts;        /* a tuple or list of str, one for each leaf */
    PyObject *spots;        /* tuple */
    Py_buffer row, gap, spot, parent;
} Leaves;

enum { GLUED, SPACED, BROKEN };   /* as in spots.py */

#define AT(buffer, i) (((const int32_t *)(buffer).buf)[i])

static int has_letter(PyObject *text) {
    for (Py_ssize_t i = 0; i < PyUnicode_GET_LENGTH(text); i++) {
        Py_UCS4 c = PyUnicode_READ_CHAR(text, i);
        if (Py_UNICODE_ISALNUM(c)) return 1;
    }
    return 0;
}

/* Adds a piece, unless it has no letter and no digit; takes over the reference to its text. */
static int add_piece(PyTypeObject *type, PyObject *pieces, PyObject *info, PyObject *text, int32_t row) {
    int failed = 0;
    if (has_letter(text)) {
        PyObject *made = type->tp_alloc(type, 4), *number = PyLong_FromLong(row);
        if (made && number) {
            PyTuple_SET_ITEM(made, 0, Py_NewRef(PyTuple_GET_ITEM(info, 0)));
            PyTuple_SET_ITEM(made, 1, Py_NewRef(text));
            PyTuple_SET_ITEM(made, 2, Py_NewRef(number));
            PyTuple_SET_ITEM(made, 3, Py_NewRef(PyTuple_GET_ITEM(info, 2)));
            failed = PyList_Append(pieces, made);
        } else failed = -1;
        Py_XDECREF(made);
        Py_XDECREF(number);
    }
    Py_DECREF(text);
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

/* add_pieces(pieces, first, last, below, Piece, place_of): appends the pieces of the leaves of one unit; `below` is what is known of the
   spots in it, `place_of` is called with it and a spot that is not there yet. Piece is a tuple of four. */
static PyObject *leaves_add_pieces(PyObject *object, PyObject *const *args, Py_ssize_t count) {
    Leaves *self = (Leaves *)object;
    if (count != 6 || !PyList_Check(args[0]) || !PyDict_Check(args[3]) || !PyType_Check(args[4]) || !PyType_IsSubtype((PyTypeObject *)args[4], &PyTuple_Type)) {
        PyErr_SetString(PyExc_TypeError, "add_pieces(pieces, first, last, below, Piece, place_of)");
        return NULL;
    }
    PyTypeObject *piece = (PyTypeObject *)args[4];
    Py_ssize_t first = PyLong_AsSsize_t(args[1]), last = PyLong_AsSsize_t(args[2]);
    if (PyErr_Occurred() || check_range(self, first, last) < 0) return NULL;
    PyObject *text = NULL, *info = NULL;   /* of the piece that is not added yet */
    int32_t text_row = -1, begun_at = -1;
    for (Py_ssize_t i = first; i < last; i++) {
        int32_t row = AT(self->row, i), own_text_row = row;
        PyObject *spot = PyTuple_GET_ITEM(self->spots, AT(self->spot, row)), *known = PyDict_GetItemWithError(args[3], spot);
        known = known ? Py_NewRef(known) : PyErr_Occurred() ? NULL : PyObject_CallFunctionObjArgs(args[5], args[3], spot, NULL);
        if (!known || !PyTuple_Check(known) || PyTuple_GET_SIZE(known) != 3) { Py_XDECREF(known); goto failed; }
        for (long up = PyLong_AsLong(PyTuple_GET_ITEM(known, 1)); up > 0 && own_text_row >= 0; up--) own_text_row = AT(self->parent, own_text_row);
        PyObject *own = PySequence_Fast_GET_ITEM(self->texts, i);
        int gap = ((const char *)self->gap.buf)[i];
        if (text && own_text_row == text_row && gap != BROKEN) {
            PyObject *more = joined(text, own, gap == GLUED);
            Py_DECREF(known);
            if (!more) goto failed;
            Py_SETREF(text, more);
            continue;
        }
        int failed = text ? add_piece(piece, args[0], info, text, begun_at) : 0;
        Py_XDECREF(info);
        text = Py_NewRef(own);
        info = known;
        text_row = own_text_row;
        begun_at = row;
        if (failed) goto failed;
    }
    if (text && add_piece(piece, args[0], info, text, begun_at) < 0) { Py_DECREF(info); return NULL; }
    Py_XDECREF(info);
    Py_RETURN_NONE;
failed:
    Py_XDECREF(text);
    Py_XDECREF(info);
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "what is known of a spot is a tuple of three");
    return NULL;
}

/* text(first, last, shortest): the leaves on one line; of `shortest` characters and more, each text once. */
static PyObject *leaves_text(PyObject *object, PyObject *const *args, Py_ssize_t count) {
    Leaves *self = (Leaves *)object;
    if (count != 3) { PyErr_SetString(PyExc_TypeError, "text(first, last, shortest)"); return NULL; }
    Py_ssize_t first = PyLong_AsSsize_t(args[0]), last = PyLong_AsSsize_t(args[1]), shortest = PyLong_AsSsize_t(args[2]);
    if (PyErr_Occurred() || check_range(self, first, last) < 0) return NULL;
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

static int is_column(const Py_buffer *buffer, Py_ssize_t items, Py_ssize_t size) { return buffer->len == items * size; }

static void leaves_dealloc(PyObject *object) {
    Leaves *self = (Leaves *)object;
    Py_XDECREF(self->texts);
    Py_XDECREF(self->spots);
    Py_buffer *buffers[] = {&self->row, &self->gap, &self->spot, &self->parent};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) if (buffers[i]->obj) PyBuffer_Release(buffers[i]);
    Py_TYPE(object)->tp_free(object);
}

/* Leaves(texts, row, gap, spots, spot, parent) */
static PyObject *leaves_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *texts, *spots;
    (void)kwargs;
    Leaves *self = (Leaves *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    if (!PyArg_ParseTuple(args, "Oy*y*O!y*y*", &texts, &self->row, &self->gap, &PyTuple_Type, &spots, &self->spot, &self->parent)) {
        Py_DECREF(self);
        return NULL;
    }
    self->texts = PySequence_Fast(texts, "texts are a tuple or a list");
    self->spots = Py_NewRef(spots);
    if (!self->texts) { Py_DECREF(self); return NULL; }
    Py_ssize_t leaves = PySequence_Fast_GET_SIZE(self->texts), rows = self->spot.len / 4;
    int fits = is_column(&self->row, leaves, 4) && is_column(&self->gap, leaves, 1) && is_column(&self->parent, rows, 4);
    for (Py_ssize_t i = 0; fits && i < leaves; i++) fits = AT(self->row, i) >= 0 && AT(self->row, i) < rows && PyUnicode_Check(PySequence_Fast_GET_ITEM(self->texts, i));
    for (Py_ssize_t i = 0; fits && i < rows; i++) fits = AT(self->spot, i) >= 0 && AT(self->spot, i) < PyTuple_GET_SIZE(spots) && AT(self->parent, i) < rows;
    if (!fits) {
        PyErr_SetString(PyExc_ValueError, "the columns are of different pages");
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static PyMethodDef leaves_methods[] = {
    {"add_pieces", (PyCFunction)(void (*)(void))leaves_add_pieces, METH_FASTCALL, "add_pieces(pieces, first, last, below, Piece, place_of): appends the pieces of the leaves of one unit."},
    {"text", (PyCFunction)(void (*)(void))leaves_text, METH_FASTCALL, "text(first, last, shortest): the leaves on one line."},
    {NULL, NULL, 0, NULL},
};
PyTypeObject LeavesType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "upwell.page._compiled.Leaves",
    .tp_basicsize = sizeof(Leaves),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "The leaves of a page, of which records are made.",
    .tp_new = leaves_new,
    .tp_dealloc = leaves_dealloc,
    .tp_methods = leaves_methods,
};
