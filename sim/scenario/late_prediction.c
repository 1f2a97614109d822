/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "scenario/late_prediction.h"

#include "cs/arrivals.h"

#include <string.h>

static const char *const names[] = {
#define X(id, name, summary) [CS_PREDICTION_##id] = name,
    CS_PREDICTION_MAP(X)
#undef X
};

const cs_named cs_prediction_names =
    CS_NAMED_WORDS(names, CS_PREDICTION_KEYS, "unknown word", NULL);

const char *cs_prediction_name(cs_prediction prediction)
{
    return names[prediction];
}

static const cs_field *find_option(const cs_algorithm *algorithm, const char *name,
                                   cs_field_type type)
{
    const cs_field *row = cs_field_find(algorithm->options, name);

    return row != NULL && row->type == type ? row : NULL;
}

cs_late_prediction cs_late_prediction_of(const cs_algorithm *algorithm, cs_prediction prediction)
{
    return (cs_late_prediction){.straggler = find_option(algorithm, "straggler", CS_FIELD_U32),
                                .entry = find_option(algorithm, "entry_barrier_s", CS_FIELD_F64),
                                .prediction = prediction};
}

uint32_t cs_late_option(const cs_algorithm *algorithm, const cs_options *options)
{
    const cs_field *row  = find_option(algorithm, "straggler", CS_FIELD_U32);
    uint32_t        rank = CS_AUTO;

    if (row != NULL) {
        memcpy(&rank, options->bytes + row->offset, sizeof rank);
    }
    return rank;
}

uint32_t cs_late_count(const cs_algorithm *algorithm, const cs_options *options)
{
    const cs_field *row   = find_option(algorithm, "late_ranks", CS_FIELD_U32);
    uint32_t        count = find_option(algorithm, "straggler", CS_FIELD_U32) != NULL ? 1 : 0;

    if (count > 0 && row != NULL) {
        memcpy(&count, options->bytes + row->offset, sizeof count);
    }
    return count;
}

/* What the ranks find out by themselves the option leaves to them: `auto` is right. */
uint32_t cs_predict_late(const cs_late_prediction *prediction, const double *arrival_s,
                         uint32_t n_ranks, uint32_t known, cs_options *options)
{
    const cs_field *entry    = prediction->entry;
    bool            is_known = prediction->prediction == CS_PREDICTION_STATIC ||
                    prediction->prediction == CS_PREDICTION_ADAPTIVE ||
                    prediction->prediction == CS_PREDICTION_PREVIOUS;
    uint32_t option = is_known ? known : CS_AUTO;
    double   entry_s;

    memcpy(options->bytes + prediction->straggler->offset, &option, sizeof option);
    if (prediction->agreement_s > 0 && entry != NULL) {
        memcpy(&entry_s, options->bytes + entry->offset, sizeof entry_s);
        entry_s += prediction->agreement_s;
        memcpy(options->bytes + entry->offset, &entry_s, sizeof entry_s);
    }
    return is_known ? known : cs_last_of_arrivals(arrival_s, n_ranks);
}
