/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/calibration_json.h -- calibrations as JSON files, written and read back exactly.
 *
 * An object with the keys of traces/calibration.h; quantities bear their unit (_s, _bytes,
 * _Bps), relative errors end in _ratio. The key "logs", how each log was read, may be missing, as
 * it is in files of earlier versions; all others must be there. Unknown keys, wrong types, missing
 * keys and values that contradict each other are errors with file, line, column and key.
 */
#ifndef CS_TRACES_CALIBRATION_JSON_H
#define CS_TRACES_CALIBRATION_JSON_H

#include "traces/calibration.h"

/* Add the calibration to `text`, ending in a newline. */
void cs_calibration_json(const cs_calibration *calibration, cs_text *text);

/* Read a file of at most 256 MiB: a calibration (an object that names its format), or a
 * measurement, which is calibrated as cs_calibrate() does without options. On CS_OK *calibration_p
 * is the caller's (cs_calibration_free). */
cs_status cs_calibration_load(const char *path, cs_calibration **calibration_p, cs_error *err);

/* The same from a text; `name` is its name in errors. */
cs_status cs_calibration_parse(const char *text, size_t length, const char *name,
                               cs_calibration **calibration_p, cs_error *err);

#endif
