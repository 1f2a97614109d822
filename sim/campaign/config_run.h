/* SPDX-License-Identifier: GPL-3.0-or-later */
/* campaign/config_run.h -- the rows of cs_config_run(), one by one while they come. */
#ifndef CS_CAMPAIGN_CONFIG_RUN_H
#define CS_CAMPAIGN_CONFIG_RUN_H

#include "base/listener.h"
#include "cs/config.h"

#include <stddef.h>

/* Take the object of one scenario, which is borrowed. An error ends the work. */
typedef cs_status cs_json_row_visit(void *user, const char *object, size_t length, cs_error *err);

/* Run every scenario with so many threads; the objects come on the calling thread, in the order of
 * the scenarios, each once all before it are there. Errors are those of cs_config_run(); where no
 * scenario can be run, that comes behind their objects. */
CS_MUST_CHECK cs_status cs_config_run_rows(const cs_config *config, unsigned jobs,
                                           cs_json_row_visit *visit, void *user, cs_error *err);

/* cs_config_run() for those who want to know how far it is: the calling thread tells how many
 * scenarios are done, whatever became of them. `listener` may be NULL. */
CS_MUST_CHECK cs_status cs_config_run_told(const cs_config *config, unsigned jobs,
                                           const cs_listener *listener, char **json_p,
                                           cs_error *err);

#endif
