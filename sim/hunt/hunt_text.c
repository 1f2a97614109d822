/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hunt/hunt_text.h"

#include "hunt/script.h"

#include <inttypes.h>
#include <math.h>

/* Suspects below that are not worth a line. */
#define LEAST_SHOWN 1e-4

/* ---- words ---- */

static void add_suspect(const cs_hunt *hunt, const cs_suspect *s, cs_text *text)
{
    switch (s->kind) {
    case CS_SUSPECT_NODE: cs_text_add(text, "%s", hunt->hosts[s->host]); break;
    case CS_SUSPECT_NIC:
        cs_text_add(text, "NIC %s of %s", hunt->rails[s->rail], hunt->hosts[s->host]);
        break;
    case CS_SUSPECT_RAIL: cs_text_add(text, "rail %s", hunt->rails[s->rail]); break;
    }
}

static void add_verdict(const cs_hunt_report *r, cs_text *text)
{
    const cs_belief *b = r->belief;

    if (!cs_belief_is_sure(r->hunt, b)) {
        cs_text_add(text, "# not sure yet: most likely ");
    } else {
        cs_text_add(text, "# found: ");
    }
    for (uint32_t i = 0; i < b->n_best; i++) {
        cs_text_add(text, "%s", i > 0 ? ", " : "");
        add_suspect(r->hunt, &b->best[i], text);
    }
    if (b->n_best == 0) {
        cs_text_add(text, "nothing is slow by %.2g %% or more", b->least_effect * 100);
    }
    cs_text_add(text, ", probability %.4g\n", b->best_p);
}

static uint64_t n_with_result(const cs_hunt *hunt)
{
    uint64_t n = 0;

    for (uint32_t t = 0; t < hunt->n_rounds; t++) {
        n += cs_hunt_n_runs(hunt, hunt->rounds[t]) - cs_hunt_n_missing(hunt, hunt->rounds[t]);
    }
    return n;
}

static uint32_t n_rounds_run(const cs_hunt *hunt)
{
    uint32_t n = 0;

    for (uint32_t t = 0; t < hunt->n_rounds; t++) {
        n += cs_hunt_n_missing(hunt, hunt->rounds[t]) < cs_hunt_n_runs(hunt, hunt->rounds[t]);
    }
    return n;
}

/* ---- for people ---- */

static void add_bound(const cs_hunt *hunt, cs_text *text)
{
    cs_hunt_bound b = cs_hunt_bound_of(hunt, hunt->setting.bad, 0, hunt->setting.effect);

    cs_text_add(text,
                "# rounds so far: %u, runs: %" PRIu64 "; to find %u, no method can do with fewer "
                "than %" PRIu64 " rounds and %" PRIu64 " runs\n",
                n_rounds_run(hunt), n_with_result(hunt), hunt->setting.bad, b.rounds, b.runs);
}

static void add_suspects(const cs_hunt_report *r, cs_text *text)
{
    const cs_belief *b = r->belief;

    cs_text_add(text, "# probability  suspect\n");
    for (uint32_t i = 0; i < b->n_top && b->top_p[i] >= LEAST_SHOWN; i++) {
        cs_text_add(text, "# %11.4f  ", b->top_p[i]);
        add_suspect(r->hunt, &b->top[i], text);
        if (b->alike[i] > 1) {
            cs_text_add(text, ", and each of %u more of the same groups", b->alike[i] - 1);
        }
        cs_text_add(text, "\n");
    }
    cs_text_add(text, "# %11.4f  nothing is slow\n", b->none_p);
}

void cs_hunt_report_table(const cs_hunt_report *r, cs_text *text)
{
    const cs_hunt   *hunt = r->hunt;
    const cs_belief *b    = r->belief;
    char             id[CS_HUNT_ID_BYTES];

    cs_hunt_id(hunt, id);
    cs_text_add(text, "# hunt %s: %u hosts", id, hunt->n_hosts);
    cs_text_add(text, hunt->n_rails > 0 ? " with %u rails\n" : "\n", hunt->n_rails);
    if (b->healthy_Bps > 0) {
        cs_text_add(text, "# healthy groups have %.4g GB/s, runs a noise of %.2g %%\n",
                    b->healthy_Bps / 1e9, b->noise * 100);
        if (hunt->setting.healthy_Bps > 0 && b->healthy_Bps < 0.9 * hunt->setting.healthy_Bps) {
            cs_text_add(text, "# that is %.0f %% less than the %.4g GB/s expected: all are slow\n",
                        100 * (1 - b->healthy_Bps / hunt->setting.healthy_Bps),
                        hunt->setting.healthy_Bps / 1e9);
        }
        add_suspects(r, text);
        add_verdict(r, text);
    }
    add_bound(hunt, text);
    if (r->next != CS_HUNT_NO_ROUND) {
        const cs_hunt_round *round   = hunt->rounds[r->next];
        uint64_t             missing = cs_hunt_n_missing(hunt, round);
        bool                 is_part = missing < cs_hunt_n_runs(hunt, round);
        cs_text_add(text, "# %s round %u: %" PRIu64 " runs, %u groups of %u hosts\n",
                    is_part ? "still missing of" : "next,", r->next + 1, missing, round->n_groups,
                    round->size);
        cs_script_add(hunt, r->next, text);
    }
}

