#include "native.h"

typedef struct {
    PyObject_HEAD
    PyObject *names;                             /* tuple of str */
    PyObject *first, *numbers, *ends, *values;   /* bytes; native.h describes the columns */
} Attributes;

#define INTS(object) ((const int32_t *)PyBytes_AS_STRING(object))

static Py_ssize_t count_rows(const Attributes *self) { return PyBytes_GET_SIZE(self->first) / 4 - 1; }

static PyObject *value_at(const Attributes *self, int32_t i) {
    if (INTS(self->numbers)[i] < 0) Py_RETURN_NONE;
    int32_t begin = i ? INTS(self->ends)[i - 1] : 0;
    return PyUnicode_DecodeUTF8(PyBytes_AS_STRING(self->values) + begin, INTS(self->ends)[i] - begin, "replace");
}

static inline PyObject *name_at(const Attributes *self, int32_t i) {
    int32_t number = INTS(self->numbers)[i];
    return PyTuple_GET_ITEM(self->names, number < 0 ? ~number : number);
}

static PyObject *row_dict(const Attributes *self, Py_ssize_t row) {
    PyObject *result = PyDict_New();
    if (!result) return NULL;
    for (int32_t i = INTS(self->first)[row]; i < INTS(self->first)[row + 1]; i++) {
        PyObject *value = value_at(self, i);
        if (!value || PyDict_SetItem(result, name_at(self, i), value) < 0) {
            Py_XDECREF(value);
            Py_DECREF(result);
            return NULL;
        }
        Py_DECREF(value);
    }
    return result;
}

static inline int has_any(const Attributes *self, Py_ssize_t row) {
    return row >= 0 && row < count_rows(self) && INTS(self->first)[row] < INTS(self->first)[row + 1];
}

static PyObject *attributes_subscript(PyObject *self, PyObject *key) {
    Py_ssize_t row = PyNumber_AsSsize_t(key, NULL);
    if (row == -1 && PyErr_Occurred()) return NULL;
    if (!has_any((Attributes *)self, row)) { PyErr_SetObject(PyExc_KeyError, key); return NULL; }
    return row_dict((Attributes *)self, row);
}

static PyObject *attributes_get(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    if (count < 1 || count > 2) { PyErr_SetString(PyExc_TypeError, "get takes a row and a default"); return NULL; }
    Py_ssize_t row = PyNumber_AsSsize_t(args[0], NULL);
    if (row == -1 && PyErr_Occurred()) return NULL;
    if (has_any((Attributes *)self, row)) return row_dict((Attributes *)self, row);
    return Py_NewRef(count == 2 ? args[1] : Py_None);
}

static PyObject *attributes_value(PyObject *object, PyObject *const *args, Py_ssize_t count) {
    Attributes *self = (Attributes *)object;
    if (count != 2 || !PyUnicode_Check(args[1])) { PyErr_SetString(PyExc_TypeError, "value takes a row and a name"); return NULL; }
    Py_ssize_t row = PyNumber_AsSsize_t(args[0], NULL);
    if (row == -1 && PyErr_Occurred()) return NULL;
    if (!has_any(self, row)) Py_RETURN_NONE;
    for (int32_t i = INTS(self->first)[row + 1] - 1; i >= INTS(self->first)[row]; i--) {
        PyObject *name = name_at(self, i);
        if (name != args[1] && PyUnicode_Compare(name, args[1]) != 0) continue;
        if (INTS(self->numbers)[i] < 0) return PyUnicode_New(0, 0);
        return value_at(self, i);
    }
    Py_RETURN_NONE;
}

static int32_t number_of_name(const Attributes *self, PyObject *name) {
    Py_ssize_t names = PyTuple_GET_SIZE(self->names), number = 0;
    while (number < names && PyUnicode_Compare(PyTuple_GET_ITEM(self->names, number), name) != 0) number++;
    return number < names ? (int32_t)number : -1;
}

