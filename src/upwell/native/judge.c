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
