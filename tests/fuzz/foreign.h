/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replays with a simulator in another process, of which the input is all that it replies. An input
 * is a byte that picks a scenario and the bytes that the model hears. Neither the simulator nor a
 * process is there. What a fuzz target says of its model: */
#ifndef FUZZ_FOREIGN_H
#define FUZZ_FOREIGN_H

#include "cs/model.h"
#include "models/lib/frames.h"

extern const cs_model *const foreign_model;

/* A replay begins; the upper half of `settings` is free to use. */
void foreign_begin(uint8_t settings, cs_options *options);

/* What the model asks is what the protocol allows: of an opening what is behind the build, of the
 * other frames all. */
void claim_open(const char *body, size_t bytes);
void claim_work(const char *body, size_t bytes);
void claim_run(const char *body, size_t bytes);

#endif
