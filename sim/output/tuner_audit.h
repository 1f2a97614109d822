/* SPDX-License-Identifier: GPL-3.0-or-later */
/* output/tuner_audit.h -- where NCCL's choice loses by measurements, as comments and lines of a
 * configuration of its tuner plugin.
 *
 * Of each size that was measured, what NCCL ran by itself is compared with the other algorithm and
 * protocol of the least median. What ran by itself is what unforced logs say; where they do not say
 * it, what the tuner's model picks. Only differences get a line
 *   - of medians of at least three measurements each,
 *   - of more than the threshold,
 *   - that chance would not bring about at any size, with any choice, in 99 of 100 audits
 *     (Student's t of logarithms of times; the noise is that of both medians, but no less than what
 *     measurements of one choice at one size usually differ by).
 * Sizes that were not measured are in no line but between neighbours of the same answer.
 */
#ifndef CS_OUTPUT_TUNER_AUDIT_H
#define CS_OUTPUT_TUNER_AUDIT_H

#include "algorithms/lib/nccl_tuning.h"
#include "base/text.h"
#include "traces/measured_choices.h"

/* Audit the collective of the tuning on its cluster: other measurements are left out and counted.
 * `threshold`: 0.05 is 5 %. CS_EINVAL where no measurement is left. O(n log n). */
CS_MUST_CHECK cs_status cs_tuner_audit(const cs_measured_choices *measured,
                                       const cs_nccl_tuning *tuning, double threshold,
                                       cs_text *text, cs_error *err);

#endif