/* ---- for programs ---- */

static void add_suspect_json(const cs_hunt *hunt, const cs_suspect *s, cs_text *text)
{
    cs_text_add(text, "{\"kind\": \"%s\", \"host\": ", cs_suspect_kind_name(s->kind));
    cs_text_add_json_string(text, s->kind != CS_SUSPECT_RAIL ? hunt->hosts[s->host] : NULL);
    cs_text_add(text, ", \"rail\": ");
    cs_text_add_json_string(text, s->kind != CS_SUSPECT_NODE ? hunt->rails[s->rail] : NULL);
}

static void add_bound_json(const cs_hunt *hunt, uint32_t bad, unsigned kinds, double effect,
                           cs_text *text)
{
    cs_hunt_bound b = cs_hunt_bound_of(hunt, bad, kinds, effect);

    cs_text_add(text, "\"bound\": {\"bits\": ");
    cs_text_add_number(text, b.bits);
    cs_text_add(text, ", \"bits_per_round\": ");
    cs_text_add_number(text, b.bits_per_round);
    cs_text_add(text, ", \"bits_per_run\": ");
    cs_text_add_number(text, b.bits_per_run);
    cs_text_add(text, ", \"rounds\": %" PRIu64 ", \"runs\": %" PRIu64 "}", b.rounds, b.runs);
}

static void add_run_json(const cs_hunt *hunt, uint32_t t, uint32_t group, uint32_t test,
                         cs_text *text)
{
    const cs_hunt_round *round    = hunt->rounds[t];
    bool                 is_first = true;
    char                 label[CS_HUNT_LABEL_BYTES];
    cs_text              command = {0};

    cs_hunt_label(hunt, t, group, test, label);
    cs_text_add(text, "    {\"label\": \"%s\", \"group\": %u, \"rail\": ", label, group + 1);
    cs_text_add_json_string(text, hunt->n_rails > 0 ? hunt->rails[test] : NULL);
    cs_text_add(text, ", \"hosts\": [");
    for (uint32_t i = 0; i < hunt->n_hosts; i++) {
        if (round->group_of[i] == group) {
            cs_text_add(text, "%s", is_first ? "" : ", ");
            cs_text_add_json_string(text, hunt->hosts[i]);
            is_first = false;
        }
    }
    cs_script_add_command(hunt, t, group, test, &command);
    cs_text_add(text, "], \"command\": ");
    cs_text_add_json_string(text, command.data);
    cs_text_add(text, "}");
    text->failed = text->failed || command.failed;
    cs_text_free(&command);
}

static void add_next_json(const cs_hunt_report *r, cs_text *text)
{
    const cs_hunt *hunt     = r->hunt;
    bool           is_first = true;

    if (r->next == CS_HUNT_NO_ROUND) {
        cs_text_add(text, ",\n  \"next\": null\n}\n");
        return;
    }
    const cs_hunt_round *round = hunt->rounds[r->next];
    cs_text_add(text, ",\n  \"next\": {\"round\": %u, \"groups\": %u, \"size\": %u, \"runs\": [\n",
                r->next + 1, round->n_groups, round->size);
    for (uint32_t g = 0; g < round->n_groups; g++) {
        for (uint32_t test = 0; test < cs_hunt_n_tests(hunt); test++) {
            if (!(cs_hunt_at(hunt, round, g, test)->busbw_Bps > 0)) {
                cs_text_add(text, "%s", is_first ? "" : ",\n");
                add_run_json(hunt, r->next, g, test, text);
                is_first = false;
            }
        }
    }
    cs_text_add(text, "\n  ]}\n}\n");
}

void cs_hunt_report_json(const cs_hunt_report *r, cs_text *text)
{
    const cs_hunt   *hunt = r->hunt;
    const cs_belief *b    = r->belief;
    char             id[CS_HUNT_ID_BYTES];

    cs_hunt_id(hunt, id);
    cs_text_add(text, "{\n  \"id\": \"%s\", \"hosts\": %u, \"rails\": %u,\n", id, hunt->n_hosts,
                hunt->n_rails);
    cs_text_add(text, "  \"rounds\": %u, \"runs\": %" PRIu64 ",\n", n_rounds_run(hunt),
                n_with_result(hunt));
    cs_text_add(text, "  \"healthy_Bps\": ");
    cs_text_add_number(text, b->healthy_Bps > 0 ? b->healthy_Bps : (double)NAN);
    cs_text_add(text, ", \"noise\": ");
    cs_text_add_number(text, b->noise);
    cs_text_add(text, ", \"least_effect\": ");
    cs_text_add_number(text, b->least_effect);
    cs_text_add(text, ",\n  \"is_sure\": %s, \"probability\": ",
                cs_belief_is_sure(hunt, b) ? "true" : "false");
    cs_text_add_number(text, b->best_p);
    cs_text_add(text, ", \"bad\": [");
    for (uint32_t i = 0; i < b->n_best; i++) {
        cs_text_add(text, "%s", i > 0 ? ", " : "");
        add_suspect_json(hunt, &b->best[i], text);
        cs_text_add(text, "}");
    }
    cs_text_add(text, "],\n  \"nothing_p\": ");
    cs_text_add_number(text, b->none_p);
    cs_text_add(text, ", \"suspects\": [");
    for (uint32_t i = 0; i < b->n_top; i++) {
        cs_text_add(text, "%s\n    ", i > 0 ? "," : "");
        add_suspect_json(hunt, &b->top[i], text);
        cs_text_add(text, ", \"probability\": ");
        cs_text_add_number(text, b->top_p[i]);
        cs_text_add(text, ", \"alike\": %u}", b->alike[i]);
    }
    cs_text_add(text, "],\n  ");
    add_bound_json(hunt, hunt->setting.bad, 0, hunt->setting.effect, text);
    add_next_json(r, text);
}

