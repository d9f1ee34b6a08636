#include "native.h"
#include <stdlib.h>

/* The records that a cut rule gives on a page, as `_Cutter` of records/cut_rules.py has them. */

enum { IS, HAS, AFTER };                     /* what makes a unit a leader; BEGINS is the rest, as in cut_rules.py */
enum { IS_CONTAINER = 1, IS_LEADER = 2 };

typedef struct { int flags; int32_t path; double share; } SpotInfo;   /* the share is below 0 where the rule does not know the path */

typedef struct { double share, usual; } Likeness;

typedef struct {
    const Leaves *leaves;
    int how, all_containers;
    unsigned long long leader;
    double mean_share, usual_paths, usual_share, min_likeness;
    Py_ssize_t longest, min_to_compare;
    Py_buffer separators;
    SpotInfo *spots;
    int32_t *seen, stamp;                    /* by path: the record in which it was seen last */
    Ints starts, rows;                       /* the units of the container at hand */
    Ints first, last, container, container_end;   /* the records of the group at hand */
    Likeness *likeness;
    Py_ssize_t likeness_room;
    int32_t *unit, *unit_row;                /* of each leaf */
} Cutting;

static int32_t leaf_spot(const Cutting *c, int32_t leaf) { return AT(c->leaves->spot, AT(c->leaves->row, leaf)); }

/* What the rule knows of each spot of the page: `known` has tuples of flags, path and share, `of_spot` makes those that are missing. */
static int read_spots(Cutting *c, PyObject *known, PyObject *of_spot) {
    Py_ssize_t count = PyTuple_GET_SIZE(c->leaves->spots);
    size_t mask = 255;
    while (mask < (size_t)count * 2) mask = mask * 2 + 1;
    uint64_t *paths = PyMem_Malloc((size_t)(count + 1) * sizeof(uint64_t));
    int32_t *table = PyMem_Malloc((mask + 1) * sizeof(int32_t)), different = 0;
    int failed = !paths || !table;
    if (failed) PyErr_NoMemory();
    else memset(table, -1, (mask + 1) * sizeof(int32_t));
    for (Py_ssize_t i = 0; !failed && i < count; i++) {
        PyObject *spot = PyTuple_GET_ITEM(c->leaves->spots, i), *info = PyDict_GetItemWithError(known, spot);
        info = info ? Py_NewRef(info) : PyErr_Occurred() ? NULL : PyObject_CallOneArg(of_spot, spot);
        failed = 1;
        if (info && PyTuple_Check(info) && PyTuple_GET_SIZE(info) == 3) {
            uint64_t path = PyLong_AsUnsignedLongLongMask(PyTuple_GET_ITEM(info, 1));
            c->spots[i].flags = (int)PyLong_AsLong(PyTuple_GET_ITEM(info, 0));
            c->spots[i].share = PyFloat_AsDouble(PyTuple_GET_ITEM(info, 2));
            failed = PyErr_Occurred() != NULL;
            size_t slot = mix(0, path) & mask;
            while (table[slot] >= 0 && paths[table[slot]] != path) slot = (slot + 1) & mask;
            if (table[slot] < 0) { paths[different] = path; table[slot] = different++; }
            c->spots[i].path = table[slot];
        }
        Py_XDECREF(info);
    }
    if (failed && !PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "what is known of a spot is a tuple of three");
    PyMem_Free(paths);
    PyMem_Free(table);
    return failed ? -1 : 0;
}

