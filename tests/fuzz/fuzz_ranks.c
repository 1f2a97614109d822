/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages of other ranks: whatever comes, in whatever order, the workers, a sweep and a Monte
 * Carlo end in OK or in one line, collect no item twice, and leak nothing.
 *
 * An input is a byte of settings, a byte of which ranks there are, and letters: a byte for the
 * sender, one for the kind, two for the length, and the bytes. When they are used up the connection
 * is lost. Files of results are in memory.
 */
#include "base/alloc.h"
#include "campaign/montecarlo.h"
#include "campaign/sweep.h"
#include "campaign/wire.h"
#include "campaign/workers.h"
#include "cs/build.h"
#include "fuzz.h"

#include <string.h>

enum { N_ITEMS = 12, MISSES = 5, FAILS = 9, FINGERPRINT = 7 };

/* The settings. */
enum {
    JOB       = 3, /* WORKERS, SWEEP or MONTECARLO */
    SERVES    = 4, /* this is another rank than 0 */
    GREETS    = 8, /* all say hello first */
    HAS_BUILD = 16 /* greetings are of this build */
};
enum { WORKERS, SWEEP, MONTECARLO };

/* What the letters are taken from. */
typedef struct mail {
    const uint8_t *at, *end;
    uint8_t        settings;
    int            rank, size;
    cs_text        letter; /* the one that waits */
    int            kind, from;
    bool           waits, is_over;
} mail;

static int send(void *self, int to, int kind, const void *data, size_t bytes)
{
    const unsigned char *from = data;
    const mail          *m    = self;
    unsigned             sum  = 0;

    for (size_t i = 0; i < bytes; i++) {
        sum += from[i]; /* sanitizers see whether all of it can be read */
    }
    FUZZ_CLAIM(to >= 0 && kind > CS_MESSAGE_NONE && kind <= CS_MESSAGE_BYE && sum < UINT32_MAX);
    return m->is_over ? -1 : 0;
}

static uint8_t take(mail *m)
{
    return m->at < m->end ? *m->at++ : 0;
}

/* The next letter. Its sender is another rank in any case: MPI sees to that. */
static void open_letter(mail *m)
{
    int sender = take(m);

    m->from       = m->rank == 0 ? 1 + sender % (m->size - 1) : 0;
    m->kind       = take(m);
    size_t length = take(m);
    length |= (size_t)take(m) << 8;
    size_t left = (size_t)(m->end - m->at);
    length      = length < left ? length : left;
    if ((m->settings & HAS_BUILD) != 0 && m->kind == CS_MESSAGE_HELLO) {
        cs_wire_put_text(&m->letter, cs_build());
    }
    cs_text_add_bytes(&m->letter, (const char *)m->at, length);
    m->at += length;
    m->waits = true;
}

static int probe(void *self, int *from_p, int *kind_p, size_t *bytes_p)
{
    mail *m = self;

    if (!m->waits && m->at == m->end) {
        m->is_over = true;
        return -1;
    }
    if (!m->waits) {
        open_letter(m);
    }
    *from_p  = m->from;
    *kind_p  = m->kind;
    *bytes_p = m->letter.length;
    return 1;
}

static int receive(void *self, int from, int kind, void *data, size_t bytes)
{
    mail *m = self;

    FUZZ_CLAIM(m->waits && from == m->from && kind == m->kind && bytes == m->letter.length);
    if (bytes > 0) {
        memcpy(data, m->letter.data, bytes);
    }
    cs_text_free(&m->letter);
    m->waits = false;
    return 0;
}

static void leave(void *self)
{
    (void)self;
}

static void end_all(void *self, int code)
{
    (void)self;
    (void)code;
}

/* ---- workers without work ---- */

typedef struct field {
    size_t n_heard, n_collected;
} field;

static cs_status work(void *user, size_t index, cs_text *row, cs_error *err)
{
    const field *f = user;

    FUZZ_CLAIM(index < N_ITEMS && f->n_heard == 1);
    if (index == MISSES) {
        return CS_FAIL(err, CS_EMISSING, "here", "something is missing");
    }
    if (index == FAILS) {
        return CS_FAIL(err, CS_EINVAL, "here", "something is wrong");
    }
    cs_wire_put_u64(row, index);
    return CS_OK;
}

static cs_status hear(void *user, const char *data, size_t bytes, cs_error *err)
{
    field *f = user;

    FUZZ_CLAIM(data[bytes] == '\0');
    f->n_heard++;
    return bytes > 0 && data[0] == '!' ? CS_FAIL(err, CS_EINVAL, "", "cannot hear") : CS_OK;
}

