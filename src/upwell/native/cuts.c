#include "native.h"
#include <stdlib.h>

/* The records that a cut rule yields on a page, as `_Cutter` of records/cut_rules.py computes them. */

enum { IS, HAS, AFTER };                     /* leader tests; 3 is BEGINS, as in cut_rules.py */
enum { IS_CONTAINER = 1, IS_LEADER = 2 };    /* flags of signatures */

typedef struct { double share, usual; } Likeness;

typedef struct {
    const Leaves *leaves;
    Py_buffer flags, path, share, separators;
    int how, all_containers;
    unsigned long long leader;
    double mean_share, usual_paths, usual_share, min_likeness;
    Py_ssize_t longest, min_to_compare;
    int32_t *seen, stamp;                    /* by path: the record in which it was seen last */
    Ints starts, rows;                       /* units of the current container */
    Ints first, last, container, container_end;   /* records of the current group of containers */
    Likeness *likeness;
    Py_ssize_t likeness_room;
    int32_t *unit, *unit_row;                /* of each leaf */
} Cutter;

static inline int32_t leaf_signature(const Cutter *c, int32_t leaf) { return AT(c->leaves->signature, AT(c->leaves->row, leaf)); }
static inline double leaf_share(const Cutter *c, int32_t leaf) { return ((const double *)c->share.buf)[leaf_signature(c, leaf)]; }

/* Find the units of a container: the first leaf of each, and its row (-1: a text of the container). */
static int read_units(Cutter *c, int32_t container) {
    const Leaves *leaves = c->leaves;
    int32_t leaf = AT(leaves->row_start, container);
    c->starts.length = c->rows.length = 0;
    for (int32_t child = container + 1; child < AT(leaves->end, container); child = AT(leaves->end, child)) {
        if (AT(leaves->row_end, child) <= AT(leaves->row_start, child)) continue;
        for (; leaf < AT(leaves->row_start, child); leaf++)
            if (push(&c->starts, leaf) || push(&c->rows, -1)) return -1;
        if (push(&c->starts, leaf = AT(leaves->row_start, child)) || push(&c->rows, child)) return -1;
        leaf = AT(leaves->row_end, child);
    }
    for (; leaf < AT(leaves->row_end, container); leaf++)
        if (push(&c->starts, leaf) || push(&c->rows, -1)) return -1;
    return 0;
}

static int leads(const Cutter *c, int32_t start, int32_t row, int32_t end) {
    if (c->how == IS) return c->leader ? row >= 0 && AT(c->flags, AT(c->leaves->signature, row)) & IS_LEADER : row < 0;
    if (c->how == AFTER) return ((const uint64_t *)c->separators.buf)[start] == c->leader;
    for (int32_t leaf = start; leaf < (c->how == HAS ? end : start + 1); leaf++)
        if (AT(c->flags, leaf_signature(c, leaf)) & IS_LEADER) return 1;
    return 0;
}

static int32_t start_of(const Cutter *c, Py_ssize_t unit, int32_t container_end) { return unit < c->starts.length ? c->starts.at[unit] : container_end; }

/* Return the end of the last record of a container. */
static int32_t end_of_last(const Cutter *c, Py_ssize_t leader, int32_t container_end) {
    Py_ssize_t longest = c->longest > 1 ? c->longest : 1, stop = leader + longest < c->starts.length ? leader + longest : c->starts.length;
    for (Py_ssize_t unit = leader + 1; unit < stop; unit++) {
        int32_t start = c->starts.at[unit], end = start_of(c, unit + 1, container_end), leaf = start;
        while (leaf < end && leaf_share(c, leaf) < 0) leaf++;
        if (leaf == end) return start;
    }
    return start_of(c, stop, container_end);
}

/* Return the mean share of the paths of a record, and the number of its usual paths. */
static Likeness likeness_of(Cutter *c, int32_t start, int32_t end) {
    double sum = 0, usual = 0, paths = 0;
    c->stamp++;
    for (int32_t leaf = start; leaf < end; leaf++) {
        int32_t path = AT(c->path, leaf_signature(c, leaf));
        if (c->seen[path] == c->stamp) continue;
        c->seen[path] = c->stamp;
        double share = leaf_share(c, leaf) < 0 ? 0 : leaf_share(c, leaf);
        sum += share;
        usual += share >= c->usual_share;
        paths++;
    }
    return (Likeness){paths ? sum / paths : 0, usual};
}

static int add_record(Cutter *c, int32_t first, int32_t last, int32_t container) {
    Py_ssize_t count = c->first.length;
    if (count == c->likeness_room) {
        Py_ssize_t room = count ? count * 2 : 64;
        Likeness *likeness = PyMem_Realloc(c->likeness, (size_t)room * sizeof(Likeness));
        if (!likeness) { PyErr_NoMemory(); return -1; }
        c->likeness = likeness;
        c->likeness_room = room;
    }
    c->likeness[count] = likeness_of(c, first, last);
    return push(&c->first, first) || push(&c->last, last) || push(&c->container, container) || push(&c->container_end, AT(c->leaves->row_end, container)) ? -1 : 0;
}

static int cut_container(Cutter *c, int32_t container) {
    int32_t container_end = AT(c->leaves->row_end, container);
    Py_ssize_t leader = -1;
    if (read_units(c, container) < 0) return -1;
    for (Py_ssize_t i = 0; i < c->starts.length; i++) {
        int32_t start = c->starts.at[i], end = start_of(c, i + 1, container_end);
        for (int32_t leaf = start; leaf < end; leaf++) { c->unit[leaf] = (int32_t)i; c->unit_row[leaf] = c->rows.at[i]; }
        if (!leads(c, start, c->rows.at[i], end)) continue;
        if (leader >= 0 && add_record(c, c->starts.at[leader], start, container) < 0) return -1;
        leader = i;
    }
    return leader < 0 ? 0 : add_record(c, c->starts.at[leader], end_of_last(c, leader, container_end), container);
}

