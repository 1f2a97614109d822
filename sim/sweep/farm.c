/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sweep/farm.c -- many independent items, by one thread or by several of this process.
 *
 * Threads take the items in order and put the rows in a bounded queue; the calling thread collects
 * what it finds there. With one job the calling thread does everything itself, a row at a
 * time. For several processes see farm_lead.c and farm_serve.c.
 */
#include "sweep/farm.h"

#include "sweep/crew.h"
#include "sweep/farm_ranks.h"

#include <sched.h>
#include <unistd.h>

#define MAX_BATCH 64u

unsigned cs_farm_processors(void)
{
    cpu_set_t set;
    long      n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set)
                                                              : sysconf(_SC_NPROCESSORS_ONLN);

    return n > CS_FARM_MAX_JOBS ? CS_FARM_MAX_JOBS : n > 0 ? (unsigned)n : 1;
}

void cs_farm_miss(cs_farm_misses *misses, size_t index, const cs_error *reason)
{
    if (misses->n++ == 0 || index < misses->first) {
        misses->first  = index;
        misses->reason = *reason;
    }
}

/* Collect the rows among what the threads have done, and note what they have not. */
static cs_status collect_some(const cs_farm *farm, void *const *items, size_t n,
                              cs_farm_misses *misses, cs_error *err)
{
    cs_farm_row rows[MAX_BATCH];
    size_t      n_rows = 0;

    for (size_t i = 0; i < n; i++) {
        const cs_crew_row *row = items[i];
        if (row->missed.status != CS_OK) {
            cs_farm_miss(misses, row->index, &row->missed);
        } else {
            rows[n_rows++] = (cs_farm_row){row->index, row->text.data, row->text.length};
        }
    }
    return n_rows > 0 ? farm->collect(farm->user, rows, n_rows, err) : CS_OK;
}

/* Collect until no thread is left; after an error the rows are only taken out. */
static cs_status collect_all(const cs_farm *farm, cs_crew *crew, cs_farm_misses *misses,
                             cs_error *err)
{
    cs_status status = CS_OK;
    void     *items[MAX_BATCH];
    size_t    n;

    while ((n = cs_queue_take(&crew->rows, items, MAX_BATCH)) > 0) {
        if (status == CS_OK && (status = collect_some(farm, items, n, misses, err)) != CS_OK) {
            cs_supply_halt(&crew->supply);
            cs_queue_close(&crew->rows);
        }
        for (size_t i = 0; i < n; i++) {
            cs_crew_free_row(items[i]);
        }
    }
    return status;
}

static cs_status run_threads(const cs_farm *farm, size_t n_threads, cs_farm_misses *misses,
                             cs_error *err)
{
    cs_crew   crew;
    size_t    index;
    cs_error  work_err = {0};
    cs_status status   = cs_crew_start(&crew, farm, n_threads, err);

    if (status != CS_OK) {
        return status;
    }
    status = cs_supply_give(&crew.supply, 0, farm->n_items, err);
    cs_supply_close(&crew.supply);
    cs_status collected   = collect_all(farm, &crew, misses, err);
    cs_status work_status = cs_crew_end(&crew, &index, &work_err);
    if (status != CS_OK || collected != CS_OK) {
        return status != CS_OK ? status : collected;
    }
    if (work_status != CS_OK && err != NULL) {
        *err = work_err;
    }
    return work_status;
}

/* One item by the calling thread. */
static cs_status do_alone(const cs_farm *farm, size_t index, cs_farm_misses *misses, cs_error *err)
{
    cs_text   row    = {0};
    cs_error  wrong  = {0};
    cs_status status = farm->work(farm->user, index, &row, &wrong);

    if (status == CS_OK) {
        status = cs_text_status(&row, &wrong);
    }
    if (status == CS_OK) {
        cs_farm_row view = {index, row.data, row.length};
        status           = farm->collect(farm->user, &view, 1, err);
    } else if (cs_status_is_failure(status)) {
        wrong.status = status;
        cs_farm_miss(misses, index, &wrong);
        status = CS_OK;
    } else if (err != NULL) {
        *err = wrong;
    }
    cs_text_free(&row);
    return status;
}

static cs_status run_alone(const cs_farm *farm, cs_farm_misses *misses, cs_error *err)
{
    cs_status status = CS_OK;

    for (size_t i = 0; i < farm->n_items && status == CS_OK; i++) {
        if (farm->stop != NULL && *farm->stop != 0) {
            break;
        }
        status = do_alone(farm, i, misses, err);
    }
    return status;
}

cs_status cs_farm_run(const cs_farm *farm, cs_farm_misses *misses_p, cs_error *err)
{
    size_t most = farm->n_items < CS_FARM_MAX_JOBS ? farm->n_items : CS_FARM_MAX_JOBS;
    size_t jobs = farm->jobs < most ? farm->jobs : most;

    *misses_p = (cs_farm_misses){0};
    if (!cs_ranks_leads(farm->ranks)) {
        return cs_farm_serve(farm, err);
    }
    if (farm->ranks != NULL) {
        return cs_farm_lead(farm, misses_p, err);
    }
    return jobs > 1 ? run_threads(farm, jobs, misses_p, err) : run_alone(farm, misses_p, err);
}
