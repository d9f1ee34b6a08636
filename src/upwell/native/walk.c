#include "native.h"
#include <dlfcn.h>

/* Lexbor's functions, from selectolax's own library. */
static struct {
    void *(*create)(void);
    void *(*destroy)(void *document);
    void (*clean)(void *document);
    void (*set_options)(void *document, unsigned int options);
    unsigned int (*parse)(void *document, const unsigned char *html, size_t size);
    Node *(*root)(void *document);
    Attr *(*first_attribute)(void *element);
    const unsigned char *(*attribute_name)(Attr *attribute, size_t *length);
    const unsigned char *(*element_name)(Node *element, size_t *length);
} lexbor;

enum { WITHOUT_EVENTS = 1 };            /* LexborDocumentOptions.WO_EVENTS: `_parsed` of tree.py says why */

enum { TYPE_TEXT = 3 };                 /* the DOM's number of text nodes */
enum { TEXT = 2, FIRST_ELEMENT = 6, FIRST_UNKNOWN = 256 };   /* the parser's numbers, as in tree.py */
enum { GLUED, SPACED, BROKEN };         /* as in spots.py */
enum { SHOWN, KEPT, UNSHOWN };

static uintptr_t number_td, number_th, number_dialog;

static inline int is_html_space(unsigned char c) { return c == ' ' || (c >= 9 && c <= 13 && c != 11); }

static int is_empty_text(const Node *node) {
    if (!node || node->type != TYPE_TEXT) return 0;
    const Str *text = &((const Text *)node)->text;
    for (size_t i = 0; text->data && i < text->length; i++)
        if (!is_html_space(text->data[i])) return 0;
    return 1;
}

static int contains(const char *text, size_t length, const char *word) {
    size_t size = strlen(word);
    for (size_t i = 0; i + size <= length; i++)
        if (!memcmp(text + i, word, size)) return 1;
    return 0;
}

typedef enum { OTHER, CLASS, STYLE, HIDDEN, ITEMPROP, OPEN, TYPE } Role;   /* of an attribute, by its name */

typedef struct { uintptr_t key; int32_t number; Role role; } Name;

/* A place is what a spot is made of. Places and their spots are remembered from page to page; a page that is being walked
   keeps the table that it began with, so that another thread may begin a new one. */

typedef struct {
    uint64_t hash;
    int32_t above, column;      /* the place above it, or -1 */
    uintptr_t number;           /* the parser's number of its tag; 0 for a tag that it does not know: such go by name */
    Str tag, cls, prop;         /* with data NULL where it has none */
    int8_t hidden, shown, shapes, edge, marks;
    int32_t follower;           /* the place of the row that came after one of these the last time: most often it does again */
    int32_t spot_number;        /* among the spots of the page that was walked last, … */
    uint64_t walk;              /* … which had this number */
    PyObject *spot;
} Place;

typedef struct {
    int32_t *slots;             /* numbers of places, -1 where free */
    size_t mask;
} Table;

typedef struct {
    Py_ssize_t users, count, room;
    Place *places;
    Table table;
} Places;

enum { MOST_PLACES = 50000 };   /* MOST_SPOTS of tree.py */
static Places *known_places;

typedef struct {
    PyObject *make_spot;                         /* borrowed */
    PyObject *spots, *chunks, *names, *data, *sheets, *title;
    Ints spot, parent, end, text_at, text_end, cells, chunk_row, first, numbers, ends;
    Ints rows_before;                            /* how many rows had begun when each chunk came */
    Ints place;                                  /* the place of each spot of this page */
    Table spot_of_place;
    char *edges, *spaced, *values;
    size_t edge_room, spaced_room, value_length, value_room;
    int pending;                                 /* the strongest edge since the last chunk */
    Places *places;
    uint64_t walk;                               /* the number of this walk */
    int32_t last_place;                          /* of the row before, or -1 */
    Name *name_table;
    size_t name_mask, name_count;
    char *buffer;
    size_t buffer_room;
} Walk;

static inline Place *place_of(const Walk *w, int32_t row) { return &w->places->places[w->place.at[w->spot.at[row]]]; }

