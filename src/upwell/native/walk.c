#include "native.h"
#include <dlfcn.h>
#if defined(__APPLE__)
#include <malloc/malloc.h>
#define allocated_size(memory) malloc_size(memory)
#elif defined(__linux__)
#include <malloc.h>
#define allocated_size(memory) malloc_usable_size(memory)
#endif

/* Lexbor's structures, as selectolax's lexbor.pxd declares them (docs/decisions/0115-copy-lexbor-structures-and-call-native-code-without-callbacks.md). */

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

/* The document is in quirks mode if it has no document type. Emptying a document does not reset this. */
typedef struct { Node node; int quirks; } Document;

/* The state of the parser: `form` is the form that inputs belong to, `open` the elements that are not closed, outermost first, and `formatting`
   the formatting elements that are opened again in the next block, with markers between them. */
typedef struct { Node **list; size_t size, length; } Array;
typedef struct { void *tokenizer, *document, *fragment; Node *form; Array *open, *formatting; } Tree;

/* The names of the attributes of a document: a table of lists. */
typedef struct { void *entries, *texts; void **table; size_t size; } Hash;
typedef struct { Document document; void *element[2], *functions[3], *callbacks[2], *memory[2]; Hash *tags, *attributes; } Names;

/* Lexbor's functions, from selectolax's own library. */
static struct {
    void *(*create)(void);
    void *(*destroy)(void *document);
    void (*clean)(void *document);
    void (*set_options)(void *document, unsigned int options);
    unsigned int (*parse)(void *document, const unsigned char *html, size_t size);
    unsigned int (*begin_parts)(void *document);
    unsigned int (*parse_part)(void *document, const unsigned char *html, size_t size);
    unsigned int (*end_parts)(void *document);
    unsigned int (*set_memory)(void *(*)(size_t), void *(*)(void *, size_t), void *(*)(size_t, size_t), void (*)(void *));
    Node *(*root)(void *document);
    Attr *(*first_attribute)(void *element);
    const unsigned char *(*attribute_name)(Attr *attribute, size_t *length);
    const unsigned char *(*element_name)(Node *element, size_t *length);
    void *(*create_parser)(void);
    unsigned int (*init_parser)(void *parser);
    void *(*destroy_parser)(void *parser);
    void *(*begin_stream)(void *parser);
    unsigned int (*stream_part)(void *parser, const unsigned char *html, size_t size);
    unsigned int (*end_stream)(void *parser);
    Tree *(*tree)(void *parser);
    void *(*destroy_node)(Node *node);
    void (*remove_node)(Node *node);
    unsigned int (*remove_attribute)(void *element, Attr *attribute);
    void *(*destroy_attribute)(Attr *attribute);
    size_t (*allocated)(void *memory);
} lexbor;

static uintptr_t number_template, html_namespace;
static size_t template_content;         /* offset of the content in a template element; 0 if pages cannot be walked while they are parsed */

enum { WITHOUT_EVENTS = 1 };            /* LexborDocumentOptions.WO_EVENTS; the reason is in `_parse` of tree.py */

enum { TYPE_ELEMENT = 1, TYPE_TEXT = 3 };   /* DOM types of nodes */
enum { TEXT = 2, FIRST_ELEMENT = 6, FIRST_UNKNOWN = 256 };   /* tag numbers of the parser, as in tree.py */
enum { SHOWN, KEPT, UNSHOWN };          /* display of text, as in path_signatures.py */

static uintptr_t number_td, number_th, number_dialog;
static PyObject *tag_display;           /* dict: display of the tags that are not blocks, see `bind` */

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

typedef enum { OTHER, CLASS, STYLE, HIDDEN, ITEMPROP, OPEN, TYPE } Role;   /* meaning of an attribute, by its name */

typedef struct { uintptr_t key; int32_t number; Role role; } Name;

/* The signature table maps the properties of path signatures to their Python objects, across pages. A walk keeps the table that it
   began with, so that another thread can start a new one. */

typedef struct {
    uint64_t hash;
    int32_t above, column;      /* entry of the parent, or -1; position of a cell in its table row, or 0 */
    uintptr_t tag_number;       /* the parser's number of the tag; 0 if the parser does not know the tag, then `tag` is set */
    Str tag, cls, prop;         /* data is NULL if absent */
    int8_t hidden, shown, revealed, shapes, edge, marks;   /* as in PathSignature */
    int32_t follower;           /* entry of the row that followed last time; most often it does again */
    int32_t page_number;        /* number among the signatures of the page that was walked last, … */
    uint64_t walk;              /* … which was this walk */
    PyObject *signature;        /* NULL until Python has stored it */
} Entry;

typedef struct {
    int32_t *slots;             /* -1 if free */
    size_t mask;
} Slots;

typedef struct {
    long long number;           /* identifies the table for `store_signature` */
    Py_ssize_t users, count, room;
    Entry *entries;
    Slots slots;
} SignatureTable;

enum { MAX_SIGNATURES = 6000 };   /* of a page, as in tree.py */
static const char other_tag[] = "unknown";   /* OTHER_TAG of tree.py */
enum { MAX_ENTRIES = 50000 };   /* MAX_CACHED_SIGNATURES of tree.py; a larger table is replaced before the next walk */
static SignatureTable *current_table;

/* Short texts of a large page that are shared: 100,000 cells of a table have few distinct texts. */
enum { MAX_SHARED = 8, SHARED = 1 << 10 };   /* bytes of the longest shared text; texts that are kept, each where its hash says */
typedef struct { uint64_t text; PyObject *shared; } SharedText;

typedef struct {
    PyObject *signatures, *new_signatures, *chunks, *names, *data, *sheets, *title;
    SharedText *shared;                          /* NULL if texts are not shared */
    Ints signature, parent, end, text_at, text_end, cells, chunk_row, first, numbers, ends, rows_before;
    Ints entry;                                  /* table entry of each signature of this page */
    Slots number_of_entry;
    char *edges, *spaced, *values;
    size_t edge_room, spaced_room, value_length, value_room;
    int pending;                                 /* strongest edge since the last chunk */
    SignatureTable *table;
    uint64_t walk;                               /* number of this walk */
    int reveals;                                 /* 1: keep the text of hidden elements */
    int32_t last_entry;                          /* entry of the previous row, or -1 */
    Name *name_table;
    size_t name_mask, name_count;
    char *buffer;
    size_t buffer_room;
} Walk;

static inline Entry *entry_of(const Walk *w, int32_t row) { return &w->table->entries[w->entry.at[w->signature.at[row]]]; }

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

