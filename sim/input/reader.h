/* SPDX-License-Identifier: GPL-3.0-or-later */
/* input/reader.h -- from a JSON tree to structs, by tables of fields (cs/field.h).
 *
 * What is absent keeps its value (its default). The first thing that is wrong ends a reading:
 * whatever follows does nothing, so that only the end needs a check. Errors bear the path of the
 * value.
 */
#ifndef CS_INPUT_READER_H
#define CS_INPUT_READER_H

#include "base/arena.h"
#include "cs/field.h"
#include "cs/model.h"
#include "input/file_cache.h"
#include "input/tree.h"

/* One pass over a tree. */
typedef struct cs_reading {
    cs_arena *arena;        /* where texts and lists go */
    cs_error  error;        /* the first failure; `where` is the path of the value */
    bool      key_is_wrong; /* ... and the key itself is wrong, not its value */

    /* May the option at a path be left out if only other plug-ins have it? NULL: never. */
    bool (*may_skip)(const void *context, const char *path);
    /* The file beside which the relative file name at a path is meant; NULL: the working
     * folder's. */
    const char *(*file_of)(const void *context, const char *path);
    struct cs_file_cache *cache; /* of files that are part of it; NULL: none are read */
    struct cs_held_file  *files; /* those that were read; their owner releases them */
    const void           *context;

    const cs_model   *model; /* what was read already, for those who come later; NULL: not yet */
    const cs_cluster *cluster;
} cs_reading;

/* A place in the tree; `node` is NULL where there is nothing. Borrows its parent. */
typedef struct cs_place {
    json_t                *node;
    const struct cs_place *parent; /* NULL: the root */
    const char            *key;    /* NULL: an element of an array */
    size_t                 index;
} cs_place;

static inline bool cs_reading_failed(const cs_reading *r)
{
    return r->error.status != CS_OK;
}

/* Record an error at a place. */
#define CS_REFUSE(reading, place, status, ...)                                 \
    do {                                                                       \
        char refused_path[CS_PATH_BYTES];                                      \
        cs_place_path((place), refused_path);                                  \
        (void)CS_FAIL(&(reading)->error, (status), refused_path, __VA_ARGS__); \
    } while (0)

/* Record at a place that memory is out, as CS_NO_MEMORY() does. */
#define CS_REFUSE_MEMORY(reading, place, ...) \
    CS_REFUSE((reading), (place), CS_ENOMEM, "out of memory for " __VA_ARGS__)

cs_place cs_place_root(json_t *tree);
cs_place cs_place_get(const cs_place *parent, const char *key);
cs_place cs_place_item(const cs_place *parent, size_t index);
/* The path of the place in CS_PATH_BYTES bytes. */
void cs_place_path(const cs_place *place, char *path);

/* Is there a key, whatever its value? */
static inline bool cs_place_has(const cs_place *parent, const char *key)
{
    return json_object_get(parent->node, key) != NULL;
}

/* Read all rows of a table out of the object at a place. Refused are anything but an object, keys
 * that no row has, missing keys, and whatever does not fit its row. True if the object is there and
 * was read. */
bool cs_read_fields(cs_reading *r, const cs_place *place, const cs_field *fields, void *object);

/* The value at a place as the row's type says, also where the row has a reader of its own. */
void cs_read_row(cs_reading *r, const cs_place *place, const cs_field *row, void *object);

/* One key of an object, if it is there, before the others. */
void cs_read_key(cs_reading *r, const cs_place *parent, const cs_field *fields, const char *name,
                 void *object);

/* Is there an object, all of whose keys have a row? Refused if it is anything else. */
bool cs_read_keys(cs_reading *r, const cs_place *place, const cs_field *fields);

/* How many elements there are, 0 where there is nothing. Refused is anything but an array. */
size_t cs_read_elements(cs_reading *r, const cs_place *place);

/* Refuse the absence of a key. */
void cs_read_required(cs_reading *r, const cs_place *parent, const char *key);

/* An option of a plug-in: as cs_read_row(), but numbers and truth values may be texts. */
void cs_read_option(cs_reading *r, const cs_place *place, const cs_field *row, void *options);

/* A row's reader that does nothing: another row's reader takes its value. */
void cs_read_elsewhere(cs_reading *r, const cs_place *place, const cs_field *row, void *object);

/* Refuse what is at a place: "is an array: accepted is ..". */
void cs_refuse_kind(cs_reading *r, const cs_place *place, const char *accepted);

/* Files that are part of a scenario. What they hold is in the scenario's JSON as a fingerprint, so
 * that rows of a store belong to the contents of a file, not to its name. */

/* A file through the reading's cache; whoever owns the reading's files holds it. NULL: *err says
 * why (the reading has not failed yet). */
const cs_cached_file *cs_read_file(cs_reading *r, const cs_file_kind *kind, const char *path,
                                   cs_error *err);

/* What a text at a place names as a file or several, each found beside the file in which the text
 * stands; NULL (refused): it is no text. */
const char *cs_read_file_name(cs_reading *r, const cs_place *place);

/* Put the fingerprint into `parent` as its key "fingerprint". Where there is one already, it must
 * be the same; `others` says what a file with another one holds: "other arrivals: theirs". */
void cs_keep_fingerprint(cs_reading *r, const cs_place *parent, const char *fingerprint,
                         const char *others);

#endif
