/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A schedule as JSON, one transfer a line; what has its default is left out. The keys are
 * described in schedules/schedule_json.h. */
#include "schedules/export_list.h"
#include "schedules/schedule_json.h"

static void add_head(const cs_export_list *list, cs_text *out)
{
    const cs_scenario *s = list->scenario;

    cs_text_add(out,
                "{\"format\": \"collsim-schedule\", \"version\": 1, \"collective\": \"%s\", "
                "\"algorithm\": ",
                cs_collective_name(s->collective));
    cs_text_add_json_string(out, list->algorithm->name);
    cs_text_add(out, ",\n \"ranks\": %u, \"chunks\": %u, \"bytes\": %llu", s->cluster.n_ranks,
                list->plan->n_chunks, (unsigned long long)s->bytes);
    if (cs_collective_has_root(s->collective)) {
        cs_text_add(out, ", \"root\": %u", s->root);
    }
    if (!cs_is_even(&s->cluster)) {
        cs_text_add(out, ", \"servers\": ");
        cs_schedule_add_servers(&s->cluster, out);
    } else if (s->cluster.gpus_per_server > 1) {
        cs_text_add(out, ", \"gpus_per_server\": %u", s->cluster.gpus_per_server);
    }
    if (s->cluster.sockets > 1) {
        cs_text_add(out, ", \"sockets\": %u", s->cluster.sockets);
    }
    if (!list->is_in_place) {
        cs_text_add(out, ", \"slots\": %u", list->plan->n_slots);
        cs_text_add(out, "%s", list->plan->starts_own ? ", \"starts_own\": true" : "");
    }
    cs_text_add(out, ",\n \"transfers\": [");
}

static void add_slots(const cs_transfer *t, cs_text *out)
{
    static const char *const ends[] = {"none", "src", "dst", "both"};
    unsigned                 own =
        ((t->flags & CS_OWN_SRC) != 0 ? 1u : 0) | ((t->flags & CS_OWN_DST) != 0 ? 2u : 0);
    unsigned done =
        ((t->flags & CS_DONE_SRC) != 0 ? 1u : 0) | ((t->flags & CS_DONE_DST) != 0 ? 2u : 0);

    cs_text_add(out, ", \"src_slot\": %u, \"dst_slot\": %u", t->src_slot, t->dst_slot);
    if (own != 0) {
        cs_text_add(out, ", \"own\": \"%s\"", ends[own]);
    }
    if (done != 0) {
        cs_text_add(out, ", \"done\": \"%s\"", ends[done]);
    }
}

static void add_fence(const cs_fence *fence, cs_text *out)
{
    cs_text_add(out, ", \"fence\": true");
    if (fence->except != CS_FENCE_ALL) {
        cs_text_add(out, ", \"fence_except\": %u", fence->except);
    }
    if (fence->cost_s > 0) {
        cs_text_add(out, ", \"fence_s\": ");
        cs_text_add_number(out, fence->cost_s);
    }
}

static void add_transfer(const cs_export_list *list, const cs_transfer *t, cs_text *out)
{
    static const char *const ops[] = {"copy", "reduce", "exchange"};
    const cs_scenario       *s     = list->scenario;

    cs_text_add(out, "{\"round\": %u, \"src\": %u, \"dst\": %u, \"chunk\": %u", t->round, t->src,
                t->dst, t->chunk);
    if (t->span != 1) {
        cs_text_add(out, ", \"span\": %u", t->span);
    }
    cs_text_add(out, ", \"op\": \"%s\"", ops[cs_transfer_op(t)]);
    if (cs_transfer_fabric(t) != cs_fabric_of(&s->cluster, t->src, t->dst)) {
        cs_text_add(out, ", \"fabric\": \"%s\"", cs_fabric_name(cs_transfer_fabric(t)));
    }
    if (t->bytes != cs_split_range(s->bytes, list->plan->n_chunks, t->chunk, t->span)) {
        cs_text_add(out, ", \"bytes\": %llu", (unsigned long long)t->bytes);
    }
    if ((t->flags & CS_JOIN) != 0) {
        cs_text_add(out, ", \"join\": true");
    }
    if ((t->flags & CS_SHARED) != 0) {
        cs_text_add(out, ", \"shared\": true");
    }
    if (!list->is_in_place) {
        add_slots(t, out);
    }
}

cs_status cs_export_json(const cs_export_list *list, cs_text *out, cs_error *err)
{
    size_t next_fence = 0;

    (void)err;
    add_head(list, out);
    for (size_t i = 0; i < list->recording.n_transfers; i++) {
        cs_text_add(out, "%s", i > 0 ? ",\n" : "\n");
        add_transfer(list, &list->recording.transfers[i], out);
        const cs_fence *fence = cs_recording_fence(&list->recording, i, &next_fence);
        if (fence != NULL) {
            add_fence(fence, out);
        }
        cs_text_add(out, "}");
    }
    cs_text_add(out, "\n]}\n");
    return CS_OK;
}
