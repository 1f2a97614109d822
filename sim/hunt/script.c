/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From groups to command lines, and from logs to results. */
#include "hunt/script.h"

#include "base/alloc.h"
#include "input/folder.h"
#include "input/gzip.h"
#include "traces/nccl_tests.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define MOST_LOG_BYTES ((size_t)64 << 20)
#define MOST_LOGS      ((size_t)1 << 20)
#define MARK           "# collsim-hunt "
#define MIB            ((uint64_t)1 << 20)

/* ---- commands ---- */

#define PERF "all_reduce_perf -b {from} -e {to} -i {step} -g 1 -w 5 -n 20"

const char *cs_script_command(cs_launcher launcher, bool has_rails)
{
    static const char *const commands[][2] = {
        {"mpirun -np {ranks} --host {slots} " PERF,
         "mpirun -np {ranks} --host {slots} -x NCCL_IB_HCA=={rail} " PERF},
        {"srun -N {nodes} --ntasks-per-node={gpus} -w {hosts} " PERF,
         "NCCL_IB_HCA=={rail} srun -N {nodes} --ntasks-per-node={gpus} -w {hosts} " PERF},
    };

    return commands[launcher][has_rails];
}

static const char *const places[] = {"hosts", "slots", "nodes", "gpus",  "ranks", "from",
                                     "to",    "step",  "rail",  "label", NULL};

/* Which place stands at a brace; NULL: none. */
static const char *place_at(const char *at)
{
    for (size_t i = 0; places[i] != NULL; i++) {
        size_t length = strlen(places[i]);
        if (strncmp(at + 1, places[i], length) == 0 && at[1 + length] == '}') {
            return places[i];
        }
    }
    return NULL;
}

cs_status cs_script_check(const cs_hunt *hunt, const char *command, cs_error *err)
{
    bool has_hosts = strstr(command, "{hosts}") != NULL || strstr(command, "{slots}") != NULL;

    for (const char *at = command; *at != '\0'; at++) {
        if ((unsigned char)*at < ' ') {
            return CS_FAIL(err, CS_EINVAL, "--template", "is more than one line");
        }
        if (*at == '{' && place_at(at) == NULL && islower((unsigned char)at[1])) {
            char plain[32];
            cs_plain_text(plain, sizeof plain, at);
            return CS_FAIL(err, CS_EINVAL, "--template",
                           "'%s' is no place: accepted are {hosts}, {slots}, {nodes}, {gpus}, "
                           "{ranks}, {from}, {to}, {step}, {rail} and {label}",
                           plain);
        }
    }
    if (!has_hosts) {
        return CS_FAIL(err, CS_EINVAL, "--template",
                       "does not say where to run: {hosts} (a,b) or {slots} (a:8,b:8) does");
    }
    if (hunt->n_rails > 0 && strstr(command, "{rail}") == NULL) {
        return CS_FAIL(err, CS_EINVAL, "--template",
                       "does not say over which NIC to run: {rail} does");
    }
    return CS_OK;
}

static void add_hosts(const cs_hunt *hunt, const cs_hunt_round *round, uint32_t group,
                      bool has_slots, cs_text *text)
{
    bool is_first = true;

    for (uint32_t i = 0; i < hunt->n_hosts; i++) {
        if (round->group_of[i] == group) {
            cs_text_add(text, "%s%s", is_first ? "" : ",", hunt->hosts[i]);
            is_first = false;
            if (has_slots) {
                cs_text_add(text, ":%u", hunt->setting.gpus);
            }
        }
    }
}

static void add_place(const cs_hunt *hunt, const char *place, uint32_t round, uint32_t group,
                      uint32_t test, cs_text *text)
{
    const cs_hunt_setting *s    = &hunt->setting;
    uint32_t               size = cs_hunt_group_size(hunt, hunt->rounds[round], group);
    uint64_t               step = s->bytes / 128 / MIB * MIB;
    char                   label[CS_HUNT_LABEL_BYTES];

    step = step < MIB ? MIB : step;
    if (strcmp(place, "hosts") == 0 || strcmp(place, "slots") == 0) {
        add_hosts(hunt, hunt->rounds[round], group, place[0] == 's', text);
    } else if (strcmp(place, "nodes") == 0) {
        cs_text_add(text, "%u", size);
    } else if (strcmp(place, "gpus") == 0) {
        cs_text_add(text, "%u", s->gpus);
    } else if (strcmp(place, "ranks") == 0) {
        cs_text_add(text, "%" PRIu64, (uint64_t)size * s->gpus);
    } else if (strcmp(place, "from") == 0) {
        cs_text_add(text, "%" PRIu64, s->bytes);
    } else if (strcmp(place, "to") == 0) {
        cs_text_add(text, "%" PRIu64, s->bytes + (s->rows - 1) * step);
    } else if (strcmp(place, "step") == 0) {
        cs_text_add(text, "%" PRIu64, step);
    } else if (strcmp(place, "rail") == 0) {
        cs_text_add(text, "%s", hunt->n_rails > 0 ? hunt->rails[test] : "");
    } else {
        cs_hunt_label(hunt, round, group, test, label);
        cs_text_add(text, "%s", label);
    }
}

