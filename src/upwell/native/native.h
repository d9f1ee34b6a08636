/* The native module `upwell.native._native`: every function and type that Python sees, with its arguments and results, and the
   declarations that the C files share. `_native.pyi` has the same signatures as Python types.

   Conventions
   -----------
   A column is a contiguous one-dimensional array: an argument is any object with the buffer protocol (a NumPy array, bytes), a result is
   bytes for `np.frombuffer`. "int32[rows]" means one 32-bit integer per row of the page.

       rows         elements of the page in document order; a parent comes before its children (page/tag_tree.py)
       chunks       texts of the page in document order, the inner white space of each reduced to single spaces
       signatures   distinct path signatures of the page, in order of appearance (page/path_signatures.py)
       leaves       texts that records are made of (records/leaves.py)
       lines        text between two block boundaries (content/lines.py)

   Columns of a page (`TagTree`):

       signature    int32[rows]     index into the signatures of the page
       parent       int32[rows]     parent row, -1 for the root
       end          int32[rows]     one past the last row of the subtree
       text_at      int32[rows]     first chunk of the subtree, and …
       text_end     int32[rows]     … one past its last chunk
       chunk_row    int32[chunks]   row that contains the chunk
       chunk_gap    int8[chunks]    separator before the chunk: 0 GLUED, 1 SPACED, 2 BROKEN (path_signatures.py)

   No function calls back into Python code. A text or a path signature that only Python can process is returned to the caller, which
   processes it and, if necessary, calls again. Every function checks that its columns fit together and raises ValueError, IndexError or
   TypeError instead of reading beyond their ends.

   Every function has a reference in pure Python, which is used if the module was not built; tests/test_native.py, tests/content/test_lines.py and
   tests/choose/test_word_index.py compare the two.

   SOURCES   str: digest of the files that the module was built from (setup.py); `upwell.native` refuses a module built from other files

   walk.c: from bytes to the columns of a page. Reference: `_plain_columns` of page/tree.py
   ---------------------------------------------------------------------------------------
   bind(path, td, th, dialog, tag_display)
       Look up the parser's functions in its loaded library; required before `walk`.
       path          str    file of the parser's library, which is loaded already
       td, th, dialog int   the parser's numbers of these tags
       tag_display   dict[str, int]   for tags that are not displayed as blocks: edge | shown << 2 | shapes << 4 | marks << 5, as in `PathSignature`

   walk(html, limit=0, reveals=False, part=0) -> dict or None
       With `reveals`, the text of hidden elements and of <noscript> is kept (`PathSignature.revealed`).
       Parse a page and return its columns; None if the parser fails. html: bytes, UTF-8.
       limit         int                 bytes of memory from which on the parser reads no further; 0: no limit
       part          int                 bytes after which the nodes that are closed are walked and destroyed; 0: the page is parsed first, as it is if
                                         the parser changes nodes that were walked, and without a limit
       parsed        int                 bytes of the page that were parsed
       parts, needed int                 parts in which it was walked, 0 if it was parsed first; memory of the parser, 0 if it is not counted
       title         str                 text of the first <title>
       data          dict[int, str]      texts of <script type=…json…>, by row
       sheets        dict[int, str]      texts of <style>, by row
       signatures    list                path signature of each number; None for a signature that is not in the table yet
       new           list of tuples      the missing signatures, parents first: (entry, number, number of the parent or -1, tag, class, column,
                                         itemprop or None, hidden); Python creates them and calls `store_signature`
       table         int                 table of signatures that the entries belong to
       signature, parent, end, text_at, text_end   int32[rows]
       chunks        tuple of str
       chunk_row     int32[chunks]
       edges         bytearray, int8[chunks]   strongest edge of an element before the chunk; `finish_gaps` makes `chunk_gap` of it
       spaced        int8[chunks]        1 if the text began with white space, 2 if it ended with it, 3 both
       rows_before   int32[chunks]       rows that had begun before the chunk
       attributes    Attributes
       marks         bool[signatures]    the tag may mark a part of a word

   store_signature(table, entry, signature) -> PathSignature
       Store the signature of a table entry. Return it, or the one that another thread has stored meanwhile.

   finish_gaps(gaps, spaced, chunks, chunk_row, rows_before, parent, signature, marks)
       Turn `edges` into `chunk_gap` in place: white space at the edges of texts separates them, elements inside a word do not.
       Reference: `glue_words` of page/tree.py. gaps: int8[chunks], writable; the others as in the result of `walk`.

   attributes.c: the attributes of all rows. Reference: a dict of dicts
   --------------------------------------------------------------------
   Attributes(names, first, numbers, ends, values)
       Read-only mapping from rows with attributes to their attributes (dict[str, str | None]); decoded on access, can be pickled.
       names         tuple of str        distinct attribute names
       first         int32[rows + 1]     first attribute of each row
       numbers       int32[attributes]   index of the name; ~index if the attribute has no value
       ends          int32[attributes]   end of the value in …
       values        bytes               … the values of all attributes, UTF-8
       names() -> tuple of str           the names
       value(row, name) -> str or None   one attribute of a row: None if absent, "" if empty
       having(name) -> dict[int, str]    one attribute of all rows that have it, by row
       of_rows(name, rows) -> list       one attribute of each of some rows (int32[]): None if absent, "" if empty

   tokens.c: words. Reference: page/tokens.py
   ------------------------------------------
   tokens(text) -> list[str] or None
       Return the tokens of a text; None if it has a script that only Python splits. Reference: `plain_tokens`.

   terms(text, parts, as_spans=False) -> (words, ids, begins, left)
       Number the tokens of all chunks of a page. Reference: `plain_terms`. If `as_spans`, the words are (text in lower case, begin and end
       of each word in it), and there are no parts.
       text          str                 chunks separated by NUL
       parts         list[list[str]]     tokens of the chunks that only Python splits, in order
       words         list[str]           distinct tokens in order of appearance
       ids           int32[tokens]       index into `words`
       begins        int32[chunks + 1]   first token of each chunk, and the number of all
       left          list[str]           chunks that only Python splits and `parts` does not have; if there are any, call again with their tokens

   columns_of(words, fields) -> list or None
       Return, for each word, the last field whose value contains it, else None; None instead of a list if a value has a script that only
       Python splits. Reference: `plain_columns_of` of choose/word_index.py. words: list[str]; fields: dict[str, str].

   bytes.c: the bytes of a page
   ----------------------------
   is_utf8(page) -> bool                      Reference: bytes.decode
   to_utf8(page, table) -> bytes              Convert bytes of a single-byte charset. Reference: decode and encode (page/charset.py).
                                              table: bytes[4 * 128], for each non-ASCII byte the length of its UTF-8 and up to three bytes
   has_crowded_tag(html, limit) -> bool       Return True if a tag has at least `limit` attributes. Reference: `limit_attributes` of page/tree.py

   judge.c: fitted judgements
   --------------------------
   text_features(texts, max_short) -> bytes, float64[12 * lines]
       Count what the texts of lines contain, a column per name in TEXT_FEATURES; the column `price` is 0. Reference: `_text_features` of
       content/line_context.py.
       texts         tuple of str               not empty
       max_short     int                        length from which a line is not short
   groups_in(name, words, groups, first) -> int or None
       Return the groups of words that a class or id contains, as a bit set; None if it is not ASCII. Reference: `bits_in_python` of
       content/name_groups.py.
       words         tuple of bytes             lower-case words, sorted by their first letter
       groups        uint8[2 * words]           group of each word, less than 63; bits 1: no letter before it, 2: no letter after it
       first         int32[27]                  first word of each letter, and the number of words
   tree_sums(x, features, depth, feature, at, leaf) -> bytes, float64[rows]
       Add the leaves that each row of features reaches in all trees. Reference: `plain_tree_sums` of judge/judgement.py.
       x             float64[rows * features]   features of each row
       features      int                        features of a row
       depth         int                        depth of every tree, 1 to 19
       feature       int32[trees * (2^depth - 1)]     feature of each inner node, level by level
       at            float64[trees * (2^depth - 1)]   value up to which a row goes left
       leaf          float64[trees * 2^depth]         value of each leaf

   leaves.c, cuts.c, records.c: the records of an answer
   -----------------------------------------------------
   Leaves(texts, row, gap, signature, parent, end, row_start, row_end, signatures)
       Leaves of a page (`Leaves` of records/leaves.py), checked once.
       texts         tuple or list of str   texts without surrounding white space
       row           int32[leaves]          row that contains the leaf
       gap           int8[leaves]           separator before the leaf
       signature, parent, end   int32[rows]   as above
       row_start, row_end       int32[rows]   first leaf of the subtree, one past its last leaf
       signatures    int                    number of signatures of the page

   Leaves.cuts(flags, path, share, how, all_containers, leader, mean_share, usual_paths, longest, separators, limits) -> (cuts, unit, unit_row)
       Apply a cut rule. Reference: `apply_rule_python` of records/cut_rules.py.
       flags         int32[signatures]      1: is a container, 2: is a leader
       path          int32[signatures]      number of the tag path, below the number of signatures
       share         float64[signatures]    share of the records that have this path; below 0 if the rule does not know the path
       how           int                    leader test: 0 is, 1 has, 2 after, 3 begins (`LEADER_TEST_CODES`)
       all_containers bool                  all containers of an answer hold its records together, or each is a cut of its own
       leader        int                    path or separators of the leader; 0 for a text of the container
       mean_share, usual_paths  float       mean share of the paths of a record, and number of its usual paths, when the rule was learned
       longest       int                    units of the longest record
       separators    uint64[leaves]         separators before each leaf; may be empty unless `how` is 2
       limits        (usual_share, min_likeness, min_to_compare)   as in records/cuts.py
       cuts          list of (first, last, container, container_end), each int32[records of the cut]
       unit          int32[leaves]          number of the leaf's unit in its container
       unit_row      int32[leaves]          row of the leaf's unit; -1 for a text of the container

   Leaves.records(starts, ends, unit_row, link_rows, targets, place_step, tag_step, flags, names_of_places, names, labels, other, own_place,
                  own_nth, min_repeated) -> (ranges, fields, targets, own, texts)
       Read the records of a cut. Reference: `Columns.records_python` of records/record_columns.py.
       starts, ends  int32[records]         first leaf of each record, one past its last leaf
       unit_row      int32[leaves]          as `cuts` returns it
       link_rows     int32[links]           rows of the links of the page, ascending
       targets       list[str | None]       target of each link
       place_step, tag_step   uint64[signatures]   hashes of a step of a place (`PathSignature.place_step`, `.tag_step`)
       flags         int32[signatures]      1: does not divide a text, 2: its text names the following text (<dt>, <th>)
       names_of_places  dict[int, str]      column names of places whose pieces are all one column
       names         dict[(int, int), str]  column names by place and number of the piece there; "" for pieces that are not data
       labels        tuple of str           texts that name the following text
       other         str                    column of pieces at other places
       own_place, own_nth   int             place of the link to the record page, and which of the links there; own_nth 0 if there is none
       min_repeated  int                    texts of at least this length are output once per record; 0: do not build `texts`
       ranges        int32[5 * records]     first leaf, end, row, first row, end row of each record (`RecordRange`)
       fields        list                   dict[str, str] of each record; for a record that may have labels the list of its pieces instead:
                                            (place, text, row, is_term) as in `Piece`
       targets       list of tuples         targets of the links of each record
       own           list[str | None]       target of the link to the record page
       texts         list[str | None]       text of each record on one line; None if min_repeated is 0

   lines.c: the lines of a page. Reference: `split_lines_python` and `line_features_python` of content/lines.py
   -----------------------------------------------------------------------------------------------------------
   lines(chunks, chunk_gap, chunk_row, parent, codes) -> (first, last, row, texts, chars, linked)
       codes         int64[rows]            bit set of what tags and classes say about a row (`_code`)
       first, last   int32[lines]           first chunk of each line, one past its last chunk
       row           int32[lines]           block that contains the line
       texts         tuple of str
       chars         float64[lines]         characters; a CJK character counts as three
       linked        float64[lines]         share of the characters in links

   line_features(x, first, row, chars, linked, roles, codes, parent, end, text_at, text_end, texts, styles, title, sentence_ends,
                 copyright_marks, limits) -> (title_lines, date_lines)
       Fill the features of the lines into x; `in_title`, `date` and `byline` are left to the caller.
       x             float64[lines, 44]     zeros, writable; a column per name in FEATURES
       roles         int64[rows]            roles that class and id of a row suggest
       texts, styles tuples of str          of each line
       title         str                    <title> in lower case
       sentence_ends str                    characters that end a sentence
       copyright_marks tuple of str
       limits        nine floats            `NATIVE_LIMITS`
       title_lines   list[int]              lines that may agree with the title
       date_lines    list[int]              short lines that may be a date or a byline
       (the others as above)

   keys.c: numbers of keys. Reference: arrays/key_set.py
   -----------------------------------------------------
   hash_of(key) -> int                        64-bit hash of a str: BLAKE2b with a digest of eight bytes
   KeyNumbers(hashes=b"")                     Numbers of hashes in order of insertion, from 0; hashes: int64[]. Can be pickled; the pickle can also be
                                              read by the Python class
       len(), find_one(hash), find(hashes), find_words(words), add(hash), number_words(lists, stops): as `PlainKeyNumbers`; -1 stands for no number

   word_counts.c: words of the records that are held. Reference: choose/word_index.py, choose/word_candidates.py, choose/pairs.py
   ----------------------------------------------------------------------------------------------------------------------------
   count_words(cells, ends, inside, once, first, done, shared, sharing, number) -> (open, common)
       Count the words of records seen for the first time. Reference: `plain_count_words`.
       cells         int32[cells]           words of the records, each once per record
       ends          int32[records]         end of the cells of each record
       inside, once, first   int32[words]   records with the word, those seen once, the first of them; updated
       done          bool[words]            the word need not be asked any more
       shared        bytearray, uint8[records held]   words that a record shares with others, at most len(sharing) - 1; updated
       sharing       int64[…]               records by that number; updated
       number        int                    number of the first new record
       open, common  int                    how many more words that are not done are in records, and records of those that are in several

   weigh_words(arrays, inside, once, twice, whole, classes, done, share, calibration, numbers) -> (words, weighed, best)
       Compute what each word is worth that is in a record and not done. Reference: `WordYield.plain_weigh`.
       arrays        sequence of int32[]    words to weigh; a word may occur several times
       inside, once, twice, whole   int32[words]   records with the word: all, seen once, seen twice, in answers that were read completely
       classes       int16[words]           class of the word
       done          bool[words], writable  used as scratch space, restored
       share, calibration   float64[classes]
       numbers       held, usual_once, usual_twice, share outside complete answers, unseen, shrink, lift, result_cap, top, page_size, horizon, good_share, best_rate
       words         int32[n]               the words, each once
       weighed       float64[4 * n]         value, rate, new records and pages of each
       best          int                    index of the best word; -1 if there is none

   weigh_pairs(words, both, kinds, inside, once, told, barren, calibration, asked, numbers) -> float64[6 * n]
       Compute what pairs with one word are worth. Reference: `WordPairs.plain_weigh`.
       words, both, kinds   int64[n]        second words, records held with both words, class of each pair
       inside, once  int32[words]           as above
       told          float32[words]         matches that the source stated for the word; 0 if unknown
       barren        bool[words]            the word brings nothing in pairs
       calibration   float64[classes]
       asked         (bool[], bool[])       pairs that were asked with "and", with "not"
       numbers       held, held when `both` was counted, odds, usual_once, shrink, max_missing, max_share, result_cap, top, page_size
       result        for "and", then for "not": matches held, expected new records per request, pages */