/* Return the name of an attribute; the parser numbers the attribute names of a page. */
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

/* Return 1 if a style hides its element, ignoring spaces and case (`_is_hidden` of tree.py). */
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

static int copy_text(Str *copy, const Str *text) {
    if (!text->data) return 0;
    if (!(copy->data = PyMem_Malloc(text->length + 1))) { PyErr_NoMemory(); return -1; }
    memcpy(copy->data, text->data, text->length);
    copy->length = text->length;
    return 0;
}

static PyObject *decoded(const Str *text) {
    return PyUnicode_DecodeUTF8((const char *)text->data, (Py_ssize_t)text->length, "replace");
}

static PyObject *words_of(Walk *w, PyObject *text, int *gaps);

static void release_table(SignatureTable *table) {
    if (!table || --table->users) return;
    for (Py_ssize_t i = 0; i < table->count; i++) {
        PyMem_Free(table->entries[i].tag.data);
        PyMem_Free(table->entries[i].cls.data);
        PyMem_Free(table->entries[i].prop.data);
        Py_XDECREF(table->entries[i].signature);
    }
    PyMem_Free(table->entries);
    PyMem_Free(table->slots.slots);
    PyMem_Free(table);
}

/* Return the table for a walk that begins. */
static SignatureTable *acquire_table(void) {
    static long long tables;
    if (!current_table || current_table->count > MAX_ENTRIES) {
        SignatureTable *fresh = PyMem_Calloc(1, sizeof(SignatureTable));
        if (!fresh) { PyErr_NoMemory(); return NULL; }
        fresh->users = 1;
        fresh->number = ++tables;
        SignatureTable *old = current_table;
        current_table = fresh;
        release_table(old);
    }
    current_table->users++;
    return current_table;
}

static int32_t *new_slots(size_t mask) {
    int32_t *slots = PyMem_Malloc((mask + 1) * sizeof(int32_t));
    if (slots) memset(slots, -1, (mask + 1) * sizeof(int32_t));
    else PyErr_NoMemory();
    return slots;
}

static int make_room(SignatureTable *table) {
    if (table->count < table->room) return 0;
    Py_ssize_t room = table->room ? table->room * 2 : 1024;
    size_t mask = (size_t)room * 2 - 1;
    Entry *entries = PyMem_Realloc(table->entries, (size_t)room * sizeof(Entry));
    if (!entries) { PyErr_NoMemory(); return -1; }
    table->entries = entries;
    int32_t *slots = new_slots(mask);
    if (!slots) return -1;
    for (Py_ssize_t i = 0; i < table->count; i++) {
        size_t slot = entries[i].hash & mask;
        while (slots[slot] >= 0) slot = (slot + 1) & mask;
        slots[slot] = (int32_t)i;
    }
    PyMem_Free(table->slots.slots);
    table->slots = (Slots){slots, mask};
    table->room = room;
    return 0;
}

static inline int is_same_signature(const Entry *a, const Entry *b) {
    return a->above == b->above && a->tag_number == b->tag_number && a->column == b->column && a->hidden == b->hidden &&
           same_text(&a->cls, &b->cls) && same_text(&a->prop, &b->prop) && same_text(&a->tag, &b->tag);
}

/* Return the slot of an entry, or the free slot for it. */
static size_t find_slot(const SignatureTable *table, const Entry *entry) {
    size_t slot = entry->hash & table->slots.mask;
    for (; table->slots.slots[slot] >= 0; slot = (slot + 1) & table->slots.mask) {
        const Entry *at = &table->entries[table->slots.slots[slot]];
        if (at->hash == entry->hash && is_same_signature(at, entry)) break;
    }
    return slot;
}

static PyObject *tag_name(Node *node) {
    size_t length = 0;
    const unsigned char *name = lexbor.element_name(node, &length);
    PyObject *tag = PyUnicode_DecodeUTF8(name ? (const char *)name : "", (Py_ssize_t)length, "replace");
    if (tag) PyUnicode_InternInPlace(&tag);
    return tag;
}

/* Set how elements of a new entry are displayed, as `PathSignature` does. */
static int set_display(const SignatureTable *table, Entry *entry, Node *node) {
    PyObject *tag = tag_name(node), *known = tag ? PyDict_GetItemWithError(tag_display, tag) : NULL;
    Py_XDECREF(tag);
    if (PyErr_Occurred()) return -1;
    long display = known ? PyLong_AsLong(known) : BROKEN;
    if (PyErr_Occurred()) return -1;
    entry->edge = display & 3;
    entry->shown = entry->hidden ? UNSHOWN : display >> 2 & 3;
    entry->shapes = display >> 4 & 1;
    entry->marks = display >> 5 & 1;
    entry->revealed = display >> 6 & 3;
    if (entry->above >= 0) {
        const Entry *above = &table->entries[entry->above];
        if (above->shown > entry->shown) entry->shown = above->shown;
        if (above->revealed > entry->revealed) entry->revealed = above->revealed;
    }
    return 0;
}

/* Return the number of an entry in the table; add it if it is new. */
static int32_t look_up_entry(Walk *w, Entry *entry, Node *node) {
    SignatureTable *table = w->table;
    uint64_t hash = mix(mix((uint64_t)(entry->above + 1), entry->tag_number), (uint64_t)entry->column * 2 + (uint64_t)entry->hidden);
    if (entry->cls.data) hash = mix(hash, hash_bytes(entry->cls.data, entry->cls.length));
    if (entry->prop.data) hash = mix(hash, hash_bytes(entry->prop.data, entry->prop.length) + 1);
    if (entry->tag.data) hash = mix(hash, hash_bytes(entry->tag.data, entry->tag.length) + 2);
    entry->hash = hash;
    if (make_room(table) < 0) return -1;
    size_t slot = find_slot(table, entry);
    if (table->slots.slots[slot] >= 0) return table->slots.slots[slot];
    if (set_display(table, entry, node) < 0) return -1;
    Entry *kept = &table->entries[table->count];
    *kept = *entry;
    kept->tag = kept->cls = kept->prop = (Str){NULL, 0};
    if (copy_text(&kept->tag, &entry->tag) < 0 || copy_text(&kept->cls, &entry->cls) < 0 || copy_text(&kept->prop, &entry->prop) < 0) {
        PyMem_Free(kept->tag.data);
        PyMem_Free(kept->cls.data);
        return -1;
    }
    table->slots.slots[slot] = (int32_t)table->count;
    return (int32_t)table->count++;
}