void cs_script_add_command(const cs_hunt *hunt, uint32_t round, uint32_t group, uint32_t test,
                           cs_text *text)
{
    for (const char *at = hunt->command; *at != '\0';) {
        const char *place = *at == '{' ? place_at(at) : NULL;
        if (place != NULL) {
            add_place(hunt, place, round, group, test, text);
            at += strlen(place) + 2;
        } else {
            cs_text_add_bytes(text, at++, 1);
        }
    }
}

void cs_script_add(const cs_hunt *hunt, uint32_t round, cs_text *text)
{
    const cs_hunt_round *r = hunt->rounds[round];
    char                 id[CS_HUNT_ID_BYTES], label[CS_HUNT_LABEL_BYTES];

    cs_hunt_id(hunt, id);
    cs_text_add(text, "# round %u of hunt %s: groups side by side, %s\n", round + 1, id,
                hunt->n_rails > 0 ? "the runs of a group one after the other" : "one run each");
    for (uint32_t g = 0; g < r->n_groups; g++) {
        bool is_open = false;
        for (uint32_t test = 0; test < cs_hunt_n_tests(hunt); test++) {
            if (cs_hunt_at(hunt, r, g, test)->busbw_Bps > 0) {
                continue;
            }
            cs_hunt_label(hunt, round, g, test, label);
            cs_text_add(text, "%s{ echo '" MARK "%s %s'; ", is_open ? "; " : "( ", id, label);
            cs_script_add_command(hunt, round, g, test, text);
            cs_text_add(text, "; } > %s.log 2>&1", label);
            is_open = true;
        }
        cs_text_add(text, "%s", is_open ? " ) &\n" : "");
    }
    cs_text_add(text, "wait\n");
}

/* ---- which run is it? ---- */

/* The label in the log's own line, if it has one. False, with an error: it is of another hunt. */
static cs_status find_mark(const cs_hunt *hunt, const char *text, char label[CS_HUNT_LABEL_BYTES],
                           cs_error *err)
{
    char        own[CS_HUNT_ID_BYTES], id[CS_HUNT_ID_BYTES + 8] = "";
    const char *at = strstr(text, MARK);

    label[0] = '\0';
    if (at == NULL) {
        return CS_OK;
    }
    cs_hunt_id(hunt, own);
    at += strlen(MARK);
    size_t length = strcspn(at, " \t\r\n");
    if (length < sizeof id) {
        memcpy(id, at, length);
    }
    if (strcmp(id, own) != 0) {
        return CS_FAIL(err, CS_EINVAL, "", "is a log of another hunt than %s", own);
    }
    at += length + strspn(at + length, " \t");
    length = strcspn(at, " \t\r\n");
    if (length < CS_HUNT_LABEL_BYTES) {
        memcpy(label, at, length);
        label[length] = '\0';
    }
    return CS_OK;
}

/* The name of a file without folders and what follows the label. */
static void label_of_name(const char *path, char label[CS_HUNT_LABEL_BYTES])
{
    static const char *const ends[] = {".gz", ".log", ".txt", ".out"};
    const char              *slash  = strrchr(path, '/');

    cs_plain_text(label, CS_HUNT_LABEL_BYTES, slash != NULL ? slash + 1 : path);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        if (cs_ends_in(label, ends[i])) {
            label[strlen(label) - strlen(ends[i])] = '\0';
        }
    }
}

/* ---- what does it say? ---- */

/* The bus bandwidth of a row by its size and its time: the column of bandwidths has two decimals of
 * GB/s, which is nothing where NICs are slow. The column itself where the time is another one (the
 * processor's), or where the collective is not what the log seems to be of. A log that does not say
 * its collective is taken for one of AllReduce, as hunts run. */
static double busbw_of(const cs_nccl_log *table, const cs_nccl_row *row, const cs_nccl_timing *t,
                       uint32_t n_ranks)
{
    bool          is_known   = table->collective_from != CS_NCCL_UNKNOWN;
    cs_collective collective = is_known ? table->collective : CS_ALLREDUCE;
    double        factor     = cs_busbw_factor(collective, n_ranks);
    bool          fits =
        !table->is_cputime && t->time_s > 0 && factor >= t->ratio_low && factor <= t->ratio_high;

    return fits ? (double)row->size_bytes / t->time_s * factor : t->busbw_Bps;
}

/* The mean logarithm of bus bandwidths over all measured sides of large sizes. */
static cs_status mean_of(const cs_nccl_log *table, uint32_t n_ranks, double *busbw_Bps_p,
                         uint32_t *rows_p, cs_error *err)
{
    uint64_t most = table->rows[table->n_rows - 1].size_bytes;
    double   sum = 0, n = 0;

    *rows_p = 0;
    for (size_t i = 0; i < table->n_rows; i++) {
        bool is_used = false;
        for (int side = 0; side < CS_NCCL_SIDES; side++) {
            const cs_nccl_timing *t = &table->rows[i].timings[side];
            double busbw_Bps = t->is_measured ? busbw_of(table, &table->rows[i], t, n_ranks) : 0;
            if (table->rows[i].size_bytes >= most / 2 && busbw_Bps >= 1) {
                sum += log(busbw_Bps);
                n += 1;
                is_used = true;
            }
        }
        *rows_p += is_used;
    }
    if (*rows_p == 0) {
        return CS_FAIL(err, CS_EINVAL, "", "has no row with a bus bandwidth");
    }
    *busbw_Bps_p = exp(sum / n);
    return CS_OK;
}

