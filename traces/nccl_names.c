/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "traces/nccl_names.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

enum { NAME_BYTES = 128 };

static const struct {
    const char *name;
    uint64_t    bytes;
} types[] = {
    {"float", 4}, {"half", 2}, {"bfloat16", 2},      {"double", 8},
    {"long", 8},  {"int", 4},  {"short", 2},         {"char", 1},
    {"byte", 1},  {"bool", 1}, {"float8_e4m3fn", 1}, {"float8_e5m2", 1},
};

bool cs_nccl_name_has(const char *name, const char *part)
{
    for (; *name != '\0' && *name != '('; name++) {
        const char *at = name, *rest = part;
        while (
            *rest != '\0' && *at != '\0' && *at != '(' &&
            ((at > name && !isalnum((unsigned char)*at)) || tolower((unsigned char)*at) == *rest)) {
            rest += isalnum((unsigned char)*at) != 0;
            at++;
        }
        if (*rest == '\0') {
            return true;
        }
    }
    return false;
}

bool cs_nccl_collective_named(const char *name, cs_collective *collective_p)
{
    size_t longest = 0;

    for (cs_collective c = 0; c < CS_COLLECTIVE_COUNT; c++) {
        size_t length = strlen(cs_collectives[c].name);
        if (length > longest && cs_nccl_name_has(name, cs_collectives[c].name)) {
            *collective_p = c;
            longest       = length;
        }
    }
    return longest > 0;
}

const char *cs_nccl_collective_name(cs_collective collective)
{
    static const char *const names[] = {"AllReduce", "AllGather", "ReduceScatter",
                                        "Broadcast", "Reduce",    "AllToAll",
                                        "SendRecv",  "Gather",    "Scatter"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        cs_collective named;
        if (cs_nccl_collective_named(names[i], &named) && named == collective) {
            return names[i];
        }
    }
    return cs_collective_name(collective);
}

uint64_t cs_torch_type_bytes(const char *name)
{
    char   small[NAME_BYTES];
    size_t used = 0;

    for (; name != NULL && name[used] != '\0' && used + 1 < sizeof small; used++) {
        small[used] = (char)tolower((unsigned char)name[used]);
    }
    small[used] = '\0';
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(types[i].name, strncmp(small, "c10::", 5) == 0 ? small + 5 : small) == 0) {
            return types[i].bytes;
        }
    }
    return 0;
}
