#include "native.h"

#ifndef SOURCES
#define SOURCES ""   /* setup.py defines it as the digest of the sources */
#endif

/* native.h documents the arguments and results. */
static PyMethodDef functions[] = {
    {"bind", native_bind, METH_VARARGS, "Look up the parser's functions in its loaded library."},
    {"walk", native_walk, METH_VARARGS, "Parse a page and return its columns; None if the parser fails."},
    {"store_signature", native_store_signature, METH_VARARGS, "Store the path signature of a table entry; return the one that is kept."},
    {"finish_gaps", native_finish_gaps, METH_VARARGS, "Turn the edges before chunks into separators, in place."},
    {"tokens", native_tokens, METH_O, "Return the tokens of a text; None if only Python splits it."},
    {"terms", native_terms, METH_VARARGS, "Number the tokens of all chunks of a page."},
    {"columns_of", native_columns_of, METH_VARARGS, "Return, for each word, the last field whose value contains it."},
    {"is_utf8", native_is_utf8, METH_O, "Return True if bytes are valid UTF-8."},
    {"to_utf8", native_to_utf8, METH_VARARGS, "Convert bytes of a single-byte charset to UTF-8."},
    {"has_crowded_tag", native_has_crowded_tag, METH_VARARGS, "Return True if a tag has at least this many attributes."},
    {"lines", native_lines, METH_VARARGS, "Return the columns of the lines of a page."},
    {"line_features", native_line_features, METH_VARARGS, "Fill the features of lines; return the lines that may be a title, or a date or byline."},
    {"hash_of", native_hash_of, METH_O, "Return a 64-bit hash of a key, the same in every process."},
    {"count_words", native_count_words, METH_VARARGS, "Count the words of records seen for the first time."},
    {"weigh_words", native_weigh_words, METH_VARARGS, "Compute what words are worth as queries."},
    {"weigh_pairs", native_weigh_pairs, METH_VARARGS, "Compute what pairs of words are worth as queries."},
    {"tree_sums", native_tree_sums, METH_VARARGS, "Add the leaves that rows of features reach in all trees."},
    {"text_features", native_text_features, METH_VARARGS, "Count what the texts of lines contain."},
    {"groups_in", native_groups_in, METH_VARARGS, "Return the groups of words that a class or id contains, as a bit set."},
    {NULL, NULL, 0, NULL},
};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "upwell.native._native", "Native code; native.h documents it.", -1, functions, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__native(void) {
    PyObject *made = PyModule_Create(&module);
    if (made && (PyModule_AddType(made, &AttributesType) < 0 || PyModule_AddType(made, &LeavesType) < 0 || PyModule_AddType(made, &KeyNumbersType) < 0 ||
                 PyModule_AddStringConstant(made, "SOURCES", SOURCES) < 0))
        Py_CLEAR(made);
    return made;
}