static cs_status check_log(const cs_hunt *hunt, const cs_nccl_logs *logs, uint32_t size,
                           const char *label, cs_error *err)
{
    const cs_nccl_log *log   = logs->logs[0];
    uint64_t           ranks = (uint64_t)size * hunt->setting.gpus;

    if (logs->n != 1 || log->measured != CS_NCCL_COLLECTIVE) {
        return CS_FAIL(err, CS_EINVAL, "", "holds no table of one collective");
    }
    if (log->n_hosts > 0 && log->n_hosts != size) {
        return CS_FAIL(err, CS_EINVAL, "", "ran on %u hosts, and %s has %u", log->n_hosts, label,
                       size);
    }
    if (log->n_ranks_listed > 0 && log->n_ranks_listed != ranks) {
        return CS_FAIL(err, CS_EINVAL, "", "has %u ranks, and %s has %" PRIu64 " (%u GPUs a host)",
                       log->n_ranks_listed, label, ranks, hunt->setting.gpus);
    }
    return CS_OK;
}

/* The result of the run that the label names. */
static cs_status take_logs(cs_hunt *hunt, const cs_nccl_logs *logs, const char *path,
                           const char *label, const uint32_t at[3], cs_error *err)
{
    const cs_hunt_round *round     = hunt->rounds[at[0]];
    const char          *slash     = strrchr(path, '/');
    uint32_t             size      = cs_hunt_group_size(hunt, round, at[1]);
    double               busbw_Bps = 0;
    uint32_t             rows      = 0;
    char                 name[CS_HUNT_NAME_BYTES];

    CS_TRY(check_log(hunt, logs, size, label, err));
    CS_TRY(mean_of(logs->logs[0], size * hunt->setting.gpus, &busbw_Bps, &rows, err));
    cs_plain_text(name, sizeof name, slash != NULL ? slash + 1 : path);
    return cs_hunt_put(hunt, cs_hunt_at(hunt, round, at[1], at[2]), busbw_Bps, rows, name, err);
}

static cs_status read_text(cs_hunt *hunt, const char *path, const char *text, size_t length,
                           cs_error *err)
{
    char         label[CS_HUNT_LABEL_BYTES];
    uint32_t     at[3] = {0, 0, 0}; /* round, group, test */
    cs_nccl_logs logs  = {0};
    cs_status    status;

    CS_TRY(find_mark(hunt, text, label, err));
    if (label[0] == '\0') {
        label_of_name(path, label);
    }
    if (!cs_hunt_find_label(hunt, label, &at[0], &at[1], &at[2])) {
        return CS_FAIL(err, CS_ENOENT, "",
                       "is of no run of this hunt: neither a line '" MARK "..' nor its name says a "
                       "label such as r1-g01");
    }
    status = cs_nccl_parse(text, length, path, 0, &logs, err);
    status = status == CS_OK ? take_logs(hunt, &logs, path, label, at, err) : status;
    cs_nccl_logs_free(&logs);
    return status;
}

/* One log; what is wrong with it becomes a note. Files of a folder that are no logs are passed
 * over.
 */
static cs_status read_one(cs_hunt *hunt, const char *path, bool is_given, size_t *n_p,
                          cs_text *notes, cs_error *err)
{
    char     *text   = NULL, said[800];
    size_t    length = 0;
    cs_error  wrong  = {0};
    cs_status status = cs_gzip_read(path, MOST_LOG_BYTES, &text, &length, &wrong);

    if (status == CS_OK) {
        status = read_text(hunt, path, text, length, &wrong);
    }
    cs_free(text);
    if (status == CS_ENOMEM || (status == CS_EIO && is_given)) {
        if (err != NULL && err->status == CS_OK) {
            *err = wrong;
        }
        return status;
    }
    *n_p += status == CS_OK;
    if (status != CS_OK && (is_given || status != CS_ENOENT)) {
        cs_error_locate(&wrong, path, 0, 0);
        cs_error_text(&wrong, said, sizeof said);
        cs_text_add(notes, "%s\n", said);
    }
    return CS_OK;
}

cs_status cs_script_read(cs_hunt *hunt, const char *path, size_t *n_p, cs_text *notes,
                         cs_error *err)
{
    cs_folder folder = {0};
    cs_status status;

    if (!cs_folder_is(path)) {
        return read_one(hunt, path, true, n_p, notes, err);
    }
    status = cs_folder_read(path, MOST_LOGS, &folder, err);
    for (size_t i = 0; i < folder.n && status == CS_OK; i++) {
        status = read_one(hunt, folder.paths[i], false, n_p, notes, err);
    }
    cs_folder_free(&folder);
    return status;
}
