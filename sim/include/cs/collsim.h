/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cs/collsim.h -- all that a program needs to run collectives: it includes
 *
 *   cs/config.h     a configuration from a file or a text, and its answers as JSON
 *   cs/job.h        a scenario, an algorithm and a model by hand: run, replay, verify, bounds
 *   cs/result.h     what comes out
 *   cs/algorithm.h  the algorithms, by name, and how one is written; cs/schedule.h what it streams
 *   cs/model.h      the network models, likewise
 *   cs/bound.h      lower bounds
 *   cs/units.h      "4.48ms", "200Gb/s", "32M"
 *   cs/error.h      statuses and the record of what went wrong
 *   cs/build.h      which build of the library this is
 *
 * Names begin with cs_ and CS_. A call never prints, never ends the process, and frees what it had
 * taken when it fails; sim/doc/library.md has the rest.
 */
#ifndef CS_COLLSIM_H
#define CS_COLLSIM_H

#include "cs/algorithm.h"
#include "cs/bound.h"
#include "cs/build.h"
#include "cs/config.h"
#include "cs/error.h"
#include "cs/job.h"
#include "cs/model.h"
#include "cs/result.h"
#include "cs/units.h"

#endif
