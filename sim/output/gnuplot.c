/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "output/gnuplot.h"

#include "base/child.h"

#include <math.h>
#include <string.h>

void cs_gnuplot_begin(cs_text *script)
{
    cs_text_add(script, "set encoding utf8\nset terminal svg size 900,480 font 'DejaVu Sans,12' "
                        "background '#FFFFFF'\n");
}

void cs_gnuplot_quoted(cs_text *script, const char *words)
{
    cs_text_add(script, "'");
    for (; *words != '\0'; words++) {
        if (*words == '\'') {
            cs_text_add(script, "''");
        } else if (strchr("\\{}^_@&~\n", *words) == NULL) {
            cs_text_add_bytes(script, words, 1);
        } else {
            cs_text_add(script, " ");
        }
    }
    cs_text_add(script, "'");
}

void cs_gnuplot_sizes(cs_text *script, double low, double high)
{
    cs_text_add(script,
                "set logscale x 2\nset xrange [%.17g:%.17g]\nset xlabel 'size'\nset border 3\nset "
                "tics nomirror out\nset xtics (",
                low / 1.5, high * 1.5);
    for (int power = 0, n = 0; power <= 60; power += 4) {
        static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
        if (ldexp(1, power) >= low / 1.5 && ldexp(1, power) <= high * 1.5) {
            cs_text_add(script, "%s'%d %s' %.17g", n++ > 0 ? ", " : "", 1 << power % 10,
                        units[power / 10], ldexp(1, power));
        }
    }
    cs_text_add(script, ")\nset grid ytics lc rgb '#D4D4D4'\n");
}

cs_status cs_gnuplot_svg(const cs_text *script, cs_text *svg, cs_error *err)
{
    static const cs_child_program gnuplot = {.path = "gnuplot", .words = {"-"}};
    cs_error                      why     = {0};
    cs_status                     status  = cs_child_filter(&gnuplot, script, svg, &why);

    if (status == CS_EMISSING) {
        return CS_FAIL(err, status, "output",
                       "the program gnuplot is missing: apt-get install gnuplot-nox");
    }
    return status == CS_OK ? CS_OK : CS_FAIL(err, status, "gnuplot", "%s", why.message);
}
