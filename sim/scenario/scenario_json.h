/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scenario/scenario_json.h -- the keys of a configuration as tables of fields, and how they are
 * read.
 */
#ifndef CS_SCENARIO_SCENARIO_JSON_H
#define CS_SCENARIO_SCENARIO_JSON_H

#include "input/reader.h"
#include "scenario/case.h"
#include "topology/topology_json.h"

/* The root of a configuration of scenarios: a struct cs_case. Its parts are tables, too. */
extern const cs_field cs_scenario_fields[];
extern const cs_field cs_whatif_fields[];      /* of a what-if: a cs_whatif_job */
extern const cs_field cs_arrivals_fields[];    /* what is private to its reader */
extern const cs_field cs_distribution_forms[]; /* what a distribution of delays may be */
extern const cs_field cs_montecarlo_fields[];
extern const cs_field cs_training_fields[];

/* Fill everything of `c` but `json` from a tree; lists go to the reading's arena. What is absent
 * gets its default. Options that the reading may skip are deleted from the tree. The scenario is
 * not checked as a whole yet. */
void cs_read_scenario(cs_reading *r, json_t *tree, cs_case *c);

/* What runs where a configuration does not say, which is what NCCL does for the collective:
 * `nccl_rings` where a server has several GPUs, whose NICs it all uses, otherwise `ring`; in an
 * AlltoAll `allpairs`, with a root `reduce_ring`. */
const char *cs_default_algorithm(const cs_cluster *cluster, cs_collective collective);

/* Readers of rows (cs_field_read). Of the two plug-ins; later rows are read for what these say. */
void cs_read_model(cs_reading *r, const cs_place *place, const cs_field *row, void *object);
void cs_read_algorithm(cs_reading *r, const cs_place *place, const cs_field *row, void *object);
/* Of a cs_distribution. */
void cs_read_distribution(cs_reading *r, const cs_place *place, const cs_field *row, void *object);
/* Of "arrivals", "montecarlo" and "training" into a cs_case. */
void cs_read_arrivals(cs_reading *r, const cs_place *place, const cs_field *row, void *object);
void cs_read_montecarlo(cs_reading *r, const cs_place *place, const cs_field *row, void *object);
void cs_read_training(cs_reading *r, const cs_place *place, const cs_field *row, void *object);

/* The measured trace in files that a key of `parent` names; it belongs to the reading's files.
 * Its fingerprint is put into the tree, so that a scenario's JSON says which arrivals it had; where
 * there is one already, it must be the same. NULL where the reading failed. */
const struct cs_arrival_file *cs_read_trace(cs_reading *r, const cs_place *parent,
                                            const char *path);

#endif