/* The same; compare with the entry that followed the previous row's last time first. */
static int32_t number_entry(Walk *w, Entry *entry, Node *node) {
    int32_t number = w->last_entry < 0 ? -1 : w->table->entries[w->last_entry].follower;
    if (number < 0 || !is_same_signature(&w->table->entries[number], entry)) number = look_up_entry(w, entry, node);
    if (number >= 0 && w->last_entry >= 0) w->table->entries[w->last_entry].follower = number;
    w->last_entry = number;
    return number;
}

/* Append a signature to those of the page; Python creates it if the table does not have it. */
static int add_signature(Walk *w, int32_t entry, int32_t above_row, Node *node) {
    const Entry *at = &w->table->entries[entry];
    if (at->signature) return PyList_Append(w->signatures, at->signature);
    int gaps, failed = -1;
    PyObject *tag = at->tag.data ? decoded(&at->tag) : tag_name(node), *raw = at->cls.data ? decoded(&at->cls) : PyUnicode_New(0, 0);
    PyObject *cls = raw ? words_of(w, raw, &gaps) : NULL, *prop = at->prop.data ? decoded(&at->prop) : Py_NewRef(Py_None), *parts = NULL;
    if (tag && cls && prop)
        parts = Py_BuildValue("iniOOiOO", (int)entry, PyList_GET_SIZE(w->signatures), above_row < 0 ? -1 : (int)w->signature.at[above_row], tag, cls,
                              (int)at->column, prop, at->hidden ? Py_True : Py_False);
    if (parts && PyList_Append(w->new_signatures, parts) == 0) failed = PyList_Append(w->signatures, Py_None);
    Py_XDECREF(tag);
    Py_XDECREF(raw);
    Py_XDECREF(cls);
    Py_XDECREF(prop);
    Py_XDECREF(parts);
    return failed;
}

/* Return the number of an entry among the signatures of this page. */
static int32_t look_up_signature(Walk *w, int32_t entry, int32_t above_row, Node *node) {
    Slots *slots = &w->number_of_entry;
    if ((size_t)w->entry.length * 2 >= slots->mask) {
        size_t mask = slots->mask ? slots->mask * 2 + 1 : 511;
        int32_t *larger = new_slots(mask);
        if (!larger) return -1;
        for (Py_ssize_t i = 0; i < w->entry.length; i++) {
            size_t slot = mix(0, (uint64_t)w->entry.at[i]) & mask;
            while (larger[slot] >= 0) slot = (slot + 1) & mask;
            larger[slot] = (int32_t)i;
        }
        PyMem_Free(slots->slots);
        *slots = (Slots){larger, mask};
    }
    size_t slot = mix(0, (uint64_t)entry) & slots->mask;
    for (; slots->slots[slot] >= 0; slot = (slot + 1) & slots->mask)
        if (w->entry.at[slots->slots[slot]] == entry) return slots->slots[slot];
    slots->slots[slot] = (int32_t)w->entry.length;
    if (add_signature(w, entry, above_row, node) < 0 || push(&w->entry, entry) < 0) return -1;
    return slots->slots[slot];
}

/* The same; an entry knows its number on the page that was walked last, which is this one unless threads alternate. */
static int32_t number_signature(Walk *w, int32_t entry, int32_t above_row, Node *node) {
    if (w->table->entries[entry].walk == w->walk) return w->table->entries[entry].page_number;
    int32_t number = look_up_signature(w, entry, above_row, node);
    Entry *at = &w->table->entries[entry];
    at->walk = w->walk;
    at->page_number = number;
    if (number < 0) at->walk = 0;
    return number;
}

PyObject *native_store_signature(PyObject *module, PyObject *args) {
    long long number;
    Py_ssize_t entry;
    PyObject *signature;
    (void)module;
    if (!PyArg_ParseTuple(args, "LnO", &number, &entry, &signature)) return NULL;
    if (!current_table || current_table->number != number) return Py_NewRef(signature);   /* a new table was begun; this page keeps its own */
    if (entry < 0 || entry >= current_table->count) { PyErr_SetString(PyExc_IndexError, "the table has no such entry"); return NULL; }
    PyObject **kept = &current_table->entries[entry].signature;
    if (!*kept) *kept = Py_NewRef(signature);
    return Py_NewRef(*kept);
}

/* Append one attribute of the current row. */
static int keep_attribute(Walk *w, const Name *name, const Str *value) {
    size_t length = value && value->data ? value->length : 0;
    if (w->value_length + length > INT32_MAX) { PyErr_SetString(PyExc_OverflowError, "attributes of more than 2 GB"); return -1; }
    if (reserve(&w->values, &w->value_room, w->value_length + length) < 0) return -1;
    if (length) memcpy(w->values + w->value_length, value->data, length);
    w->value_length += length;
    return push(&w->numbers, value && value->data ? name->number : ~name->number) || push(&w->ends, (int32_t)w->value_length) ? -1 : 0;
}

/* Append a row for an element; return it, or -1. `beside` is the row of the text right before it, or -1. */
static int32_t enter(Walk *w, Node *node, int32_t above, int32_t beside) {
    int32_t row = (int32_t)w->signature.length;
    Entry entry = {.above = above < 0 ? -1 : w->entry.at[w->signature.at[above]], .tag_number = node->local_name, .follower = -1};
    int is_open = 0;
    if (push(&w->first, (int32_t)w->numbers.length) < 0) return -1;
    for (Attr *attribute = lexbor.first_attribute(node); attribute; attribute = attribute->next) {
        const Name *name = find_name(w, attribute);
        if (!name || keep_attribute(w, name, attribute->value) < 0) return -1;
        const Str *value = attribute->value && attribute->value->data ? attribute->value : NULL;
        if (name->role == OTHER) continue;
        if (name->role == CLASS) entry.cls = value ? *value : (Str){NULL, 0};
        else if (name->role == HIDDEN) entry.hidden = 1;
        else if (name->role == OPEN) is_open = 1;
        else if (name->role == ITEMPROP) entry.prop = value ? *value : (Str){(unsigned char *)"", 0};
        else if (name->role == STYLE && value) {
            int hides = style_hides(w, value);
            if (hides < 0) return -1;
            if (hides) entry.hidden = 1;
        }
    }
    if (node->local_name == number_dialog && !is_open) entry.hidden = 1;
    if (above >= 0 && (node->local_name == number_td || node->local_name == number_th))
        entry.column = ++w->cells.at[2 * above + (node->local_name == number_th)];
    if (entry.tag_number >= FIRST_UNKNOWN) {
        entry.tag_number = 0;
        entry.tag.data = (unsigned char *)lexbor.element_name(node, &entry.tag.length);
    }
    int32_t number, signature;
    if (w->entry.length >= MAX_SIGNATURES) {   /* a page with more distinct paths than authored pages have: classes no longer count */
        entry.cls = entry.prop = (Str){NULL, 0};
        entry.column = 0;
        if (!entry.tag_number) entry.tag = (Str){(unsigned char *)other_tag, sizeof other_tag - 1};
    }
    number = number_entry(w, &entry, node);
    signature = number < 0 ? -1 : number_signature(w, number, above, node);
    if (signature < 0) return -1;
    int edge = w->table->entries[number].edge;
    if (w->table->entries[number].shapes && beside != above && is_empty_text(node->prev)) edge = SPACED;
    if (edge > w->pending) w->pending = edge;
    if (push(&w->signature, signature) || push(&w->parent, above) || push(&w->end, 0) || push(&w->text_at, (int32_t)w->chunk_row.length) ||
        push(&w->text_end, 0) || push(&w->cells, 0) || push(&w->cells, 0))
        return -1;
    return row;
}

