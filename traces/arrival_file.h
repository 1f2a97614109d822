/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/arrival_file.h -- traces of arrivals in any format that is known, told apart by what is
 * in the file, never by its name:
 *
 *   tables          iteration,rank,arrival_s, as CSV or markdown
 *   StragglAR logs  records "Rank r | Step s | .. | AR Time"
 *   Inspector       logs of NCCL's profiler plugin, one file per process, of any length
 *   Flight Recorder dumps of PyTorch, one file per rank
 *   NCCL traces     of PyTorch's profiler (Kineto), one file per rank
 *   timelines       Chrome traces of a rank's work
 *
 * traces/arrival_formats.h describes them. Files may be compressed with gzip. A folder stands for
 * the files in it that have the form that most of them have, by name (input/folder.h); the notes
 * name the others. Errors carry file, line and column.
 */
#ifndef CS_TRACES_ARRIVAL_FILE_H
#define CS_TRACES_ARRIVAL_FILE_H

#include "input/file_cache.h"
#include "traces/arrival_rows.h"

enum { CS_ARRIVAL_MAX_FILES = 4096 };
#define CS_ARRIVAL_MAX_BYTES ((size_t)256 << 20) /* of one file, unpacked; not of Inspector's */
#define CS_ARRIVAL_MAX_TOTAL ((size_t)4 << 30)   /* of all files together */

/* Read a trace with the default options. `path` is one file or folder, or several with commas
 * between them (NCCL traces: one per rank). On CS_OK the trace is the caller's
 * (cs_arrival_trace_free); on failure it is left alone. A file that cannot be read is CS_EIO, logs
 * without some rank CS_EINVAL. */
CS_MUST_CHECK cs_status cs_arrival_file_load(const char *path, cs_arrival_trace *trace_p,
                                             cs_error *err);

/* The same with options, and `notes` (the caller's: cs_arrival_notes_free) about what was read;
 * each of `n` paths may be a list with commas. */
CS_MUST_CHECK cs_status cs_arrival_files_load(const char *const *paths, size_t n,
                                              const cs_arrival_options *options,
                                              cs_arrival_trace *trace_p, cs_arrival_notes *notes_p,
                                              cs_error *err);

/* For a cache: what cs_arrival_file_load() reads, as a cs_arrival_file. The fingerprint is of the
 * arrivals and ranks, whatever the format. */
typedef struct cs_arrival_file {
    cs_arrival_trace trace;
    cs_text          notes; /* cs_arrival_notes_text() */
} cs_arrival_file;
extern const cs_file_kind cs_arrival_file_kind;

/* One text in memory; `name` is its name in errors. */
typedef struct cs_arrival_text {
    const char *name, *text; /* `text` has a NUL behind it; NULL: a log of Inspector, in the file */
    size_t      length;
} cs_arrival_text;

/* The same from texts. */
CS_MUST_CHECK cs_status cs_arrival_texts_read(const cs_arrival_text *texts, size_t n,
                                              const cs_arrival_options *options,
                                              cs_arrival_trace *trace_p, cs_arrival_notes *notes_p,
                                              cs_error *err);

#endif
