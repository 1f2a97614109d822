/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files that are compressed with gzip, cut or damaged at any place, and folders of files. What is
 * compressed is made here by zlib. */
#include "base/alloc.h"
#include "base/file.h"
#include "input/folder.h"
#include "input/gzip.h"
#include "input/lines.h"
#include "traces/arrival_file.h"
#include "traces/nccl_tests.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define RING COLLSIM_SOURCE_DIR "/traces/generated-ring8.log"

/* The bytes as a gzip file; the caller frees them. */
static char *pack(const char *data, size_t length, size_t *packed_p)
{
    z_stream z    = {.next_in = (Bytef *)(size_t)data, .avail_in = (uInt)length};
    size_t   room = compressBound(length) + 64;
    char    *out  = malloc(room);

    cr_assert_eq(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_out  = (Bytef *)out;
    z.avail_out = (uInt)room;
    cr_assert_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
    *packed_p = room - z.avail_out;
    cr_assert_eq(deflateEnd(&z), Z_OK);
    return out;
}

/* Bytes that hardly become shorter. */
static char *noise(size_t length)
{
    char    *data = malloc(length + 1);
    unsigned x    = 1;

    for (size_t i = 0; i < length; i++) {
        x       = x * 1103515245 + 12345;
        data[i] = (char)(x >> 16);
    }
    return data;
}

Test(gzip, what_was_packed_is_unpacked)
{
    static const size_t lengths[] = {0, 1, 2, 65534, 65535, 65536, 65537, 1000003};

    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        char    *data = noise(lengths[i]), *text = NULL;
        size_t   packed = 0, length = 99;
        char    *file = pack(data, lengths[i], &packed);
        cs_error err  = {0};
        cr_expect(cs_gzip_is(file, packed));
        cr_assert_eq(cs_gzip_unpack(file, packed, lengths[i], &text, &length, &err), CS_OK, "%s",
                     err.message);
        cr_expect_eq(length, lengths[i]);
        cr_expect(memcmp(text, data, length) == 0 && text[length] == '\0');
        cs_free(text);
        if (lengths[i] > 0) {
            cr_expect_eq(cs_gzip_unpack(file, packed, lengths[i] - 1, &text, &length, &err),
                         CS_EINVAL);
            cr_expect_not_null(strstr(err.message, "unpacks to more than"), "%s", err.message);
        }
        free(data);
        free(file);
    }
    cr_expect_not(cs_gzip_is("\x1f", 1));
    cr_expect_not(cs_gzip_is("{}", 2));
}

static void expect_unpacked(const char *file, size_t length, cs_status expected, const char *words)
{
    char     *text   = NULL;
    size_t    n      = 0;
    cs_error  err    = {0};
    cs_status status = cs_gzip_unpack(file, length, 1 << 20, &text, &n, &err);

    cr_expect_eq(status, expected, "%zu bytes: %s", length, err.message);
    if (status == CS_OK) {
        cr_expect_str_eq(text, words);
        cs_free(text);
    } else {
        cr_expect_not_null(strstr(err.message, words), "%zu bytes: %s", length, err.message);
    }
}

Test(gzip, members_follow_each_other_and_zeros_are_padding)
{
    size_t a_bytes = 0, b_bytes = 0;
    char  *a = pack("one ", 4, &a_bytes), *b = pack("two", 3, &b_bytes);
    char   file[256] = {0};

    memcpy(file, a, a_bytes);
    memcpy(file + a_bytes, b, b_bytes);
    expect_unpacked(file, a_bytes + b_bytes, CS_OK, "one two");
    expect_unpacked(file, a_bytes + b_bytes + 7, CS_OK, "one two");
    file[a_bytes + b_bytes] = 'x';
    expect_unpacked(file, a_bytes + b_bytes + 1, CS_EPARSE, "bytes behind its gzip data");
    for (size_t n = 2; n < a_bytes + b_bytes; n++) {
        if (n != a_bytes) {
            expect_unpacked(file, n, CS_EPARSE, "is cut off");
        }
    }
    expect_unpacked(file, a_bytes, CS_OK, "one ");
    free(a);
    free(b);
}

Test(gzip, a_damaged_byte_of_the_sums_or_of_the_head_is_seen)
{
    size_t n    = 0;
    char  *file = pack("what is in the file", 19, &n);

    for (size_t i = n - 8; i < n; i++) {
        file[i] ^= 1;
        expect_unpacked(file, n, CS_EPARSE, "is damaged");
        file[i] ^= 1;
    }
    file[2] = 7;
    expect_unpacked(file, n, CS_EPARSE, "is damaged: its gzip data have an unknown compression");
    free(file);
}

/* ---- files ---- */

static void write_to(const char *path, const char *data, size_t length)
{
    cr_assert_eq(cs_file_write(path, data, length, NULL), CS_OK);
}

