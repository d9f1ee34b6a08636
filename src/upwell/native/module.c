#include "native.h"

static PyMethodDef functions[] = {
    {"bind", page_bind, METH_VARARGS, "bind(path, td, th, dialog): looks up the parser's functions in its loaded library."},
    {"walk", page_walk, METH_VARARGS, "walk(html, make_spot): the columns of a page in UTF-8; None where it cannot be parsed."},
    {"terms", page_terms, METH_VARARGS, "terms(text, plain_tokens): the words of a text in parts (NUL between them), the number of each word, where each part begins."},
    {"tokens", page_tokens, METH_O, "tokens(text): the words of a text in order."},
    {"has_crowded_tag", page_has_crowded_tag, METH_VARARGS, "has_crowded_tag(html, limit): whether any tag has at least so many attributes."},
    {"steps_below", page_steps_below, METH_VARARGS, "steps_below(row, end, spot, spots): the rows right below a row, each with its step, as \"li[3]\"."},
    {"is_utf8", page_is_utf8, METH_O, "is_utf8(bytes): whether they can be decoded."},
    {"count", page_count, METH_VARARGS, "count(bytes, byte): how often it occurs."},
    {"recoded", page_recoded, METH_VARARGS, "recoded(bytes, table): bytes of a charset of single bytes as UTF-8."},
    {"finish_gaps", page_finish_gaps, METH_VARARGS, "finish_gaps(gaps, spaced, chunks, chunk_row, rows_before, parent, spot, is_marking of each spot)"},
    {"shapes", page_shapes, METH_VARARGS, "shapes(words, stop words): see choose/word_index.py."},
    {"columns_of", page_columns_of, METH_VARARGS, "columns_of(words, fields, plain): see choose/word_index.py."},
    {"hash_of", page_hash_of, METH_O, "hash_of(key): 64 bits of a key, the same in every process."},
    {"count_words", page_count_words, METH_VARARGS, "count_words(cells, ends, in, once, first, done, shared, sharing, number): see choose/word_index.py."},
    {"lines", page_lines, METH_VARARGS, "lines(chunks, gap, chunk_row, parent, spot, spots, known_codes, code_of): the columns of the lines of a page."},
    {"line_features", page_line_features, METH_VARARGS, "line_features(x, columns of the lines, columns of the page, texts, what is asked of texts, limits): fills x; gives the lines that may agree with the title."},
    {"weigh_words", page_weigh_words, METH_VARARGS, "weigh_words(arrays of words, in, once, twice, whole, class, done, share, calibration, numbers): see choose/word_candidates.py."},
    {"weigh_pairs", page_weigh_pairs, METH_VARARGS, "weigh_pairs(words, both, kinds, in, once, told, barren, calibration, asked, numbers): see choose/pairs.py."},
    {"text", page_text, METH_VARARGS, "text(chunks, gaps, first, last): the text of a range of chunks."},
    {"numbered_lines", page_numbered_lines, METH_VARARGS, "numbered_lines(text, most): the lines that have a digit, and at most so many characters."},
    {NULL, NULL, 0, NULL},
};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "upwell.native._native", "The page's walk and words, compiled.", -1, functions, NULL, NULL, NULL, NULL};

enum { INTERFACE = 9 };   /* as in compiled.py: it goes up with every change of these files */

PyMODINIT_FUNC PyInit__native(void) {
    PyObject *made = PyModule_Create(&module);
    if (made && (PyModule_AddType(made, &AttributesType) < 0 || PyModule_AddType(made, &LeavesType) < 0 || PyModule_AddType(made, &KeyNumbersType) < 0 ||
                  PyModule_AddIntConstant(made, "INTERFACE", INTERFACE) < 0))
        Py_CLEAR(made);
    return made;
}
