/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cs/error.h -- one list of statuses and one record of what went wrong.
 *
 * Every function that can fail returns a cs_status and takes a cs_error * as its last
 * argument. The first failure fills the record, later ones leave it alone, and a NULL
 * record is allowed. Library code never prints, exits or aborts.
 */
#ifndef CS_ERROR_H
#define CS_ERROR_H

#include <stdbool.h>

#ifdef __cplusplus
#define CS_BEGIN_C extern "C" {
#define CS_END_C   }
#else
#define CS_BEGIN_C
#define CS_END_C
#endif

#if defined(__GNUC__)
#define CS_PRINTF(format_index, first) __attribute__((format(printf, format_index, first)))
#define CS_MUST_CHECK                  __attribute__((warn_unused_result))
#define CS_API                         __attribute__((visibility("default")))
#else
#define CS_PRINTF(format_index, first)
#define CS_MUST_CHECK
#define CS_API
#endif

CS_BEGIN_C

/* One row per status: enum, name and text come from this list alone. */
#define CS_STATUS_MAP(X)                                      \
    X(OK, "success")                                          \
    X(EINVAL, "invalid argument or configuration")            \
    X(ENOTSUP, "not supported by this algorithm or model")    \
    X(ENOENT, "no such name")                                 \
    X(ENOMEM, "out of memory")                                \
    X(EPARSE, "malformed input")                              \
    X(EIO, "a file or the machine failed")                    \
    X(EMISSING, "an optional part of the program is missing") \
    X(EWRONG, "the schedule is not a correct collective")     \
    X(EINTERNAL, "broken invariant (a bug in this library)")

typedef enum cs_status {
#define X(name, text) CS_##name,
    CS_STATUS_MAP(X)
#undef X
        CS_STATUS_COUNT
} cs_status;

/* Of what could not be done: is it the scenario that cannot be (it is impossible, or nobody does
 * it), today and anywhere? */
CS_API bool cs_status_is_refusal(cs_status status);

/* ... or did the machine or the program fail, not what was asked of them? Another try may do it,
 * elsewhere, later, or by a program that is whole. What is neither is malformed input, or an answer
 * (CS_EWRONG). */
CS_API bool cs_status_is_failure(cs_status status);

/* What went wrong, and where. `{0}` is an empty record; it owns nothing. */
typedef struct cs_error {
    cs_status   status;
    const char *file;         /* C source that noticed it; static storage */
    int         line;         /* its line */
    char        input[200];   /* the user's file, or empty */
    int         input_line;   /* 1-based line in it; 0 = unknown */
    int         input_column; /* 1-based column; 0 = unknown */
    char        where[96];    /* key or option, e.g. "cluster.ranks"; or empty */
    char        message[320]; /* one sentence, no newline, no trailing period */
} cs_error;

/* Text for a status. Never NULL, static storage, thread-safe. */
CS_API const char *cs_status_text(cs_status status);

/* Fill `err` (unless NULL or already filled) and return `status`. Control characters in
 * the message are replaced, so that the record stays one line. */
CS_API cs_status cs_error_set(cs_error *err, cs_status status, const char *file, int line,
                              const char *where, const char *format, ...) CS_PRINTF(6, 7);

/* Add the place in the user's file to a filled record that has none yet. Line and column
 * are 1-based; 0 means unknown. A long path keeps its tail. */
CS_API void cs_error_locate(cs_error *err, const char *input, int line, int column);

/* Write "WHERE: MESSAGE", which is the same wherever the input lies, to `text`. */
CS_API void cs_error_reason(const cs_error *err, char *text, unsigned long text_bytes);

/* Write "INPUT:LINE:COL: WHERE: MESSAGE" (the parts that are known) to `text`. */
CS_API void cs_error_text(const cs_error *err, char *text, unsigned long text_bytes);

/* The same from this line. The value is written as `status` itself, so that a compiler and an
 * analyzer see that a failure is never CS_OK. */
#define CS_FAIL(err, status, where, ...)                                            \
    ((void)cs_error_set((err), (status), __FILE__, __LINE__, (where), __VA_ARGS__), \
     (cs_status)(status))

/* Fill `err` with "out of memory for ..", of which the rest is a format and its arguments; the
 * status is CS_ENOMEM. */
#define CS_NO_MEMORY(err, ...) CS_FAIL((err), CS_ENOMEM, "", "out of memory for " __VA_ARGS__)

/* Go on if `call` returns CS_OK, else return its status from this function. For steps behind which
 * nothing is to be given back; where something is, the status is kept and tested. */
#define CS_TRY(call)                    \
    do {                                \
        const cs_status tried = (call); \
        if (tried != CS_OK) {           \
            return tried;               \
        }                               \
    } while (0)

CS_END_C

#endif
