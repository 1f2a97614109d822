/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli/config_keys.h -- options that set keys of a configuration, by their canonical names. */
#ifndef CS_CLI_CONFIG_KEYS_H
#define CS_CLI_CONFIG_KEYS_H

#include "config/config.h"

typedef struct cs_config_key {
    const char *option; /* "--alpha" */
    const char *path;   /* of the key, or where keys of that name go */
    cs_status (*set)(cs_config *config, const struct cs_config_key *key, const char *value,
                     cs_error *err);
} cs_config_key;

/* The row of an option; NULL: it sets no key. Static storage. */
const cs_config_key *cs_config_key_of(const char *option);

/* Set what the option says; `value` is NULL for one without. Errors name the option. */
cs_status cs_config_key_set(cs_config *config, const cs_config_key *key, const char *value,
                            cs_error *err);

#endif
