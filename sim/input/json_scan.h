/* SPDX-License-Identifier: GPL-3.0-or-later */
/* input/json_scan.h -- reads JSON from front to back without a tree and without memory, for logs
 * that are too long for one: some 1 GB/s.
 *
 *     cs_scan_begin(&scan, text, length);
 *     cs_scan_enter(&scan, '{');
 *     while (cs_scan_key(&scan, &key)) {
 *         if (cs_scan_is(key, "rank")) {
 *             (void)cs_scan_integer(&scan, &rank);
 *         } else {
 *             cs_scan_skip(&scan);
 *         }
 *     }
 *
 * After a key, exactly one value is taken: by a function of its kind, which takes and reports a
 * value of another kind as not there, or by cs_scan_skip(). What is no JSON sets `is_wrong`, at the
 * place `at`; from then on nothing is there, so one check at the end will do. A value that is
 * skipped is checked only as far as its brackets and texts need.
 */
#ifndef CS_INPUT_JSON_SCAN_H
#define CS_INPUT_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct cs_scan {
    const char *at, *end;
    bool        is_wrong;
} cs_scan;

/* A text as it stands between its quotes, escapes and all. */
typedef struct cs_scan_text {
    const char *text;
    size_t      length;
} cs_scan_text;

void cs_scan_begin(cs_scan *scan, const char *text, size_t length);

/* Go into an object '{' or array '['. False where the value is of another kind, which is taken. */
bool cs_scan_enter(cs_scan *scan, char bracket);

/* The next key of the object; false at its end, which is taken. */
bool cs_scan_key(cs_scan *scan, cs_scan_text *key_p);

/* Is there another element in the array? False at its end, which is taken. */
bool cs_scan_element(cs_scan *scan);

/* A number that fits, without its fraction. */
bool cs_scan_integer(cs_scan *scan, int64_t *number_p);

/* A number, as near as a double is (the last bit may differ from strtod()'s). */
bool cs_scan_number(cs_scan *scan, double *number_p);

bool cs_scan_string(cs_scan *scan, cs_scan_text *text_p);
bool cs_scan_bool(cs_scan *scan, bool *value_p);

/* Take a value of any kind. */
void cs_scan_skip(cs_scan *scan);

/* Is nothing left but blanks? */
bool cs_scan_is_at_end(cs_scan *scan);

/* Is it that text? */
static inline bool cs_scan_is(cs_scan_text text, const char *name)
{
    return strlen(name) == text.length && memcmp(text.text, name, text.length) == 0;
}

#endif
