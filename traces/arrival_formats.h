/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/arrival_formats.h -- the readers of traces of arrivals, one for each format. */
#ifndef CS_TRACES_ARRIVAL_FORMATS_H
#define CS_TRACES_ARRIVAL_FORMATS_H

#include "traces/arrival_file.h"
#include "traces/kineto_events.h"

/* Tables: comma-separated values, or a markdown table.
 *
 * The first line names the columns, in any order:
 *   iteration (also step, call)   whole number; a markdown table may do without: one iteration
 *   rank                          0 .. n-1
 *   arrival_s (also arrival)      when the rank came: on one clock, or as an offset from the first
 *                                 arrival of the iteration (then the smallest is 0)
 *   inside_s (also inside, AR kernel)  how long the rank was inside
 *   queued_s (also queued)        from the host's call to the arrival of its kernel on the GPU
 *   bytes                         buffer of the call, per rank as in nccl-tests
 * At least one of arrival and inside must be there. Times are seconds or carry a unit ("3us"); a
 * column whose name ends in _ms, _us, _ns or "(us)" and so on has bare numbers of that unit.
 * "Arrival gap" is an arrival, too. Other columns are not used, which the notes say. Rows may
 * come in any order; empty lines and lines that begin with '#' are skipped, so are terminal
 * colours and launchers' labels (traces/log_line.h). */

/* Add the records of a table. Errors carry line and column. O(length). */
CS_MUST_CHECK cs_status cs_arrival_table_read(const char *text, size_t length, const char *name,
                                              cs_arrival_rows *rows, cs_arrival_notes *notes,
                                              cs_error *err);

/* Add a trace as comma-separated values that are read back exactly: iteration,rank,arrival_s and,
 * where they are known, inside_s and bytes. Iterations count from 0. */
void cs_arrival_table_write(const cs_arrival_trace *trace, cs_text *text);

/* Logs of StragglAR's training script, one record per rank and step:
 *
 *   Rank 2 | Step 1 | Forward Time: 1499.21 ms | .. | Iteration Time: 4815.84 ms |
 *   AR Time: 117.94 ms | AR Buffer Size: 12549804.00 KB
 *
 * (on one line). Records come in any order, several may share a line, and each is in the colour
 * of its rank; other lines are skipped. KB means KiB there. `AR Time` is how long the rank was
 * inside the AllReduce, which all ranks leave together: the one with the shortest time came last.
 * Step 0 is warm-up. The iteration time gives the period. */

/* Does the text have a record of such a log? O(length). */
bool cs_stragglar_log_is(const char *text, size_t length);

/* Add the records of a log. A record without its AR time (a log that was cut off, or records that
 * tore each other) is refused with line and column, or, with `skip_incomplete`, left out and
 * noted. O(length). */
CS_MUST_CHECK cs_status cs_stragglar_log_read(const char *text, size_t length, const char *name,
                                              const cs_arrival_options *options,
                                              cs_arrival_rows *rows, cs_arrival_notes *notes,
                                              cs_error *err);

/* Logs of NCCL's profiler plugin Inspector (versions 4.0 to 4.3), one object a line, one file per
 * process: which call of which communicator a rank made, how long it was inside, and, with
 * NCCL_INSPECTOR_DUMP_VERBOSE=1, when the host made it and when its kernels began and ended on
 * the host's clock (traces/call_log.h says how clocks are set). Keys that are not known are
 * skipped. A last line that is cut off is noted. A text whose `text` is NULL is read from the file
 * of its name, piece by piece: it may have any length. */

/* Does a text begin as such a log? O(length of its first line). */
bool cs_inspector_is(const char *text, size_t length);

/* Read logs: see cs_arrival_texts_read(). Some 500 MB/s. */
CS_MUST_CHECK cs_status cs_inspector_read(const cs_arrival_text *texts, size_t n,
                                          const cs_arrival_options *options,
                                          cs_arrival_trace *trace_p, cs_arrival_notes *notes,
                                          cs_error *err);

/* Dumps of PyTorch's Flight Recorder as JSON, one per rank: when the host made a call and how long
 * its kernel ran. Without durations (TORCH_NCCL_ENABLE_TIMING) the readings of the watchdog count.
 * The rank is that of the key `rank`, else the last number in the file's name. */

/* Does a text have entries of such a dump? O(length). */
bool cs_flight_recorder_is(const char *text, size_t length);

/* Read dumps: see cs_arrival_texts_read(). O(size of the texts). */
CS_MUST_CHECK cs_status cs_flight_recorder_read(const cs_arrival_text *texts, size_t n,
                                                const cs_arrival_options *options,
                                                cs_arrival_trace *trace_p, cs_arrival_notes *notes,
                                                cs_error *err);

/* JSON traces: of NCCL kernels (PyTorch's profiler), or of a rank's work.
 *
 * With one file per rank, `distributedInfo.rank` says which rank a file is of (where no file has
 * it: their order); in a single file every process that has NCCL kernels is a rank. The k-th
 * collective of every rank of a process group is one call. Clocks of different ranks are not
 * compared: all ranks are taken to leave a call together, so arrival = longest kernel - own kernel,
 * and the shortest kernel came last. An all-to-all is a collective, whose size may differ between
 * the ranks: the largest counts. Sends and receives of point-to-point are none; NCCL kernels that
 * are left out are counted in the notes.
 *
 * Refused: a single rank, process groups with ranks that are not there, more than 4,096 process
 * groups, ranks whose calls differ in kind, size or number, kernels of one stream that overlap (a
 * clock that stepped back).
 *
 * A single file without any NCCL kernel is a timeline. */

/* Read JSON traces: see cs_arrival_texts_read(). O(size of the texts + calls log calls). */
CS_MUST_CHECK cs_status cs_kineto_read(const cs_arrival_text *texts, size_t n,
                                       const cs_arrival_options *options, cs_arrival_trace *trace_p,
                                       cs_arrival_notes *notes, cs_error *err);

/* Timelines of compute: any Chrome trace in one file.
 *
 * Ranks are the processes (pid); where there is one process only, its threads (tid). A rank's
 * lanes are the threads that have events of the chosen categories (`cat`, or the name where an
 * event has none). A step is what `args.step` of the events says, with all its events
 * (micro-batches, say); where no event has it, the k-th event of every lane is its part of step k.
 * A lane's work in a step is the sum of its events. Lanes work side by side (pipeline stages of one
 * data-parallel group, say), so a rank's work is that of its busiest lane. All ranks are taken to
 * begin a step together and to come to a collective when their work is done: arrival = own work -
 * least work. So this is the skew that compute alone brings about, not one that was measured at a
 * collective. */

/* Read a timeline. The category of the options may be several with commas between them; without one
 * the trace must have one only: otherwise they are listed. Refused are steps of which lanes have
 * different numbers of events (left out with `skip_incomplete`), steps that begin after a later
 * one, and args.step on some events only. The notes have the mean work of every rank (of the first
 * 64). O(n log n) for n events. */
CS_MUST_CHECK cs_status cs_timeline_trace_read(const cs_event_file      *file,
                                               const cs_arrival_options *options,
                                               cs_arrival_trace *trace_p, cs_arrival_notes *notes,
                                               cs_error *err);

#endif