static int reserve(char **buffer, size_t *room, size_t needed) {
    if (needed <= *room) return 0;
    size_t more = needed + needed / 2 + 256;
    char *at = PyMem_Realloc(*buffer, more);
    if (!at) { PyErr_NoMemory(); return -1; }
    *buffer = at;
    *room = more;
    return 0;
}

static Role role_of(const unsigned char *name, size_t length) {
    static const struct { const char *name; Role role; } roles[] = {
        {"class", CLASS}, {"style", STYLE}, {"hidden", HIDDEN}, {"itemprop", ITEMPROP}, {"open", OPEN}, {"type", TYPE}};
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (strlen(roles[i].name) == length && !memcmp(roles[i].name, name, length)) return roles[i].role;
    return OTHER;
}

/* The name of an attribute; the parser has a number for each name of a page. */
static Name *find_name(Walk *w, Attr *attribute) {
    uintptr_t key = attribute->qualified_name ? attribute->qualified_name : attribute->node.local_name;
    if (w->name_count * 2 >= w->name_mask) {
        size_t mask = w->name_mask ? w->name_mask * 2 + 1 : 127;
        Name *table = PyMem_Calloc(mask + 1, sizeof(Name));
        if (!table) { PyErr_NoMemory(); return NULL; }
        for (size_t i = 0; w->name_table && i <= w->name_mask; i++) {
            if (!w->name_table[i].key) continue;
            size_t slot = mix(0, w->name_table[i].key) & mask;
            while (table[slot].key) slot = (slot + 1) & mask;
            table[slot] = w->name_table[i];
        }
        PyMem_Free(w->name_table);
        w->name_table = table;
        w->name_mask = mask;
    }
    size_t slot = mix(0, key) & w->name_mask;
    for (; w->name_table[slot].key; slot = (slot + 1) & w->name_mask)
        if (w->name_table[slot].key == key) return &w->name_table[slot];
    size_t length = 0;
    const unsigned char *text = lexbor.attribute_name(attribute, &length);
    PyObject *name = PyUnicode_DecodeUTF8((const char *)text, (Py_ssize_t)length, "replace");
    if (!name) return NULL;
    PyUnicode_InternInPlace(&name);
    int failed = PyList_Append(w->names, name);
    Py_DECREF(name);
    if (failed) return NULL;
    w->name_table[slot] = (Name){key, (int32_t)w->name_count++, role_of(text, length)};
    return &w->name_table[slot];
}

