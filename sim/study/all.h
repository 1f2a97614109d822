/* SPDX-License-Identifier: GPL-3.0-or-later */
/* study/all.h -- "all" in the place of an algorithm's name: every registered algorithm that does
 * the collective. It stands for an axis, whose values follow the collective that is set later, too.
 * An algorithm that it stands for may refuse a scenario, which is then left out.
 */
#ifndef CS_STUDY_ALL_H
#define CS_STUDY_ALL_H

#include "base/text.h"
#include "study/config.h"

#define CS_ALL_ALGORITHMS "all"

/* Put the algorithms in the place of the word, in the tree and on the axes; called after whatever
 * changes them. `origin` is who has written it, as in cs_axis. O(axes) where it is not there. */
cs_status cs_config_spread_all(cs_config *config, const char *origin, cs_error *err);

/* Does the word stand for anything in the configuration? */
bool cs_config_has_all(const cs_config *config);

/* Is scenario `index` one of an algorithm that only "all" stands for? */
bool cs_config_is_of_all(const cs_config *config, size_t index);

/* Who was left out, each once, with the first reason, and neighbours with the same one together:
 * "adapcc, blink (why); ring (why)". `{0}` is empty. */
typedef struct cs_left_out {
    size_t   n; /* scenarios */
    cs_error first;
    cs_text  text;         /* owned */
    size_t   reason_bytes; /* at the end of the text: the last reason, in brackets */
    uint64_t is_named[4];  /* bits, by the algorithm's place behind the word */
} cs_left_out;

/* May the refusal of scenario `index` be passed over? Then it is counted and noted. */
bool cs_config_leave_out(const cs_config *config, size_t index, const cs_error *why,
                         cs_left_out *out);

/* The error where nothing else is left. */
cs_status cs_left_out_refusal(const cs_left_out *out, cs_error *err);

void cs_left_out_free(cs_left_out *out);

#endif
