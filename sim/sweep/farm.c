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

/* Collect until no thread is left; after an error the rows are only taken out. */
static cs_status collect_all(const cs_farm *farm, cs_crew *crew, cs_error *err)
{
    cs_status   status = CS_OK;
    void       *items[MAX_BATCH];
    cs_farm_row rows[MAX_BATCH];
    size_t      n;

    while ((n = cs_queue_take(&crew->rows, items, MAX_BATCH)) > 0) {
        for (size_t i = 0; i < n; i++) {
            const cs_text *row = items[i];
            rows[i]            = (cs_farm_row){row->data, row->length};
        }
        if (status == CS_OK && (status = farm->collect(farm->user, rows, n, err)) != CS_OK) {
            cs_supply_halt(&crew->supply);
            cs_queue_close(&crew->rows);
        }
        for (size_t i = 0; i < n; i++) {
            cs_crew_free_row(items[i]);
        }
    }
    return status;
}

static cs_status run_threads(const cs_farm *farm, size_t n_threads, cs_error *err)
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
    cs_status collected   = collect_all(farm, &crew, err);
    cs_status work_status = cs_crew_end(&crew, &index, &work_err);
    if (status != CS_OK || collected != CS_OK) {
        return status != CS_OK ? status : collected;
    }
    if (work_status != CS_OK && err != NULL) {
        *err = work_err;
    }
    return work_status;
}

static cs_status run_alone(const cs_farm *farm, cs_error *err)
{
    cs_status status = CS_OK;

    for (size_t i = 0; i < farm->n_items && status == CS_OK; i++) {
        cs_text row = {0};
        if (farm->stop != NULL && *farm->stop != 0) {
            break;
        }
        status = farm->work(farm->user, i, &row, err);
        if (status == CS_OK) {
            status = cs_text_status(&row, err);
        }
        if (status == CS_OK) {
            cs_farm_row view = {row.data, row.length};
            status           = farm->collect(farm->user, &view, 1, err);
        }
        cs_text_free(&row);
    }
    return status;
}

cs_status cs_farm_run(const cs_farm *farm, cs_error *err)
{
    size_t most = farm->n_items < CS_FARM_MAX_JOBS ? farm->n_items : CS_FARM_MAX_JOBS;
    size_t jobs = farm->jobs < most ? farm->jobs : most;

    if (!cs_ranks_leads(farm->ranks)) {
        return cs_farm_serve(farm, err);
    }
    if (farm->ranks != NULL) {
        return cs_farm_lead(farm, err);
    }
    return jobs > 1 ? run_threads(farm, jobs, err) : run_alone(farm, err);
}
