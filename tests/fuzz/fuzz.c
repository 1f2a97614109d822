/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fuzz.h"

#include "output/tuner_audit.h"

#include <math.h>
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

static void claim_trace(const cs_arrival_trace *trace)
{
    FUZZ_CLAIM(trace->n_ranks >= 2 && trace->n_calls >= 1);
    FUZZ_CLAIM(trace->number == NULL || trace->group_ranks > trace->n_ranks);
    for (size_t c = 0; c < trace->n_calls; c++) {
        double first_s = (double)INFINITY;
        for (uint32_t r = 0; r < trace->n_ranks; r++) {
            size_t i = c * trace->n_ranks + r;
            FUZZ_CLAIM(isfinite(trace->arrival_s[i]) && trace->arrival_s[i] >= 0);
            FUZZ_CLAIM(trace->queued_s == NULL || trace->queued_s[i] >= 0);
            first_s = fmin(first_s, trace->arrival_s[i]);
        }
        FUZZ_CLAIM(first_s == 0);
        FUZZ_CLAIM(trace->bytes == NULL || trace->bytes[c] > 0);
    }
    for (uint32_t r = 0; r < trace->n_ranks; r++) {
        FUZZ_CLAIM(trace->server == NULL || trace->server[r] < trace->n_servers);
        FUZZ_CLAIM(trace->number == NULL || trace->number[r] < trace->group_ranks);
    }
}

bool fuzz_read_trace(const cs_arrival_text *texts, size_t n, const cs_arrival_options *options,
                     cs_arrival_trace *trace_p)
{
    cs_arrival_notes notes  = {0};
    cs_error         err    = {0};
    cs_status        status = cs_arrival_texts_read(texts, n, options, trace_p, &notes, &err);

    if (status != CS_OK) {
        fuzz_claim_error(status, &err);
        FUZZ_CLAIM(trace_p->arrival_s == NULL);
        return false;
    }
    claim_trace(trace_p);
    FUZZ_CLAIM(isnan(notes.end_resolution_s) || notes.end_resolution_s >= 0);
    cs_arrival_notes_free(&notes);
    return true;
}

static void claim_audit(const cs_measured_choices *choices)
{
    static const cs_nccl_setting setting = {
        .minor = CS_NCCL_NEWEST, .algorithms = UINT32_MAX, .protocols = UINT32_MAX};
    static const cs_nccl_cluster cluster = {.gpu          = CS_NCCL_HOPPER,
                                            .servers      = 1,
                                            .gpus         = 8,
                                            .nics         = 8,
                                            .nic_GBps     = 50,
                                            .pcie_GBps    = 48,
                                            .sheet_GBps   = 450,
                                            .has_nvswitch = true};
    cs_nccl_tuning               tuning;
    cs_text                      text = {0};
    cs_error                     err  = {0};

    cs_nccl_tune(&cluster, &setting, CS_ALLREDUCE, &tuning);
    cs_status status = cs_tuner_audit(choices, &tuning, 0.05, &text, &err);
    FUZZ_CLAIM(status == CS_OK || status == CS_EINVAL);
    cs_text_free(&text);
}

void fuzz_measured_choices(const void *data, size_t length)
{
    char                path[FUZZ_PATH_BYTES];
    int                 fd      = fuzz_memory_file(data, length, path);
    cs_measured_choices choices = {.n = 0};
    cs_error            err     = {0};
    cs_status           status  = cs_measured_choices_read(&choices, path, NULL, &err);

    (void)close(fd);
    if (status != CS_OK) {
        fuzz_claim_error(status, &err);
    }
    for (size_t i = 0; i < choices.n; i++) {
        const cs_measured_choice *one = &choices.all[i];
        FUZZ_CLAIM(isfinite(one->time_s) && one->time_s > 0);
        FUZZ_CLAIM(one->bytes > 0 && one->n_ranks > 0);
        FUZZ_CLAIM(memchr(one->algorithm, '\0', sizeof one->algorithm) != NULL);
        FUZZ_CLAIM(memchr(one->protocol, '\0', sizeof one->protocol) != NULL);
    }
    claim_audit(&choices);
    cs_measured_choices_free(&choices);
}