static int compare(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return left < right ? -1 : left > right;
}

/* Return the median of one member of the likenesses, at most `limit`. */
static double median_of(const Cutter *c, double *values, int of_usual, double limit) {
    Py_ssize_t count = c->first.length;
    for (Py_ssize_t i = 0; i < count; i++) values[i] = of_usual ? c->likeness[i].usual : c->likeness[i].share;
    qsort(values, (size_t)count, sizeof(double), compare);
    double median = count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
    return median < limit ? median : limit;
}

/* Drop the records that have little in common with the others. */
static int keep_alike(Cutter *c) {
    Py_ssize_t count = c->first.length, kept = 0;
    double mean_share = c->mean_share, usual_paths = c->usual_paths;
    if (count && count >= c->min_to_compare) {
        double *values = PyMem_Malloc((size_t)count * sizeof(double));
        if (!values) { PyErr_NoMemory(); return -1; }
        mean_share = median_of(c, values, 0, mean_share);
        usual_paths = median_of(c, values, 1, usual_paths);
        PyMem_Free(values);
    }
    Ints *columns[] = {&c->first, &c->last, &c->container, &c->container_end};
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!(c->likeness[i].share >= c->min_likeness * mean_share && c->likeness[i].usual >= c->min_likeness * usual_paths)) continue;
        for (size_t k = 0; k < sizeof columns / sizeof *columns; k++) columns[k]->at[kept] = columns[k]->at[i];
        kept++;
    }
    for (size_t k = 0; k < sizeof columns / sizeof *columns; k++) columns[k]->length = kept;
    return 0;
}

/* Add the records of the current group of containers as a cut, if there are any. */
static int finish_group(Cutter *c, PyObject *cuts) {
    if (keep_alike(c) < 0) return -1;
    int failed = 0;
    if (c->first.length) {
        PyObject *cut = Py_BuildValue("(NNNN)", as_bytes(&c->first), as_bytes(&c->last), as_bytes(&c->container), as_bytes(&c->container_end));
        failed = cut ? PyList_Append(cuts, cut) : -1;
        Py_XDECREF(cut);
    }
    c->first.length = c->last.length = c->container.length = c->container_end.length = 0;
    return failed;
}

static PyObject *cut_all(Cutter *c) {
    PyObject *cuts = PyList_New(0);
    int32_t rows = (int32_t)(c->leaves->signature.len / 4);
    int failed = !cuts;
    for (int32_t row = 0; !failed && row < rows; row++) {
        if (!(AT(c->flags, AT(c->leaves->signature, row)) & IS_CONTAINER) || AT(c->leaves->row_end, row) <= AT(c->leaves->row_start, row)) continue;
        failed = cut_container(c, row) || (!c->all_containers && finish_group(c, cuts));
    }
    if (!failed && c->all_containers) failed = finish_group(c, cuts);
    if (failed) Py_CLEAR(cuts);
    return cuts;
}

/* Return 1 if the columns are those of the page. */
static int fits(const Cutter *c) {
    Py_ssize_t leaves = PySequence_Fast_GET_SIZE(c->leaves->texts), signatures = c->leaves->signatures;
    if (c->flags.len != 4 * signatures || c->path.len != 4 * signatures || c->share.len != 8 * signatures) return 0;
    for (Py_ssize_t i = 0; i < signatures; i++)
        if (AT(c->path, i) < 0 || AT(c->path, i) >= signatures) return 0;
    return c->how != AFTER || c->separators.len == 8 * leaves;
}

PyObject *leaves_cuts(PyObject *object, PyObject *args) {
    Cutter c = {.leaves = (Leaves *)object};
    if (!PyArg_ParseTuple(args, "y*y*y*ipKddny*(ddn)", &c.flags, &c.path, &c.share, &c.how, &c.all_containers, &c.leader, &c.mean_share,
                          &c.usual_paths, &c.longest, &c.separators, &c.usual_share, &c.min_likeness, &c.min_to_compare))
        return NULL;
    size_t leaves = (size_t)PySequence_Fast_GET_SIZE(c.leaves->texts);
    PyObject *unit = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(4 * leaves)), *unit_row = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(4 * leaves));
    PyObject *result = NULL;
    c.seen = PyMem_Calloc((size_t)c.leaves->signatures + 1, sizeof(int32_t));
    if (!fits(&c)) PyErr_SetString(PyExc_ValueError, "the columns are of different pages");
    else if (!c.seen) PyErr_NoMemory();
    else if (unit && unit_row) {
        c.unit = (int32_t *)PyBytes_AS_STRING(unit);
        c.unit_row = (int32_t *)PyBytes_AS_STRING(unit_row);
        memset(c.unit, 0, 4 * leaves);
        memset(c.unit_row, -1, 4 * leaves);
        PyObject *cuts = cut_all(&c);
        result = cuts ? PyTuple_Pack(3, cuts, unit, unit_row) : NULL;
        Py_XDECREF(cuts);
    }
    Py_XDECREF(unit);
    Py_XDECREF(unit_row);
    Ints *columns[] = {&c.starts, &c.rows, &c.first, &c.last, &c.container, &c.container_end};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) PyMem_Free(columns[i]->at);
    PyMem_Free(c.likeness);
    PyMem_Free(c.seen);
    RELEASE(&c.flags, &c.path, &c.share, &c.separators);
    return result;
}