static void write_packed(const char *path, const char *data, size_t length)
{
    size_t n    = 0;
    char  *file = pack(data, length, &n);

    write_to(path, file, n);
    free(file);
}

/* A folder of our own; the last one is removed with rm. */
static const char *new_folder(void)
{
    static char path[64];

    (void)snprintf(path, sizeof path, "/tmp/cs_gzip_XXXXXX");
    cr_assert_not_null(mkdtemp(path));
    return path;
}

static void remove_folder(const char *path)
{
    char line[128];

    (void)snprintf(line, sizeof line, "rm -r %s", path);
    cr_expect_eq(system(line), 0);
}

static const char *in(const char *folder, const char *name)
{
    static char paths[8][160];
    static int  at;
    char       *path = paths[at++ % 8];

    (void)snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

Test(gzip, pieces_of_a_file_are_its_text)
{
    const char *folder = new_folder(), *path = in(folder, "x.gz");
    size_t      length = 300001, n = 0, total = 0;
    char       *data = noise(length), piece[1000];
    cs_gzip    *gzip = NULL;

    write_packed(path, data, length);
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file);
    cr_assert_eq(cs_gzip_open(file, &gzip, NULL), CS_OK);
    do {
        cr_assert_eq(cs_gzip_next(gzip, piece, sizeof piece, &n, NULL), CS_OK);
        cr_expect(memcmp(piece, data + total, n) == 0);
        total += n;
    } while (n == sizeof piece);
    cr_expect_eq(total, length);
    cs_gzip_close(gzip);
    cs_gzip_close(NULL);
    (void)fclose(file);
    free(data);
    remove_folder(folder);
}

/* Of a file that is cut off, all lines in front of the cut are there, then it is said. */
Test(gzip, lines_in_front_of_a_cut)
{
    const char  *folder = new_folder(), *path = in(folder, "x.log.gz");
    size_t       length = 300000, n = 0, at = 0;
    char        *data  = noise(length), *file;
    cs_lines    *lines = NULL;
    cs_line_view line  = {.number = 0};
    bool         more  = true;
    cs_error     err   = {0};

    for (size_t i = 99; i < length; i += 100) {
        data[i] = '\n';
    }
    file = pack(data, length, &n);
    write_to(path, file, n / 2);
    cr_assert_eq(cs_lines_open(path, &lines, &err), CS_OK);
    cs_status status = cs_lines_next(lines, &line, &more, &err);
    for (; status == CS_OK && more; status = cs_lines_next(lines, &line, &more, &err)) {
        cr_assert(memcmp(line.text, data + at, line.length) == 0);
        at += line.length + (line.has_no_end ? 0 : 1);
    }
    cr_expect_eq(status, CS_EPARSE);
    cr_expect(strstr(err.message, "is cut off") != NULL && strstr(err.input, "x.log.gz") != NULL);
    cr_expect(at > length / 3 && at < length, "%zu bytes", at);
    cs_lines_close(lines);
    free(file);
    free(data);
    remove_folder(folder);
}

Test(gzip, a_log_is_the_same_compressed)
{
    const char  *folder = new_folder(), *path = in(folder, "ring.log.gz");
    char        *text   = NULL;
    size_t       length = 0;
    cs_nccl_logs plain = {0}, packed = {0};
    cs_error     err = {0};

    cr_assert_eq(cs_file_read(RING, 1 << 20, &text, &length, &err), CS_OK, "%s", err.message);
    write_packed(path, text, length);
    cr_assert_eq(cs_nccl_read(RING, 0, &plain, &err), CS_OK);
    cr_assert_eq(cs_nccl_read(path, 0, &packed, &err), CS_OK, "%s", err.message);
    cr_assert_eq(plain.n, packed.n);
    cr_assert_eq(plain.logs[0]->n_rows, packed.logs[0]->n_rows);
    cr_expect(memcmp(plain.logs[0]->rows, packed.logs[0]->rows,
                     plain.logs[0]->n_rows * sizeof *plain.logs[0]->rows) == 0);
    cs_nccl_logs_free(&packed);
    write_packed(path, text, length);
    cr_assert_eq(truncate(path, 300), 0);
    cr_expect_eq(cs_nccl_read(path, 0, &packed, &err), CS_EPARSE);
    cr_expect_not_null(strstr(err.message, "is cut off"), "%s", err.message);
    cs_nccl_logs_free(&packed);
    cs_nccl_logs_free(&plain);
    cs_free(text);
    remove_folder(folder);
}

static const char table[] = "iteration,rank,arrival_s\n0,0,0\n0,1,1\n1,0,0\n1,1,3\n";

