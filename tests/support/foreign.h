/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tests/support/foreign.h -- models that are simulators in processes of their own, which fail in
 * many ways. Each test says so and passes where the model was not built in. */
#ifndef CT_SUPPORT_FOREIGN_H
#define CT_SUPPORT_FOREIGN_H

#include "cs/model.h"

typedef struct ct_foreign {
    const char *model, *program, *package;
} ct_foreign;

/* The model of a name; NULL, which is said: this build has none. */
const cs_model *ct_foreign_model(const char *name);

/* Would a replay take a second or more? A packet in another process takes microseconds. */
bool ct_foreign_takes_long(const cs_model *model, const cs_scenario *scenario);

/* Every allocation of a replay fails once: no process and no open file is left. */
void ct_foreign_without_memory(const ct_foreign *f);

/* A shell script in the child's place: the replay fails, saying `want`, and leaves nothing. */
void ct_foreign_replay_with(const ct_foreign *f, const char *script, const char *want);

/* The ways to fail that all children have in common. */
void ct_foreign_fails(const ct_foreign *f);

/* The program is nowhere. */
void ct_foreign_is_not_there(const ct_foreign *f);

/* The child is killed after its first event. */
void ct_foreign_is_killed(const ct_foreign *f);

#endif
