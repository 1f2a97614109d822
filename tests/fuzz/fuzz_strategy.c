/* SPDX-License-Identifier: GPL-3.0-or-later */
/* AdapCC's files: refused in one line with a place, or what was read passes its check, is written
 * and reads back the same; a strategy that fits a topology has times that are numbers. */
#include "algorithms/adapcc/cost.h"
#include "fuzz.h"
#include "schedules/logical_xml.h"
#include "schedules/strategy_xml.h"

#include <math.h>
#include <string.h>

enum { MAX_CELLS = 1 << 14 };

static const cs_logical_defaults defaults = {1e9, 1e-6, {CS_DIRECT, 1e-6, 1e10}};

/* On servers of one GPU each. */
static void evaluate(const cs_strategy *s)
{
    const cs_logical_kind kind = {s->n_ranks, 1, 1, 1e9, defaults.nvlink};
    cs_logical            l    = {0};
    cs_cost              *cost = NULL;

    if (s->n_ranks == s->n_members && cs_logical_make(&l, &kind, 1, 1e-6, NULL) == CS_OK &&
        cs_cost_open(&l, s->n_trees, &cost, NULL) == CS_OK) {
        for (int i = 0; i < CS_COST_MODEL_COUNT; i++) {
            double took_s = cs_cost_s(cost, s, CS_ALLREDUCE, (cs_cost_model)i);
            FUZZ_CLAIM(isfinite(took_s) && took_s >= 0);
        }
    }
    cs_cost_close(cost);
    cs_logical_free(&l);
}

static void read_strategy(const char *data, size_t length)
{
    cs_strategy_file file = {0}, again = {0};
    cs_text          text   = {0};
    cs_error         err    = {0};
    cs_status        status = cs_strategy_parse(data, length, "input", &file, &err);

    if (status != CS_OK) {
        fuzz_claim_error(status, &err);
    } else if ((uint64_t)file.strategy.n_ranks * file.strategy.n_trees <= MAX_CELLS) {
        FUZZ_CLAIM(cs_strategy_check(&file.strategy, &err) == CS_OK);
        FUZZ_CLAIM(cs_strategy_write(&text, &file.strategy, NULL, &err) == CS_OK);
        FUZZ_CLAIM(cs_strategy_parse(text.data, text.length, "again", &again, &err) == CS_OK);
        FUZZ_CLAIM(again.strategy.n_trees == file.strategy.n_trees);
        for (uint32_t m = 0; m < again.strategy.n_trees; m++) {
            const cs_strategy_tree *a = &file.strategy.trees[m], *b = &again.strategy.trees[m];
            FUZZ_CLAIM(memcmp(a->parent, b->parent, again.strategy.n_ranks * 4) == 0);
            FUZZ_CLAIM(memcmp(a->aggregates, b->aggregates, again.strategy.n_ranks) == 0);
            FUZZ_CLAIM(a->size_bytes == b->size_bytes);
        }
        if (cs_strategy_file_finish(&file, 1 << 20, 0, NULL) == CS_OK) {
            evaluate(&file.strategy);
        }
    }
    cs_text_free(&text);
    cs_strategy_free(&file.strategy);
    cs_strategy_free(&again.strategy);
}

static void read_graph(const char *data, size_t length)
{
    cs_logical l = {0}, again = {0};
    cs_text    text   = {0};
    cs_error   err    = {0};
    cs_status  status = cs_logical_parse(data, length, "input", &defaults, &l, &err);

    if (status != CS_OK) {
        fuzz_claim_error(status, &err);
        FUZZ_CLAIM(strcmp(err.input, "input") == 0 || status == CS_ENOMEM);
    } else if (l.n_ranks <= 256) {
        FUZZ_CLAIM(cs_logical_check(&l, &err) == CS_OK);
        cs_logical_write(&text, &l);
        FUZZ_CLAIM(cs_logical_parse(text.data, text.length, "again", &defaults, &again, &err) ==
                   CS_OK);
        FUZZ_CLAIM(again.n_ranks == l.n_ranks && again.n_nics == l.n_nics);
        for (uint32_t g = 1; g < l.n_ranks; g++) {
            const cs_logical_edge a = cs_logical_edge_of(&l, g - 1, g);
            const cs_logical_edge b = cs_logical_edge_of(&again, g - 1, g);
            FUZZ_CLAIM(a.is_net == b.is_net && a.egress == b.egress);
            FUZZ_CLAIM(fabs(a.bandwidth_Bps - b.bandwidth_Bps) <= 1e-12 * a.bandwidth_Bps);
            FUZZ_CLAIM(fabs(a.alpha_s - b.alpha_s) <= 1e-12 * a.alpha_s);
        }
    }
    cs_text_free(&text);
    cs_logical_free(&l);
    cs_logical_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
    read_strategy((const char *)data, length);
    read_graph((const char *)data, length);
    return 0;
}
