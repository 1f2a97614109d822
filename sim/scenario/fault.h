/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scenario/fault.h -- what a user says is broken: faults of the kinds in faults.def.
 *
 * A fault is of the kind whose key it has. It leaves the NICs of a server a capacity over time
 * (cs/capacity.h), which is all that anybody behind the readers of configurations sees of it.
 */
#ifndef CS_SCENARIO_FAULT_H
#define CS_SCENARIO_FAULT_H

#include "cs/capacity.h"
#include "input/reader.h"

typedef enum cs_fault_kind {
#define CS_FAULT(kind, ...) CS_FAULT_##kind,
#include "scenario/faults.def"
#undef CS_FAULT
    CS_FAULT_KINDS
} cs_fault_kind;

typedef struct cs_fault {
    cs_fault_kind kind;
    double        value;    /* of the kind's key; INFINITY: nothing is left of the NICs */
    bool          is_down;  /* of a what-if: nothing is left until the fault is detected */
    cs_capacity   capacity; /* slowdown INFINITY: nothing is left */
} cs_fault;

/* A list as it is read. */
typedef struct cs_fault_list {
    cs_fault *faults;
    size_t    n;
} cs_fault_list;

/* The key of a kind, and what NICs with a value of it are slowed by. */
const char *cs_fault_key(cs_fault_kind kind);
double      cs_fault_slowdown(cs_fault_kind kind, double value);

/* Fill in the kind and the slowdown of a fault whose keys have been read. Refused are two kinds at
 * once, and none; `or_else` says what is accepted instead of one (NULL: nothing is left then). */
void cs_fault_check(cs_reading *r, const cs_place *place, const char *or_else, cs_fault *fault);

/* Refuse an end that is not after the begin. */
void cs_fault_check_span(cs_reading *r, const cs_place *place, const cs_fault *fault);

#endif
