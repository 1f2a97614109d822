/* SPDX-License-Identifier: GPL-3.0-or-later */
/* config/scenario_json.h -- the keys of one scenario, without a sweep. */
#ifndef CS_CONFIG_SCENARIO_JSON_H
#define CS_CONFIG_SCENARIO_JSON_H

#include "config/case.h"
#include "config/field.h"

/* The keys of the root object; `sweep` is not among them. */
extern const char *const cs_scenario_keys[];
extern const size_t      cs_n_scenario_keys;

/* Is there a row of that name? `table` may be NULL. */
bool cs_has_option(const cs_option *table, const char *key);

/* Fill everything of `c` but `json` from a tree; lists go to the reading's arena. What is absent
 * gets its default. Options that the reading may skip are deleted from the tree. The scenario is
 * not checked as a whole yet. */
void cs_read_scenario(cs_reading *r, json_t *tree, cs_case *c);

/* What runs where a configuration does not say: `nccl_rings` where a server has several GPUs, whose
 * NICs it all uses, otherwise `ring`. */
const char *cs_default_algorithm(const cs_cluster *cluster);

/* A plug-in and its options: {"name": .., "options": {..}}, or the name alone. `fallback` is the
 * name where the field is absent. */
void cs_read_algorithm(cs_reading *r, const cs_field *field, const char *fallback,
                       const cs_algorithm **algorithm_p, cs_options *options);
void cs_read_model(cs_reading *r, const cs_field *field, const cs_model **model_p,
                   cs_options *options);

/* The parts of it, each in a file of its own. */
void cs_read_cluster(cs_reading *r, const cs_field *root, const cs_model *model,
                     cs_cluster *cluster);
void cs_read_arrivals(cs_reading *r, const cs_field *root, cs_case *c);
void cs_read_montecarlo(cs_reading *r, const cs_field *root, cs_case *c);
void cs_read_training(cs_reading *r, const cs_field *root, cs_case *c);
/* The measured trace in the file that `parent`'s `key` names; it belongs to the reading's files.
 * Its fingerprint is put into the tree, so that a scenario's JSON says which arrivals it had; where
 * there is one already, it must be the same. NULL where the reading failed. */
const cs_arrival_trace *cs_read_trace(cs_reading *r, const cs_field *parent, const char *key);
/* One distribution of delays: a time, or {"name": .., ..}. */
void cs_read_distribution(cs_reading *r, const cs_field *field, cs_distribution *d);
void cs_read_faults(cs_reading *r, const cs_field *root, cs_scenario *scenario);

#endif
