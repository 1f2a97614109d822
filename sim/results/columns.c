/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values of columns as text: see columns.h. */
#include "results/columns.h"

#include <inttypes.h>
#include <math.h>

void cs_json_TEXT(cs_text *text, const char *value)
{
    cs_text_add_json_string(text, value);
}

void cs_json_COUNT(cs_text *text, uint64_t value)
{
    cs_text_add(text, "%" PRIu64, value);
}

void cs_json_REAL(cs_text *text, double value)
{
    cs_text_add_number(text, value);
}

void cs_json_BOOL(cs_text *text, bool value)
{
    cs_text_add(text, "%s", value ? "true" : "false");
}

void cs_csv_TEXT(cs_text *text, const char *value)
{
    cs_text_add_csv_field(text, value != NULL ? value : "");
}

void cs_csv_COUNT(cs_text *text, uint64_t value)
{
    cs_json_COUNT(text, value);
}

void cs_csv_REAL(cs_text *text, double value)
{
    if (isfinite(value)) {
        cs_text_add_number(text, value);
    }
}

void cs_csv_BOOL(cs_text *text, bool value)
{
    cs_json_BOOL(text, value);
}
