/* SPDX-License-Identifier: GPL-3.0-or-later */
/* config/field.h -- typed values out of a JSON tree, with the path of each for errors.
 *
 * The functions cs_read_*() leave their output alone where the key is absent (it holds the
 * default) and do nothing once a reading has failed, so that only the end needs a check.
 */
#ifndef CS_CONFIG_FIELD_H
#define CS_CONFIG_FIELD_H

#include "base/arena.h"
#include "config/tree.h"

#include <stdint.h>

/* One pass over a tree. */
typedef struct cs_reading {
    cs_arena *arena;      /* where texts and lists go */
    cs_error  error;      /* the first failure; `where` is the path of the value */
    bool      blames_key; /* ... and the key itself is wrong, not its value */

    /* May the option at a path be left out if only other plug-ins have it? NULL: never. */
    bool (*may_skip)(const void *context, const char *path);
    /* The file beside which the relative file name at a path is meant; NULL: the working
     * folder's. */
    const char *(*file_of)(const void *context, const char *path);
    struct cs_file_cache *cache; /* of files that are part of it; NULL: none are read */
    struct cs_held_file  *files; /* those that were read; their owner releases them */
    const void           *context;
} cs_reading;

/* A place in the tree; `node` is NULL where there is nothing. Borrows its parent. */
typedef struct cs_field {
    json_t                *node;
    const struct cs_field *parent; /* NULL: the root */
    const char            *key;    /* NULL: an element of an array */
    size_t                 index;
} cs_field;

static inline bool cs_reading_failed(const cs_reading *r)
{
    return r->error.status != CS_OK;
}

/* Record an error at a field. */
#define CS_REFUSE(reading, field, status, ...)                                 \
    do {                                                                       \
        char refused_path[CS_PATH_BYTES];                                      \
        cs_field_path((field), refused_path);                                  \
        (void)CS_FAIL(&(reading)->error, (status), refused_path, __VA_ARGS__); \
    } while (0)

cs_field cs_field_root(json_t *tree);
cs_field cs_field_get(const cs_field *parent, const char *key);
cs_field cs_field_item(const cs_field *parent, size_t index);
/* The path of the field in CS_PATH_BYTES bytes. */
void cs_field_path(const cs_field *field, char *path);

/* Is the field there, and an object that has only the `count` keys? Refused if it is anything
 * else. */
bool cs_read_object(cs_reading *r, const cs_field *field, const char *const *keys, size_t count);
/* The number of elements; 0 where the field is absent. */
size_t cs_read_array(cs_reading *r, const cs_field *field);
/* Refuse the absence of a key. */
void cs_read_required(cs_reading *r, const cs_field *parent, const char *key);

void cs_read_text(cs_reading *r, const cs_field *parent, const char *key, const char **text_p);
/* The name of a file, or names with commas between them, each found beside the file in which it
 * stands. */
void cs_read_file_names(cs_reading *r, const cs_field *parent, const char *key,
                        const char **paths_p);
void cs_read_bool(cs_reading *r, const cs_field *parent, const char *key, bool *value_p);
/* A whole number in [min, max]. */
void cs_read_whole(cs_reading *r, const cs_field *parent, const char *key, uint64_t min,
                   uint64_t max, uint64_t *value_p);
void cs_read_u32(cs_reading *r, const cs_field *parent, const char *key, uint32_t min, uint32_t max,
                 uint32_t *value_p);
/* A number in [min, max]. */
void cs_read_number(cs_reading *r, const cs_field *parent, const char *key, double min, double max,
                    double *value_p);
/* Quantities: a number or a text with a unit. */
void cs_read_bytes(cs_reading *r, const cs_field *parent, const char *key, uint64_t *bytes_p);
void cs_read_rate(cs_reading *r, const cs_field *parent, const char *key, double *rate_Bps_p);
void cs_read_time(cs_reading *r, const cs_field *parent, const char *key, double *time_s_p);
/* The index of one of `count` words. */
void cs_read_word(cs_reading *r, const cs_field *parent, const char *key, const char *const *words,
                  size_t count, size_t *index_p);

/* A number, truth value or text as text in the arena; NULL (refused) for anything else. */
const char *cs_read_scalar(cs_reading *r, const cs_field *field);

#endif
