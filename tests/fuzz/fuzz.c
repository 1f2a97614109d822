/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void fuzz_broken(const char *claim, const char *file, int line)
{
    (void)fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, claim);
    abort();
}

void fuzz_claim_error(cs_status status, const cs_error *err)
{
    FUZZ_CLAIM(status != CS_EINTERNAL);
    fuzz_claim_told(status, err);
}

void fuzz_claim_told(cs_status status, const cs_error *err)
{
    char text[1024];

    FUZZ_CLAIM(status > CS_OK && status < CS_STATUS_COUNT);
    FUZZ_CLAIM(err->status == status);
    FUZZ_CLAIM(err->message[0] != '\0');
    FUZZ_CLAIM(memchr(err->message, '\0', sizeof err->message) != NULL);
    FUZZ_CLAIM(memchr(err->where, '\0', sizeof err->where) != NULL);
    FUZZ_CLAIM(err->input_line >= 0 && err->input_column >= 0);
    cs_error_text(err, text, sizeof text);
    for (const char *c = text; *c != '\0'; c++) {
        FUZZ_CLAIM((unsigned char)*c >= ' ' && *c != 0x7f);
    }
}

static cs_status count_block(void *user, const cs_block *block, const cs_interval *intervals,
                             cs_error *err)
{
    fuzz_limit *limit = user;

    (void)intervals;
    if (block->count > limit->transfers_left) {
        limit->is_reached = true;
        return CS_FAIL(err, CS_ENOTSUP, "", "more transfers than an input may have");
    }
    limit->transfers_left -= block->count;
    return CS_OK;
}

cs_observer fuzz_limit_observer(fuzz_limit *limit)
{
    return (cs_observer){.block = count_block, .user = limit};
}

int fuzz_memory_file(const void *data, size_t length, char path[FUZZ_PATH_BYTES])
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);

    FUZZ_CLAIM(fd >= 0);
    FUZZ_CLAIM(write(fd, data, length) == (ssize_t)length);
    (void)snprintf(path, FUZZ_PATH_BYTES, "/proc/self/fd/%d", fd);
    return fd;
}

cs_status fuzz_load_config(const void *data, size_t length, cs_config **config_p, cs_error *err)
{
    char      path[FUZZ_PATH_BYTES];
    int       fd     = fuzz_memory_file(data, length, path);
    cs_status status = cs_config_load(path, config_p, err);

    (void)close(fd);
    return status;
}
