/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Schedules exported as MSCCL's XML do their job when somebody else runs them in any order that
 * they allow. */
#include "export_setup.h"

#include <stdlib.h>
#include <string.h>

/* An interpreter of MSCCL's XML that knows nothing of this project: thread blocks take turns in
 * random order; a step waits for its dependency, a receive for its message. */
enum { GPUS = 16, BLOCKS = 40, STEPS = 200, CHUNKS = 64, QUEUE = 200 };

typedef struct step {
    char     type[4], buffer[2];
    unsigned offset, count;
    int      depid, deps, hasdep;
} step;

typedef struct tb {
    int    send, recv;
    size_t n_steps, next;
    step   steps[STEPS];
} tb;

typedef struct machine {
    unsigned n_gpus;
    size_t   n_tbs[GPUS];
    tb       tbs[GPUS][BLOCKS];
    uint64_t data[GPUS][CHUNKS]; /* which contributions, 4 bits of count for each */
    uint64_t queue[GPUS][GPUS][QUEUE][CHUNKS];
    size_t   sent[GPUS][GPUS], received[GPUS][GPUS];
} machine;

static void read_xml(machine *m, char *xml)
{
    unsigned gpu = 0, id;

    for (char *line = strtok(xml, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        tb  *block;
        int  send, recv;
        step s = {0};
        line += strspn(line, " ");
        if (sscanf(line, "<gpu id=\"%u\"", &id) == 1) {
            gpu       = id;
            m->n_gpus = id + 1;
        } else if (sscanf(line, "<tb id=\"%u\" send=\"%d\" recv=\"%d\" chan=\"0\"", &id, &send,
                          &recv) == 3) {
            cr_assert(send == -1 || recv == -1);
            cr_assert_eq(id, m->n_tbs[gpu]);
            block       = &m->tbs[gpu][m->n_tbs[gpu]++];
            block->send = send;
            block->recv = recv;
            for (size_t i = 0; i < id; i++) {
                cr_assert(send == -1 || m->tbs[gpu][i].send != send, "two send to %d", send);
                cr_assert(recv == -1 || m->tbs[gpu][i].recv != recv, "two receive from %d", recv);
            }
        } else if (sscanf(line,
                          "<step s=\"%u\" type=\"%3[a-z]\" srcbuf=\"%1[io]\" srcoff=\"%u\" "
                          "dstbuf=\"%*1[io]\" dstoff=\"%*u\" cnt=\"%u\" depid=\"%d\" deps=\"%d\" "
                          "hasdep=\"%d\"/>",
                          &id, s.type, s.buffer, &s.offset, &s.count, &s.depid, &s.deps,
                          &s.hasdep) == 8) {
            block = &m->tbs[gpu][m->n_tbs[gpu] - 1];
            cr_assert_eq(id, block->n_steps, "steps are numbered without gaps");
            block->steps[block->n_steps++] = s;
        }
    }
}

/* One step if it can be taken. */
static bool take_step(machine *m, unsigned g, size_t t)
{
    tb   *block = &m->tbs[g][t];
    step *s     = &block->steps[block->next];

    if (block->next == block->n_steps) {
        return false;
    }
    if (s->depid >= 0) {
        cr_assert(m->tbs[g][s->depid].steps[s->deps].hasdep, "hasdep is missing");
        if (m->tbs[g][s->depid].next <= (size_t)s->deps) {
            return false;
        }
    }
    uint64_t *data = &m->data[g][s->offset];
    if (strcmp(s->type, "s") == 0) {
        size_t at = m->sent[g][block->send]++;
        memcpy(m->queue[g][block->send][at], data, s->count * sizeof *data);
    } else if (s->type[0] == 'r') {
        if (m->received[block->recv][g] == m->sent[block->recv][g]) {
            return false;
        }
        uint64_t *from = m->queue[block->recv][g][m->received[block->recv][g]++];
        for (unsigned k = 0; k < s->count; k++) {
            data[k] = from[k] + (strcmp(s->type, "rrc") == 0 ? data[k] : 0);
        }
    } else {
        cr_assert_str_eq(s->type, "nop");
    }
    block->next++;
    return true;
}

static void run_machine(machine *m, unsigned seed)
{
    size_t left = 0;

    for (unsigned g = 0; g < m->n_gpus; g++) {
        for (size_t t = 0; t < m->n_tbs[g]; t++) {
            left += m->tbs[g][t].n_steps;
        }
    }
    for (size_t idle = 0; left > 0 && idle < 200000; idle++) {
        seed       = seed * 1103515245u + 12345u;
        unsigned g = (seed >> 8) % m->n_gpus;
        if (m->n_tbs[g] > 0 && take_step(m, g, (seed >> 16) % m->n_tbs[g])) {
            left--;
            idle = 0;
        }
    }
    cr_assert_eq(left, 0, "%zu steps wait for ever", left);
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
        check_msccl("allpairs", "allreduce", 9, seed);
        check_msccl("stragglar", "allreduce", 8, seed);
        check_msccl("broadcast", "allreduce", 8, seed);
    }
}
