/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/nccl_json.h -- measurements of collectives in JSON: what nccl-tests writes with -J, and
 * SimLLM's. Keys that are not used are passed over. */
#ifndef CS_TRACES_NCCL_JSON_H
#define CS_TRACES_NCCL_JSON_H

#include "traces/nccl_tests.h"

#define CS_NCCL_JSON_BYTES ((size_t)16 * 1024 * 1024)

/* As cs_nccl_parse(); errors carry line, column and key. O(length). */
cs_status cs_nccl_json_parse(const char *text, size_t length, const char *name, uint32_t n_ranks,
                             cs_nccl_logs *logs, cs_error *err);

/* Put a log behind the others; it is theirs then, or freed where that fails. */
cs_status cs_nccl_logs_add(cs_nccl_logs *logs, cs_nccl_log *log, const char *name, cs_error *err);

/* A log without rows that is called after a file, and in it after `part` (may be NULL). */
cs_status cs_nccl_log_new(const char *name, const char *part, cs_nccl_log **log_p, cs_error *err);

/* Add a row; *capacity_p is the caller's. */
cs_status cs_nccl_log_push(cs_nccl_log *log, size_t *capacity_p, const cs_nccl_row *row,
                           cs_error *err);

#endif
