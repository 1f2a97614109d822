/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files of a scenario: see config/file_field.h. */
#include "config/file_field.h"

#include <string.h>

const cs_cached_file *cs_read_file(cs_reading *r, const cs_file_kind *kind, const char *path,
                                   cs_error *err)
{
    const cs_cached_file *file = NULL;

    return cs_file_cache_get(r->cache, kind, path, r->arena, &r->files, &file, err) == CS_OK ? file
                                                                                             : NULL;
}

void cs_keep_fingerprint(cs_reading *r, const cs_field *parent, const char *fingerprint,
                         const char *others)
{
    const char *given = NULL;
    cs_field    field = cs_field_get(parent, "fingerprint");

    cs_read_text(r, parent, "fingerprint", &given);
    if (cs_reading_failed(r)) {
        return;
    }
    if (given != NULL && strcmp(given, fingerprint) != 0) {
        CS_REFUSE(r, &field, CS_EINVAL, "is '%.40s', but the file holds %s is %s", given, others,
                  fingerprint);
    } else if (json_object_set_new(parent->node, "fingerprint", json_string(fingerprint)) != 0) {
        CS_REFUSE(r, parent, CS_ENOMEM, "out of memory for a fingerprint");
    }
}
