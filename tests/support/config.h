/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tests/support/config.h -- configurations that must be accepted: every refusal fails the test,
 * with its message. Free them with cs_config_free(), cases with cs_case_free(). */
#ifndef CT_SUPPORT_CONFIG_H
#define CT_SUPPORT_CONFIG_H

#include "cs/result.h"
#include "study/config.h"

/* Out of a file with this text, which is gone afterwards. */
cs_config *ct_config_of(const char *json);

/* The same, where a refusal is an answer. */
cs_status ct_config_load(const char *json, cs_config **config_p, cs_error *err);

/* The example `name` of configs/. */
cs_config *ct_config_example(const char *name);

/* Set a key as the option `origin` does; ct_set() as --set does. */
void ct_set_from(cs_config *config, const char *key, const char *json, const char *origin);
void ct_set(cs_config *config, const char *key, const char *json);

/* The case at an index. */
cs_case ct_case(const cs_config *config, size_t index);

/* Build all cases, until one is refused. */
cs_status ct_cases(const cs_config *config, cs_error *err);

/* The whole line of the error that building the case at an index gives; in a buffer of its own
 * until the next call. */
const char *ct_refusal(const cs_config *config, size_t index);

/* What comes out of a case, which must be verified. */
cs_result ct_result(const cs_case *c);

#endif
