/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gnuplot as a child process, without a shell: the script is a file, what it complains about is
 * what the child prints. No time limit: the scripts are our own. */
#include "figures/gnuplot.h"

#include "base/child.h"

#include <string.h>

enum { COMPLAINT_BYTES = 512 };

/* The first line of gnuplot's complaint that says something: it begins with pictures of where
 * it stood. Where there is none, how it ended. */
static const char *first_words(cs_child *child, char text[COMPLAINT_BYTES])
{
    for (char *save = NULL, *line = strtok_r(text, "\n", &save); line != NULL;
         line = strtok_r(NULL, "\n", &save)) {
        if (strstr(line, "line ") != NULL || strstr(line, "rror") != NULL) {
            return line;
        }
    }
    cs_child_exit_reason(child, text, COMPLAINT_BYTES);
    return text;
}

cs_status cs_gnuplot_run(const char *folder, const char *script, const char *first, bool *found_p,
                         cs_error *err)
{
    const cs_child_program gnuplot = {
        .path = "gnuplot", .words = {"-d", "-e", first, script}, .folder = folder};
    char      complaint[COMPLAINT_BYTES];
    cs_child *child  = NULL;
    cs_error  why    = {0};
    cs_status status = cs_child_start(&gnuplot, &child, &why);

    *found_p = status != CS_EMISSING;
    if (status != CS_OK) {
        return *found_p ? CS_FAIL(err, status, "gnuplot", "%s", why.message) : CS_OK;
    }
    if (!cs_child_finish(child, complaint, sizeof complaint)) {
        status = CS_FAIL(err, CS_EIO, "gnuplot", "could not draw %s: %s", script,
                         first_words(child, complaint));
    }
    cs_child_close(child);
    return status;
}
