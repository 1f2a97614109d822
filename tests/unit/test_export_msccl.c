/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Schedules exported as MSCCL's XML do their job when somebody else runs them in any order that
 * they allow, and keep the limits of the runtime. */
#include "export_setup.h"

#include <stdlib.h>
#include <string.h>

/* An interpreter of MSCCL's XML that knows nothing of this project: thread blocks take turns in
 * random order; a step waits for its dependency, a receive for its message, chunk by chunk, and a
 * send for room among the two chunks of a connection that may be under way. */
enum { GPUS = 16, BLOCKS = 40, STEPS = 256, CHUNKS = 64, CHANNELS = 4, AHEAD = 2 };

typedef struct step {
    char     type[4], buffer[2];
    unsigned offset, count, moved;
    int      depid, deps, hasdep;
} step;

typedef struct tb {
    int    send, recv;
    int    channel;
    size_t n_steps, next;
    step   steps[STEPS];
} tb;

typedef struct machine {
    unsigned n_gpus;
    size_t   n_tbs[GPUS];
    tb       tbs[GPUS][BLOCKS];
    uint64_t data[GPUS][CHUNKS]; /* which contributions, 4 bits of count for each */
    uint64_t queue[GPUS][GPUS][CHANNELS][AHEAD];
    size_t   queued[GPUS][GPUS][CHANNELS];
} machine;

static void read_block(machine *m, unsigned gpu, unsigned id, const tb *block)
{
    cr_assert(block->send == -1 || block->recv == -1);
    cr_assert_eq(id, m->n_tbs[gpu]);
    for (size_t i = 0; i < id; i++) {
        const tb *other = &m->tbs[gpu][i];
        cr_assert(block->send == -1 || other->send != block->send ||
                      other->channel != block->channel,
                  "two send to %d", block->send);
        cr_assert(block->recv == -1 || other->recv != block->recv ||
                      other->channel != block->channel,
                  "two receive from %d", block->recv);
    }
    m->tbs[gpu][m->n_tbs[gpu]++] = *block;
}

