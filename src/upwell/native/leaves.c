#include "native.h"

static int is_column(const Py_buffer *buffer, Py_ssize_t items, Py_ssize_t size) { return buffer->len == items * size; }

/* Return 1 if the columns are of one page: every index is in range. */
static int fits(const Leaves *self) {
    Py_ssize_t leaves = PySequence_Fast_GET_SIZE(self->texts), rows = self->signature.len / 4;
    if (!is_column(&self->row, leaves, 4) || !is_column(&self->gap, leaves, 1) || !is_column(&self->signature, rows, 4) ||
        !is_column(&self->parent, rows, 4) || !is_column(&self->end, rows, 4) || !is_column(&self->row_start, rows, 4) ||
        !is_column(&self->row_end, rows, 4))
        return 0;
    for (Py_ssize_t i = 0; i < leaves; i++)
        if (AT(self->row, i) < 0 || AT(self->row, i) >= rows || !PyUnicode_Check(PySequence_Fast_GET_ITEM(self->texts, i))) return 0;
    for (Py_ssize_t i = 0; i < rows; i++)
        if (AT(self->signature, i) < 0 || AT(self->signature, i) >= self->signatures || AT(self->parent, i) < -1 || AT(self->parent, i) >= i ||
            AT(self->end, i) <= i || AT(self->end, i) > rows || AT(self->row_start, i) < 0 || AT(self->row_start, i) > AT(self->row_end, i) ||
            AT(self->row_end, i) > leaves)
            return 0;
    return 1;
}

static PyObject *leaves_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *texts;
    (void)kwargs;
    Leaves *self = (Leaves *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    if (!PyArg_ParseTuple(args, "Oy*y*y*y*y*y*y*n", &texts, &self->row, &self->gap, &self->signature, &self->parent, &self->end, &self->row_start,
                          &self->row_end, &self->signatures) ||
        !(self->texts = PySequence_Fast(texts, "texts are a tuple or a list"))) {
        Py_DECREF(self);
        return NULL;
    }
    if (!fits(self)) {
        PyErr_SetString(PyExc_ValueError, "the columns are of different pages");
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static void leaves_dealloc(PyObject *object) {
    Leaves *self = (Leaves *)object;
    Py_XDECREF(self->texts);
    RELEASE(&self->row, &self->gap, &self->signature, &self->parent, &self->end, &self->row_start, &self->row_end);
    Py_TYPE(object)->tp_free(object);
}

static PyMethodDef leaves_methods[] = {
    {"cuts", leaves_cuts, METH_VARARGS, "Apply a cut rule; return the records of each cut."},
    {"records", leaves_records, METH_VARARGS, "Read the fields and links of the records of a cut."},
    {NULL, NULL, 0, NULL},
};
PyTypeObject LeavesType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "upwell.native._native.Leaves",
    .tp_basicsize = sizeof(Leaves),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "Leaves of a page, of which records are made.",
    .tp_new = leaves_new,
    .tp_dealloc = leaves_dealloc,
    .tp_methods = leaves_methods,
};