static void leave(Walk *w, Node *node, int32_t row) {
    const Entry *entry = entry_of(w, row);
    int edge = entry->shapes && is_empty_text(node->last_child) ? SPACED : entry->edge;
    if (edge > w->pending) w->pending = edge;
    w->end.at[row] = (int32_t)w->signature.length;
    w->text_end.at[row] = (int32_t)w->chunk_row.length;
}

/* Return " ".join(text.split()); set `gaps` to 1 for white space before the text, 2 for white space after it, 3 for both. */
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

/* The same for ASCII text, without creating a str first; return NULL without an error if the text is not ASCII. */
static PyObject *ascii_words(Walk *w, const Str *text, int *gaps) {
    if (reserve(&w->buffer, &w->buffer_room, text->length) < 0) return NULL;
    size_t made = 0, i = 0;
    while (i < text->length) {
        size_t begin = i;
        while (i < text->length && Py_ISSPACE(text->data[i])) i++;
        if (i > begin && i < text->length && made) w->buffer[made++] = ' ';
        while (i < text->length && !Py_ISSPACE(text->data[i])) {
            /* 0x1c … 0x1f are white space for str only */
            if (text->data[i] >= 0x80 || (text->data[i] >= 0x1c && text->data[i] <= 0x1f)) return NULL;
            w->buffer[made++] = (char)text->data[i++];
        }
    }
    *gaps = 0;
    if (made != text->length || memcmp(w->buffer, text->data, made))
        *gaps = (Py_ISSPACE(text->data[0]) ? 1 : 0) + (Py_ISSPACE(text->data[text->length - 1]) ? 2 : 0);
    SharedText *shared = NULL;
    uint64_t key = 0;
    if (w->shared && made && made <= MAX_SHARED) {
        memcpy(&key, w->buffer, made);
        shared = &w->shared[mix(made, key) & (SHARED - 1)];
        if (shared->shared && shared->text == key) return Py_NewRef(shared->shared);
    }
    PyObject *words = PyUnicode_New((Py_ssize_t)made, 127);
    if (words && made) memcpy(PyUnicode_1BYTE_DATA(words), w->buffer, made);
    if (shared && words) {
        shared->text = key;
        Py_XSETREF(shared->shared, Py_NewRef(words));
    }
    return words;
}

/* Return text.strip("\n"). */
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
            push(&w->rows_before, (int32_t)w->signature.length) < 0 || PyList_Append(w->chunks, words) < 0 || push(&w->chunk_row, row) < 0) goto done;
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

/* Keep text that is not displayed: the title of the page, its style sheets, and scripts that are JSON. */
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

/* Keep a text node of a row; `beside` becomes this row if the text is displayed. */
static int visit_text(Walk *w, const Node *node, int32_t above, int32_t *beside) {
    if (is_empty_text(node)) return 0;
    const Str *text = &((const Text *)node)->text;
    int shown = w->reveals ? entry_of(w, above)->revealed : entry_of(w, above)->shown;
    if (shown == UNSHOWN) return keep_unshown(w, text, node->parent, above);
    *beside = above;
    return keep_chunk(w, text, shown, above);
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
        else if (visit_text(w, node, above, &beside) < 0) return -1;
        while (node != root && !node->next) {
            node = node->parent;
            leave(w, node, above);
            above = w->parent.at[above];
        }
        if (node == root) return 0;
        node = node->next;
    }
}

static PyObject *marks_of(const Walk *w) {
    PyObject *marks = PyBytes_FromStringAndSize(NULL, w->entry.length);
    for (Py_ssize_t i = 0; marks && i < w->entry.length; i++) PyBytes_AS_STRING(marks)[i] = w->table->entries[w->entry.at[i]].marks;
    return marks;
}

/* Return a column as bytes, and free it: of a large page, only one column is held twice. */
static PyObject *taken(Ints *ints) {
    PyObject *bytes = as_bytes(ints);
    PyMem_Free(ints->at);
    *ints = (Ints){NULL, 0, 0};
    return bytes;
}

static PyObject *result_of(Walk *w, Py_ssize_t parsed, Py_ssize_t parts, long long needed) {
    if (push(&w->first, (int32_t)w->numbers.length) < 0) return NULL;
    PyMem_Free(w->cells.at);
    w->cells.at = NULL;
    PyObject *values = PyBytes_FromStringAndSize(w->values, (Py_ssize_t)w->value_length);
    PyMem_Free(w->values);
    w->values = NULL;
    PyObject *attributes = make_attributes(PyList_AsTuple(w->names), taken(&w->first), taken(&w->numbers), taken(&w->ends), values);
    if (!attributes) return NULL;
    PyObject *chunks = PyList_AsTuple(w->chunks);
    Py_CLEAR(w->chunks);
    Py_ssize_t count = w->chunk_row.length;
    return Py_BuildValue("{snsnsLsOsOsOsOsOsLsNsNsNsNsNsNsNsNsNsNsNsN}", "parsed", parsed, "parts", parts, "needed", needed, "title", w->title, "data", w->data, "sheets", w->sheets, "signatures",
                         w->signatures, "new", w->new_signatures, "table", w->table->number, "signature", taken(&w->signature), "parent",
                         taken(&w->parent), "end", taken(&w->end), "text_at", taken(&w->text_at), "text_end", taken(&w->text_end),
                         "chunks", chunks, "chunk_row", taken(&w->chunk_row), "edges",
                         PyByteArray_FromStringAndSize(w->edges, count), "spaced",
                         PyBytes_FromStringAndSize(w->spaced, count), "rows_before", taken(&w->rows_before), "attributes",
                         attributes, "marks", marks_of(w));
}

