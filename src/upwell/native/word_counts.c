#include "native.h"

static int compare(const void *a, const void *b) {
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* Return the number of a word, a new one if it has none; -1 for a stop word, -2 with an error set. `known` caches the words of this call. */
static int32_t number_word(KeyNumbers *table, PyObject *word, PyObject *stops, PyObject *known, PyObject *new_words) {
    PyObject *number = PyDict_GetItemWithError(known, word);
    if (number) return (int32_t)PyLong_AsLong(number);
    int64_t hash;
    if (PyErr_Occurred() || hash_key(word, &hash) < 0) return -2;
    int32_t own = find_number(table, hash);
    if (own < 0) {
        int is_stop = stops == Py_None ? 0 : PyUnicode_GET_LENGTH(word) < 2 ? 1 : PySet_Contains(stops, word);
        if (is_stop) return is_stop < 0 ? -2 : -1;
        if ((own = add_number(table, hash)) < 0 || PyList_Append(new_words, word) < 0) return -2;
    }
    if (!(number = PyLong_FromLong(own))) return -2;
    int is_kept = PyDict_SetItem(known, word, number);
    Py_DECREF(number);
    return is_kept < 0 ? -2 : own;
}

/* Append the numbers of the words of one record to `cells`, sorted and without duplicates. */
static int number_record(KeyNumbers *table, PyObject *words, PyObject *stops, PyObject *known, Ints *cells, PyObject *new_words) {
    Py_ssize_t first = cells->length, kept = first;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(words); i++) {
        int32_t number = number_word(table, PySequence_Fast_GET_ITEM(words, i), stops, known, new_words);
        if (number < -1 || (number >= 0 && push(cells, number) < 0)) return -1;
    }
    if (cells->length == first) return 0;
    qsort(cells->at + first, (size_t)(cells->length - first), sizeof(int32_t), compare);
    for (Py_ssize_t i = first; i < cells->length; i++)
        if (i == first || cells->at[i] != cells->at[kept - 1]) cells->at[kept++] = cells->at[i];
    cells->length = kept;
    return 0;
}

PyObject *numbers_number_words(PyObject *table, PyObject *args) {
    PyObject *lists, *stops, *all = NULL, *new_words = NULL, *known = PyDict_New(), *result = NULL;
    Ints cells = {0}, ends = {0};
    if (!known || !PyArg_ParseTuple(args, "OO", &lists, &stops)) goto done;
    if (stops != Py_None && !PyAnySet_Check(stops)) { PyErr_SetString(PyExc_TypeError, "stop words are a set"); goto done; }
    if (!(all = PySequence_Fast(lists, "lists of words")) || !(new_words = PyList_New(0))) goto done;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(all); i++) {
        PyObject *words = PySequence_Fast(PySequence_Fast_GET_ITEM(all, i), "words"), *own = words ? PyList_New(0) : NULL;
        int is_good = own && number_record((KeyNumbers *)table, words, stops, known, &cells, own) == 0 && push(&ends, (int32_t)cells.length) == 0 &&
                      PyList_Append(new_words, own) == 0;
        Py_XDECREF(own);
        Py_XDECREF(words);
        if (!is_good) goto done;
    }
    result = Py_BuildValue("NNO", as_bytes(&cells), as_bytes(&ends), new_words);
done:
    Py_XDECREF(known);
    Py_XDECREF(all);
    Py_XDECREF(new_words);
    PyMem_Free(cells.at);
    PyMem_Free(ends.at);
    return result;
}

PyObject *native_count_words(PyObject *module, PyObject *args) {
    (void)module;
    Py_buffer cells, ends, in, once, first, done, shared, sharing;
    Py_ssize_t number, open = 0, common = 0;
    if (!PyArg_ParseTuple(args, "y*y*w*w*w*y*w*w*n", &cells, &ends, &in, &once, &first, &done, &shared, &sharing, &number)) return NULL;
    const int32_t *word = cells.buf, *end = ends.buf;
    const uint8_t *is_done = done.buf;
    int32_t *inside = in.buf, *seen_once = once.buf, *first_record = first.buf;
    uint8_t *shared_words = shared.buf;
    int64_t *by_shared = sharing.buf;
    Py_ssize_t records = ends.len / (Py_ssize_t)sizeof(int32_t), at = 0, most = sharing.len / (Py_ssize_t)sizeof(int64_t) - 1;
    Py_ssize_t words = Py_MIN(in.len, Py_MIN(once.len, first.len)) / (Py_ssize_t)sizeof(int32_t), cell_count = cells.len / (Py_ssize_t)sizeof(int32_t);
    int fits = most >= 0 && most < 256 && number >= 0 && shared.len >= number + records;
    for (Py_ssize_t i = 0; fits && i < records; i++) fits = end[i] <= cell_count && end[i] >= (i ? end[i - 1] : 0);
    for (Py_ssize_t i = 0; fits && i < cell_count; i++) fits = word[i] >= 0 && word[i] < words && word[i] < done.len;
    for (Py_ssize_t i = 0; fits && i < records; i++, number++) {
        Py_ssize_t own = 0;
        for (; at < end[i]; at++) {
            int32_t before = inside[word[at]]++;
            seen_once[word[at]]++;
            if (!is_done[word[at]]) {
                open += !before;
                common += before == 1 ? 2 : before > 1;
            }
            if (!before) { first_record[word[at]] = (int32_t)number; continue; }
            own++;
            if (before != 1 || first_record[word[at]] < 0 || first_record[word[at]] >= number) continue;
            uint8_t *of_first = &shared_words[first_record[word[at]]];   /* the first record with the word now shares it */
            if (*of_first >= most) continue;
            by_shared[*of_first]--;
            by_shared[++*of_first]++;
        }
        shared_words[number] = (uint8_t)Py_MIN(own, most);
        by_shared[shared_words[number]]++;
    }
    Py_buffer *all[] = {&cells, &ends, &in, &once, &first, &done, &shared, &sharing};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) PyBuffer_Release(all[i]);
    if (!fits) { PyErr_SetString(PyExc_ValueError, "the words do not fit the arrays"); return NULL; }
    return Py_BuildValue("nn", open, common);
}