/* Whether a style hides its element, as `_hidden` of tree.py has it: spaces and capitals do not count. */
static int style_hides(Walk *w, const Str *style) {
    if (!contains((const char *)style->data, style->length, "none") && !contains((const char *)style->data, style->length, "hidden")) return 0;
    if (reserve(&w->buffer, &w->buffer_room, style->length) < 0) return -1;
    size_t length = 0;
    for (size_t i = 0; i < style->length; i++) {
        unsigned char c = style->data[i];
        if (c != ' ') w->buffer[length++] = (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
    }
    return contains(w->buffer, length, "display:none") || contains(w->buffer, length, "visibility:hidden");
}

static int same_text(const Str *a, const Str *b) {
    if (!a->data || !b->data) return a->data == b->data;
    return a->length == b->length && !memcmp(a->data, b->data, a->length);
}

static int copy_text(Str *text) {
    if (!text->data) return 0;
    unsigned char *data = PyMem_Malloc(text->length + 1);
    if (!data) { PyErr_NoMemory(); return -1; }
    memcpy(data, text->data, text->length);
    text->data = data;
    return 0;
}

static PyObject *decoded(const Str *text) {
    return PyUnicode_DecodeUTF8((const char *)text->data, (Py_ssize_t)text->length, "replace");
}

static PyObject *words_of(Walk *w, PyObject *text, int *gaps);

static int flag_of(PyObject *spot, const char *name) {
    PyObject *value = PyObject_GetAttrString(spot, name);
    long flag = value ? PyLong_AsLong(value) : -1;
    Py_XDECREF(value);
    return (int)flag;
}

static void drop_places(Places *places) {
    if (!places || --places->users) return;
    for (Py_ssize_t i = 0; i < places->count; i++) {
        PyMem_Free(places->places[i].tag.data);
        PyMem_Free(places->places[i].cls.data);
        PyMem_Free(places->places[i].prop.data);
        Py_XDECREF(places->places[i].spot);
    }
    PyMem_Free(places->places);
    PyMem_Free(places->table.slots);
    PyMem_Free(places);
}

/* The table for a walk that begins. */
static Places *use_places(void) {
    if (!known_places || known_places->count > MOST_PLACES) {
        Places *fresh = PyMem_Calloc(1, sizeof(Places));
        if (!fresh) { PyErr_NoMemory(); return NULL; }
        fresh->users = 1;
        Places *old = known_places;
        known_places = fresh;
        drop_places(old);
    }
    known_places->users++;
    return known_places;
}

static int32_t *new_slots(size_t mask) {
    int32_t *slots = PyMem_Malloc((mask + 1) * sizeof(int32_t));
    if (slots) memset(slots, -1, (mask + 1) * sizeof(int32_t));
    else PyErr_NoMemory();
    return slots;
}

static int make_room(Places *known) {
    if (known->count < known->room) return 0;
    Py_ssize_t room = known->room ? known->room * 2 : 1024;
    size_t mask = (size_t)room * 2 - 1;
    Place *places = PyMem_Realloc(known->places, (size_t)room * sizeof(Place));
    if (!places) { PyErr_NoMemory(); return -1; }
    known->places = places;
    int32_t *slots = new_slots(mask);
    if (!slots) return -1;
    for (Py_ssize_t i = 0; i < known->count; i++) {
        size_t slot = places[i].hash & mask;
        while (slots[slot] >= 0) slot = (slot + 1) & mask;
        slots[slot] = (int32_t)i;
    }
    PyMem_Free(known->table.slots);
    known->table = (Table){slots, mask};
    known->room = room;
    return 0;
}

static inline int is_same_place(const Place *at, const Place *place) {
    return at->above == place->above && at->number == place->number && at->column == place->column && at->hidden == place->hidden &&
           same_text(&at->cls, &place->cls) && same_text(&at->prop, &place->prop) && same_text(&at->tag, &place->tag);
}

/* The slot of a place, or the free one where it would be. */
static size_t find_slot(const Places *known, const Place *place) {
    size_t slot = place->hash & known->table.mask;
    for (; known->table.slots[slot] >= 0; slot = (slot + 1) & known->table.mask) {
        const Place *at = &known->places[known->table.slots[slot]];
        if (at->hash == place->hash && is_same_place(at, place)) break;
    }
    return slot;
}

/* Makes the spot of a place that was not met before. */
static int make_spot(Walk *w, Place *place, Node *node) {
    size_t length = 0;
    int gaps;
    const unsigned char *name = lexbor.element_name(node, &length);
    PyObject *tag = PyUnicode_DecodeUTF8(name ? (const char *)name : "", (Py_ssize_t)length, "replace");
    PyObject *raw = place->cls.data ? decoded(&place->cls) : PyUnicode_New(0, 0);
    PyObject *cls = raw ? words_of(w, raw, &gaps) : NULL, *prop = place->prop.data ? decoded(&place->prop) : Py_NewRef(Py_None);
    PyObject *above = place->above < 0 ? Py_None : w->places->places[place->above].spot;
    if (tag) PyUnicode_InternInPlace(&tag);
    if (tag && cls && prop)
        place->spot = PyObject_CallFunction(w->make_spot, "OOOiOO", above, tag, cls, (int)place->column, prop, place->hidden ? Py_True : Py_False);
    Py_XDECREF(tag);
    Py_XDECREF(raw);
    Py_XDECREF(cls);
    Py_XDECREF(prop);
    if (!place->spot) return -1;
    place->shown = (int8_t)flag_of(place->spot, "shown");
    place->shapes = (int8_t)flag_of(place->spot, "shapes");
    place->edge = (int8_t)flag_of(place->spot, "edge");
    place->marks = (int8_t)flag_of(place->spot, "marks");
    return PyErr_Occurred() ? -1 : 0;
}

/* The number of a place among all that are known. */
static int32_t look_up_place(Walk *w, Place *place, Node *node) {
    Places *known = w->places;
    uint64_t hash = mix(mix((uint64_t)(place->above + 1), place->number), (uint64_t)place->column * 2 + (uint64_t)place->hidden);
    if (place->cls.data) hash = mix(hash, hash_bytes(place->cls.data, place->cls.length));
    if (place->prop.data) hash = mix(hash, hash_bytes(place->prop.data, place->prop.length) + 1);
    if (place->tag.data) hash = mix(hash, hash_bytes(place->tag.data, place->tag.length) + 2);
    place->hash = hash;
    if (make_room(known) < 0) return -1;
    size_t slot = find_slot(known, place);
    if (known->table.slots[slot] >= 0) return known->table.slots[slot];
    if (make_spot(w, place, node) < 0 || make_room(known) < 0) { Py_XDECREF(place->spot); return -1; }
    slot = find_slot(known, place);   /* another thread may have come here while the spot was made */
    if (known->table.slots[slot] >= 0) { Py_DECREF(place->spot); return known->table.slots[slot]; }
    Place *kept = &known->places[known->count];
    *kept = *place;
    if (copy_text(&kept->tag) < 0 || copy_text(&kept->cls) < 0 || copy_text(&kept->prop) < 0) return -1;
    known->table.slots[slot] = (int32_t)known->count;
    return (int32_t)known->count++;
}

/* The same, which first looks at the place that came after that of the row before the last time. */
static int32_t number_place(Walk *w, Place *place, Node *node) {
    int32_t number = w->last_place < 0 ? -1 : w->places->places[w->last_place].follower;
    if (number < 0 || !is_same_place(&w->places->places[number], place)) number = look_up_place(w, place, node);
    if (number >= 0 && w->last_place >= 0) w->places->places[w->last_place].follower = number;
    w->last_place = number;
    return number;
}

/* The number of a place among the spots of this page. */
static int32_t look_up_spot(Walk *w, int32_t place) {
    Table *table = &w->spot_of_place;
    if ((size_t)w->place.length * 2 >= table->mask) {
        size_t mask = table->mask ? table->mask * 2 + 1 : 511;
        int32_t *slots = new_slots(mask);
        if (!slots) return -1;
        for (Py_ssize_t i = 0; i < w->place.length; i++) {
            size_t slot = mix(0, (uint64_t)w->place.at[i]) & mask;
            while (slots[slot] >= 0) slot = (slot + 1) & mask;
            slots[slot] = (int32_t)i;
        }
        PyMem_Free(table->slots);
        *table = (Table){slots, mask};
    }
    size_t slot = mix(0, (uint64_t)place) & table->mask;
    for (; table->slots[slot] >= 0; slot = (slot + 1) & table->mask)
        if (w->place.at[table->slots[slot]] == place) return table->slots[slot];
    table->slots[slot] = (int32_t)w->place.length;
    if (PyList_Append(w->spots, w->places->places[place].spot) < 0 || push(&w->place, place) < 0) return -1;
    return table->slots[slot];
}

/* The same; a place knows its number on the page that was walked last, which is this one unless threads take turns. */
static int32_t number_spot(Walk *w, int32_t place) {
    if (w->places->places[place].walk == w->walk) return w->places->places[place].spot_number;
    int32_t number = look_up_spot(w, place);
    Place *at = &w->places->places[place];
    at->walk = w->walk;
    at->spot_number = number;
    if (number < 0) at->walk = 0;
    return number;
}

/* Takes down one attribute. */
static int keep_attribute(Walk *w, const Name *name, const Str *value) {
    size_t length = value && value->data ? value->length : 0;
    if (w->value_length + length > INT32_MAX) { PyErr_SetString(PyExc_OverflowError, "attributes of more than 2 GB"); return -1; }
    if (reserve(&w->values, &w->value_room, w->value_length + length) < 0) return -1;
    if (length) memcpy(w->values + w->value_length, value->data, length);
    w->value_length += length;
    return push(&w->numbers, value && value->data ? name->number : ~name->number) || push(&w->ends, (int32_t)w->value_length) ? -1 : 0;
}

/* A new row for an element; returns it, or -1. */
static int32_t enter(Walk *w, Node *node, int32_t above, int32_t beside) {
    int32_t row = (int32_t)w->spot.length;
    Place place = {.above = above < 0 ? -1 : w->place.at[w->spot.at[above]], .number = node->local_name, .follower = -1};
    int is_open = 0;
    if (push(&w->first, (int32_t)w->numbers.length) < 0) return -1;
    for (Attr *attribute = lexbor.first_attribute(node); attribute; attribute = attribute->next) {
        const Name *name = find_name(w, attribute);
        if (!name || keep_attribute(w, name, attribute->value) < 0) return -1;
        const Str *value = attribute->value && attribute->value->data ? attribute->value : NULL;
        if (name->role == OTHER) continue;
        if (name->role == CLASS) place.cls = value ? *value : (Str){NULL, 0};
        else if (name->role == HIDDEN) place.hidden = 1;
        else if (name->role == OPEN) is_open = 1;
        else if (name->role == ITEMPROP) place.prop = value ? *value : (Str){(unsigned char *)"", 0};
        else if (name->role == STYLE && value) {
            int hides = style_hides(w, value);
            if (hides < 0) return -1;
            if (hides) place.hidden = 1;
        }
    }
    if (node->local_name == number_dialog && !is_open) place.hidden = 1;
    if (above >= 0 && (node->local_name == number_td || node->local_name == number_th))
        place.column = ++w->cells.at[2 * above + (node->local_name == number_th)];
    if (place.number >= FIRST_UNKNOWN) {
        place.number = 0;
        place.tag.data = (unsigned char *)lexbor.element_name(node, &place.tag.length);
    }
    int32_t number = number_place(w, &place, node), spot = number < 0 ? -1 : number_spot(w, number);
    if (spot < 0) return -1;
    int edge = w->places->places[number].edge;
    if (w->places->places[number].shapes && beside != above && is_empty_text(node->prev)) edge = SPACED;
    if (edge > w->pending) w->pending = edge;
    if (push(&w->spot, spot) || push(&w->parent, above) || push(&w->end, 0) || push(&w->text_at, (int32_t)w->chunk_row.length) ||
        push(&w->text_end, 0) || push(&w->cells, 0) || push(&w->cells, 0))
        return -1;
    return row;
}

static void leave(Walk *w, Node *node, int32_t row) {
    const Place *place = place_of(w, row);
    int edge = place->shapes && is_empty_text(node->last_child) ? SPACED : place->edge;
    if (edge > w->pending) w->pending = edge;
    w->end.at[row] = (int32_t)w->spot.length;
    w->text_end.at[row] = (int32_t)w->chunk_row.length;
}

/* The words of a text with one space between them, as " ".join(text.split()); `gaps` gets 1 for white space before, 2 for after. */
static PyObject *words_of(Walk *w, PyObject *text, int *gaps) {
    Py_ssize_t length = PyUnicode_GET_LENGTH(text), made = 0, i = 0;
    int kind = PyUnicode_KIND(text);
    const void *data = PyUnicode_DATA(text);
    *gaps = 0;
    if (!length) return Py_NewRef(text);
    if (reserve(&w->buffer, &w->buffer_room, (size_t)length * (size_t)kind) < 0) return NULL;
    int is_same = 1;
    while (i < length) {
        Py_ssize_t begin = i;
        while (i < length && Py_UNICODE_ISSPACE(PyUnicode_READ(kind, data, i))) i++;
        if (i > begin) {
            if (!made || i == length || i - begin > 1 || PyUnicode_READ(kind, data, begin) != ' ') is_same = 0;
            if (i == length) break;
            if (made) { PyUnicode_WRITE(kind, w->buffer, made, ' '); made++; }
        }
        while (i < length && !Py_UNICODE_ISSPACE(PyUnicode_READ(kind, data, i))) {
            PyUnicode_WRITE(kind, w->buffer, made, PyUnicode_READ(kind, data, i));
            made++;
            i++;
        }
    }
    if (is_same) return Py_NewRef(text);
    *gaps = (Py_UNICODE_ISSPACE(PyUnicode_READ(kind, data, 0)) ? 1 : 0) + (Py_UNICODE_ISSPACE(PyUnicode_READ(kind, data, length - 1)) ? 2 : 0);
    return PyUnicode_FromKindAndData(kind, w->buffer, made);
}

/* The same for a text of ASCII alone, without making a str of it first; NULL without an error where it is not. */
static PyObject *ascii_words(Walk *w, const Str *text, int *gaps) {
    if (reserve(&w->buffer, &w->buffer_room, text->length) < 0) return NULL;
    size_t made = 0, i = 0;
    while (i < text->length) {
        size_t begin = i;
        while (i < text->length && Py_ISSPACE(text->data[i])) i++;
        if (i > begin && i < text->length && made) w->buffer[made++] = ' ';
        while (i < text->length && !Py_ISSPACE(text->data[i])) {
            /* 0x1c … 0x1f are white space for str alone */
            if (text->data[i] >= 0x80 || (text->data[i] >= 0x1c && text->data[i] <= 0x1f)) return NULL;
            w->buffer[made++] = (char)text->data[i++];
        }
    }
    *gaps = 0;
    if (made != text->length || memcmp(w->buffer, text->data, made))
        *gaps = (Py_ISSPACE(text->data[0]) ? 1 : 0) + (Py_ISSPACE(text->data[text->length - 1]) ? 2 : 0);
    PyObject *words = PyUnicode_New((Py_ssize_t)made, 127);
    if (words && made) memcpy(PyUnicode_1BYTE_DATA(words), w->buffer, made);
    return words;
}

/* A text without the line ends around it, as text.strip("\n"). */
static PyObject *without_line_ends(PyObject *text) {
    Py_ssize_t begin = 0, end = PyUnicode_GET_LENGTH(text);
    while (begin < end && PyUnicode_READ_CHAR(text, begin) == '\n') begin++;
    while (end > begin && PyUnicode_READ_CHAR(text, end - 1) == '\n') end--;
    return PyUnicode_Substring(text, begin, end);
}

static int keep_chunk(Walk *w, const Str *text, int shown, int32_t row) {
    int gaps = 0, failed = -1;
    PyObject *whole = NULL, *words = shown == SHOWN ? ascii_words(w, text, &gaps) : NULL;
    if (!words) {
        if (PyErr_Occurred() || !(whole = decoded(text)) || !(words = words_of(w, whole, &gaps))) goto done;
    }
    if (PyUnicode_GET_LENGTH(words)) {
        if (shown == KEPT) {
            PyObject *kept = without_line_ends(whole);
            Py_SETREF(words, kept);
            if (!words) goto done;
        }
        size_t number = (size_t)w->chunk_row.length;
        if (reserve(&w->edges, &w->edge_room, number + 1) < 0 || reserve(&w->spaced, &w->spaced_room, number + 1) < 0 ||
            push(&w->rows_before, (int32_t)w->spot.length) < 0 || PyList_Append(w->chunks, words) < 0 || push(&w->chunk_row, row) < 0) goto done;
        w->edges[number] = (char)w->pending;
        w->spaced[number] = (char)gaps;
        w->pending = GLUED;
    }
    failed = 0;
done:
    Py_XDECREF(whole);
    Py_XDECREF(words);
    return failed;
}

static int keep_by_row(PyObject *texts, int32_t row, const Str *text) {
    PyObject *key = PyLong_FromLong(row), *value = decoded(text);
    int failed = !key || !value ? -1 : PyDict_SetItem(texts, key, value);
    Py_XDECREF(key);
    Py_XDECREF(value);
    return failed;
}

/* Text that is not shown: the title of the page, its style sheets, and scripts that are JSON. */
static int keep_unshown(Walk *w, const Str *text, Node *parent, int32_t row) {
    size_t length = 0;
    const unsigned char *tag = lexbor.element_name(parent, &length);
    if (length == 6 && !memcmp(tag, "script", 6)) {
        for (Attr *attribute = lexbor.first_attribute(parent); attribute; attribute = attribute->next) {
            const Name *name = find_name(w, attribute);
            if (!name) return -1;
            const Str *type = attribute->value;
            if (name->role != TYPE || !type || !type->data) continue;
            if (reserve(&w->buffer, &w->buffer_room, type->length) < 0) return -1;
            for (size_t i = 0; i < type->length; i++) w->buffer[i] = (char)Py_TOLOWER(type->data[i]);
            if (!contains(w->buffer, type->length, "json")) continue;
            return keep_by_row(w->data, row, text);
        }
    } else if (length == 5 && !memcmp(tag, "style", 5)) {
        return keep_by_row(w->sheets, row, text);
    } else if (length == 5 && !memcmp(tag, "title", 5) && !PyUnicode_GET_LENGTH(w->title)) {
        int gaps;
        PyObject *whole = decoded(text), *title = whole ? words_of(w, whole, &gaps) : NULL;
        Py_XDECREF(whole);
        if (!title) return -1;
        Py_SETREF(w->title, title);
    }
    return 0;
}

static int walk_nodes(Walk *w, Node *root) {
    Node *node = root;
    int32_t above = -1, beside = -1;
    for (;;) {
        if (node->local_name >= FIRST_ELEMENT) {
            int32_t row = enter(w, node, above, beside);
            if (row < 0) return -1;
            beside = -1;
            if (node->first_child) { above = row; node = node->first_child; continue; }
            leave(w, node, row);
        } else if (node->local_name != TEXT) beside = -1;
        else if (!is_empty_text(node)) {
            const Str *text = &((Text *)node)->text;
            int shown = place_of(w, above)->shown;
            if (shown == UNSHOWN) {
                if (keep_unshown(w, text, node->parent, above) < 0) return -1;
            } else {
                beside = above;
                if (keep_chunk(w, text, shown, above) < 0) return -1;
            }
        }
        while (node != root && !node->next) {
            node = node->parent;
            leave(w, node, above);
            above = w->parent.at[above];
        }
        if (node == root) return 0;
        node = node->next;
    }
}

/* For each spot of the page, whether it is a mark in a text. */
static PyObject *marks_of(const Walk *w) {
    PyObject *marks = PyBytes_FromStringAndSize(NULL, w->place.length);
    for (Py_ssize_t i = 0; marks && i < w->place.length; i++) PyBytes_AS_STRING(marks)[i] = w->places->places[w->place.at[i]].marks;
    return marks;
}

static PyObject *result_of(Walk *w) {
    if (push(&w->first, (int32_t)w->numbers.length) < 0) return NULL;
    PyObject *values = PyBytes_FromStringAndSize(w->values, (Py_ssize_t)w->value_length), *result = NULL;
    PyObject *attributes = make_attributes(PyList_AsTuple(w->names), as_bytes(&w->first), as_bytes(&w->numbers), as_bytes(&w->ends), values);
    if (!attributes) return NULL;
    PyObject *spots = PyList_AsTuple(w->spots), *chunks = PyList_AsTuple(w->chunks);
    if (spots && chunks)
        result = Py_BuildValue("(OOOONNNNNONNONNN)", w->title, w->data, w->sheets, spots, as_bytes(&w->spot), as_bytes(&w->parent), as_bytes(&w->end),
                               as_bytes(&w->text_at), as_bytes(&w->text_end), chunks, as_bytes(&w->chunk_row),
                               PyByteArray_FromStringAndSize(w->edges, w->chunk_row.length), attributes,
                               PyBytes_FromStringAndSize(w->spaced, w->chunk_row.length), as_bytes(&w->rows_before), marks_of(w));
    Py_XDECREF(spots);
    Py_XDECREF(chunks);
    Py_DECREF(attributes);
    return result;
}

/* The columns of a page whose root is known. */
static PyObject *walk(Node *root, PyObject *make_spot) {
    static uint64_t walks;
    Walk w = {.walk = ++walks, .last_place = -1, .make_spot = make_spot};
    if (!(w.places = use_places())) return NULL;
    w.spots = PyList_New(0);
    w.chunks = PyList_New(0);
    w.names = PyList_New(0);
    w.data = PyDict_New();
    w.sheets = PyDict_New();
    w.title = PyUnicode_New(0, 0);
    PyObject *result = NULL;
    if (w.spots && w.chunks && w.names && w.data && w.sheets && w.title && walk_nodes(&w, root) == 0) result = result_of(&w);
    Py_XDECREF(w.spots);
    Py_XDECREF(w.chunks);
    Py_XDECREF(w.names);
    Py_XDECREF(w.data);
    Py_XDECREF(w.sheets);
    Py_XDECREF(w.title);
    Ints *columns[] = {&w.spot, &w.parent, &w.end, &w.text_at, &w.text_end, &w.cells, &w.chunk_row, &w.first, &w.numbers, &w.ends, &w.place, &w.rows_before};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) PyMem_Free(columns[i]->at);
    PyMem_Free(w.edges);
    PyMem_Free(w.spaced);
    PyMem_Free(w.values);
    PyMem_Free(w.spot_of_place.slots);
    drop_places(w.places);
    PyMem_Free(w.name_table);
    PyMem_Free(w.buffer);
    return result;
}

