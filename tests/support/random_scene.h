/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tests/support/random_scene.h -- scenes with random clusters, arrivals and slow NICs. */
#ifndef CT_SUPPORT_RANDOM_SCENE_H
#define CT_SUPPORT_RANDOM_SCENE_H

#include "support/scene.h"

/* A random scene of at most 64 ranks that the algorithm accepts, checked. */
void ct_scene_random(ct_scene *scene, const cs_algorithm *algorithm, ct_rng *rng);

/* Faults of server after server, in order, with gaps or without; none if the algorithm refuses
 * them. Check the scene again. */
void ct_scene_break_nics(ct_scene *scene, ct_rng *rng);

/* A mesh of NVLinks: its GPUs drive all of their links or, as often, any number at once. */
void ct_scene_drive(ct_scene *scene, ct_rng *rng);

/* A random time between a hundredth of what the buffer takes and ten times that. */
double ct_scene_late_s(const ct_scene *scene, ct_rng *rng);

#endif