static inline double least(double a, double b) { return a < b ? a : b; }
static inline double most(double a, double b) { return a > b ? a : b; }

enum { MARK = 2 };   /* bit of `done` for words that were collected */

static void unmark(PyObject *list, uint8_t *is_done, Py_ssize_t known) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list); i++) {
        Py_buffer some;
        if (PyObject_GetBuffer(PySequence_Fast_GET_ITEM(list, i), &some, PyBUF_SIMPLE) < 0) { PyErr_Clear(); continue; }
        for (Py_ssize_t j = 0; j < some.len / 4; j++)
            if (AT(some, j) >= 0 && AT(some, j) < known) is_done[AT(some, j)] &= (uint8_t)~MARK;
        PyBuffer_Release(&some);
    }
}

PyObject *native_weigh_words(PyObject *module, PyObject *args) {
    (void)module;
    PyObject *arrays, *result = NULL, *list = NULL;
    Py_buffer in, once, twice, whole, class, done, share, calibration;
    double held, usual, usual_twice, outside, unseen, shrink, lift, limit, top, native_size, horizon, good_share, best_rate;
    if (!PyArg_ParseTuple(args, "Oy*y*y*y*y*w*y*y*(ddddddddddddd)", &arrays, &in, &once, &twice, &whole, &class, &done, &share, &calibration,
                          &held, &usual, &usual_twice, &outside, &unseen, &shrink, &lift, &limit, &top, &native_size, &horizon, &good_share, &best_rate))
        return NULL;
    Py_ssize_t known = Py_MIN(Py_MIN(in.len, once.len), Py_MIN(twice.len, whole.len)) / 4;
    Py_ssize_t classes = Py_MIN(share.len, calibration.len) / (Py_ssize_t)sizeof(double), count = 0;
    known = Py_MIN(Py_MIN(known, done.len), class.len / (Py_ssize_t)sizeof(int16_t));
    uint8_t *is_done = done.buf;
    const int16_t *class_of = class.buf;
    Ints words = {0};
    double *weighed = NULL;
    if (!(list = PySequence_Fast(arrays, "arrays of words"))) goto done;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list); i++) {
        Py_buffer some;
        if (PyObject_GetBuffer(PySequence_Fast_GET_ITEM(list, i), &some, PyBUF_SIMPLE) < 0) break;
        int is_good = 1;
        for (Py_ssize_t j = 0; is_good && j < some.len / 4; j++) {
            int32_t word = AT(some, j);
            is_good = word >= 0 && word < known && class_of[word] >= 0 && class_of[word] < classes;
            if (!is_good || is_done[word] & MARK) continue;
            if (!is_done[word] && AT(in, word) > 0 && push(&words, word) < 0) is_good = -1;
            is_done[word] |= MARK;
            if (is_good < 0) break;
        }
        PyBuffer_Release(&some);
        if (!is_good) PyErr_SetString(PyExc_ValueError, "the words do not fit the arrays");
        if (is_good < 1) break;
    }
    PyObject *type, *error, *trace;
    PyErr_Fetch(&type, &error, &trace);
    unmark(list, is_done, known);
    PyErr_Restore(type, error, trace);
    if (type) goto done;
    count = words.length;
    if (!(weighed = PyMem_Malloc((size_t)(4 * count + 1) * sizeof(double)))) { PyErr_NoMemory(); goto done; }
    double *values = weighed, *rates = values + count, *all_new = rates + count, *all_pages = all_new + count;
    for (Py_ssize_t i = 0; i < count; i++) {
        int32_t word = words.at[i];
        double inside = AT(in, word), seen_once = AT(once, word), matched = ((const double *)share.buf)[class_of[word]];
        double once_share = (seen_once + shrink * usual) / (inside + shrink) / usual;
        double once_per_twice = (seen_once + shrink * usual) / (AT(twice, word) + shrink * usual_twice) * usual_twice / usual;
        double lifted = (inside - AT(whole, word) + lift) / (inside * outside + lift);
        double new = inside * least(50.0, unseen / held * once_share * once_per_twice * lifted);
        double matches = inside + new;
        if (limit) {
            if (matches > limit) new = new * top * limit / most(matches, 1e-9);
            matches = least(matches, limit);
        }
        double pages = native_size ? most(1.0, ceil(matches / native_size)) : 1.0, near = least(pages, horizon);
        new = new * ((const double *)calibration.buf)[class_of[word]];
        values[i] = matched * new * near / pages;
        rates[i] = values[i] / (1 + matched * (near - 1));
        all_new[i] = new;
        all_pages[i] = pages;
        best_rate = most(best_rate, rates[i]);
    }
    Py_ssize_t best = -1;
    for (Py_ssize_t i = 0; i < count; i++) {
        double matched = ((const double *)share.buf)[class_of[words.at[i]]];
        values[i] -= good_share * best_rate * (1 + matched * (least(all_pages[i], horizon) - 1));
        if (best < 0 || values[i] > values[best] || (values[i] == values[best] && words.at[i] < words.at[best])) best = i;
    }
    result = Py_BuildValue("NNn", as_bytes(&words), PyBytes_FromStringAndSize((const char *)weighed, 4 * count * (Py_ssize_t)sizeof(double)), best);