/* A document that was read and emptied, for the next page: making one anew costs as much as parsing some kilobytes. */
static void *spare_document;

static void *take_document(void) {
    void *document = spare_document;
    spare_document = NULL;
    if (document) return document;
    if ((document = lexbor.create())) lexbor.set_options(document, WITHOUT_EVENTS);
    return document;
}

enum { MOST_KEPT_BYTES = 1 << 20 };   /* the buffers of a document that has read a larger page are given back to the system */

/* Quirks change what a table does to a paragraph. Emptying a document leaves them on, and a page that wants none does not turn them off. */
typedef struct { Node node; int quirks; } Document;

/* Whether quirks stand where `Document` says: a page without a document type has them. */
static int finds_quirks(void) {
    Document *document = lexbor.create();
    int found = document && !document->quirks && !lexbor.parse(document, (const unsigned char *)"x", 1) && document->quirks == 1;
    if (document) lexbor.destroy(document);
    return found;
}

static void give_back(void *document, Py_ssize_t size) {
    if (spare_document || size > MOST_KEPT_BYTES) { lexbor.destroy(document); return; }   /* another thread may have read a page meanwhile */
    lexbor.clean(document);
    ((Document *)document)->quirks = 0;
    spare_document = document;
}

/* walk(html, make_spot): parses a page and walks through it; None where it cannot be parsed. */
PyObject *page_walk(PyObject *module, PyObject *args) {
    PyObject *html, *make_spot, *result = NULL;
    (void)module;
    if (!PyArg_ParseTuple(args, "SO", &html, &make_spot)) return NULL;
    if (!lexbor.create) { PyErr_SetString(PyExc_RuntimeError, "the parser's library is not bound"); return NULL; }
    void *document = take_document();
    if (!document) return PyErr_NoMemory();
    unsigned int status;
    Py_BEGIN_ALLOW_THREADS
    status = lexbor.parse(document, (const unsigned char *)PyBytes_AS_STRING(html), (size_t)PyBytes_GET_SIZE(html));
    Py_END_ALLOW_THREADS
    Node *root = status ? NULL : lexbor.root(document);
    if (!root) {
        lexbor.destroy(document);
        Py_RETURN_NONE;
    }
    result = walk(root, make_spot);
    give_back(document, PyBytes_GET_SIZE(html));
    return result;
}