static PyObject *attributes_having(PyObject *object, PyObject *name) {
    Attributes *self = (Attributes *)object;
    if (!PyUnicode_Check(name)) { PyErr_SetString(PyExc_TypeError, "having takes a name"); return NULL; }
    PyObject *result = PyDict_New();
    int32_t number = number_of_name(self, name);
    for (Py_ssize_t row = 0; result && number >= 0 && row < count_rows(self); row++)
        for (int32_t i = INTS(self->first)[row]; i < INTS(self->first)[row + 1]; i++) {
            int32_t own = INTS(self->numbers)[i];
            if (own != number && own != ~number) continue;
            PyObject *key = PyLong_FromSsize_t(row), *value = own < 0 ? PyUnicode_New(0, 0) : value_at(self, i);
            int failed = !key || !value ? -1 : PyDict_SetItem(result, key, value);
            Py_XDECREF(key);
            Py_XDECREF(value);
            if (failed) { Py_DECREF(result); return NULL; }
        }
    return result;
}

static PyObject *attributes_of_rows(PyObject *object, PyObject *args) {
    Attributes *self = (Attributes *)object;
    PyObject *name;
    Py_buffer rows;
    if (!PyArg_ParseTuple(args, "Uy*", &name, &rows)) return NULL;
    int32_t number = number_of_name(self, name);
    const int32_t *row = rows.buf;
    PyObject *result = PyList_New(rows.len / 4);
    for (Py_ssize_t k = 0; result && k < rows.len / 4; k++) {
        PyObject *value = Py_NewRef(Py_None);
        for (int32_t i = number >= 0 && has_any(self, row[k]) ? INTS(self->first)[row[k] + 1] - 1 : -1; i >= 0 && i >= INTS(self->first)[row[k]]; i--) {
            int32_t own = INTS(self->numbers)[i];
            if (own != number && own != ~number) continue;
            Py_SETREF(value, own < 0 ? PyUnicode_New(0, 0) : value_at(self, i));
            break;
        }
        if (value) PyList_SET_ITEM(result, k, value);
        else Py_CLEAR(result);
    }
    PyBuffer_Release(&rows);
    return result;
}

static PyObject *listed(const Attributes *self, int keys, int values) {
    PyObject *list = PyList_New(0);
    if (!list) return NULL;
    for (Py_ssize_t row = 0; row < count_rows(self); row++) {
        if (!has_any(self, row)) continue;
        PyObject *key = keys ? PyLong_FromSsize_t(row) : NULL, *value = values ? row_dict(self, row) : NULL, *item = NULL;
        if ((!keys || key) && (!values || value)) item = keys && values ? PyTuple_Pack(2, key, value) : Py_NewRef(keys ? key : value);
        Py_XDECREF(key);
        Py_XDECREF(value);
        if (!item || PyList_Append(list, item) < 0) { Py_XDECREF(item); Py_DECREF(list); return NULL; }
        Py_DECREF(item);
    }
    return list;
}

static PyObject *attributes_keys(PyObject *self, PyObject *none) { (void)none; return listed((Attributes *)self, 1, 0); }
static PyObject *attributes_values(PyObject *self, PyObject *none) { (void)none; return listed((Attributes *)self, 0, 1); }
static PyObject *attributes_items(PyObject *self, PyObject *none) { (void)none; return listed((Attributes *)self, 1, 1); }

static PyObject *attributes_names(PyObject *self, PyObject *none) { (void)none; return Py_NewRef(((Attributes *)self)->names); }

static PyObject *attributes_iter(PyObject *self) {
    PyObject *keys = listed((Attributes *)self, 1, 0), *iterator = keys ? PyObject_GetIter(keys) : NULL;
    Py_XDECREF(keys);
    return iterator;
}

static Py_ssize_t attributes_length(PyObject *self) {
    Py_ssize_t result = 0;
    for (Py_ssize_t row = 0; row < count_rows((Attributes *)self); row++) result += has_any((Attributes *)self, row);
    return result;
}

static int attributes_contains(PyObject *self, PyObject *key) {
    Py_ssize_t row = PyNumber_AsSsize_t(key, NULL);
    if (row == -1 && PyErr_Occurred()) return -1;
    return has_any((Attributes *)self, row);
}

static PyObject *attributes_reduce(PyObject *object, PyObject *none) {
    Attributes *self = (Attributes *)object;
    (void)none;
    return Py_BuildValue("O(OOOOO)", &AttributesType, self->names, self->first, self->numbers, self->ends, self->values);
}

