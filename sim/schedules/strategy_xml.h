/* SPDX-License-Identifier: GPL-3.0-or-later */
/* schedules/strategy_xml.h -- AdapCC's strategies as XML files.
 *
 *   <trees>
 *     <root id="0" ip="10.0.0.1" size="1048576" chunk="65536">
 *       <gpu id="1" ip="10.0.0.1" agg="0"><gpu id="2" ip="10.0.0.2"/></gpu>
 *     </root>
 *     ..
 *   </trees>
 *
 * Every root is a tree, in the order of the file; a nested gpu is a child. `id` is a world rank,
 * `ip` names its server. The released program writes no more than these. What this one adds: size
 * and chunk (bytes, also 1M; of all trees or of none), agg (0: the rank forwards what it receives;
 * also of a root).
 *
 * Some shipped files have no blank between attributes (id='1'ip='a'); they are read. Unknown
 * attributes are passed over, unknown elements refused. Errors carry file, line and column.
 *
 * Source: the released program's files.
 */
#ifndef CS_SCHEDULES_STRATEGY_XML_H
#define CS_SCHEDULES_STRATEGY_XML_H

#include "algorithms/adapcc/strategy.h"
#include "base/text.h"
#include "input/file_cache.h"

enum { CS_STRATEGY_MAX_BYTES = 256 << 20 }; /* of a file */

/* Read a file, or a text that `input` names in errors. The caller frees the strategy, also after a
 * failure. O(length). */
CS_MUST_CHECK cs_status cs_strategy_load(const char *path, cs_strategy_file *file, cs_error *err);
CS_MUST_CHECK cs_status cs_strategy_parse(const char *text, size_t length, const char *input,
                                          cs_strategy_file *file, cs_error *err);

/* Such files in a cache: the content is a cs_strategy_file, to be shared by all who run it. */
extern const cs_file_kind cs_strategy_file_kind;

/* Write a checked strategy with its sizes, if any tree has one. Servers are named by the topology,
 * which it fits, or (NULL) by the strategy. Fails with CS_ENOMEM alone. */
CS_MUST_CHECK cs_status cs_strategy_write(cs_text *text, const cs_strategy *strategy,
                                          const cs_logical *logical, cs_error *err);

#endif
