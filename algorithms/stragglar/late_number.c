/* SPDX-License-Identifier: GPL-3.0-or-later */
/* No late rank, or several: see late_number.h. */
#include "algorithms/stragglar/late_number.h"

#include "algorithms/lib/accept.h"
#include "algorithms/stragglar/klate_work.h"

#include <math.h>

static bool is_free(uint32_t chunks)
{
    return chunks == 0 || chunks == CS_AUTO;
}

/* Chunks that were asked for: is there room for them, and are their rounds made in time? */
static cs_status check_work(const cs_scenario *scenario, const cs_late_number *number,
                            cs_error *err)
{
    uint32_t  n = scenario->cluster.n_ranks, early = n - number->late;
    uint32_t  most   = cs_klate_most_parts(n, early) * early;
    cs_status status = cs_accept_slots(scenario, "stragglar", number->chunks, err);

    if (status == CS_OK && number->chunks > most) {
        status = CS_FAIL(err, CS_ENOTSUP, "algorithm.options.chunks",
                         "%u: to make the rounds of %u late ranks of %u would take minutes; "
                         "accepted are at most %u, and auto",
                         number->chunks, number->late, n, most);
    }
    return status;
}

static cs_status check_number(const cs_scenario *scenario, const cs_late_number *number,
                              cs_error *err)
{
    uint32_t n = scenario->cluster.n_ranks, k = number->late;

    if (k == CS_AUTO) {
        return CS_OK;
    }
    if (k >= n) {
        return CS_FAIL(err, CS_EINVAL, "algorithm.options.late_ranks",
                       "%u late ranks of %u; accepted are 0 .. %u and auto", k, n, n - 1);
    }
    if (k > 1 && n > CS_KLATE_MOST) {
        return CS_FAIL(err, CS_ENOTSUP, "algorithm.options.late_ranks",
                       "several late ranks of at most %u ranks, got %u", CS_KLATE_MOST, n);
    }
    if (k > 1 && !is_free(number->chunks) && number->chunks % (n - k) != 0) {
        return CS_FAIL(err, CS_ENOTSUP, "algorithm.options.chunks",
                       "%u late ranks of %u: accepted are multiples of %u and auto, not %u", k, n,
                       n - k, number->chunks);
    }
    return k > 1 && !is_free(number->chunks) ? check_work(scenario, number, err) : CS_OK;
}

/* Nobody, one or several, whatever ends first; half of the ranks at most. Several only where all
 * ranks have one kind of port, which the predictions of their ends are for. */
static cs_status choose_any(const cs_scenario *scenario, double one_s, cs_late_number *number,
                            cs_several_shape *shape, cs_error *err)
{
    uint32_t  n = scenario->cluster.n_ranks;
    double    none_s;
    cs_status status = cs_baseline_choose(scenario, &number->baseline, &none_s, err);

    number->late = status == CS_OK && one_s < none_s ? 1 : 0;
    if (status == CS_OK && n >= 4 && n <= CS_KLATE_MOST && cs_one_port_kind(&scenario->cluster)) {
        status = cs_prefix_choose(scenario, 2, n / 2, fmin(none_s, one_s), shape, err);
    }
    if (status == CS_OK && shape->late > 0) {
        number->late = shape->late;
    }
    return status;
}

cs_status cs_late_number_choose(const cs_scenario *scenario, double one_s, cs_late_number *number,
                                cs_error *err)
{
    cs_several_shape shape = {.parts = CS_AUTO, .roots = number->roots};
    uint32_t         n = scenario->cluster.n_ranks, k = number->late;
    cs_status        status = check_number(scenario, number, err);

    if (status == CS_OK && k == CS_AUTO) {
        status = choose_any(scenario, one_s, number, &shape, err);
    } else if (status == CS_OK && k == 0) {
        double end_s;
        status = cs_baseline_choose(scenario, &number->baseline, &end_s, err);
    } else if (status == CS_OK && k > 1) {
        shape.parts = is_free(number->chunks) ? CS_AUTO : number->chunks / (n - k);
        status      = cs_prefix_choose(scenario, k, k, (double)INFINITY, &shape, err);
    }
    if (status == CS_OK && number->late > 1) {
        number->chunks = (n - shape.late) * shape.parts;
        number->roots  = shape.roots;
    }
    return status;
}

static cs_several_shape shape_of(const cs_scenario *scenario, const cs_late_number *number)
{
    uint32_t early = scenario->cluster.n_ranks - number->late;
    return (cs_several_shape){number->late, number->chunks / early, number->roots};
}

cs_status cs_late_number_plan(const cs_scenario *scenario, cs_late_number *number, cs_plan *plan,
                              cs_error *err)
{
    cs_several several;
    cs_status  status;

    if (number->late == 0) {
        status = cs_fallback_check(cs_baseline_algorithm(number->baseline), scenario, plan, err);
        number->chunks = status == CS_OK ? plan->n_chunks : number->chunks;
        number->roots  = 0;
        return status;
    }
    const cs_several_shape shape = shape_of(scenario, number);
    status                       = cs_several_open(&several, scenario, &shape, err);
    if (status == CS_OK) {
        *plan = cs_several_plan(&several);
    }
    cs_several_close(&several);
    return status;
}

cs_status cs_late_stream_open(cs_late_stream *stream, const cs_scenario *scenario,
                              const cs_late_number *number, cs_error *err)
{
    if (number->late > 1) {
        const cs_several_shape shape = shape_of(scenario, number);
        return cs_several_open(&stream->several, scenario, &shape, err);
    }
    return cs_fallback_open(&stream->baseline, cs_baseline_algorithm(number->baseline), scenario,
                            err);
}

void cs_late_stream_next(cs_late_stream *stream, cs_block *block)
{
    if (stream->baseline.algorithm != NULL) {
        cs_fallback_next(&stream->baseline, block);
    } else {
        cs_several_next(&stream->several, block);
    }
}

void cs_late_stream_close(cs_late_stream *stream)
{
    cs_fallback_close(&stream->baseline);
    cs_several_close(&stream->several);
}

double cs_late_number_closed_form_s(const cs_scenario *scenario, const cs_late_number *number)
{
    return number->late > 1
               ? (double)NAN
               : cs_fallback_closed_form_s(cs_baseline_algorithm(number->baseline), scenario);
}
