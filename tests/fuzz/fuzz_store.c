/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files of results from outside: whatever their bytes, a sweep and a Monte Carlo that go on in one
 * say what is wrong in one line, or end with a row for every scenario.
 *
 * An input is a byte of settings and then either the file itself, or changes to one that the
 * program has written: two bytes of where, one of how many, and the bytes. Files are in memory:
 * SQLite's own file system `memdb` holds them, and nothing is on disk.
 */
#include "base/alloc.h"
#include "campaign/montecarlo.h"
#include "campaign/sweep.h"
#include "fuzz.h"
#include "output/store.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

/* The settings. */
enum { IS_MONTECARLO = 1, IS_RAW = 2, ACCEPTS_BUILDS = 4, IS_OTHER_SWEEP = 8 };
enum { MOST_BYTES = 1 << 16 };

#define PATH "file:/fuzz-store?vfs=memdb"

static const char *const config_texts[] = {
    "{\"bytes\": 4096, \"cluster\": {\"ranks\": 4}, \"sweep\": {\"algorithm.name\": [\"ring\", "
    "\"allpairs\"], \"arrivals.late\": [[], [{\"rank\": 1, \"delay\": \"1us\"}]]}}",
    "{\"bytes\": 4096, \"cluster\": {\"ranks\": 4}, \"sweep\": {\"algorithm.name\": [\"ring\", "
    "\"stragglar\"], \"cluster.nic.alpha\": [\"1us\", \"2us\"]}}",
};

typedef struct file {
    char   bytes[MOST_BYTES];
    size_t length;
} file;

/* Keeps the file while others come and go. */
typedef struct keeper {
    sqlite3      *db;
    sqlite3_file *file;
} keeper;

static keeper keep(void)
{
    keeper k     = {0};
    int    flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI;

    FUZZ_CLAIM(sqlite3_open_v2(PATH, &k.db, flags, NULL) == SQLITE_OK);
    FUZZ_CLAIM(sqlite3_file_control(k.db, "main", SQLITE_FCNTL_FILE_POINTER, &k.file) == SQLITE_OK);
    return k;
}

static void let_go(const keeper *k)
{
    FUZZ_CLAIM(sqlite3_close(k->db) == SQLITE_OK);
}

static void put_file(const keeper *k, const file *f)
{
    FUZZ_CLAIM(k->file->pMethods->xTruncate(k->file, 0) == SQLITE_OK);
    FUZZ_CLAIM(f->length == 0 ||
               k->file->pMethods->xWrite(k->file, f->bytes, (int)f->length, 0) == SQLITE_OK);
}

static void take_file(const keeper *k, file *f)
{
    sqlite3_int64 length = 0;

    FUZZ_CLAIM(k->file->pMethods->xFileSize(k->file, &length) == SQLITE_OK);
    FUZZ_CLAIM(length > 0 && length <= MOST_BYTES);
    f->length = (size_t)length;
    FUZZ_CLAIM(k->file->pMethods->xRead(k->file, f->bytes, (int)length, 0) == SQLITE_OK);
}

/* ---- what goes on in it ---- */

static cs_status sweep(const cs_config *config, bool accepts_builds, cs_error *err)
{
    const cs_sweep_options options = {.path = PATH, .accepts_builds = accepts_builds, .jobs = 1};
    cs_sweep_summary       sum     = {0};
    cs_status              status  = cs_sweep(config, &options, &sum, err);

    if (status == CS_OK) {
        FUZZ_CLAIM(sum.count.done_before + sum.count.run + sum.count.missing == sum.count.total &&
                   !sum.count.is_stopped);
        FUZZ_CLAIM(sum.refused + sum.wrong <= sum.count.total);
    }
    return status;
}

static void claim_row(const cs_montecarlo_row *row)
{
    FUZZ_CLAIM(row->scenario != NULL && row->settings != NULL);
    FUZZ_CLAIM(memchr(row->error, '\0', sizeof row->error) != NULL);
    FUZZ_CLAIM(memchr(row->algorithm, '\0', sizeof row->algorithm) != NULL);
}

static cs_status montecarlo(const cs_config *config, bool accepts_builds, cs_error *err)
{
    const cs_montecarlo_options options = {.iterations     = 2,
                                           .takes_fewer    = true,
                                           .confidence     = 0.95,
                                           .jobs           = 1,
                                           .path           = PATH,
                                           .accepts_builds = accepts_builds};
    cs_montecarlo_report        report  = {0};
    cs_status                   status  = cs_montecarlo_run(config, &options, &report, err);

    if (status == CS_OK) {
        FUZZ_CLAIM(report.n_rows == report.count.done_before + report.count.run &&
                   !report.count.is_stopped);
        for (size_t i = 0; i < report.n_rows; i++) {
            claim_row(&report.rows[i]);
        }
    }
    cs_montecarlo_report_free(&report);
    return status;
}

static const cs_config *config_of(uint8_t settings)
{
    static cs_config *configs[2];
    size_t            i = (settings & IS_OTHER_SWEEP) != 0;

    if (configs[i] == NULL) {
        FUZZ_CLAIM(fuzz_load_config(config_texts[i], strlen(config_texts[i]), &configs[i], NULL) ==
                   CS_OK);
    }
    return configs[i];
}

static cs_status go_on(uint8_t settings, cs_error *err)
{
    bool             accepts = (settings & ACCEPTS_BUILDS) != 0;
    const cs_config *config  = config_of(settings);

    return (settings & IS_MONTECARLO) != 0 ? montecarlo(config, accepts, err)
                                           : sweep(config, accepts, err);
}

/* ---- the file ---- */

/* What the program writes. */
static const file *written_file(uint8_t settings)
{
    static file files[2];
    file       *f = &files[settings & IS_MONTECARLO];

    if (f->length == 0) {
        keeper k = keep();
        FUZZ_CLAIM(go_on(settings & IS_MONTECARLO, NULL) == CS_OK);
        take_file(&k, f);
        let_go(&k);
    }
    return f;
}

static void change(file *f, const uint8_t *data, size_t length)
{
    for (size_t at = 0; at + 3 < length;) {
        size_t where = (data[at] | (size_t)data[at + 1] << 8) % f->length;
        size_t n = data[at + 2], left = length - at - 3, room = f->length - where;
        n = n < left ? n : left;
        memcpy(f->bytes + where, data + at + 3, n < room ? n : room);
        at += 3 + n;
    }
}

static void make_file(uint8_t settings, const uint8_t *data, size_t length, file *f)
{
    if ((settings & IS_RAW) != 0) {
        f->length = length < MOST_BYTES ? length : MOST_BYTES;
        memcpy(f->bytes, data, f->length);
        return;
    }
    *f = *written_file(settings);
    change(f, data, length);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
    static file f;
    static bool is_set;
    cs_error    err = {0}, again = {0};

    if (!is_set) {
        FUZZ_CLAIM(sqlite3_config(SQLITE_CONFIG_URI, 1) == SQLITE_OK);
        is_set = true;
    }
    if (length == 0) {
        return 0;
    }
    make_file(data[0], data + 1, length - 1, &f);
    keeper k = keep();
    put_file(&k, &f);
    cs_status status = go_on(data[0], &err);
    if (status != CS_OK) {
        fuzz_claim_error(status, &err);
    } else {
        /* What was good enough to go on in is complete now. */
        FUZZ_CLAIM(go_on(data[0], &again) == CS_OK);
    }
    let_go(&k);
    return 0;
}
