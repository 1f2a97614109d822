/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A schedule for people: a head, then per round one line per transfer. */
#include "schedules/export_list.h"

static void add_head(const cs_export_list *list, cs_text *out)
{
    const cs_scenario *s = list->scenario;

    cs_text_add(out, "# %s %s: %u ranks, %llu bytes in %u chunks, %u rounds, %zu messages\n",
                list->algorithm->name, cs_collective_name(s->collective), s->cluster.n_ranks,
                (unsigned long long)s->bytes, list->plan->n_chunks, list->plan->n_rounds,
                cs_recording_messages(&list->recording));
    if (cs_collective_has_root(s->collective)) {
        cs_text_add(out, "# root %u\n", s->root);
    }
}

static void add_fence(const cs_fence *fence, cs_text *out)
{
    cs_text_add(out, "  barrier of all ranks");
    if (fence->except != CS_FENCE_ALL) {
        cs_text_add(out, " but %u", fence->except);
    }
    cs_text_add(out, ", ");
    cs_text_add_number(out, fence->cost_s);
    cs_text_add(out, " s\n");
}

static void add_transfer(const cs_transfer *t, cs_text *out)
{
    static const char *const ops[] = {"copy", "reduce", "exchange"};

    cs_text_add(out, "  %u %s %u  chunk %u", t->src,
                cs_transfer_op(t) == CS_OP_EXCHANGE ? "<->" : "->", t->dst, t->chunk);
    if (t->span > 1) {
        cs_text_add(out, "..%u", t->chunk + t->span - 1);
    }
    cs_text_add(out, "  %llu bytes  %s  %s%s\n", (unsigned long long)t->bytes,
                ops[cs_transfer_op(t)], cs_fabric_name(cs_transfer_fabric(t)),
                (t->flags & CS_SHARED) != 0 ? "  shared"
                : (t->flags & CS_JOIN) != 0 ? "  joins the one before"
                                            : "");
}

cs_status cs_export_text(const cs_export_list *list, cs_text *out, cs_error *err)
{
    size_t next_fence = 0;

    (void)err;
    add_head(list, out);
    for (size_t i = 0; i < list->recording.n_transfers; i++) {
        const cs_transfer *t = &list->recording.transfers[i];
        if (i == 0 || t->round != list->recording.transfers[i - 1].round) {
            cs_text_add(out, "round %u\n", t->round);
        }
        const cs_fence *fence = cs_recording_fence(&list->recording, i, &next_fence);
        if (fence != NULL) {
            add_fence(fence, out);
        }
        add_transfer(t, out);
    }
    return CS_OK;
}