/* Create the mapping from columns that fit together; steals the references. Return NULL if one of them is NULL. */
PyObject *make_attributes(PyObject *names, PyObject *first, PyObject *numbers, PyObject *ends, PyObject *values) {
    Attributes *self = names && first && numbers && ends && values ? PyObject_New(Attributes, &AttributesType) : NULL;
    if (!self) {
        Py_XDECREF(names);
        Py_XDECREF(first);
        Py_XDECREF(numbers);
        Py_XDECREF(ends);
        Py_XDECREF(values);
        return NULL;
    }
    self->names = names;
    self->first = first;
    self->numbers = numbers;
    self->ends = ends;
    self->values = values;
    return (PyObject *)self;
}

/* Return 1 if the columns fit together: every index is in range. */
static int do_fit(PyObject *names, PyObject *first, PyObject *numbers, PyObject *ends, PyObject *values) {
    Py_ssize_t count = PyBytes_GET_SIZE(numbers) / 4, rows = PyBytes_GET_SIZE(first) / 4 - 1;
    if (rows < 0 || PyBytes_GET_SIZE(first) % 4 || PyBytes_GET_SIZE(numbers) % 4 || PyBytes_GET_SIZE(ends) != PyBytes_GET_SIZE(numbers)) return 0;
    for (Py_ssize_t row = 0; row < rows; row++)
        if (INTS(first)[row] < 0 || INTS(first)[row] > INTS(first)[row + 1]) return 0;
    if (INTS(first)[0] < 0 || INTS(first)[rows] > count) return 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        int32_t number = INTS(numbers)[i], begin = i ? INTS(ends)[i - 1] : 0;
        if ((number < 0 ? ~number : number) >= PyTuple_GET_SIZE(names) || begin < 0 || begin > INTS(ends)[i]) return 0;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++)
        if (!PyUnicode_Check(PyTuple_GET_ITEM(names, i))) return 0;
    return !count || INTS(ends)[count - 1] <= PyBytes_GET_SIZE(values);
}

static PyObject *attributes_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *names, *first, *numbers, *ends, *values;
    (void)type;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "O!SSSS", &PyTuple_Type, &names, &first, &numbers, &ends, &values)) return NULL;
    if (!do_fit(names, first, numbers, ends, values)) { PyErr_SetString(PyExc_ValueError, "the columns are of different pages"); return NULL; }
    return make_attributes(Py_NewRef(names), Py_NewRef(first), Py_NewRef(numbers), Py_NewRef(ends), Py_NewRef(values));
}

static void attributes_dealloc(PyObject *object) {
    Attributes *self = (Attributes *)object;
    Py_XDECREF(self->names);
    Py_XDECREF(self->first);
    Py_XDECREF(self->numbers);
    Py_XDECREF(self->ends);
    Py_XDECREF(self->values);
    Py_TYPE(object)->tp_free(object);
}

static PyMethodDef attributes_methods[] = {
    {"get", (PyCFunction)(void (*)(void))attributes_get, METH_FASTCALL, "Return the attributes of a row, or the default."},
    {"value", (PyCFunction)(void (*)(void))attributes_value, METH_FASTCALL, "Return one attribute of a row: None if absent, \"\" if empty."},
    {"having", attributes_having, METH_O, "Return one attribute of all rows that have it, by row."},
    {"of_rows", attributes_of_rows, METH_VARARGS, "Return one attribute of each of some rows: None if absent, \"\" if empty."},
    {"names", attributes_names, METH_NOARGS, "Return the names of all attributes of the page."},
    {"keys", attributes_keys, METH_NOARGS, "Return the rows that have attributes."},
    {"values", attributes_values, METH_NOARGS, "Return the attributes of each row that has any."},
    {"items", attributes_items, METH_NOARGS, "Return each row that has attributes, with them."},
    {"__reduce__", attributes_reduce, METH_NOARGS, "Support pickle."},
    {NULL, NULL, 0, NULL},
};
static PyMappingMethods attributes_mapping = {attributes_length, attributes_subscript, NULL};
static PySequenceMethods attributes_sequence = {.sq_contains = attributes_contains};
PyTypeObject AttributesType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "upwell.native._native.Attributes",
    .tp_basicsize = sizeof(Attributes),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "Attributes of the rows of a page, decoded on access.",
    .tp_new = attributes_new,
    .tp_dealloc = attributes_dealloc,
    .tp_iter = attributes_iter,
    .tp_methods = attributes_methods,
    .tp_as_mapping = &attributes_mapping,
    .tp_as_sequence = &attributes_sequence,
};

