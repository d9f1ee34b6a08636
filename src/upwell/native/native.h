/* What the files of the compiled page share: the structures of Lexbor, a growing column of numbers, hashes.

   module.c       the functions that Python sees
   walk.c         the walk over the parser's nodes: the same columns as the plain walk of tree.py
   attributes.c   the attributes of all rows, kept as bytes and decoded when they are asked for
   words.c        tokens and terms as terms.py has them; marks inside words; what is asked of a page's bytes
   pieces.c       the pieces and texts of records, as records/fields.py and records/leaves.py have them
   cuts.c         how a page is cut into records, as records/cut_rules.py has it
   texts.c        the text of a page and its lines with numbers, as tag_tree.py and ranges.py have them
   records.c      the fields and links of records, as records/record_columns.py has them
   keys.c         hashes of keys and their numbers, as arrays/key_set.py has them
   counts.c       what is counted of the words of records, as choose/word_index.py has it
   lines.c        the lines of a page and their features, as content/lines.py and content/lines.py have them

   The Python modules are the reference: tests/page/test_compiled.py holds both against each other.  */

#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/* Lexbor's structures, as selectolax's lexbor.pxd declares them. */

typedef struct { unsigned char *data; size_t length; } Str;

typedef struct Node {
    void *events;
    uintptr_t local_name, prefix, ns;
    void *document;
    struct Node *next, *prev, *parent, *first_child, *last_child;
    void *user;
    int type;
} Node;

typedef struct { Node node; Str text; } Text;

typedef struct Attr {
    Node node;
    uintptr_t upper_name, qualified_name;
    Str *value;
    void *owner;
    struct Attr *next, *prev;
} Attr;

typedef struct { int32_t *at; Py_ssize_t length, room; } Ints;

static inline int grow(Ints *ints, Py_ssize_t room) {
    int32_t *at = PyMem_Realloc(ints->at, (size_t)room * sizeof(int32_t));
    if (!at) { PyErr_NoMemory(); return -1; }
    ints->at = at;
    ints->room = room;
    return 0;
}

static inline int push(Ints *ints, int32_t value) {
    if (ints->length == ints->room && grow(ints, ints->room ? ints->room * 2 : 1024) < 0) return -1;
    ints->at[ints->length++] = value;
    return 0;
}

static inline PyObject *as_bytes(const Ints *ints) {
    return PyBytes_FromStringAndSize((const char *)ints->at, ints->length * (Py_ssize_t)sizeof(int32_t));
}

static inline uint64_t mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * 0x9E3779B97F4A7C15ull;
    return hash ^ (hash >> 29);
}

static inline uint64_t hash_bytes(const unsigned char *data, size_t length) {
    uint64_t hash = length, word;
    for (; length >= 8; data += 8, length -= 8) { memcpy(&word, data, 8); hash = mix(hash, word); }
    word = 0;
    memcpy(&word, data, length);
    return mix(hash, word);
}

/* Whether a character is of a script that is written without spaces: CJK of terms.py. */
static inline int is_unspaced(Py_UCS4 c) {
    if (c < 0x2e80) return 0;
    return c < 0x2fe0 || (c >= 0x3005 && c <= 0x3007) || (c >= 0x3021 && c <= 0x3029) || (c >= 0x3038 && c <= 0x303b) || (c >= 0x3040 && c < 0x3100) ||
           (c >= 0x3400 && c < 0x4dc0) || (c >= 0x4e00 && c < 0xa000) || (c >= 0xac00 && c < 0xd7b0) || (c >= 0xf900 && c < 0xfb00) ||
           (c >= 0x20000 && c < 0x40000);
}

static inline int is_decimal(Py_UCS4 c) { return c < 128 ? c >= '0' && c <= '9' : Py_UNICODE_ISDECIMAL(c); }

/* The leaves of a page as `extract.leaves` has them, of which the pieces and texts of records are made (`extract.fields`). */
typedef struct {
    PyObject_HEAD
    PyObject *texts;        /* a tuple or list of str, one for each leaf */
    PyObject *spots;        /* tuple */
    Py_buffer row, gap, spot, parent, end, row_start, row_end;
} Leaves;

#define AT(buffer, i) (((const int32_t *)(buffer).buf)[i])

/* What is done with each piece of a record: `add` gets what is known of its place, its text and its row, and takes over nothing. */
typedef struct Sink {
    int (*add)(struct Sink *sink, PyObject *info, PyObject *text, int32_t row);
    PyObject *place_of;
} Sink;

/* Hashes with their numbers (`key_set.KeyNumbers`): a table with open addressing; -1 is the number of an empty slot. */
typedef struct {
    PyObject_HEAD
    int64_t *hashes;
    int32_t *numbers;
    Py_ssize_t room;
    int32_t count;
} KeyNumbers;

int hash_key(PyObject *key, int64_t *hash);
int32_t find_number(const KeyNumbers *table, int64_t hash);
int32_t add_number(KeyNumbers *table, int64_t hash);
PyObject *numbers_number_words(PyObject *table, PyObject *args);

int read_pieces(const Leaves *leaves, Sink *sink, Py_ssize_t first, Py_ssize_t last, PyObject *below);
PyObject *place_info(PyObject *below, PyObject *spot, PyObject *place_of);
int has_letter(PyObject *text);
PyObject *text_of_leaves(const Leaves *self, Py_ssize_t first, Py_ssize_t last, Py_ssize_t shortest);
PyObject *make_piece(PyTypeObject *type, PyObject *info, PyObject *text, int32_t row);
PyObject *leaves_records(PyObject *object, PyObject *args);
PyObject *leaves_cuts(PyObject *object, PyObject *args);

extern PyTypeObject AttributesType, LeavesType, KeyNumbersType;
PyObject *make_attributes(PyObject *names, PyObject *first, PyObject *numbers, PyObject *ends, PyObject *values);
PyObject *page_bind(PyObject *module, PyObject *args);
PyObject *page_walk(PyObject *module, PyObject *args);
PyObject *page_terms(PyObject *module, PyObject *args);
PyObject *page_tokens(PyObject *module, PyObject *text);
PyObject *page_has_crowded_tag(PyObject *module, PyObject *args);
PyObject *page_is_utf8(PyObject *module, PyObject *bytes);
PyObject *page_count(PyObject *module, PyObject *args);
PyObject *page_steps_below(PyObject *module, PyObject *args);
PyObject *page_finish_gaps(PyObject *module, PyObject *args);
PyObject *page_text(PyObject *module, PyObject *args);
PyObject *page_numbered_lines(PyObject *module, PyObject *args);
PyObject *page_recoded(PyObject *module, PyObject *args);
PyObject *page_shapes(PyObject *module, PyObject *args);
PyObject *page_columns_of(PyObject *module, PyObject *args);
PyObject *page_hash_of(PyObject *module, PyObject *key);
PyObject *page_count_words(PyObject *module, PyObject *args);
PyObject *page_weigh_words(PyObject *module, PyObject *args);
PyObject *page_lines(PyObject *module, PyObject *args);
PyObject *page_line_features(PyObject *module, PyObject *args);
PyObject *page_weigh_pairs(PyObject *module, PyObject *args);