/* ---- simulated hunts ---- */

static const char *planted_name(const cs_hunt_planted *p)
{
    return p->is_any ? "any" : cs_suspect_kind_name(p->kind);
}

static unsigned kinds_of(const cs_hunt_planted *p)
{
    return p->is_any ? 0 : 1u << p->kind;
}

void cs_hunt_trials_table(const cs_hunt_trials *trials, cs_text *text)
{
    const cs_hunt_tally   *t = trials->tally;
    const cs_hunt_planted *p = trials->planted;
    const cs_hunt         *h = trials->like;
    cs_hunt_bound          b = cs_hunt_bound_of(h, p->bad, kinds_of(p), p->effect);

    cs_text_add(text,
                "# %" PRIu64 " hunts after %u of %u hosts (%s), effect %.4g, noise %.4g a row "
                "and %.4g a run, %u rows a run, seed %" PRIu64 "\n",
                t->hunts, p->bad, h->n_hosts, planted_name(p), p->effect, p->noise, p->run_noise,
                h->setting.rows, trials->seed);
    cs_text_add(text, "# right: %" PRIu64 " (%.4g %%), wrong: %" PRIu64 ", not sure: %" PRIu64 "\n",
                t->right, 100.0 * (double)t->right / (double)t->hunts, t->wrong, t->unsure);
    cs_text_add(text,
                "# mean: %.4g rounds, %.5g runs, %.5g hosts in a round; most: %u rounds, %" PRIu64
                " runs\n",
                t->mean_rounds, t->mean_runs, t->mean_hosts, t->most_rounds, t->most_runs);
    cs_text_add(text,
                "# no method needs fewer than %" PRIu64 " rounds and %" PRIu64
                " runs (%.4g bits, %.4g a round)\n",
                b.rounds, b.runs, b.bits, b.bits_per_round);
    cs_text_add(text, "# rounds      hunts    share\n");
    for (uint32_t i = 0; i <= CS_HUNT_MAX_ROUNDS; i++) {
        if (t->rounds[i] > 0) {
            cs_text_add(text, "%8u %10" PRIu64 " %8.4f\n", i, t->rounds[i],
                        (double)t->rounds[i] / (double)t->hunts);
        }
    }
}

void cs_hunt_trials_json(const cs_hunt_trials *trials, cs_text *text)
{
    const cs_hunt_tally   *t        = trials->tally;
    const cs_hunt_planted *p        = trials->planted;
    bool                   is_first = true;

    cs_text_add(text, "{\"hunts\": %" PRIu64 ", \"hosts\": %u, \"rails\": %u, \"planted\": %u, ",
                t->hunts, trials->like->n_hosts, trials->like->n_rails, p->bad);
    cs_text_add(text, "\"kind\": \"%s\", \"effect\": ", planted_name(p));
    cs_text_add_number(text, p->effect);
    cs_text_add(text, ", \"noise\": ");
    cs_text_add_number(text, p->noise);
    cs_text_add(text, ", \"run_noise\": ");
    cs_text_add_number(text, p->run_noise);
    cs_text_add(text, ", \"rows\": %u, \"seed\": %" PRIu64 ",\n", trials->like->setting.rows,
                trials->seed);
    cs_text_add(text,
                " \"right\": %" PRIu64 ", \"wrong\": %" PRIu64 ", \"unsure\": %" PRIu64
                ", \"mean_rounds\": ",
                t->right, t->wrong, t->unsure);
    cs_text_add_number(text, t->mean_rounds);
    cs_text_add(text, ", \"mean_runs\": ");
    cs_text_add_number(text, t->mean_runs);
    cs_text_add(text, ", \"most_rounds\": %u, \"most_runs\": %" PRIu64 ",\n \"by_rounds\": [",
                t->most_rounds, t->most_runs);
    for (uint32_t i = 0; i <= CS_HUNT_MAX_ROUNDS; i++) {
        if (t->rounds[i] > 0) {
            cs_text_add(text, "%s{\"rounds\": %u, \"hunts\": %" PRIu64 "}", is_first ? "" : ", ", i,
                        t->rounds[i]);
            is_first = false;
        }
    }
    cs_text_add(text, "],\n ");
    add_bound_json(trials->like, p->bad, kinds_of(p), p->effect, text);
    cs_text_add(text, "}\n");
}
