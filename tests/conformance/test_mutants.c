/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The checker is checked: schedules of every algorithm with one thing changed at a random place.
 * Whether the change matters is decided by the independent oracle; cs_verify and cs_replay must
 * say the same, and name a place that the change can have reached. A failure prints the seed. */
#include "support/oracle.h"
#include "support/rng.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

typedef enum mutation {
    DROP,        /* leave a transfer out */
    REDIRECT,    /* send it to another rank */
    RESEND,      /* send it from another rank */
    RELABEL,     /* call it another chunk */
    DUPLICATE,   /* do it twice */
    REORDER,     /* do it later, behind one that touches the same slot */
    SWAP_OP,     /* COPY for REDUCE and the reverse */
    TOGGLE_FLAG, /* one of OWN_SRC, OWN_DST, DONE_DST, DONE_SRC */
    TOGGLE_SLOT, /* another slot at one end */
    N_MUTATIONS,
} mutation;

static const char *const mutation_names[N_MUTATIONS] = {
    "drop", "redirect", "resend", "relabel", "duplicate", "reorder", "swap op", "flag", "slot"};
enum { TRIES = CT_CASES(12), ORDER_TRIES = 256 };

typedef struct mutant {
    ct_stream stream;
    size_t    index; /* the first transfer that differs */
    char      text[160];
} mutant;

static uint32_t other_than(ct_rng *rng, uint32_t limit, uint32_t a, uint32_t b)
{
    uint32_t pick = a;

    while (pick == a || pick == b) {
        pick = ct_below(rng, limit);
    }
    return pick;
}

static void set_op(cs_transfer *t, cs_op op, uint32_t fabric)
{
    t->op_fabric = cs_op_fabric(op, fabric);
    if (op != CS_OP_EXCHANGE) {
        t->flags &= (uint8_t)~CS_DONE_SRC;
    }
}

static bool move_end(const ct_scene *scene, cs_transfer *t, bool at_src, ct_rng *rng)
{
    uint32_t n = scene->scenario.cluster.n_ranks;

    if (n < 3) {
        return false;
    }
    *(at_src ? &t->src : &t->dst) = other_than(rng, n, t->src, t->dst);
    set_op(t, cs_transfer_op(t), cs_fabric_of(&scene->scenario.cluster, t->src, t->dst));
    return true;
}

static bool relabel(const ct_scene *scene, cs_transfer *t, ct_rng *rng)
{
    uint32_t places = scene->plan.n_chunks - t->span + 1;

    if (places < 2) {
        return false;
    }
    t->chunk = other_than(rng, places, t->chunk, t->chunk);
    return true;
}

static bool toggle_flag(cs_transfer *t, ct_rng *rng)
{
    static const uint8_t flags[] = {CS_OWN_SRC, CS_OWN_DST, CS_DONE_DST, CS_DONE_SRC};
    bool                 both    = cs_transfer_op(t) == CS_OP_EXCHANGE;

    t->flags ^= flags[ct_below(rng, both ? 4 : 3)];
    return true;
}

static bool toggle_slot(const ct_scene *scene, cs_transfer *t, ct_rng *rng)
{
    uint32_t  places = scene->plan.n_slots - t->span + 1;
    uint16_t *slot   = ct_below(rng, 2) == 0 ? &t->src_slot : &t->dst_slot;

    if (places < 2) {
        return false;
    }
    *slot = (uint16_t)other_than(rng, places, *slot, *slot);
    return true;
}

static bool swap_op(cs_transfer *t, ct_rng *rng)
{
    cs_op op = cs_transfer_op(t);
    cs_op to = op == CS_OP_COPY     ? CS_OP_REDUCE
               : op == CS_OP_REDUCE ? CS_OP_COPY
               : ct_below(rng, 2)   ? CS_OP_COPY
                                    : CS_OP_REDUCE;
    set_op(t, to, cs_transfer_fabric(t));
    return true;
}

static bool overlap(uint32_t a, uint32_t b, uint32_t a_span, uint32_t b_span)
{
    return a < b + b_span && b < a + a_span;
}

static bool only_adds(const cs_transfer *t)
{
    return cs_transfer_op(t) == CS_OP_REDUCE && (t->flags & CS_OWN_DST) == 0;
}

/* Does `by` read from a slot what `of` writes there? */
static bool reads(const cs_transfer *by, const cs_transfer *of)
{
    return by->src == of->dst && (by->flags & CS_OWN_SRC) == 0 &&
           overlap(by->src_slot, of->dst_slot, by->span, of->span);
}

static bool is_final_copy(const cs_transfer *t)
{
    return cs_transfer_op(t) == CS_OP_COPY && (t->flags & CS_DONE_DST) != 0;
}

