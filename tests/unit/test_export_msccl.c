/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Schedules exported as MSCCL's XML do their job when somebody else runs them in any order that
 * they allow, and keep the limits of the runtime. */
#include "export_setup.h"
#include "support/msccl.h"

#include <string.h>

/* Chunk by chunk, as with large ones: the two that a connection holds must do. */
static void check_msccl(const char *algorithm, const char *collective, unsigned ranks,
                        unsigned seed)
{
    sample              j       = open_sample(algorithm, collective, ranks, "1M");
    cs_text             text    = export_sample(&j, CS_EXPORT_MSCCL);
    ct_msccl           *program = ct_msccl_read(text.data);
    const ct_msccl_call call    = {.seed = seed, .in_place = true, .is_chunkwise = true};

    cr_assert_not_null(program);
    cr_assert_eq(ct_msccl_gpus(program), ranks);
    cr_assert_eq(ct_msccl_run(program, &call), CT_MSCCL_RIGHT, "%s %s of %u, seed %u", algorithm,
                 collective, ranks, seed);
    ct_msccl_free(program);
    cs_text_free(&text);
    close_sample(&j);
}

Test(export_msccl, msccl_is_correct_in_any_order)
{
    for (unsigned seed = 1; seed <= 5; seed++) {
        check_msccl("ring", "allreduce", 5, seed);
        check_msccl("ring", "allgather", 6, seed);
        check_msccl("ring", "reducescatter", 7, seed);
        check_msccl("rhd", "allreduce", 8, seed);
        check_msccl("rhd", "allreduce", 11, seed);
        check_msccl("circulant", "allreduce", 11, seed);
        check_msccl("merged_rhd", "allreduce", 12, seed);
        check_msccl("merged_rhd", "allreduce", 16, seed);
        check_msccl("allpairs", "allreduce", 9, seed);
        check_msccl("stragglar", "allreduce", 8, seed);
        check_msccl("broadcast", "allreduce", 8, seed);
    }
}

/* The limits of microsoft/msccl. */
typedef struct limits {
    unsigned gpu, n_gpus, n_channels, n_chunks;
    size_t   n_blocks, n_steps, n_elements; /* of the thread block, of the GPU, of the GPU */
    unsigned peers[2][32];                  /* of the GPU's channels */
} limits;

static void check_gpu(const limits *l)
{
    cr_assert_lt(l->n_elements, 4096, "gpu %u has %zu elements", l->gpu, l->n_elements);
    cr_assert_leq(l->n_blocks, 216);
    for (unsigned c = 0; c < 32; c++) {
        cr_assert(l->peers[0][c] <= 32 && l->peers[1][c] <= 32, "gpu %u, channel %u", l->gpu, c);
    }
}

static void check_step(limits *l, const char *line)
{
    char     type[4];
    unsigned s, from, to, count;
    int      depid, deps, hasdep;

    cr_assert_eq(sscanf(line,
                        "<step s=\"%u\" type=\"%3[a-z]\" srcbuf=\"%*1[io]\" srcoff=\"%u\" "
                        "dstbuf=\"%*1[io]\" dstoff=\"%u\" cnt=\"%u\" depid=\"%d\" deps=\"%d\" "
                        "hasdep=\"%d\"/>",
                        &s, type, &from, &to, &count, &depid, &deps, &hasdep),
                 8, "%s", line);
    cr_assert(s < 256 && s == l->n_steps, "step %u", s);
    cr_assert_lt(count, 72);
    cr_assert(strcmp(type, "nop") == 0 || (count > 0 && to + count <= l->n_chunks));
    cr_assert(depid < 128 && from < 32768);
    l->n_steps++;
}