static int begin_walk(Walk *w, int reveals) {
    static uint64_t walks;
    *w = (Walk){.walk = ++walks, .reveals = reveals, .last_entry = -1};
    if (!(w->table = acquire_table())) return -1;
    PyObject **lists[] = {&w->signatures, &w->new_signatures, &w->chunks, &w->names};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (!(*lists[i] = PyList_New(0))) return -1;
    return (w->data = PyDict_New()) && (w->sheets = PyDict_New()) && (w->title = PyUnicode_New(0, 0)) ? 0 : -1;
}

static void end_walk(Walk *w) {
    PyObject *objects[] = {w->signatures, w->new_signatures, w->chunks, w->names, w->data, w->sheets, w->title};
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++) Py_XDECREF(objects[i]);
    Ints *columns[] = {&w->signature, &w->parent, &w->end, &w->text_at, &w->text_end, &w->cells, &w->chunk_row, &w->first, &w->numbers, &w->ends, &w->entry,
                       &w->rows_before};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) PyMem_Free(columns[i]->at);
    for (size_t i = 0; w->shared && i < SHARED; i++) Py_XDECREF(w->shared[i].shared);
    PyMem_Free(w->shared);
    PyMem_Free(w->edges);
    PyMem_Free(w->spaced);
    PyMem_Free(w->values);
    PyMem_Free(w->number_of_entry.slots);
    release_table(w->table);
    PyMem_Free(w->name_table);
    PyMem_Free(w->buffer);
}

/* Return the columns of a page. */
static PyObject *walk(Node *root, Py_ssize_t parsed, long long needed, int reveals) {
    Walk w;
    PyObject *result = begin_walk(&w, reveals) == 0 && walk_nodes(&w, root) == 0 ? result_of(&w, parsed, 0, needed) : NULL;
    end_walk(&w);
    return result;
}

/* An emptied document for the next page: creating one costs as much as parsing some kilobytes. */
static void *spare_document;

static void *take_document(void) {
    void *document = spare_document;
    spare_document = NULL;
    if (document) return document;
    if ((document = lexbor.create())) lexbor.set_options(document, WITHOUT_EVENTS);
    return document;
}

enum { MAX_KEPT_BYTES = 1 << 22 };   /* a document that needed more memory is destroyed, because its buffers stay large */

/* Return 1 if `Document.quirks` is at the right offset: a page without a document type sets it. */
static int has_quirks_field(void) {
    Document *document = lexbor.create();
    int is_right = document && !document->quirks && !lexbor.parse(document, (const unsigned char *)"x", 1) && document->quirks == 1;
    if (document) lexbor.destroy(document);
    return is_right;
}

