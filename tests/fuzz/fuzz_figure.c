/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Descriptions of figures: whatever is in the file, it is refused in one line or is a figure; and
 * its columns and values, as far as they were read, are expressions that are refused in one line or
 * have a value. Nothing is run.
 */
#include "figures/figure.h"
#include "fuzz.h"

#include <gsl/gsl_errno.h>
#include <string.h>
#include <unistd.h>

static void work_out(cs_figure_table *table, const cs_figure_column *columns, size_t n)
{
    cs_figure_scope scope = {.table = table};
    cs_names        names = cs_figure_names(&scope);

    for (size_t i = 0; columns != NULL && i < n; i++) {
        const char *expression = columns[i].expression;
        cs_operand  value      = {0};
        cs_error    err        = {0};
        char        text[64];
        cs_status   status =
            expression != NULL ? cs_expression_value(expression, &names, &value, &err) : CS_OK;
        if (status != CS_OK) {
            fuzz_claim_error(status, &err);
        }
        if (expression != NULL) {
            cs_expression_names(expression, text, sizeof text);
            FUZZ_CLAIM(strlen(text) < sizeof text);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
    cs_figure       figure = {0};
    cs_figure_table table  = {.figure = &figure};
    cs_error        err    = {0};
    char            path[FUZZ_PATH_BYTES];

    (void)gsl_set_error_handler_off(); /* as the program does */
    int                     fd      = fuzz_memory_file(data, length, path);
    const cs_figure_request request = {.name = path};
    cs_status               status  = cs_figure_open(&figure, &request, &err);
    if (status != CS_OK) {
        fuzz_claim_error(status, &err);
    } else {
        FUZZ_CLAIM(figure.title != NULL && figure.script != NULL);
    }
    work_out(&table, figure.columns, figure.n_columns);
    work_out(&table, figure.values, figure.n_values);
    cs_figure_table_free(&table);
    cs_figure_close(&figure);
    (void)close(fd);
    return 0;
}