static cs_status collect(void *user, const cs_work_item *rows, size_t n, cs_error *err)
{
    field   *f   = user;
    unsigned sum = 0;

    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < rows[i].bytes; k++) {
            sum += (unsigned char)rows[i].data[k];
        }
    }
    f->n_collected += n;
    FUZZ_CLAIM(n >= 1 && sum < UINT32_MAX && f->n_collected <= N_ITEMS);
    return f->n_collected == N_ITEMS && sum == 1 ? CS_FAIL(err, CS_EIO, "", "the disk is full")
                                                 : CS_OK;
}

static cs_status run_workers(cs_ranks *ranks, cs_error *err)
{
    static const char words[] = "seven times six";
    field             f       = {0};
    cs_skipped_items  skipped = {0};
    const cs_workers  workers = {.n_items         = N_ITEMS,
                                 .user            = &f,
                                 .work            = work,
                                 .collect         = collect,
                                 .broadcast       = words,
                                 .broadcast_bytes = sizeof words,
                                 .on_broadcast    = hear,
                                 .jobs            = 2,
                                 .ranks           = ranks};
    cs_status         status  = cs_workers_run(&workers, &skipped, err);

    FUZZ_CLAIM(f.n_collected + skipped.n <= N_ITEMS);
    if (skipped.n > 0) {
        FUZZ_CLAIM(skipped.first < N_ITEMS && cs_status_is_failure(skipped.reason.status));
    }
    return status;
}

/* ---- a sweep, and many iterations ---- */

static const char config_text[] =
    "{\"bytes\": 4096, \"cluster\": {\"ranks\": 4}, \"arrivals\": {\"late\": [{\"rank\": 1, "
    "\"delay\": \"1us\"}]}, \"sweep\": {\"algorithm.name\": [\"ring\", \"allpairs\"], "
    "\"bytes\": [1024, 65536]}}";

static cs_status run_sweep(const cs_config *config, cs_ranks *ranks, cs_error *err)
{
    const cs_sweep_options options = {.path = ":memory:", .jobs = 1, .ranks = ranks};
    cs_sweep_summary       sum     = {0};
    cs_status              status  = cs_sweep(config, &options, &sum, err);

    FUZZ_CLAIM(sum.count.done_before + sum.count.run + sum.count.missing <= sum.count.total);
    FUZZ_CLAIM(sum.refused + sum.wrong <= sum.count.done_before + sum.count.run);
    return status;
}

static cs_status run_montecarlo(const cs_config *config, cs_ranks *ranks, cs_error *err)
{
    const cs_montecarlo_options options = {.iterations  = 2,
                                           .takes_fewer = true,
                                           .confidence  = 0.95,
                                           .jobs        = 1,
                                           .ranks       = ranks,
                                           .path        = ":memory:"};
    cs_montecarlo_report        report  = {0};
    cs_status                   status  = cs_montecarlo_run(config, &options, &report, err);

    FUZZ_CLAIM(report.count.done_before + report.count.run + report.count.missing <=
               report.count.total);
    cs_montecarlo_report_free(&report);
    return status;
}

static cs_status run_job(const mail *m, cs_ranks *ranks, cs_error *err)
{
    static cs_config *config = NULL; /* the same for all inputs */

    if (config == NULL) {
        FUZZ_CLAIM(fuzz_load_config(config_text, sizeof config_text - 1, &config, NULL) == CS_OK);
    }
    switch (m->settings & JOB) {
    case SWEEP: return run_sweep(config, ranks, err);
    case MONTECARLO: return run_montecarlo(config, ranks, err);
    default: return run_workers(ranks, err);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
    mail     m   = {.at = data, .end = data + length};
    cs_error err = {0};

    m.settings             = take(&m);
    m.rank                 = (m.settings & SERVES) != 0 ? 1 : 0;
    m.size                 = 2 + take(&m) % 3;
    cs_transport transport = {.self    = &m,
                              .rank    = m.rank,
                              .size    = m.size,
                              .send    = send,
                              .probe   = probe,
                              .receive = receive,
                              .leave   = leave,
                              .abort   = end_all};
    cs_ranks    *ranks     = cs_ranks_over(&transport);
    cs_status    status    = CS_OK;
    FUZZ_CLAIM(ranks != NULL);
    if ((m.settings & GREETS) != 0) {
        status = cs_ranks_agree(ranks, CS_OK, FINGERPRINT, &err);
    }
    if (status == CS_OK) {
        status = run_job(&m, ranks, &err);
    }
    if (status != CS_OK) {
        fuzz_claim_told(status, &err); /* a rank may say that it has found a bug */
    }
    cs_ranks_leave(ranks, 3);
    cs_text_free(&m.letter);
    return 0;
}
