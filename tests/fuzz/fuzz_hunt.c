/* SPDX-License-Identifier: GPL-3.0-or-later */
/* States of hunts: refused in one line with a place, or written and read back the same; what they
 * make believe is a probability, and the next round has every host once at most. The same bytes as
 * a list of hosts. */
#include "base/text.h"
#include "fuzz.h"
#include "hunt/hosts.h"
#include "hunt/hunt_json.h"
#include "hunt/hunt_text.h"
#include "hunt/plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void claim_round(const cs_hunt *hunt)
{
    const cs_hunt_round *round = hunt->rounds[hunt->n_rounds - 1];
    uint64_t             busy  = 0;

    for (uint32_t i = 0; i < hunt->n_hosts; i++) {
        busy += round->group_of[i] != CS_HUNT_IDLE;
        FUZZ_CLAIM(round->group_of[i] == CS_HUNT_IDLE || round->group_of[i] < round->n_groups);
    }
    FUZZ_CLAIM(round->n_groups >= 1 && busy >= (uint64_t)round->n_groups * 2);
}

static void go_on(cs_hunt *hunt)
{
    cs_belief belief;
    cs_text   text = {0};
    cs_error  err  = {0};

    FUZZ_CLAIM(cs_belief_of(hunt, &belief, &err) == CS_OK);
    for (uint32_t i = 0; i < hunt->n_hosts; i++) {
        FUZZ_CLAIM(belief.host_p[i] >= 0 && belief.host_p[i] <= 1);
    }
    FUZZ_CLAIM(belief.none_p >= 0 && belief.none_p <= 1 + 1e-9 && belief.best_p <= 1 + 1e-9);
    FUZZ_CLAIM(isfinite(belief.noise) && belief.noise > 0);
    cs_status status = cs_hunt_plan(hunt, &belief, &err);
    if (status != CS_OK) {
        fuzz_claim_error(status, &err);
    } else {
        claim_round(hunt);
    }
    const cs_hunt_report report = {.hunt = hunt, .belief = &belief, .next = CS_HUNT_NO_ROUND};
    cs_hunt_report_table(&report, &text);
    cs_hunt_report_json(&report, &text);
    FUZZ_CLAIM(!text.failed);
    cs_text_free(&text);
    cs_belief_free(&belief);
}

static void read_state(const char *data, size_t length)
{
    cs_hunt   hunt, again;
    cs_error  err   = {0};
    cs_text   first = {0}, second = {0};
    cs_status status = cs_hunt_parse(data, length, "input", &hunt, &err);

    if (status != CS_OK) {
        fuzz_claim_error(status, &err);
        FUZZ_CLAIM(strcmp(err.input, "input") == 0 || status == CS_ENOMEM);
        return;
    }
    cs_hunt_json(&hunt, &first);
    FUZZ_CLAIM(cs_hunt_parse(first.data, first.length, "own", &again, &err) == CS_OK);
    cs_hunt_json(&again, &second);
    FUZZ_CLAIM(strcmp(first.data, second.data) == 0);
    go_on(&hunt);
    cs_hunt_free(&hunt);
    cs_hunt_free(&again);
    cs_text_free(&first);
    cs_text_free(&second);
}

static void read_hosts(const char *data, size_t length)
{
    cs_arena     arena = {0};
    const char **names = NULL;
    size_t       n     = 0;
    cs_error     err   = {0};
    char        *text  = calloc(length + 1, 1);

    FUZZ_CLAIM(text != NULL);
    memcpy(text, data, length);
    cs_status status = cs_hosts_parse(text, 1000, "--hosts", &arena, &names, &n, &err);
    if (status != CS_OK) {
        fuzz_claim_error(status, &err);
    } else {
        FUZZ_CLAIM(n >= 1 && n <= 1000);
        for (size_t i = 0; i < n; i++) {
            FUZZ_CLAIM(names[i][0] != '\0');
        }
    }
    free(text);
    cs_arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
    read_state((const char *)data, length);
    read_hosts((const char *)data, length);
    return 0;
}
