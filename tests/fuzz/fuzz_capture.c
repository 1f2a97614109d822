/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What traces/capture makes of a schedule: refused in one line, or messages whose pieces lie in the
 * memories of both ends, that wait for nothing that comes later in the list, and that give the
 * right numbers, one after the other, wherever the schedule passes collsim's own check.
 */
#include "base/alloc.h"
#include "fuzz.h"
#include "job.h"
#include "schedules/schedule_json.h"

#include <string.h>

enum { MAX_RANKS = 64, MAX_SLOTS = 1 << 14, MAX_FLOATS = 1 << 18 };

static void claim_inside(const cap_job *job, const cap_message *m)
{
    uint64_t on_wire = 0;

    for (uint32_t i = 0; i < m->n_pieces; i++) {
        const cap_piece *p   = &job->pieces[m->first_piece + i];
        const cap_rank  *src = &job->ranks[m->src], *dst = &job->ranks[m->dst];
        FUZZ_CLAIM(p->count > 0 && p->wire + p->count <= m->count);
        FUZZ_CLAIM(p->from + p->count <= src->n_floats && p->to + p->count <= dst->n_floats);
        FUZZ_CLAIM(!p->adds || p->base + p->count <= dst->n_floats);
        FUZZ_CLAIM(p->out == CAP_NOWHERE || p->out + p->count <= dst->n_floats);
        on_wire += p->is_repeat ? 0 : p->count;
    }
    FUZZ_CLAIM(on_wire == m->count && m->count <= job->most_count);
}

/* What a message waits for are messages before it, or its partner. */
static void claim_order(const cap_job *job, const cap_message *m)
{
    for (uint32_t f = 0; f < CS_FABRICS; f++) {
        const cap_port *src = &job->ranks[m->src].ports[f], *dst = &job->ranks[m->dst].ports[f];
        FUZZ_CLAIM(m->data_after_receives[f] <= src->n_receives);
        FUZZ_CLAIM(m->place_after_sends[f] <= dst->n_sends);
        FUZZ_CLAIM(m->place_after_receives[f] <= dst->n_receives);
        FUZZ_CLAIM(m->data_after_receives[f] == 0 ||
                   src->receives[m->data_after_receives[f] - 1] < m->id);
        FUZZ_CLAIM(m->place_after_receives[f] == 0 ||
                   dst->receives[m->place_after_receives[f] - 1] < m->id);
        uint32_t last = m->place_after_sends[f] == 0 ? 0 : dst->sends[m->place_after_sends[f] - 1];
        FUZZ_CLAIM(last <= m->id || last == m->partner);
    }
    FUZZ_CLAIM(m->partner == CAP_NONE || job->messages[m->partner].partner == m->id);
    FUZZ_CLAIM(job->ranks[m->src].ports[m->link].sends[m->send] == m->id);
    FUZZ_CLAIM(job->ranks[m->dst].ports[m->link].receives[m->receive] == m->id);
}

/* Take a message out of the source's memory. */
static void take(const cap_job *job, const cap_message *m, const float *memory, float *values)
{
    for (uint32_t i = 0; i < m->n_pieces; i++) {
        const cap_piece *p = &job->pieces[m->first_piece + i];
        if (!p->is_repeat) {
            memcpy(values + p->wire, memory + p->from, p->count * sizeof *values);
        }
    }
}

/* All messages one after the other; returns how many numbers are wrong. */
static uint64_t run(const cap_job *job, float *const *memory, float *values, float *back)
{
    uint64_t wrong = 0;

    for (uint32_t i = 0; i < job->n_messages; i++) {
        const cap_message *m = &job->messages[i], *other = m;
        take(job, m, memory[m->src], values);
        if (m->partner != CAP_NONE) {
            other = &job->messages[++i];
            take(job, other, memory[other->src], back);
            cap_message_apply(job, other, 0, back, other->count, memory[other->dst]);
        }
        cap_message_apply(job, m, 0, values, m->count, memory[m->dst]);
    }
    for (uint32_t r = 0; r < job->schedule->stored->n_ranks; r++) {
        wrong += cap_job_count_wrong(job, r, 1, memory[r]);
    }
    return wrong;
}

static void use_job(const cap_job *job)
{
    const cs_stored *stored = job->schedule->stored;
    uint64_t         floats = 2 * job->most_count;
    float           *memory[MAX_RANKS];
    cs_verdict       verdict = {0};
    cs_error         err     = {0};

    for (uint32_t i = 0; i < job->n_messages; i++) {
        claim_inside(job, &job->messages[i]);
        claim_order(job, &job->messages[i]);
    }
    for (uint32_t r = 0; r < stored->n_ranks && floats <= MAX_FLOATS; r++) {
        floats += job->ranks[r].n_floats;
    }
    if (floats > MAX_FLOATS) {
        return;
    }
    float *all = CS_NEW(float, floats), *next = all + 2 * job->most_count;
    for (uint32_t r = 0; r < stored->n_ranks; r++) {
        memory[r] = next;
        cap_job_fill(job, r, 1, next);
        next += job->ranks[r].n_floats;
    }
    uint64_t wrong = run(job, memory, all, all + job->most_count);
    FUZZ_CLAIM(cs_schedule_verify(stored, &verdict, &err) == CS_OK);
    FUZZ_CLAIM(!verdict.is_correct || wrong == 0);
    cs_free(all);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
    cap_schedule *schedule = NULL;
    cap_job      *job      = NULL;
    cs_error      err      = {0};
    cs_status     status = cap_schedule_parse((const char *)data, length, "input", &schedule, &err);

    if (status != CS_OK) {
        fuzz_claim_error(status, &err);
        FUZZ_CLAIM(strcmp(err.input, "input") == 0 || status == CS_ENOMEM);
        return 0;
    }
    const cs_stored *stored = schedule->stored;
    if (stored->n_ranks <= MAX_RANKS && schedule->n_slots <= MAX_SLOTS &&
        stored->n_chunks <= MAX_SLOTS && cap_job_make(schedule, &job, &err) == CS_OK) {
        use_job(job);
    }
    cap_job_free(job);
    cap_schedule_free(schedule);
    return 0;
}