/* Does one write what the other reads or writes? Sums may come in any order, and so may final
 * values that are taken out of the slot at once. */
static bool shares_data(const cs_transfer *a, const cs_transfer *b)
{
    bool writes          = a->dst == b->dst && overlap(a->dst_slot, b->dst_slot, a->span, b->span);
    bool is_all_the_same = (only_adds(a) && only_adds(b)) || (is_final_copy(a) && is_final_copy(b));
    return reads(a, b) || reads(b, a) || (writes && !is_all_the_same);
}

/* The next transfer that works in the same slot at the same rank as transfer i; count without one.
 */
static size_t next_in_slot(const ct_stream *s, size_t i)
{
    size_t next = i + 1;

    while (next < s->count && (s->transfers[next].flags & CS_JOIN) != 0) {
        next++; /* the order of the parts of a message is all the same */
    }
    while (next < s->count && !shares_data(&s->transfers[i], &s->transfers[next])) {
        next++;
    }
    return next;
}

/* Move *i_p on, over a few places, to a transfer that has such a next one and no fence. */
static bool find_order(const ct_stream *s, size_t *i_p)
{
    for (size_t tries = 0; tries < ORDER_TRIES && tries < s->count; tries++) {
        size_t i = (*i_p + tries) % s->count;
        if ((s->transfers[i].flags & CS_FENCE) == 0 && next_in_slot(s, i) < s->count) {
            *i_p = i;
            return true;
        }
    }
    return false;
}

/* Exchange transfer i with the next one in its slot; rounds and fences stay with their places. */
static void reorder(ct_stream *s, size_t i)
{
    cs_transfer *a = &s->transfers[i], *b = &s->transfers[next_in_slot(s, i)];
    cs_transfer  old = *a;

    *a       = *b;
    *b       = old;
    b->round = a->round;
    a->round = old.round;
    a->flags = (uint8_t)((a->flags & ~CS_FENCE) | (old.flags & CS_FENCE));
    b->flags &= (uint8_t)~CS_FENCE;
}

/* False where the mutation has no meaning at that place. */
static bool mutate(const ct_scene *scene, mutant *m, mutation kind, ct_rng *rng)
{
    ct_stream *s = &m->stream;

    if (kind == REORDER && !find_order(s, &m->index)) {
        return false;
    }
    size_t       i = m->index;
    cs_transfer *t = &s->transfers[i];
    snprintf(m->text, sizeof m->text, "%s of transfer %zu (round %u, %u -> %u, chunk %u)",
             mutation_names[kind], i, t->round, t->src, t->dst, t->chunk);
    switch (kind) {
    case DROP: ct_stream_remove(s, i); return true;
    case REDIRECT: return move_end(scene, t, false, rng);
    case RESEND: return move_end(scene, t, true, rng);
    case RELABEL: return relabel(scene, t, rng);
    case DUPLICATE: ct_stream_insert(s, i, *t); return true;
    case REORDER: reorder(s, i); return true;
    case SWAP_OP: return swap_op(t, rng);
    case TOGGLE_FLAG: return toggle_flag(t, rng);
    case TOGGLE_SLOT: return toggle_slot(scene, t, rng);
    case N_MUTATIONS: break;
    }
    return false;
}

/* The place that a verdict names: it exists, and is not before the change. A dropped transfer
 * spoils nothing but its own chunks. */
static void check_place(const cs_verdict *v, const ct_scene *scene, const ct_stream *original,
                        const mutant *m, mutation kind)
{
    const cs_transfer *t    = &original->transfers[m->index];
    size_t             end  = m->stream.count;
    uint32_t           last = end > 0 ? m->stream.transfers[end - 1].round : 0;
    uint32_t           from = t->round < last ? t->round : last;

    cr_assert(v->is_located && v->text[0] != '\0', "%s: %s", ct_scene_text(scene), m->text);
    cr_assert_lt(v->rank, cs_n_ends(&scene->scenario.cluster));
    cr_assert_lt(v->chunk, scene->plan.n_chunks);
    cr_assert(v->round >= from && v->round < scene->plan.n_rounds, "%s: %s, but the verdict is: %s",
              ct_scene_text(scene), m->text, v->text);
    cr_assert(kind != DROP || (v->chunk >= t->chunk && v->chunk < t->chunk + t->span),
              "%s: %s, but the verdict is: %s", ct_scene_text(scene), m->text, v->text);
}

