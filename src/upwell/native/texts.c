#include "native.h"

/* text(chunks, gaps, first, last): `TagTree.text_of`. */
PyObject *page_text(PyObject *module, PyObject *args) {
    static const char between[] = {0, ' ', '\n'};   /* what is written for GLUED, SPACED and BROKEN */
    PyObject *chunks, *text = NULL;
    Py_buffer gaps;
    Py_ssize_t first, last, length = 0, at = 0;
    Py_UCS4 widest = '\n';
    (void)module;
    if (!PyArg_ParseTuple(args, "O!y*nn", &PyTuple_Type, &chunks, &gaps, &first, &last)) return NULL;
    const char *gap = gaps.buf;
    if (last > PyTuple_GET_SIZE(chunks)) last = PyTuple_GET_SIZE(chunks);
    if (first < 0 || gaps.len != PyTuple_GET_SIZE(chunks)) { PyErr_SetString(PyExc_IndexError, "no such chunks"); goto done; }
    for (Py_ssize_t i = first; i < last; i++) {
        PyObject *chunk = PyTuple_GET_ITEM(chunks, i);
        if (!PyUnicode_Check(chunk) || gap[i] < 0 || gap[i] > 2) { PyErr_SetString(PyExc_TypeError, "chunks are str, with a gap before each"); goto done; }
        length += PyUnicode_GET_LENGTH(chunk) + (i > first && gap[i]);
        if (PyUnicode_MAX_CHAR_VALUE(chunk) > widest) widest = PyUnicode_MAX_CHAR_VALUE(chunk);
    }
    text = PyUnicode_New(length, widest);
    for (Py_ssize_t i = first; text && i < last; i++) {
        PyObject *chunk = PyTuple_GET_ITEM(chunks, i);
        if (i > first && gap[i]) PyUnicode_WRITE(PyUnicode_KIND(text), PyUnicode_DATA(text), at++, (Py_UCS4)between[(int)gap[i]]);
        if (PyUnicode_CopyCharacters(text, at, chunk, 0, PyUnicode_GET_LENGTH(chunk)) < 0) Py_CLEAR(text);
        at += PyUnicode_GET_LENGTH(chunk);
    }
done:
    PyBuffer_Release(&gaps);
    return text;
}

/* numbered_lines(text, most): the lines of a text that have a digit, and at most so many characters. */
PyObject *page_numbered_lines(PyObject *module, PyObject *args) {
    PyObject *text;
    Py_ssize_t most, begin = 0;
    int has_digit = 0;
    (void)module;
    if (!PyArg_ParseTuple(args, "Un", &text, &most)) return NULL;
    PyObject *lines = PyList_New(0);
    int kind = PyUnicode_KIND(text);
    const void *data = PyUnicode_DATA(text);
    for (Py_ssize_t i = 0; lines && i <= PyUnicode_GET_LENGTH(text); i++) {
        Py_UCS4 c = i < PyUnicode_GET_LENGTH(text) ? PyUnicode_READ(kind, data, i) : '\n';
        if (c != '\n') {
            if (c < 128 ? c >= '0' && c <= '9' : Py_UNICODE_ISDECIMAL(c)) has_digit = 1;
            continue;
        }
        if (has_digit && i - begin <= most) {
            PyObject *line = PyUnicode_Substring(text, begin, i);
            if (!line || PyList_Append(lines, line) < 0) Py_CLEAR(lines);
            Py_XDECREF(line);
        }
        begin = i + 1;
        has_digit = 0;
    }
    return lines;
}