#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

enum { GLUED, SPACED, BROKEN };   /* separators, as in page/path_signatures.py */

/* A growing column. */
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

/* Element i of an int32 column. */
#define AT(buffer, i) (((const int32_t *)(buffer).buf)[i])

static inline void release_all(Py_buffer **buffers, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (buffers[i]->obj) PyBuffer_Release(buffers[i]);
}
#define RELEASE(...) release_all((Py_buffer *[]){__VA_ARGS__}, sizeof((Py_buffer *[]){__VA_ARGS__}) / sizeof(Py_buffer *))

/* Hashes of the open-addressing tables in this module; they never leave it. */
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

/* Return 1 if a character belongs to a script that is written without spaces (`lexicon/scripts.py`). */
static inline int is_unspaced(Py_UCS4 c) {
    if (c < 0x2e80) return 0;
    return c < 0x2fe0 || (c >= 0x3005 && c <= 0x3007) || (c >= 0x3021 && c <= 0x3029) || (c >= 0x3038 && c <= 0x303b) || (c >= 0x3040 && c < 0x3100) ||
           (c >= 0x3400 && c < 0x4dc0) || (c >= 0x4e00 && c < 0xa000) || (c >= 0xac00 && c < 0xd7b0) || (c >= 0xf900 && c < 0xfb00) ||
           (c >= 0x20000 && c < 0x40000);
}