/* Return the free memory of the C library to the system: after a large page it is in small pieces, which stay allocated otherwise. */
static void trim_memory(void) {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

static void give_back(void *document, long long needed) {
    if (spare_document || needed > MAX_KEPT_BYTES) {   /* another thread may have given one back */
        lexbor.destroy(document);
        if (needed > MAX_KEPT_BYTES) trim_memory();
        return;
    }
    lexbor.clean(document);
    ((Document *)document)->quirks = 0;
    spare_document = document;
}

/* Memory of the parser. It depends on the tags and not only on the size of the page: 80 times the size for <p><p>…, thousands of times for
   formatting elements that are opened again in every block. The parser allocates through these functions, which count what the current
   thread has allocated, so that a page can be cut where the limit is reached. Without `allocated_size` nothing is counted or cut. */

static _Thread_local long long parser_bytes;

#ifdef allocated_size
static void *counted_malloc(size_t size) {
    void *memory = malloc(size);
    if (memory) parser_bytes += (long long)allocated_size(memory);
    return memory;
}

static void *counted_calloc(size_t number, size_t size) {
    void *memory = calloc(number, size);
    if (memory) parser_bytes += (long long)allocated_size(memory);
    return memory;
}

static void *counted_realloc(void *memory, size_t size) {
    long long before = memory ? (long long)allocated_size(memory) : 0;
    void *larger = realloc(memory, size);
    if (larger) parser_bytes += (long long)allocated_size(larger) - before;
    return larger;
}

static void counted_free(void *memory) {
    if (memory) parser_bytes -= (long long)allocated_size(memory);
    free(memory);
}
#define parser_calloc counted_calloc
#define parser_free counted_free
#else
#define parser_calloc calloc
#define parser_free free
#endif

enum { MIN_PART = 1 << 12, BYTES_PER_BYTE = 1 << 12 };   /* smallest part; memory that a byte of a part can need: a tag and 32 reopened elements */

/* Parse a page in parts until the parser needs more than `limit` bytes of memory; set `parsed` to the bytes that were parsed. */
static unsigned int parse_within(void *document, const unsigned char *html, size_t size, long long limit, size_t *parsed) {
    const long long before = parser_bytes;
    unsigned int status = lexbor.begin_parts(document);
    *parsed = 0;
    while (!status && *parsed < size) {
        long long left = limit - (parser_bytes - before);
        if (left <= 0) break;
        size_t part = (size_t)(left / BYTES_PER_BYTE), rest = size - *parsed;
        if (part < MIN_PART) part = MIN_PART;
        if (part > rest) part = rest;
        status = lexbor.parse_part(document, html + *parsed, part);
        *parsed += part;
    }
    return status ? status : lexbor.end_parts(document);
}

/* Reading a page while it is parsed. An element and a text need 320 bytes of the parser's memory, 80 times the size of `<p>x`. So the nodes of a
   large page are walked after each part of it and destroyed as soon as their element is closed; the parser uses their memory for the next part.

   The walk is in document order and stops before a node that may change: it does not leave an element that is open or contains an open
   element, and it does not take the last text of one, to which characters may be added. What the parser can still do to nodes that were walked:

   - move an open element, or the children of one, because formatting elements are closed in the wrong order;
   - insert a node, or characters, before an open table, because they are not allowed in it;
   - add attributes to <html> and <body>, or remove <body> for a <frameset>.

   `is_changed` sees all three; the page is parsed again then, and walked at the end. The parser also keeps formatting elements and forms after they
   are closed, so these are not destroyed until it forgets them. */

typedef struct {
    Node *node, *done;          /* element that was entered; its last child that was walked, or NULL. The children before this one are destroyed */
    size_t length;              /* of the text of `done`, if it is one */
} Level;

typedef struct {
    Walk *walk;
    Tree *tree;
    Node *root;
    Level *levels;              /* path from <html> to where the walk stopped */
    size_t depth, level_room;
    Node **kept;                /* nodes outside of the tree that the parser may still use */
    size_t kept_count, kept_room;
    int32_t above, beside;      /* row of the last level; row of the text right before */
    uintptr_t part;             /* number of the part; `Node.user` of elements that are open or contain an open element */
    int is_complete;            /* the whole page was parsed: no node changes any more */
    size_t attributes[2];       /* of <html> and <body> when they were entered */
} Stream;

static int is_used(const Tree *tree, const Node *node) {
    if (tree->form == node) return 1;
    for (size_t i = 0; i < tree->formatting->length; i++)
        if (tree->formatting->list[i] == node) return 1;
    return 0;
}

static int discard(Stream *s, Node *node);

/* Destroy everything below a node. */
static int discard_below(Stream *s, Node *top) {
    Node *node = top;
    while (top->first_child) {
        while (node->first_child) node = node->first_child;
        Node *above = node->parent;
        if (discard(s, node) < 0) return -1;
        node = above;
    }
    return 0;
}

static int is_template(const Node *node) { return node->local_name == number_template && node->type == TYPE_ELEMENT && node->ns == html_namespace; }

static Node *content_of(Node *template) {
    Node *content;
    memcpy(&content, (char *)template + template_content, sizeof content);
    return content;
}

/* Destroy a node without children. The parser's function leaves the attributes allocated. */
static void destroy(Node *node) {
    if (node->type == TYPE_ELEMENT)
        for (Attr *attribute; (attribute = lexbor.first_attribute(node));) {
            lexbor.remove_attribute(node, attribute);
            lexbor.destroy_attribute(attribute);
        }
    lexbor.destroy_node(node);
}

/* Destroy a node without children, or take it out of the tree if the parser may still use it. */
static int discard(Stream *s, Node *node) {
    if (is_template(node) && discard_below(s, content_of(node)) < 0) return -1;
    if (!is_used(s->tree, node)) {
        destroy(node);
        return 0;
    }
    lexbor.remove_node(node);
    if (reserve((char **)&s->kept, &s->kept_room, (s->kept_count + 1) * sizeof(Node *)) < 0) return -1;
    s->kept[s->kept_count++] = node;
    return 0;
}

static void discard_unused(Stream *s) {
    size_t count = 0;
    for (size_t i = 0; i < s->kept_count; i++) {
        if (is_used(s->tree, s->kept[i])) s->kept[count++] = s->kept[i];
        else destroy(s->kept[i]);
    }
    s->kept_count = count;
}

static inline int is_open(const Stream *s, const Node *node) { return !s->is_complete && (uintptr_t)node->user == s->part; }

/* Destroy what is closed below a node that is not walked: the content of an open template. */
static int discard_closed(Stream *s, Node *top) {
    for (Node *child = top->first_child, *next; child; child = next) {
        next = child->next;
        if (is_open(s, child)) {
            if (discard_closed(s, child) < 0) return -1;
        } else if (next || child->type != TYPE_TEXT) {
            if (discard_below(s, child) < 0 || discard(s, child) < 0) return -1;
        }
    }
    return 0;
}

/* Mark the open elements and the elements that contain them. */
static int mark_open(Stream *s) {
    s->part++;
    for (size_t i = 0; i < s->tree->open->length; i++)
        for (Node *node = s->tree->open->list[i]; node && (uintptr_t)node->user != s->part; node = node->parent) node->user = (void *)s->part;
    for (size_t i = 0; i < s->tree->open->length; i++)
        if (is_template(s->tree->open->list[i]) && discard_closed(s, content_of(s->tree->open->list[i])) < 0) return -1;
    return 0;
}

static size_t count_attributes(Node *node) {
    size_t count = 0;
    for (Attr *attribute = lexbor.first_attribute(node); attribute; attribute = attribute->next) count++;
    return count;
}

static size_t text_length(const Node *node) { return node->type == TYPE_TEXT ? ((const Text *)node)->text.length : 0; }

/* Return 1 if the parser has changed nodes that were walked. */
static int is_changed(const Stream *s) {
    for (size_t i = 0; i < s->depth; i++) {
        const Level *level = &s->levels[i];
        if (i && (level->node->parent != level[-1].node || level->node->prev != level[-1].done)) return 1;
        if (level->done && (level->done->parent != level->node || level->done->prev || text_length(level->done) != level->length)) return 1;
        if (i < 2 && s->attributes[i] != count_attributes(level->node)) return 1;
    }
    return 0;
}

static int enter_level(Stream *s, Node *node) {
    int32_t row = enter(s->walk, node, s->above, s->beside);
    if (row < 0 || reserve((char **)&s->levels, &s->level_room, (s->depth + 1) * sizeof(Level)) < 0) return -1;
    if (s->depth < 2) s->attributes[s->depth] = count_attributes(node);
    s->levels[s->depth++] = (Level){node, NULL, 0};
    s->above = row;
    s->beside = -1;
    return 0;
}

/* A child of the last level was walked: destroy the one before it. */
static int end_child(Stream *s, Node *child) {
    Level *level = &s->levels[s->depth - 1];
    if (level->done && discard(s, level->done) < 0) return -1;
    level->done = child;
    level->length = text_length(child);
    return 0;
}

/* Return 1 if the parser may still add to an element: also to <head> before the body begins. */
static int may_grow(const Stream *s, const Node *node) {
    if (is_open(s, node)) return 1;
    if (s->depth != 2 || s->is_complete) return 0;
    for (const Node *next = node->next; next; next = next->next)
        if (next->local_name >= FIRST_ELEMENT) return 0;
    return 1;
}

/* Walk as far as nodes do not change any more. */
static int advance(Stream *s) {
    if (!s->depth && enter_level(s, s->root) < 0) return -1;
    while (s->depth) {
        Level *level = &s->levels[s->depth - 1];
        Node *next = level->done ? level->done->next : level->node->first_child;
        if (!next) {
            Node *node = level->node;
            if (may_grow(s, node)) return 0;
            leave(s->walk, node, s->above);
            if (level->done && discard(s, level->done) < 0) return -1;
            s->above = s->walk->parent.at[s->above];
            if (--s->depth && end_child(s, node) < 0) return -1;
        } else if (next->local_name >= FIRST_ELEMENT) {
            if (enter_level(s, next) < 0) return -1;
        } else {
            if (next->local_name != TEXT) s->beside = -1;
            else if (!next->next && may_grow(s, level->node)) return 0;
            else if (visit_text(s->walk, next, s->above, &s->beside) < 0) return -1;
            if (end_child(s, next) < 0) return -1;
        }
    }
    return 0;
}

/* Weight of what is kept of a page, which has the same limit as the memory of the parser: a row weighs as much as its element in the parser, an
   attribute twice what it needs here. Only elements that are opened again in every block reach the limit. */
enum { ROW_BYTES = 160, ATTRIBUTE_BYTES = 16 };

static long long weight_of(const Walk *w) {
    return (long long)w->signature.length * ROW_BYTES + (long long)w->numbers.length * ATTRIBUTE_BYTES + (long long)w->value_length;
}

enum { NAME_SLOTS = 1 << 15 };   /* the parser's table has 128: 150,000 names of a page of 2 MB take seconds */

/* Give the document a larger table of attribute names, while it has none. */
static void enlarge_names(void *document) {
    Hash *names = ((Names *)document)->attributes;
    void **table = parser_calloc(NAME_SLOTS, sizeof(void *));
    if (!table) return;
    parser_free(names->table);
    names->table = table;
    names->size = NAME_SLOTS;
}

enum { MAX_PART_BYTES = 1 << 22 };   /* memory of the parser after which a part ends early: elements that are opened again need much for each byte */

/* Return the columns of a page that is walked while it is parsed; None if that is not possible. */
static PyObject *walk_parts(PyObject *html, long long limit, int reveals, size_t part) {
    const unsigned char *bytes = (const unsigned char *)PyBytes_AS_STRING(html);
    const size_t size = (size_t)PyBytes_GET_SIZE(html);
    size_t parsed = 0;
    Py_ssize_t parts = 0;
    void *parser = lexbor.create_parser(), *document = parser && !lexbor.init_parser(parser) ? lexbor.begin_stream(parser) : NULL;
    Walk w;
    Stream s = {.walk = &w, .above = -1, .beside = -1};
    PyObject *result = NULL;
    const long long before = parser_bytes;
    int failed = begin_walk(&w, reveals) < 0 || !document, is_other = 0;
    w.shared = PyMem_Calloc(SHARED, sizeof(SharedText));
    if (!failed) {
        lexbor.set_options(document, WITHOUT_EVENTS);
        enlarge_names(document);
        s.tree = lexbor.tree(parser);
    }
    while (!failed && !is_other && !s.is_complete) {
        unsigned int status = 0;
        parts++;
        Py_BEGIN_ALLOW_THREADS
        const long long began = parser_bytes;
        for (size_t end = size - parsed < part ? size : parsed + part; !status && parsed < end && parser_bytes - began < MAX_PART_BYTES;) {
            size_t length = end - parsed < MIN_PART ? end - parsed : MIN_PART;
            status = lexbor.stream_part(parser, bytes + parsed, length);
            parsed += length;
        }
        if (!status && (parsed == size || parser_bytes - before > limit || weight_of(&w) > limit)) {
            status = lexbor.end_stream(parser);
            s.is_complete = 1;
        }
        Py_END_ALLOW_THREADS
        if (!s.root && (s.tree->open->length || s.is_complete)) s.root = s.is_complete ? lexbor.root(document) : s.tree->open->list[0];
        if (status) is_other = 1;
        else if (s.root) {
            is_other = is_changed(&s);
            if (!is_other) failed = mark_open(&s) < 0 || advance(&s) < 0;
            discard_unused(&s);
        }
    }
    if (!failed && !is_other && s.root && !s.depth) {
        long long needed = parser_bytes - before;
        lexbor.destroy_parser(parser);
        lexbor.destroy(document);
        parser = document = NULL;
        trim_memory();
        result = result_of(&w, (Py_ssize_t)parsed, parts, needed);
    } else if (!failed) result = Py_NewRef(Py_None);
    end_walk(&w);
    PyMem_Free(s.levels);
    PyMem_Free(s.kept);
    if (parser) lexbor.destroy_parser(parser);
    if (document) lexbor.destroy(document);
    return result ? result : PyErr_Occurred() ? NULL : PyErr_NoMemory();
}

/* Find where a template keeps its content, if the structures of the parser are as declared here. */
static void find_template_content(void) {
    static const unsigned char html[] = "<form a><b><template><p>";
    void *parser = lexbor.create_parser(), *document = parser && !lexbor.init_parser(parser) ? lexbor.begin_stream(parser) : NULL;
    template_content = 0;
    if (document && ((Names *)document)->attributes->size == 128 && !lexbor.stream_part(parser, html, sizeof html - 1)) {
        const Tree *tree = lexbor.tree(parser);
        Node **open = tree->open->list;   /* html, body, form, b, template, p */
        if (tree->open->length == 6 && tree->form == open[2] && tree->formatting->length == 2 && tree->formatting->list[0] == open[3] &&
            lexbor.root(document) == open[0] && open[3]->parent == open[2] && open[4]->parent == open[3] && open[5]->parent)
            for (size_t at = sizeof(Node); at + sizeof(Node *) <= lexbor.allocated(open[4]) && !template_content; at += sizeof(Node *)) {
                number_template = open[4]->local_name;
                html_namespace = open[4]->ns;
                if (((Node **)open[4])[at / sizeof(Node *)] == open[5]->parent) template_content = at;
            }
    }
    if (parser) lexbor.destroy_parser(parser);
    if (document) lexbor.destroy(document);
}

PyObject *native_walk(PyObject *module, PyObject *args) {
    PyObject *html;
    Py_ssize_t limit = 0, part = 0;
    int reveals = 0;
    size_t parsed;
    (void)module;
    if (!PyArg_ParseTuple(args, "S|npn", &html, &limit, &reveals, &part)) return NULL;
    if (!lexbor.create) { PyErr_SetString(PyExc_RuntimeError, "bind was not called"); return NULL; }
    if (part > 0 && limit > 0 && template_content) {
        PyObject *result = walk_parts(html, limit, reveals, (size_t)part);
        if (result != Py_None) return result;
        Py_DECREF(result);
    }
    void *document = take_document();
    if (!document) return PyErr_NoMemory();
    unsigned int status;
    const long long before = parser_bytes;
    Py_BEGIN_ALLOW_THREADS
    parsed = (size_t)PyBytes_GET_SIZE(html);
    if (limit > 0) status = parse_within(document, (const unsigned char *)PyBytes_AS_STRING(html), parsed, limit, &parsed);
    else status = lexbor.parse(document, (const unsigned char *)PyBytes_AS_STRING(html), parsed);
    Py_END_ALLOW_THREADS
    Node *root = status ? NULL : lexbor.root(document);
    if (!root) {
        lexbor.destroy(document);
        Py_RETURN_NONE;
    }
    long long needed = parser_bytes - before;   /* 0 where it is not counted */
    PyObject *result = walk(root, (Py_ssize_t)parsed, needed, reveals);
    give_back(document, needed > PyBytes_GET_SIZE(html) * 8 ? needed : PyBytes_GET_SIZE(html) * 8);
    return result;
}

PyObject *native_bind(PyObject *module, PyObject *args) {
    const struct { void *function; const char *name; } functions[] = {
        {&lexbor.attribute_name, "lxb_dom_attr_qualified_name"}, {&lexbor.element_name, "lxb_dom_element_qualified_name"},
        {&lexbor.first_attribute, "lxb_dom_element_first_attribute_noi"}, {&lexbor.destroy, "lxb_html_document_destroy"},
        {&lexbor.clean, "lxb_html_document_clean"}, {&lexbor.parse, "lxb_html_document_parse"},
        {&lexbor.set_options, "lxb_html_document_dom_opt_set_noi"}, {&lexbor.root, "lxb_dom_document_root"},
        {&lexbor.create, "lxb_html_document_create"}, {&lexbor.begin_parts, "lxb_html_document_parse_chunk_begin"},
        {&lexbor.parse_part, "lxb_html_document_parse_chunk"}, {&lexbor.end_parts, "lxb_html_document_parse_chunk_end"},
        {&lexbor.set_memory, "lexbor_memory_setup"}, {&lexbor.create_parser, "lxb_html_parser_create"}, {&lexbor.init_parser, "lxb_html_parser_init"},
        {&lexbor.destroy_parser, "lxb_html_parser_destroy"}, {&lexbor.begin_stream, "lxb_html_parse_chunk_begin"},
        {&lexbor.stream_part, "lxb_html_parse_chunk_process"}, {&lexbor.end_stream, "lxb_html_parse_chunk_end"},
        {&lexbor.tree, "lxb_html_parser_tree_noi"}, {&lexbor.destroy_node, "lxb_dom_node_destroy"},
        {&lexbor.remove_node, "lxb_dom_node_remove_wo_events"}, {&lexbor.remove_attribute, "lxb_dom_element_attr_remove"},
        {&lexbor.destroy_attribute, "lxb_dom_attr_interface_destroy"}, {&lexbor.allocated, "lexbor_mraw_data_size_noi"}};
    const char *path;
    PyObject *display;
    (void)module;
    if (!PyArg_ParseTuple(args, "skkkO!", &path, &number_td, &number_th, &number_dialog, &PyDict_Type, &display)) return NULL;
    void *library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    if (!library) { PyErr_SetString(PyExc_OSError, "the parser's library is not loaded"); return NULL; }
    int has_all = 1;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        has_all &= (*(void **)functions[i].function = dlsym(library, functions[i].name)) != NULL;
    dlclose(library);   /* it stays loaded: its module is imported */
    if (!has_all || !has_quirks_field()) {
        lexbor.create = NULL;
        PyErr_SetString(PyExc_OSError, "the parser's library has another layout");
        return NULL;
    }
#ifdef allocated_size
    lexbor.set_memory(counted_malloc, counted_realloc, counted_calloc, counted_free);
#endif
    find_template_content();
    Py_XSETREF(tag_display, Py_NewRef(display));
    Py_RETURN_NONE;
}

static int is_row(int32_t row, Py_ssize_t rows, const Py_buffer *signature, Py_ssize_t signatures) {
    return row >= 0 && row < rows && AT(*signature, row) >= 0 && AT(*signature, row) < signatures;
}

PyObject *native_finish_gaps(PyObject *module, PyObject *args) {
    Py_buffer gaps, spaced, chunk_row, rows_before, parent, signature, marks;
    PyObject *chunks;
    (void)module;
    if (!PyArg_ParseTuple(args, "w*y*O!y*y*y*y*y*", &gaps, &spaced, &PyTuple_Type, &chunks, &chunk_row, &rows_before, &parent, &signature, &marks))
        return NULL;
    char *gap = gaps.buf;
    const char *space = spaced.buf, *may_mark = marks.buf;
    Py_ssize_t count = PyTuple_GET_SIZE(chunks), rows = signature.len / 4;
    int fits = gaps.len == count && spaced.len == count && chunk_row.len == 4 * count && rows_before.len == 4 * count && parent.len == 4 * rows;
    for (Py_ssize_t c = 0; fits && c < count; c++)
        if (gap[c] < SPACED && (space[c] & 1 || (c && space[c - 1] & 2))) gap[c] = SPACED;
    for (Py_ssize_t c = 1; fits && c < count; c++) {
        if (gap[c] != SPACED || space[c] & 1 || space[c - 1] & 2) continue;
        PyObject *left = PyTuple_GET_ITEM(chunks, c - 1), *right = PyTuple_GET_ITEM(chunks, c);
        if (!PyUnicode_Check(left) || !PyUnicode_Check(right) || !PyUnicode_GET_LENGTH(left) || !PyUnicode_GET_LENGTH(right)) continue;
        Py_UCS4 last = PyUnicode_READ_CHAR(left, PyUnicode_GET_LENGTH(left) - 1), first = PyUnicode_READ_CHAR(right, 0);
        if (!Py_UNICODE_ISALPHA(last) || !Py_UNICODE_ISALPHA(first) || Py_UNICODE_ISUPPER(first)) continue;
        int32_t before = AT(chunk_row, c - 1), after = AT(chunk_row, c), new_rows = AT(rows_before, c) - AT(rows_before, c - 1);
        if (!is_row(before, rows, &signature, marks.len) || !is_row(after, rows, &signature, marks.len)) { fits = 0; break; }
        int ends_mark = AT(parent, before) == after && !new_rows && may_mark[AT(signature, before)];
        int begins_mark = AT(parent, after) == before && new_rows == 1 && may_mark[AT(signature, after)];
        if (begins_mark)   /* at the end of a text it may be a badge */
            begins_mark = c + 1 < count && AT(chunk_row, c + 1) == before && gap[c + 1] != BROKEN;
        if (ends_mark || begins_mark) gap[c] = GLUED;
    }
    RELEASE(&gaps, &spaced, &chunk_row, &rows_before, &parent, &signature, &marks);
    if (!fits) { PyErr_SetString(PyExc_ValueError, "the columns are of different pages"); return NULL; }
    Py_RETURN_NONE;
}