/* Returns whether the mutant is wrong; the library must think the same, both ways to ask. */
static bool judge(ct_scene *scene, const ct_stream *original, const mutant *m, mutation kind)
{
    static ct_scene played;
    ct_judgement    judgement = ct_judge(&scene->scenario, &scene->plan, &m->stream);
    cs_verdict      verdict   = {0};
    cs_error        err       = {0};

    played.scenario = scene->scenario;
    ct_scene_play(&played, &m->stream, &scene->plan);
    const cs_job job = ct_scene_job(&played, NULL);
    cr_assert_eq(cs_job_verify(&job, &verdict, &err), CS_OK, "%s: %s: %s", ct_scene_text(scene),
                 m->text, err.message);
    cr_assert_eq(verdict.is_correct, judgement.is_correct,
                 "%s: %s: the oracle says '%s', the library '%s'", ct_scene_text(scene), m->text,
                 judgement.text, verdict.text);
    cs_outcome outcome = ct_scene_replay(&played, NULL);
    cr_assert_eq(outcome.verified, judgement.is_correct);
    cr_assert_eq(outcome.verdict.is_correct, judgement.is_correct);
    if (!judgement.is_correct) {
        check_place(&verdict, scene, original, m, kind);
        check_place(&outcome.verdict, scene, original, m, kind);
    }
    return !judgement.is_correct;
}

/* Is every transfer needed? Not those of the broadcast baseline: its AllReduce among the early
 * ranks gives all of them what the tree brings again. */
static bool has_no_spare(const ct_scene *scene)
{
    return strcmp(scene->algorithm->name, "broadcast") != 0;
}

static size_t   wrong[N_MUTATIONS], made[N_MUTATIONS];
static uint32_t most_chunks; /* with one chunk there is no other one to call it */
static uint32_t most_slots;  /* with one slot no other one to put it in */
static bool     has_order;   /* some transfer works in the slot of another one */
static bool     has_reads;   /* some transfer sends what is in a slot */

static bool reads_slots(const ct_stream *stream)
{
    for (size_t i = 0; i < stream->count; i++) {
        if ((stream->transfers[i].flags & CS_OWN_SRC) == 0) {
            return true;
        }
    }
    return false;
}

static void mutate_scene(ct_scene *scene, ct_rng *rng)
{
    ct_stream original = ct_stream_record(scene, 512);
    int       tries    = scene->scenario.cluster.n_ranks > 40 ? 2 : TRIES;

    most_chunks = scene->plan.n_chunks > most_chunks ? scene->plan.n_chunks : most_chunks;
    most_slots  = scene->plan.n_slots > most_slots ? scene->plan.n_slots : most_slots;
    has_order   = has_order || find_order(&original, &(size_t){0});
    bool reads  = reads_slots(&original);
    has_reads   = has_reads || reads;
    for (int kind = 0; kind < N_MUTATIONS; kind++) {
        /* Some places leave nothing to change: others are tried. */
        bool is_idle = kind == TOGGLE_SLOT && !reads; /* no slot is looked at */
        for (int i = 0, done = 0; done < tries && i < 8 * tries && !is_idle; i++) {
            mutant m = {.stream = ct_stream_copy(&original)};
            m.index  = ct_below(rng, (uint32_t)original.count);
            if (mutate(scene, &m, (mutation)kind, rng)) {
                bool is_wrong = judge(scene, &original, &m, (mutation)kind);
                wrong[kind] += is_wrong;
                made[kind]++;
                done++;
                cr_assert(kind != DROP || is_wrong || !has_no_spare(scene),
                          "%s: %s does not matter", ct_scene_text(scene), m.text);
            }
            ct_stream_free(&m.stream);
        }
    }
    ct_stream_free(&original);
}

/* All collectives of an algorithm on a few numbers of ranks, below and above the 64 up to which
 * contributions are counted. */
static void mutate_algorithm(const cs_algorithm *algorithm, ct_rng *rng)
{
    static const uint32_t ranks[] = {2, 3, 4, 5, 7, 8, 12, 16, 32, 33, 64, 65, 128};
    static ct_scene       scene;

    for (size_t i = 0; i < sizeof ranks / sizeof ranks[0]; i++) {
        for (int c = 0; c < CS_COLLECTIVE_COUNT; c++) {
            ct_scene_set(&scene, algorithm->name, (cs_collective)c, ranks[i], 4096);
            if (!ct_adds_in_switches(algorithm)) {
                scene.scenario.cluster.gpus_per_server =
                    ranks[i] % 4 == 0 ? 1 + (uint32_t)(i + (size_t)c) % 2 : 1;
            }
            ct_scene_slow(&scene);
            if (ct_scene_check(&scene, NULL) == CS_OK) {
                mutate_scene(&scene, rng);
            }
        }
    }
}

/* One that other algorithms do not change. */
static uint64_t seed_of(const char *name)
{
    uint64_t seed = 900;

    for (; *name != '\0'; name++) {
        seed = 31 * seed + (unsigned char)*name;
    }
    return seed;
}

