#include "native.h"

/* The hash of a key: BLAKE2b with a digest of eight bytes (RFC 7693), as in arrays/key_set.py. */

static const uint64_t IV[8] = {
    0x6a09e667f3bcc908ull, 0xbb67ae8584caa73bull, 0x3c6ef372fe94f82bull, 0xa54ff53a5f1d36f1ull,
    0x510e527fade682d1ull, 0x9b05688c2b3e6c1full, 0x1f83d9abfb41bd6bull, 0x5be0cd19137e2179ull,
};

static const uint8_t SIGMA[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4}, {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13}, {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11}, {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5}, {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
};

enum { BLOCK = 128, ROUNDS = 12, DIGEST = 8 };

static inline uint64_t rotated(uint64_t value, int bits) { return value >> bits | value << (64 - bits); }

static inline void mix_words(uint64_t *v, int a, int b, int c, int d, uint64_t x, uint64_t y) {
    v[a] += v[b] + x; v[d] = rotated(v[d] ^ v[a], 32); v[c] += v[d]; v[b] = rotated(v[b] ^ v[c], 24);
    v[a] += v[b] + y; v[d] = rotated(v[d] ^ v[a], 16); v[c] += v[d]; v[b] = rotated(v[b] ^ v[c], 63);
}

static inline uint64_t little_endian(const unsigned char *data) {
    uint64_t value = 0;
    for (int i = 0; i < 8; i++) value |= (uint64_t)data[i] << 8 * i;
    return value;
}

static void compress(uint64_t *h, const unsigned char *block, uint64_t length, int is_last) {
    uint64_t v[16], m[16];
    for (int i = 0; i < 8; i++) { v[i] = h[i]; v[i + 8] = IV[i]; }
    for (int i = 0; i < 16; i++) m[i] = little_endian(block + 8 * i);
    v[12] ^= length;
    if (is_last) v[14] = ~v[14];
    for (int round = 0; round < ROUNDS; round++) {
        const uint8_t *s = SIGMA[round % 10];
        for (int i = 0; i < 4; i++) mix_words(v, i, 4 + i, 8 + i, 12 + i, m[s[2 * i]], m[s[2 * i + 1]]);
        for (int i = 0; i < 4; i++) mix_words(v, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4, m[s[8 + 2 * i]], m[s[9 + 2 * i]]);
    }
    for (int i = 0; i < 8; i++) h[i] ^= v[i] ^ v[i + 8];
}

static int64_t digest_of(const unsigned char *data, size_t length) {
    uint64_t h[8], done = 0;
    unsigned char last[BLOCK] = {0};
    memcpy(h, IV, sizeof h);
    h[0] ^= 0x01010000 ^ DIGEST;
    for (; length - done > BLOCK; done += BLOCK) compress(h, data + done, done + BLOCK, 0);
    memcpy(last, data + done, length - done);
    compress(h, last, length, 1);
    return (int64_t)h[0];
}

int hash_key(PyObject *key, int64_t *hash) {
    if (!PyUnicode_Check(key)) { PyErr_SetString(PyExc_TypeError, "a key is a str"); return -1; }
    if (PyUnicode_IS_COMPACT_ASCII(key)) {   /* other strings: PyUnicode_AsUTF8 would keep a copy */
        *hash = digest_of(PyUnicode_DATA(key), (size_t)PyUnicode_GET_LENGTH(key));
        return 0;
    }
    PyObject *bytes = PyUnicode_AsEncodedString(key, "utf-8", "surrogatepass");
    if (!bytes) return -1;
    *hash = digest_of((const unsigned char *)PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes));
    Py_DECREF(bytes);
    return 0;
}

PyObject *native_hash_of(PyObject *module, PyObject *key) {
    (void)module;
    int64_t hash;
    return hash_key(key, &hash) < 0 ? NULL : PyLong_FromLongLong(hash);
}

/* Numbers of hashes: a table with open addressing, filled to at most MAX_LOAD. */

static const double MAX_LOAD = 0.85, GROWTH = 1.15;
enum { MIN_ROOM = 64 };

static inline size_t slot_of(const KeyNumbers *table, int64_t hash) {
    size_t at = (size_t)(((unsigned __int128)(uint64_t)hash * (uint64_t)table->room) >> 64);   /* hashes are uniform */
    while (table->numbers[at] >= 0 && table->hashes[at] != hash)
        if (++at == (size_t)table->room) at = 0;
    return at;
}

static int make_room(KeyNumbers *table, Py_ssize_t room) {
    KeyNumbers made = *table;
    made.room = room;
    made.hashes = PyMem_Malloc((size_t)room * sizeof(int64_t));
    made.numbers = PyMem_Malloc((size_t)room * sizeof(int32_t));
    if (!made.hashes || !made.numbers) {
        PyMem_Free(made.hashes);
        PyMem_Free(made.numbers);
        PyErr_NoMemory();
        return -1;
    }
    memset(made.numbers, -1, (size_t)room * sizeof(int32_t));
    for (Py_ssize_t i = 0; i < table->room; i++)
        if (table->numbers[i] >= 0) {
            size_t at = slot_of(&made, table->hashes[i]);
            made.hashes[at] = table->hashes[i];
            made.numbers[at] = table->numbers[i];
        }
    PyMem_Free(table->hashes);
    PyMem_Free(table->numbers);
    *table = made;
    return 0;
}

int32_t find_number(const KeyNumbers *table, int64_t hash) { return table->room ? table->numbers[slot_of(table, hash)] : -1; }