done:
    PyMem_Free(weighed);
    PyMem_Free(words.at);
    Py_XDECREF(list);
    Py_buffer *all[] = {&in, &once, &twice, &whole, &class, &done, &share, &calibration};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) PyBuffer_Release(all[i]);
    return result;
}

PyObject *native_weigh_pairs(PyObject *module, PyObject *args) {
    (void)module;
    Py_buffer words, both, kinds, in, once, told, barren, calibration, asked[2];
    double held, held_then, odds, usual, shrink, max_missing, max_share, limit, top, native_size;
    if (!PyArg_ParseTuple(args, "y*y*y*y*y*y*y*y*(y*y*)(dddddddddd)", &words, &both, &kinds, &in, &once, &told, &barren, &calibration, &asked[0], &asked[1],
                          &held, &held_then, &odds, &usual, &shrink, &max_missing, &max_share, &limit, &top, &native_size))
        return NULL;
    Py_ssize_t count = words.len / (Py_ssize_t)sizeof(int64_t), known = Py_MIN(Py_MIN(in.len, once.len), told.len) / 4;
    Py_ssize_t all_kinds = calibration.len / (Py_ssize_t)sizeof(double);
    known = Py_MIN(known, barren.len);
    PyObject *result = PyBytes_FromStringAndSize(NULL, 6 * count * (Py_ssize_t)sizeof(double));
    int fits = both.len == words.len && kinds.len == words.len && all_kinds > 0;
    for (Py_ssize_t i = 0; result && fits && i < count; i++) {
        int64_t word = ((const int64_t *)words.buf)[i], kind = ((const int64_t *)kinds.buf)[i];
        if (word < 0 || word >= known || kind < 0) { fits = 0; break; }
        double with_both = (double)((const int64_t *)both.buf)[i], inside = AT(in, word), matches_told = ((const float *)told.buf)[word];
        double once_share = (AT(once, word) + shrink) / (inside + shrink / usual) / usual;
        double own = most(0.0, matches_told / most(1.0, inside) - 1);
        double missing = matches_told > 0 ? least(odds, own) : least(max_missing, odds * once_share);
        int is_left_out = with_both > max_share * held_then || ((const uint8_t *)barren.buf)[word];
        for (int operator = 0; operator < 2; operator++) {   /* 0: and, 1: not */
            double *to = (double *)PyBytes_AS_STRING(result) + 3 * operator * count + i;
            double here = with_both * (held / most(1.0, held_then));
            if (operator) here = held - here;
            double new = here * (operator ? odds : missing), matches = here + new;
            if (limit) {
                if (matches > limit) new = new * top * limit / most(matches, 1e-9);
                matches = least(matches, limit);
            }
            double pages = native_size ? most(1.0, ceil(matches / native_size)) : 1.0;
            double worth = ((const double *)calibration.buf)[kind % all_kinds] * new / pages;
            int is_asked = i < asked[operator].len && ((const uint8_t *)asked[operator].buf)[i];
            if (is_left_out || here < 1 || is_asked || (operator && limit && here + new > limit)) worth = 0.0;   /* excluding a word does not change which records come first */
            to[0] = here;
            to[count] = worth;
            to[2 * count] = pages;
        }
    }
    Py_buffer *all[] = {&words, &both, &kinds, &in, &once, &told, &barren, &calibration, &asked[0], &asked[1]};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) PyBuffer_Release(all[i]);
    if (result && !fits) {
        Py_CLEAR(result);
        PyErr_SetString(PyExc_ValueError, "the words do not fit the arrays");
    }
    return result;
}
