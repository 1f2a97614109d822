/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cs/named.h -- find a thing among others by its name: algorithms, models, presets, keys, options.
 *
 * Found is, in this order, the thing of that very name; of that name or alias but for case, '-' and
 * '_'; and, where parts are taken, the only thing whose name or an alias of it has the word among
 * the words that it is made of: "tree" is double_binary_tree, "h100" dgx-h100; "h10" is nothing. A
 * word of several names is refused with them, one that is near to a name with that name.
 */
#ifndef CS_NAMED_H
#define CS_NAMED_H

#include "cs/error.h"

#include <stddef.h>

CS_BEGIN_C

/* Of things without aliases. */
#define CS_NO_ALIASES ((size_t)-1)

/* Things with names, and the words of a refusal: WHAT 'word', did you mean 'near'?HINT. */
typedef struct cs_named {
    const void *things; /* an array of things, or of pointers to them */
    size_t      n;      /* how many */
    size_t      stride; /* from one to the next, in bytes */
    bool        by_pointer;
    bool        takes_parts; /* the only name with the word in it is meant, too */
    size_t      name;        /* where a thing has its name, a const char * */
    size_t      aliases;     /* ... and other names, "a|b" or NULL; or CS_NO_ALIASES */
    cs_status   status;      /* of a refusal */
    const char *what;        /* "no algorithm" */
    const char *hint;        /* "; 'collsim list algorithms' has all"; NULL: ": accepted are " and
                                all names */
} cs_named;

/* An initializer for an array of words. */
#define CS_NAMED_WORDS(words_, count_, what_, hint_)                                    \
    {                                                                                   \
        .things = (words_), .n = (count_), .stride = sizeof(const char *),              \
        .aliases = CS_NO_ALIASES, .status = CS_EINVAL, .what = (what_), .hint = (hint_) \
    }

/* The name of thing `index`, or NULL behind the last one. */
CS_API const char *cs_name_at(const cs_named *named, size_t index);

/* The name nearest to `word`: that with the smallest edit distance (insert, delete, replace), at
 * most a third of the word's length or 2, and something of the word left. Ties: the first. NULL:
 * none is near. O(things * length^2). */
CS_API const char *cs_nearest_name(const cs_named *named, const char *word);

/* The index of the thing that `word` names, or a refusal at `where`. O(things). */
CS_API CS_MUST_CHECK cs_status cs_find_named(const cs_named *named, const char *word,
                                             size_t *index_p, const char *where, cs_error *err);

/* Write the names to `list`, with commas between them; what does not fit is cut. */
CS_API void cs_list_names(const cs_named *named, char *list, size_t list_bytes);

CS_END_C

#endif
