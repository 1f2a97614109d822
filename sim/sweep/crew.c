/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sweep/crew.c -- the threads of one process that work for a farm. */
#include "sweep/crew.h"

#include "base/alloc.h"

#define ROWS_PER_THREAD 8u

struct cs_crew_member {
    cs_crew  *crew;
    pthread_t thread;
    size_t    index; /* of the item at which it failed */
    cs_status status;
    cs_error  err;
};

void cs_crew_free_row(cs_crew_row *row)
{
    if (row != NULL) {
        cs_text_free(&row->text);
        cs_free(row);
    }
}

/* One item, and what became of it into the queue. An error ends the thread. */
static cs_status do_item(cs_crew *crew, size_t index, cs_error *err)
{
    cs_crew_row *row   = CS_NEW(cs_crew_row, 1);
    cs_error     wrong = {0};

    if (row == NULL) {
        return CS_FAIL(err, CS_ENOMEM, NULL, "out of memory");
    }
    row->index       = index;
    cs_status status = crew->farm->work(crew->farm->user, index, &row->text, &wrong);
    if (status == CS_OK) {
        status = cs_text_status(&row->text, &wrong);
    }
    if (cs_status_is_failure(status)) {
        row->missed        = wrong;
        row->missed.status = status;
        status             = CS_OK;
    } else if (status != CS_OK && err != NULL) {
        *err = wrong;
    }
    if (status != CS_OK || !cs_queue_put(&crew->rows, row)) {
        cs_crew_free_row(row);
    }
    return status;
}

static bool is_stopped(const cs_farm *farm)
{
    return farm->stop != NULL && *farm->stop != 0;
}

static void *work(void *argument)
{
    cs_crew_member *m    = argument;
    cs_crew        *crew = m->crew;

    while (m->status == CS_OK && !is_stopped(crew->farm) &&
           cs_supply_take(&crew->supply, &m->index)) {
        m->status = do_item(crew, m->index, &m->err);
    }
    if (m->status != CS_OK) {
        cs_supply_halt(&crew->supply);
    }
    cs_queue_leave(&crew->rows);
    return NULL;
}

static void start_members(cs_crew *crew, size_t n_threads)
{
    for (; crew->n_members < n_threads; crew->n_members++) {
        cs_crew_member *m = &crew->members[crew->n_members];
        m->crew           = crew;
        cs_queue_join(&crew->rows);
        if (pthread_create(&m->thread, NULL, work, m) != 0) {
            cs_queue_leave(&crew->rows);
            break;
        }
    }
}

static void release(cs_crew *crew)
{
    void *row;

    while (cs_queue_take(&crew->rows, &row, 1) > 0) {
        cs_crew_free_row(row);
    }
    cs_supply_free(&crew->supply);
    cs_queue_free(&crew->rows);
    cs_free(crew->members);
}

cs_status cs_crew_start(cs_crew *crew, const cs_farm *farm, size_t n_threads, cs_error *err)
{
    *crew            = (cs_crew){.farm = farm, .members = CS_NEW(cs_crew_member, n_threads)};
    cs_status status = crew->members == NULL
                           ? CS_FAIL(err, CS_ENOMEM, NULL, "out of memory")
                           : cs_queue_init(&crew->rows, n_threads * ROWS_PER_THREAD, err);

    if (status != CS_OK) {
        cs_free(crew->members);
        return status;
    }
    cs_supply_init(&crew->supply);
    start_members(crew, n_threads);
    if (crew->n_members == 0) {
        release(crew);
        return CS_FAIL(err, CS_EIO, NULL, "cannot start a thread");
    }
    return CS_OK;
}

cs_status cs_crew_end(cs_crew *crew, size_t *index_p, cs_error *err)
{
    const cs_crew_member *worst  = NULL;
    cs_status             status = CS_OK;

    cs_queue_close(&crew->rows);
    for (size_t i = 0; i < crew->n_members; i++) {
        const cs_crew_member *m = &crew->members[i];
        pthread_join(m->thread, NULL);
        if (m->status != CS_OK && (worst == NULL || m->index < worst->index)) {
            worst = m;
        }
    }
    if (worst != NULL) {
        status   = worst->status;
        *index_p = worst->index;
        if (err != NULL) {
            *err = worst->err;
        }
    }
    release(crew);
    return status;
}