/* bind(path, td, th, dialog): looks up the parser's functions in its loaded library. */
PyObject *page_bind(PyObject *module, PyObject *args) {
    const struct { void *function; const char *name; } functions[] = {
        {&lexbor.attribute_name, "lxb_dom_attr_qualified_name"}, {&lexbor.element_name, "lxb_dom_element_qualified_name"},
        {&lexbor.first_attribute, "lxb_dom_element_first_attribute_noi"}, {&lexbor.destroy, "lxb_html_document_destroy"},
        {&lexbor.clean, "lxb_html_document_clean"}, {&lexbor.parse, "lxb_html_document_parse"},
        {&lexbor.set_options, "lxb_html_document_dom_opt_set_noi"}, {&lexbor.root, "lxb_dom_document_root"}, {&lexbor.create, "lxb_html_document_create"}};
    const char *path;
    (void)module;
    if (!PyArg_ParseTuple(args, "skkk", &path, &number_td, &number_th, &number_dialog)) return NULL;
    void *library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    if (!library) { PyErr_SetString(PyExc_OSError, "the parser's library is not loaded"); return NULL; }
    int found = 1;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) found &= (*(void **)functions[i].function = dlsym(library, functions[i].name)) != NULL;
    dlclose(library);   /* it stays loaded: its module is imported */
    if (!found || !finds_quirks()) {
        lexbor.create = NULL;
        PyErr_SetString(PyExc_OSError, "the parser's library is another one");
        return NULL;
    }
    Py_RETURN_NONE;
}