/* Read a folder or file as a trace. */
static cs_status load(const char *path, char *notes_text, size_t room, cs_error *err)
{
    const cs_arrival_options options = {0};
    cs_arrival_trace         trace   = {0};
    cs_arrival_notes         notes   = {0};
    cs_status status = cs_arrival_files_load(&path, 1, &options, &trace, &notes, err);

    if (status == CS_OK) {
        cr_expect_eq(trace.n_ranks, 2);
        (void)snprintf(notes_text, room, "%s", notes.text.data != NULL ? notes.text.data : "");
    }
    cs_arrival_trace_free(&trace);
    cs_arrival_notes_free(&notes);
    return status;
}

Test(gzip, a_folder_stands_for_its_traces)
{
    const char *folder = new_folder();
    char        notes[400];
    cs_error    err = {0};

    cr_expect_eq(load(folder, notes, sizeof notes, &err), CS_EINVAL);
    cr_expect_not_null(strstr(err.message, "has no trace: accepted are tables"), "%s", err.message);
    write_to(in(folder, "README"), "words, and no table\n", 20);
    err = (cs_error){0};
    cr_expect_eq(load(folder, notes, sizeof notes, &err), CS_EINVAL);
    cr_expect_not_null(strstr(err.message, "README"), "%s", err.message);
    write_to(in(folder, ".hidden.csv"), "rank,\n", 6);
    cr_assert_eq(mkdir(in(folder, "deeper"), 0700), 0);
    write_packed(in(folder, "a.csv.gz"), table, sizeof table - 1);
    err = (cs_error){0};
    cr_expect_eq(load(folder, notes, sizeof notes, &err), CS_OK, "%s", err.message);
    cr_expect_not_null(strstr(notes, "left out of folders: "), "%s", notes);
    cr_expect_not_null(strstr(notes, "README\n"), "%s", notes);
    write_to(in(folder, "b.csv"), table, sizeof table - 1);
    err = (cs_error){0};
    cr_expect_eq(load(folder, notes, sizeof notes, &err), CS_EPARSE);
    cr_expect_not_null(strstr(err.message, "several files are accepted as NCCL traces"), "%s",
                       err.message);
    cr_expect_not_null(strstr(err.input, "b.csv"), "%s", err.input);
    remove_folder(folder);
}

Test(gzip, a_cut_trace_of_a_folder_is_named)
{
    const char *folder = new_folder();
    char        notes[400];
    cs_error    err = {0};

    write_packed(in(folder, "a.csv.gz"), table, sizeof table - 1);
    cr_assert_eq(truncate(in(folder, "a.csv.gz"), 30), 0);
    cr_expect_eq(load(folder, notes, sizeof notes, &err), CS_EPARSE);
    cr_expect_not_null(strstr(err.message, "is cut off"), "%s", err.message);
    cr_expect_not_null(strstr(err.input, "a.csv.gz"), "%s", err.input);
    remove_folder(folder);
}

Test(gzip, files_of_a_folder_come_by_name_and_number)
{
    static const char *const names[] = {"rank10.json", "rank9.json", "rank09.json", "a",
                                        "rank",        ".x",         "rank9b"};
    static const char *const order[] = {"a",          "rank",   "rank09.json",
                                        "rank9.json", "rank9b", "rank10.json"};
    const char              *folder  = new_folder();
    cs_folder                files;
    cs_error                 err = {0};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        write_to(in(folder, names[i]), "", 0);
    }
    cr_assert_eq(cs_folder_read(folder, 6, &files, &err), CS_OK, "%s", err.message);
    cr_assert_eq(files.n, 6);
    for (size_t i = 0; i < files.n; i++) {
        cr_expect_str_eq(strrchr(files.paths[i], '/') + 1, order[i], "%zu", i);
    }
    cs_folder_free(&files);
    cr_expect_eq(cs_folder_read(folder, 5, &files, &err), CS_EINVAL);
    cs_folder_free(&files);
    err = (cs_error){0};
    cr_expect_eq(cs_folder_read("/nowhere", 5, &files, &err), CS_EIO);
    cs_folder_free(&files);
    remove_folder(folder);
}

Test(gzip, memory_may_run_out_anywhere)
{
    const char *folder = new_folder();
    char        notes[400];
    cs_status   status = CS_ENOMEM;

    write_packed(in(folder, "a.csv.gz"), table, sizeof table - 1);
    write_to(in(folder, "README"), "", 0);
    for (long passes = 0; passes < 500 && status != CS_OK; passes++) {
        cs_error err = {0};
        cs_alloc_fail_after(passes);
        status = load(folder, notes, sizeof notes, &err);
        cs_alloc_fail_after(-1);
        cr_assert(status == CS_OK || status == CS_ENOMEM, "%ld: %s", passes, err.message);
    }
    cr_expect_eq(status, CS_OK);
    remove_folder(folder);
}