static inline int is_decimal(Py_UCS4 c) { return c < 128 ? c >= '0' && c <= '9' : Py_UNICODE_ISDECIMAL(c); }

typedef struct {
    PyObject_HEAD
    PyObject *texts;        /* tuple or list of str */
    Py_ssize_t signatures;
    Py_buffer row, gap, signature, parent, end, row_start, row_end;
} Leaves;

/* A table with open addressing; the number of an empty slot is -1. */
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
PyObject *make_attributes(PyObject *names, PyObject *first, PyObject *numbers, PyObject *ends, PyObject *values);

extern PyTypeObject AttributesType, LeavesType, KeyNumbersType;
PyObject *leaves_cuts(PyObject *leaves, PyObject *args);
PyObject *leaves_records(PyObject *leaves, PyObject *args);
PyObject *numbers_number_words(PyObject *table, PyObject *args);
PyObject *native_bind(PyObject *module, PyObject *args);
PyObject *native_walk(PyObject *module, PyObject *args);
PyObject *native_store_signature(PyObject *module, PyObject *args);
PyObject *native_finish_gaps(PyObject *module, PyObject *args);
PyObject *native_tokens(PyObject *module, PyObject *text);
PyObject *native_terms(PyObject *module, PyObject *args);
PyObject *native_columns_of(PyObject *module, PyObject *args);
PyObject *native_is_utf8(PyObject *module, PyObject *page);
PyObject *native_to_utf8(PyObject *module, PyObject *args);
PyObject *native_has_crowded_tag(PyObject *module, PyObject *args);
PyObject *native_lines(PyObject *module, PyObject *args);
PyObject *native_line_features(PyObject *module, PyObject *args);
PyObject *native_hash_of(PyObject *module, PyObject *key);
PyObject *native_count_words(PyObject *module, PyObject *args);
PyObject *native_weigh_words(PyObject *module, PyObject *args);
PyObject *native_weigh_pairs(PyObject *module, PyObject *args);
PyObject *native_tree_sums(PyObject *module, PyObject *args);
PyObject *native_text_features(PyObject *module, PyObject *args);
PyObject *native_groups_in(PyObject *module, PyObject *args);