static void check_line(limits *l, const char *line)
{
    unsigned id, channel;
    int      send, recv;

    line += strspn(line, " ");
    l->n_elements += line[0] == '<' && line[1] != '/';
    if (strncmp(line, "<gpu", 4) == 0) {
        check_gpu(l);
        cr_assert_eq(sscanf(line, "<gpu id=\"%u\"", &l->gpu), 1);
        l->n_elements = 1 + l->n_gpus;
        l->n_blocks   = 0;
        memset(l->peers, 0, sizeof l->peers);
    } else if (strncmp(line, "<tb", 3) == 0) {
        cr_assert_eq(sscanf(line, "<tb id=\"%u\" send=\"%d\" recv=\"%d\" chan=\"%u\"", &id, &send,
                            &recv, &channel),
                     4);
        cr_assert(id == l->n_blocks && channel < l->n_channels && channel < 32);
        l->peers[send >= 0][channel]++;
        l->n_blocks++;
        l->n_steps = 0;
    } else if (strncmp(line, "<step", 5) == 0) {
        check_step(l, line);
    }
}

/* Which of two texts stands in the export? Its limits hold. */
static void check_limits(const char *algorithm, const char *collective, unsigned ranks,
                         const char *head)
{
    sample  j     = open_sample(algorithm, collective, ranks, "1M");
    cs_text text  = export_sample(&j, CS_EXPORT_MSCCL);
    limits  l     = {.n_gpus = ranks, .n_chunks = j.c.job.plan.n_chunks};
    char   *first = strstr(text.data, "nchannels=\"");

    cr_assert_not_null(strstr(text.data, head), "%s", head);
    cr_assert_eq(sscanf(first, "nchannels=\"%u\"", &l.n_channels), 1);
    for (char *line = strtok(text.data, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        check_line(&l, line);
    }
    check_gpu(&l);
    cs_text_free(&text);
    close_sample(&j);
}

Test(export_msccl, keeps_the_limits_of_the_runtime)
{
    check_limits("ring", "reducescatter", 4, "coll=\"reduce_scatter\"");
    check_limits("ring", "allreduce", 4, "maxBytes=\"9223372036854775807\"");
    check_limits("ring", "allreduce", 128, "nchannels=\"1\""); /* 254 sends */
    check_limits("ring", "allreduce", 130, "nchannels=\"2\""); /* 258 */
    check_limits("ring", "allgather", 300, "nchannels=\"2\"");
    check_limits("allpairs", "allreduce", 33, "nchannels=\"1\""); /* 32 peers */
    check_limits("allpairs", "allreduce", 64, "nchannels=\"");
    check_limits("rhd", "allreduce", 256, "cnt=\"71\"");
    check_limits("merged_rhd", "allreduce", 64, "nchannels=\"");
    check_limits("circulant", "allreduce", 200, "nchannels=\"");
}

static void check_refused(const char *algorithm, unsigned ranks, const char *chunks,
                          const char *why)
{
    sample   j    = open_sample(algorithm, "allreduce", ranks, "1M");
    cs_text  text = {0};
    cs_error err  = {0};

    if (chunks != NULL) {
        cr_assert_eq(
            cs_field_set(j.c.job.algorithm->options, &j.c.job.options, "chunks", chunks, "", &err),
            CS_OK);
        cs_job_release(&j.c.job);
        cr_assert_eq(cs_job_resolve(&j.c.job, &err), CS_OK);
    }
    cr_assert_eq(cs_export_schedule(&j.c.job, CS_EXPORT_MSCCL, &text, &err), CS_ENOTSUP);
    cr_assert_str_eq(err.message, why);
    cr_assert_eq(text.length, 0);
    close_sample(&j);
}

Test(export_msccl, refuses_what_the_runtime_cannot_load)
{
    check_refused("allpairs", 66, NULL,
                  "msccl: gpu 0 waits for its thread block 129: accepted are waits for the first "
                  "128");
    check_refused("circulant", 1200, NULL,
                  "msccl: 1200 ranks and 1200 chunks are too many: accepted are 1023 and 32768");
    check_refused("ring", 900, NULL,
                  "msccl: the file needs 3237301 elements: written, and read, are 2^20");
    check_refused("double_binary_tree", 8, "600",
                  "msccl: gpu 1 needs 4809 elements (steps, thread blocks, all GPUs): the runtime "
                  "reads 4095");
}
