/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Results from outside, as CSV, JSON or a database: refused in one line, or columns that make
 * sense, of which a picture is a script or one more line.
 *
 * The first byte of an input says what is drawn; behind it stands the file.
 */
#include "fuzz.h"
#include "report/plot.h"
#include "report/report.h"

#include <math.h>
#include <unistd.h>

enum { IS_HEAT = 1, IS_RATIO = 2, IS_LINEAR = 4, MOST_BYTES = 1 << 16 };

static void claim_columns(const cs_data *data)
{
    FUZZ_CLAIM(data->n_rows > 0 && data->n_columns <= CS_DATA_MOST_COLUMNS);
    for (size_t i = 0; i < data->n_columns; i++) {
        const cs_data_column *column = &data->columns[i];
        FUZZ_CLAIM(cs_data_find(data, column->name) != NULL);
        FUZZ_CLAIM(cs_data_values(data, column, NULL, 0) <= data->n_rows);
        for (size_t r = 0; r < data->n_rows; r++) {
            double value = column->values[r];
            FUZZ_CLAIM(!column->has_words || isnan(value) || value < (double)column->n_words);
            FUZZ_CLAIM(isnan(value) || isfinite(value));
        }
    }
}

static void draw(const cs_data *data, unsigned how)
{
    const cs_plot_request request = {.is_heat  = (how & IS_HEAT) != 0,
                                     .ratio_to = (how & IS_RATIO) != 0 ? "ring" : NULL,
                                     .logscale = (how & IS_LINEAR) != 0 ? CS_PLOT_LOG_NONE : 0};
    cs_plot               plot    = {.width = 0};
    cs_error              err     = {0};
    cs_status             status  = cs_plot_make(data, &request, &plot, &err);

    if (status != CS_OK) {
        fuzz_claim_error(status, &err);
    } else {
        FUZZ_CLAIM(plot.script.length > 0 && plot.width > 0 && plot.height > 0);
    }
    cs_text_free(&plot.script);
}

/* The page about them; nothing is replayed, as their scenarios are not read. */
static void report(const cs_data *data)
{
    const cs_report_options options = {.title = "t", .command = "c", .base = "", .has_runs = true};
    cs_report               page    = {.data = {0}};
    cs_error                err     = {0};
    cs_status               status  = cs_report_make(data, &options, &page, &err);

    if (status != CS_OK) {
        fuzz_claim_error(status, &err);
    } else {
        FUZZ_CLAIM(page.data.length > 0 && page.data.data[0] == '{');
        FUZZ_CLAIM(page.data.data[page.data.length - 1] == '}');
    }
    cs_report_free(&page);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    char     path[FUZZ_PATH_BYTES];
    cs_data  data = {0};
    cs_error err  = {0};

    if (length == 0 || length > MOST_BYTES) {
        return 0;
    }
    int       file   = fuzz_memory_file(bytes + 1, length - 1, path);
    cs_status status = cs_data_read(path, &data, &err);
    if (status != CS_OK) {
        fuzz_claim_error(status, &err);
    } else {
        claim_columns(&data);
        draw(&data, bytes[0]);
        report(&data);
        cs_data_free(&data);
    }
    (void)close(file);
    return 0;
}
