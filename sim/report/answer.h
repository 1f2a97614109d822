/* SPDX-License-Identifier: GPL-3.0-or-later */
/* report/answer.h -- the sentence that answers a setting: what happens, which schedule to run, what
 * that brings, with places for numbers (sim/report/page/README.md, ANSWER).
 *
 * The rules are here alone: the page fills the places with the values of the setting it shows, and
 * so does cs_answer_text() for the one that is shown first. The exposed time decides. A best
 * schedule that gains less than 2 % on what runs if nobody chooses is not worth a change.
 */
#ifndef CS_REPORT_ANSWER_H
#define CS_REPORT_ANSWER_H

#include "base/random.h"
#include "base/text.h"
#include "report/sweep.h"
#include "scenario/case.h"
#include "scenario/fault.h"

/* A change that gains less is not worth it. */
#define CS_ANSWER_LEAST_GAIN 0.02

/* Who answers, and what was found so far. `{0}` with a sweep may be closed. */
typedef struct cs_answers {
    const cs_sweep *sweep;        /* borrowed */
    const char     *base;         /* as if the scenarios of rows stood in this file; "" for none */
    const char     *begin;        /* of every sentence, or NULL: it says what happens */
    const char     *doubt;        /* said behind what an answer brings, or NULL */
    const char     *baseline;     /* the algorithm that runs if nobody chooses, or NULL */
    double          ranks, bytes; /* of all rows, where they are the same */
    size_t          n_verified, n_run; /* schedules of the whole sweep */
    signed char shares[256]; /* does an algorithm pay one alpha for messages to many? -1 unknown */
    cs_case     last;        /* of `last_key`: conditions of neighbours are alike */
    uint64_t    last_key;
    bool        has_last;
    cs_arena    arena;
} cs_answers;

void cs_answers_open(cs_answers *answers, const cs_sweep *sweep, const char *base);
void cs_answers_close(cs_answers *answers);

/* The algorithm with the least exposed time in a setting; n_algorithms: none was run. */
size_t cs_answer_best(const cs_sweep *sweep, size_t setting);

/* Less the last arrival: what exposed times cannot be below; NAN: not known. */
double cs_answer_bound_s(const cs_sweep *sweep, size_t setting, size_t algorithm);

/* "AllReduce" of results that are of one, else "collective". */
const char *cs_answer_collective(const cs_sweep *sweep);

/* The setting like this one in which nothing is broken; n_settings: there is none. O(settings). */
size_t cs_answer_before(const cs_sweep *sweep, size_t setting);

/* Add the ANSWER of a setting, an object. */
CS_MUST_CHECK cs_status cs_answer_json(cs_answers *answers, size_t setting, cs_text *json,
                                       cs_error *err);

/* Fill the places of a text of an ANSWER for a setting, as HTML: what can be changed is a
 * <span class="num" data-dim="NAME">. */
CS_MUST_CHECK cs_status cs_answer_text(const cs_answers *answers, size_t setting, const char *text,
                                       cs_text *html, cs_error *err);

/* Build the case of a row, from its scenario. CS_ENOENT where the rows have none, and of a row that
 * was refused: what refused it may have been that it names a file which is not to be read. The
 * caller frees it (cs_case_free), on failure, too. */
CS_MUST_CHECK cs_status cs_answer_case(const cs_answers *answers, size_t setting, size_t algorithm,
                                       cs_case *c, cs_error *err);

/* Call the values of dims of faults and arrivals, which are JSON, as people do: "NIC 5 of server 3
 * dead", "GPU 7 late by 4.00 ms". Where the rows do not say what was run they stay as they are. */
CS_MUST_CHECK cs_status cs_answers_name_words(cs_answers *answers, cs_sweep *sweep, cs_error *err);

/* What is broken, in words: "NIC 5 of server 3 dead"; "no NIC broken". */
void cs_answer_faults(const cs_fault *faults, size_t n, char *text, size_t bytes);

/* Add text as HTML. */
void cs_html_text(cs_text *html, const char *text);

#endif