static void read_xml(machine *m, char *xml)
{
    unsigned gpu = 0, id;

    for (char *line = strtok(xml, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        tb   block = {0};
        step s     = {0};
        line += strspn(line, " ");
        if (sscanf(line, "<gpu id=\"%u\"", &id) == 1) {
            gpu       = id;
            m->n_gpus = id + 1;
        } else if (sscanf(line, "<tb id=\"%u\" send=\"%d\" recv=\"%d\" chan=\"%d\"", &id,
                          &block.send, &block.recv, &block.channel) == 4) {
            read_block(m, gpu, id, &block);
        } else if (sscanf(line,
                          "<step s=\"%u\" type=\"%3[a-z]\" srcbuf=\"%1[io]\" srcoff=\"%u\" "
                          "dstbuf=\"%*1[io]\" dstoff=\"%*u\" cnt=\"%u\" depid=\"%d\" deps=\"%d\" "
                          "hasdep=\"%d\"/>",
                          &id, s.type, s.buffer, &s.offset, &s.count, &s.depid, &s.deps,
                          &s.hasdep) == 8) {
            tb *last = &m->tbs[gpu][m->n_tbs[gpu] - 1];
            cr_assert_eq(id, last->n_steps, "steps are numbered without gaps");
            last->steps[last->n_steps++] = s;
        }
    }
}

static bool send_chunk(machine *m, unsigned g, const tb *block, uint64_t value)
{
    size_t *queued = &m->queued[g][block->send][block->channel];

    if (*queued == AHEAD) {
        return false;
    }
    m->queue[g][block->send][block->channel][(*queued)++] = value;
    return true;
}

static bool receive_chunk(machine *m, unsigned g, const tb *block, uint64_t *chunk, bool adds)
{
    size_t   *queued = &m->queued[block->recv][g][block->channel];
    uint64_t *queue  = m->queue[block->recv][g][block->channel];

    if (*queued == 0) {
        return false;
    }
    *chunk = queue[0] + (adds ? *chunk : 0);
    memmove(queue, queue + 1, --*queued * sizeof *queue);
    return true;
}

/* One chunk of a step, or what has none, if that can be done. */
static bool take_step(machine *m, unsigned g, size_t t)
{
    tb   *block = &m->tbs[g][t];
    step *s     = &block->steps[block->next];
    bool  can   = true;

    if (block->next == block->n_steps) {
        return false;
    }
    if (s->depid >= 0) {
        cr_assert(m->tbs[g][s->depid].steps[s->deps].hasdep, "hasdep is missing");
        if (m->tbs[g][s->depid].next <= (size_t)s->deps) {
            return false;
        }
    }
    uint64_t *chunk = &m->data[g][s->offset + s->moved];
    if (strcmp(s->type, "s") == 0) {
        can = send_chunk(m, g, block, *chunk);
    } else if (s->type[0] == 'r') {
        can = receive_chunk(m, g, block, chunk, strcmp(s->type, "rrc") == 0);
    } else {
        cr_assert_str_eq(s->type, "nop");
    }
    s->moved += can;
    block->next += can && s->moved >= s->count;
    return can;
}

static size_t steps_left(const machine *m)
{
    size_t left = 0;

    for (unsigned g = 0; g < m->n_gpus; g++) {
        for (size_t t = 0; t < m->n_tbs[g]; t++) {
            left += m->tbs[g][t].n_steps - m->tbs[g][t].next;
        }
    }
    return left;
}

static void run_machine(machine *m, unsigned seed)
{
    for (size_t idle = 0; idle < 100000; idle++) {
        seed       = seed * 1103515245u + 12345u;
        unsigned g = (seed >> 8) % m->n_gpus;
        if (m->n_tbs[g] > 0 && take_step(m, g, (seed >> 16) % m->n_tbs[g])) {
            idle = 0;
        }
    }
    cr_assert_eq(steps_left(m), 0, "%zu steps wait for ever", steps_left(m));
}

static void check_msccl(const char *algorithm, const char *collective, unsigned ranks,
                        unsigned seed)
{
    job      j    = open_job(algorithm, collective, ranks, "1M");
    cs_text  text = export_job(&j, CS_EXPORT_MSCCL);
    machine *m    = calloc(1, sizeof *m);
    uint64_t all  = 0;

    cr_assert_leq(j.plan.n_chunks, CHUNKS);
    read_xml(m, text.data);
    cr_assert_eq(m->n_gpus, ranks);
    for (unsigned g = 0; g < ranks; g++) {
        all += (uint64_t)1 << 4 * g;
        for (unsigned c = 0; c < j.plan.n_chunks; c++) {
            m->data[g][c] = (uint64_t)1 << 4 * g;
        }
    }
    run_machine(m, seed);
    for (unsigned g = 0; g < ranks; g++) {
        for (unsigned c = 0; c < j.plan.n_chunks; c++) {
            unsigned owner    = c / (j.plan.n_chunks >= ranks ? j.plan.n_chunks / ranks : 1);
            bool     gathers  = strcmp(collective, "allgather") == 0;
            bool     scatters = strcmp(collective, "reducescatter") == 0;
            uint64_t want     = gathers ? (uint64_t)1 << 4 * owner : all;
            cr_assert(m->data[g][c] == want || (scatters && owner != g),
                      "%s %s of %u: chunk %u of gpu %u is %llx", algorithm, collective, ranks, c, g,
                      (unsigned long long)m->data[g][c]);
        }
    }
    free(m);
    cs_text_free(&text);
    close_job(&j);
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
    job     j     = open_job(algorithm, collective, ranks, "1M");
    cs_text text  = export_job(&j, CS_EXPORT_MSCCL);
    limits  l     = {.n_gpus = ranks, .n_chunks = j.plan.n_chunks};
    char   *first = strstr(text.data, "nchannels=\"");

    cr_assert_not_null(strstr(text.data, head), "%s", head);
    cr_assert_eq(sscanf(first, "nchannels=\"%u\"", &l.n_channels), 1);
    for (char *line = strtok(text.data, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        check_line(&l, line);
    }
    check_gpu(&l);
    cs_text_free(&text);
    close_job(&j);
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

static void check_refused(const char *algorithm, unsigned ranks, const char *why)
{
    job      j    = open_job(algorithm, "allreduce", ranks, "1M");
    cs_text  text = {0};
    cs_error err  = {0};

    cr_assert_eq(cs_export_schedule(&j.c.scenario, j.c.algorithm, &j.c.options, &j.plan,
                                    CS_EXPORT_MSCCL, &text, &err),
                 CS_ENOTSUP);
    cr_assert_str_eq(err.message, why);
    cr_assert_eq(text.length, 0);
    close_job(&j);
}

Test(export_msccl, refuses_what_the_runtime_cannot_load)
{
    check_refused("allpairs", 66,
                  "msccl: gpu 0 waits for its thread block 129: accepted are waits for the first "
                  "128");
    check_refused("circulant", 1200,
                  "msccl: 1200 ranks and 1200 chunks are too many: accepted are 1023 and 32768");
    check_refused("ring", 900,
                  "msccl: gpu 0 needs 4497 elements (steps, thread blocks, all GPUs): the runtime "
                  "reads 4095");
}
