/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Histories of faults: refused in one line with a place, or faults in order whose nodes and types
 * are there. */
#include "fuzz.h"
#include "traces/fault_history.h"

#include <math.h>
#include <string.h>

static void claim_history(const cs_fault_history *h)
{
    FUZZ_CLAIM(h->n >= 1 && h->n_nodes >= 1 && h->n_types >= 1);
    for (size_t i = 0; i < h->n; i++) {
        const cs_fault_record *f = &h->faults[i];
        FUZZ_CLAIM(isfinite(f->from_s) && f->from_s >= 0 && f->until_s >= f->from_s);
        FUZZ_CLAIM(f->from_s <= h->end_s && (isinf(f->until_s) || f->until_s <= h->end_s));
        FUZZ_CLAIM(i == 0 || f->from_s >= h->faults[i - 1].from_s);
        FUZZ_CLAIM(f->node < h->n_nodes && f->type < h->n_types);
    }
    for (size_t i = 1; i < h->n_nodes; i++) {
        FUZZ_CLAIM(strcmp(h->nodes[i], h->nodes[i - 1]) != 0);
    }
    for (size_t i = 0; i < h->n_types; i++) {
        FUZZ_CLAIM(h->types[i].level != NULL && h->types[i].class_name != NULL &&
                   h->types[i].description != NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
    cs_fault_history history = {.n = 0};
    cs_error         err     = {0};
    cs_status status = cs_fault_history_parse((const char *)data, length, "input", &history, &err);

    if (status != CS_OK) {
        fuzz_claim_error(status, &err);
        FUZZ_CLAIM(strcmp(err.input, "input") == 0 && err.input_line >= 1);
        FUZZ_CLAIM(history.n == 0 && history.faults == NULL);
        return 0;
    }
    claim_history(&history);
    cs_fault_history_free(&history);
    return 0;
}