Test(conformance_mutants, every_wrong_schedule_is_caught_and_located)
{
    for (size_t a = 0; cs_algorithms[a] != NULL; a++) {
        ct_rng rng  = ct_rng_for(seed_of(cs_algorithms[a]->name));
        most_chunks = 0;
        most_slots  = 0;
        has_order   = false;
        has_reads   = false;
        for (int kind = 0; kind < N_MUTATIONS; kind++) {
            wrong[kind] = made[kind] = 0;
        }
        mutate_algorithm(cs_algorithms[a], &rng);
        for (int kind = 0; kind < N_MUTATIONS; kind++) {
            bool has_none = (kind == RELABEL && most_chunks == 1) ||
                            (kind == TOGGLE_SLOT && (most_slots == 1 || !has_reads)) ||
                            (kind == REORDER && !has_order);
            cr_assert(has_none || (made[kind] >= CT_CASES(20) && 20 * wrong[kind] >= made[kind]),
                      "%s: only %zu of %zu mutants of kind '%s' were wrong", cs_algorithms[a]->name,
                      wrong[kind], made[kind], mutation_names[kind]);
        }
    }
}

/* The schedules of stragglar on servers of several GPUs: every form, one or several late ranks of
 * one server or of two. */
Test(conformance_mutants, every_form_over_servers)
{
    static const struct {
        const char *inside, *late_ranks, *gateways, *chunks;
        uint32_t    n_late, servers; /* the last ranks of each of the last servers */
        const char *share;
    } forms[] = {{"chain", "1", "auto", "7", 1, 1, "1"},   {"tree", "1", "auto", "1", 1, 1, "1"},
                 {"chain", "2", "auto", "6", 2, 1, "1"},   {"direct", "4", "auto", "5", 4, 1, "1"},
                 {"direct", "1", "2", "9", 1, 1, "1"},     {"direct", "6", "3", "4", 6, 1, "1"},
                 {"chain", "2", "auto", "12", 1, 2, "1"},  {"direct", "8", "auto", "6", 4, 2, "1"},
                 {"chain", "1", "auto", "7", 1, 1, "0.4"}, {"chain", "1", "auto", "7", 1, 1, "0"},
                 {"flat", "1", "auto", "40", 1, 1, "0.6"}};
    static ct_scene scene;
    ct_rng          rng = ct_rng_for(990);

    for (int kind = 0; kind < N_MUTATIONS; kind++) {
        wrong[kind] = made[kind] = 0;
    }
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        ct_scene_set(&scene, "stragglar", CS_ALLREDUCE, 30, 40960);
        scene.scenario.cluster.gpus_per_server = 6;
        scene.scenario.arrival_s               = scene.arrival_s;
        for (uint32_t r = 0; r < forms[i].n_late * forms[i].servers; r++) {
            uint32_t back              = r / forms[i].n_late * 6 + r % forms[i].n_late;
            scene.arrival_s[29 - back] = 1e-3;
        }
        ct_scene_option(&scene, "inside", forms[i].inside);
        ct_scene_option(&scene, "late_ranks", forms[i].late_ranks);
        ct_scene_option(&scene, "gateways", forms[i].gateways);
        ct_scene_option(&scene, "chunks", forms[i].chunks);
        ct_scene_option(&scene, "share", forms[i].share);
        ct_scene_ready(&scene);
        mutate_scene(&scene, &rng);
    }
    for (int kind = 0; kind < N_MUTATIONS; kind++) {
        cr_assert(made[kind] >= 20 && 4 * wrong[kind] >= made[kind], "only %zu of %zu of kind '%s'",
                  wrong[kind], made[kind], mutation_names[kind]);
    }
}

/* A contribution that is in twice and one that is missing have the same number of
 * contributions; the identity of the ranks must matter. */
Test(conformance_mutants, the_right_number_of_wrong_contributions_is_wrong)
{
    static ct_scene scene, played;
    cs_verdict      verdict = {0};

    ct_scene_set(&scene, "ring", CS_ALLREDUCE, 4, 4096);
    ct_scene_ready(&scene);
    ct_stream stream = ct_stream_record(&scene, 512);
    for (size_t i = 0; i < stream.count; i++) {
        if (stream.transfers[i].round == 0) {
            stream.transfers[i].src = (stream.transfers[i].src + 1) % 4 == stream.transfers[i].dst
                                          ? (stream.transfers[i].src + 3) % 4
                                          : stream.transfers[i].src;
        }
    }
    cr_assert_not(ct_judge(&scene.scenario, &scene.plan, &stream).is_correct);
    played.scenario = scene.scenario;
    ct_scene_play(&played, &stream, &scene.plan);
    const cs_job job = ct_scene_job(&played, NULL);
    cr_assert_eq(cs_job_verify(&job, &verdict, NULL), CS_OK);
    cr_assert_not(verdict.is_correct);
    ct_stream_free(&stream);
}