/* Assign the next number to a hash that has none; return -1 with an error set if there is no memory. */
int32_t add_number(KeyNumbers *table, int64_t hash) {
    if ((double)(table->count + 1) > MAX_LOAD * (double)table->room &&
        make_room(table, table->room ? (Py_ssize_t)(GROWTH * (double)table->room) : MIN_ROOM) < 0)
        return -1;
    size_t at = slot_of(table, hash);
    table->hashes[at] = hash;
    return table->numbers[at] = table->count++;
}

static PyObject *numbers_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    Py_buffer hashes = {0};
    if (kwargs && PyDict_GET_SIZE(kwargs)) { PyErr_SetString(PyExc_TypeError, "KeyNumbers takes no keyword arguments"); return NULL; }
    if (!PyArg_ParseTuple(args, "|y*", &hashes)) return NULL;
    KeyNumbers *table = (KeyNumbers *)type->tp_alloc(type, 0);
    Py_ssize_t count = hashes.len / (Py_ssize_t)sizeof(int64_t);
    if (table && count && make_room(table, (Py_ssize_t)((double)count / MAX_LOAD) + MIN_ROOM) < 0) Py_CLEAR(table);
    for (Py_ssize_t i = 0; table && i < count; i++) {
        int64_t hash;
        memcpy(&hash, (const char *)hashes.buf + i * (Py_ssize_t)sizeof hash, sizeof hash);
        if (find_number(table, hash) >= 0) PyErr_SetString(PyExc_ValueError, "the hashes contain a duplicate");
        if (PyErr_Occurred() || add_number(table, hash) < 0) Py_CLEAR(table);
    }
    if (hashes.obj) PyBuffer_Release(&hashes);
    return (PyObject *)table;
}

static void numbers_free(KeyNumbers *table) {
    PyMem_Free(table->hashes);
    PyMem_Free(table->numbers);
    Py_TYPE(table)->tp_free((PyObject *)table);
}

static Py_ssize_t numbers_length(PyObject *table) { return ((KeyNumbers *)table)->count; }

static int as_hash(PyObject *object, int64_t *hash) {
    *hash = PyLong_AsLongLong(object);
    return *hash == -1 && PyErr_Occurred() ? -1 : 0;
}

static PyObject *numbers_find_one(PyObject *table, PyObject *object) {
    int64_t hash;
    return as_hash(object, &hash) < 0 ? NULL : PyLong_FromLong(find_number((KeyNumbers *)table, hash));
}

/* Return the number of each of some keys, or hashes of keys. */
static PyObject *find_each(const KeyNumbers *table, PyObject *keys, int (*hash_one)(PyObject *, int64_t *)) {
    PyObject *result = NULL, *list = PySequence_Fast(keys, "keys are a sequence");
    if (list) result = PyList_New(PySequence_Fast_GET_SIZE(list));
    for (Py_ssize_t i = 0; result && i < PySequence_Fast_GET_SIZE(list); i++) {
        int64_t hash;
        PyObject *number = hash_one(PySequence_Fast_GET_ITEM(list, i), &hash) < 0 ? NULL : PyLong_FromLong(find_number(table, hash));
        if (number) PyList_SET_ITEM(result, i, number);
        else Py_CLEAR(result);
    }
    Py_XDECREF(list);
    return result;
}

static PyObject *numbers_find(PyObject *table, PyObject *hashes) { return find_each((KeyNumbers *)table, hashes, as_hash); }

static PyObject *numbers_find_words(PyObject *table, PyObject *words) { return find_each((KeyNumbers *)table, words, hash_key); }

static PyObject *numbers_add(PyObject *table, PyObject *object) {
    int64_t hash;
    if (as_hash(object, &hash) < 0) return NULL;
    if (find_number((KeyNumbers *)table, hash) >= 0) { PyErr_SetString(PyExc_ValueError, "the hash has a number already"); return NULL; }
    int32_t number = add_number((KeyNumbers *)table, hash);
    return number < 0 ? NULL : PyLong_FromLong(number);
}

/* Pickle the hashes in the order of their numbers, like the Python class. */
static PyObject *numbers_reduce(PyObject *object, PyObject *none) {
    (void)none;
    const KeyNumbers *table = (const KeyNumbers *)object;
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, table->count * (Py_ssize_t)sizeof(int64_t));
    if (!bytes) return NULL;
    for (Py_ssize_t i = 0; i < table->room; i++)
        if (table->numbers[i] >= 0) memcpy(PyBytes_AS_STRING(bytes) + table->numbers[i] * sizeof(int64_t), &table->hashes[i], sizeof(int64_t));
    return Py_BuildValue("O(N)", Py_TYPE(object), bytes);
}

static PyMethodDef numbers_methods[] = {
    {"find_one", numbers_find_one, METH_O, "Return the number of a hash; -1 if it has none."},
    {"find", numbers_find, METH_O, "Return the number of each hash; -1 if it has none."},
    {"find_words", numbers_find_words, METH_O, "Return the number of each word; -1 if it has none."},
    {"add", numbers_add, METH_O, "Assign the next number to a hash that has none; return it."},
    {"number_words", numbers_number_words, METH_VARARGS, "Number the words of each list."},
    {"__reduce__", numbers_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static PySequenceMethods numbers_sequence = {.sq_length = numbers_length};
PyTypeObject KeyNumbersType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "upwell.arrays.key_set.KeyNumbers",   /* a pickle names this class, or the Python class if there is no native module */
    .tp_basicsize = sizeof(KeyNumbers), .tp_flags = Py_TPFLAGS_DEFAULT, .tp_doc = "Numbers of hashes in order of insertion, from 0.",
    .tp_new = numbers_new, .tp_dealloc = (destructor)numbers_free, .tp_methods = numbers_methods, .tp_as_sequence = &numbers_sequence,
};