/* The units of a container: where each begins, and its row (-1: a text of the container). */
static int read_units(Cutting *c, int32_t container) {
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

static int leads(const Cutting *c, int32_t start, int32_t row, int32_t end) {
    if (c->how == IS) return c->leader ? row >= 0 && c->spots[AT(c->leaves->spot, row)].flags & IS_LEADER : row < 0;
    if (c->how == AFTER) return ((const uint64_t *)c->separators.buf)[start] == c->leader;
    for (int32_t leaf = start; leaf < (c->how == HAS ? end : start + 1); leaf++)
        if (c->spots[leaf_spot(c, leaf)].flags & IS_LEADER) return 1;
    return 0;
}

static int32_t start_of(const Cutting *c, Py_ssize_t unit, int32_t container_end) { return unit < c->starts.length ? c->starts.at[unit] : container_end; }

/* Where the last record of a container ends. */
static int32_t end_of_last(const Cutting *c, Py_ssize_t leader, int32_t container_end) {
    Py_ssize_t longest = c->longest > 1 ? c->longest : 1, stop = leader + longest < c->starts.length ? leader + longest : c->starts.length;
    for (Py_ssize_t unit = leader + 1; unit < stop; unit++) {
        int32_t start = c->starts.at[unit], end = start_of(c, unit + 1, container_end), leaf = start;
        while (leaf < end && c->spots[leaf_spot(c, leaf)].share < 0) leaf++;
        if (leaf == end) return start;
    }
    return start_of(c, stop, container_end);
}

/* How common the paths of a record are on average, and how many of them are usual. */
static Likeness likeness_of(Cutting *c, int32_t start, int32_t end) {
    double sum = 0, usual = 0, paths = 0;
    c->stamp++;
    for (int32_t leaf = start; leaf < end; leaf++) {
        const SpotInfo *spot = &c->spots[leaf_spot(c, leaf)];
        if (c->seen[spot->path] == c->stamp) continue;
        c->seen[spot->path] = c->stamp;
        double share = spot->share < 0 ? 0 : spot->share;
        sum += share;
        usual += share >= c->usual_share;
        paths++;
    }
    return (Likeness){paths ? sum / paths : 0, usual};
}

static int add_record(Cutting *c, int32_t first, int32_t last, int32_t container) {
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

static int cut_container(Cutting *c, int32_t container) {
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

/* The median of a column of the likenesses, at most `limit`. */
static double median_of(const Cutting *c, double *values, int of_usual, double limit) {
    Py_ssize_t count = c->first.length;
    for (Py_ssize_t i = 0; i < count; i++) values[i] = of_usual ? c->likeness[i].usual : c->likeness[i].share;
    qsort(values, (size_t)count, sizeof(double), compare);
    double median = count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
    return median < limit ? median : limit;
}

/* Leaves out the records that have little in common with the others. */
static int keep_alike(Cutting *c) {
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

/* Adds the records of the containers so far as a cut, where there are any. */
static int finish_group(Cutting *c, PyObject *cuts) {
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

static PyObject *cut_all(Cutting *c) {
    PyObject *cuts = PyList_New(0);
    int32_t rows = (int32_t)(c->leaves->spot.len / 4);
    int failed = !cuts;
    for (int32_t row = 0; !failed && row < rows; row++) {
        if (!(c->spots[AT(c->leaves->spot, row)].flags & IS_CONTAINER) || AT(c->leaves->row_end, row) <= AT(c->leaves->row_start, row)) continue;
        failed = cut_container(c, row) || (!c->all_containers && finish_group(c, cuts));
    }
    if (!failed && c->all_containers) failed = finish_group(c, cuts);
    if (failed) Py_CLEAR(cuts);
    return cuts;
}

/* cuts(known, of_spot, how, all_containers, leader, mean_share, usual_paths, longest, separators, (usual_share, min_likeness, min_to_compare)):
   a list with the starts, ends, containers and ends of containers of the records of each cut; the unit of each leaf, and its row. */
PyObject *leaves_cuts(PyObject *object, PyObject *args) {
    Cutting c = {.leaves = (Leaves *)object};
    PyObject *known, *of_spot, *found = NULL;
    if (!PyArg_ParseTuple(args, "O!OiiKddny*(ddn)", &PyDict_Type, &known, &of_spot, &c.how, &c.all_containers, &c.leader, &c.mean_share, &c.usual_paths,
                          &c.longest, &c.separators, &c.usual_share, &c.min_likeness, &c.min_to_compare))
        return NULL;
    size_t leaves = (size_t)PySequence_Fast_GET_SIZE(c.leaves->texts), spots = (size_t)PyTuple_GET_SIZE(c.leaves->spots);
    PyObject *unit = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(4 * leaves)), *unit_row = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(4 * leaves));
    c.spots = PyMem_Calloc(spots + 1, sizeof(SpotInfo));
    c.seen = PyMem_Calloc(spots + 1, sizeof(int32_t));
    if (c.how == AFTER && c.separators.len != (Py_ssize_t)(8 * leaves)) PyErr_SetString(PyExc_ValueError, "the columns are of different pages");
    else if (!c.spots || !c.seen) PyErr_NoMemory();
    else if (unit && unit_row && read_spots(&c, known, of_spot) == 0) {
        c.unit = (int32_t *)PyBytes_AS_STRING(unit);
        c.unit_row = (int32_t *)PyBytes_AS_STRING(unit_row);
        memset(c.unit, 0, 4 * leaves);
        memset(c.unit_row, -1, 4 * leaves);
        PyObject *cuts = cut_all(&c);
        found = cuts ? PyTuple_Pack(3, cuts, unit, unit_row) : NULL;
        Py_XDECREF(cuts);
    }
    Py_XDECREF(unit);
    Py_XDECREF(unit_row);
    Ints *columns[] = {&c.starts, &c.rows, &c.first, &c.last, &c.container, &c.container_end};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) PyMem_Free(columns[i]->at);
    PyMem_Free(c.likeness);
    PyMem_Free(c.spots);
    PyMem_Free(c.seen);
    PyBuffer_Release(&c.separators);
    return found;
}
