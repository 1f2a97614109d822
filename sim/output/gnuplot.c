/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "output/gnuplot.h"

#include "base/child.h"
#include "output/svg.h"

#include <math.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *ending, *terminal, *unit, *rest;
    double      pixel; /* in that unit */
} kinds[CS_PICTURES] = {
    [CS_PICTURE_SVG] = {".svg", "svg", "", "font 'DejaVu Sans,12' background '#FFFFFF'", 1},
    [CS_PICTURE_PNG] = {".png", "pngcairo", "", "fontscale 1.5 font 'DejaVu Sans,12'", 1.5},
    [CS_PICTURE_PDF] = {".pdf", "pdfcairo", "in", "font 'DejaVu Sans,12'", 0.01},
};

bool cs_picture_of(const char *path, cs_picture *kind_p)
{
    const char *ending = path != NULL ? strrchr(path, '.') : NULL;

    for (cs_picture k = 0; ending != NULL && k < CS_PICTURES; k++) {
        if (strcasecmp(ending, kinds[k].ending) == 0) {
            if (kind_p != NULL) {
                *kind_p = k;
            }
            return true;
        }
    }
    return false;
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

double cs_gnuplot_letters(size_t length, int width)
{
    return fmax(6, fmin(14, 1.28 * width / (double)(length + 1))); /* 0.78 pixels a point */
}

/* Pictures of the same answer are the same, bit for bit: a PDF's time of creation is set to a fixed
 * one of the same length. */
static void forget_time(cs_text *picture)
{
    static const char key[] = "/CreationDate (D:", none[] = "20000101000000";
    char             *at =
        picture->length > 0 ? memmem(picture->data, picture->length, key, strlen(key)) : NULL;

    if (at != NULL && at + strlen(key) + strlen(none) < picture->data + picture->length) {
        memcpy(at + strlen(key), none, strlen(none));
    }
}

/* The words between the quotes behind the first of these commands. */
static void title_of(const cs_text *script, cs_text *title)
{
    static const char *const commands[] = {"set title '", "set label 1 '"};
    const char              *at         = NULL;

    for (size_t i = 0; i < 2 && at == NULL; i++) {
        at = strstr(script->data, commands[i]);
        at = at != NULL ? at + strlen(commands[i]) : NULL;
    }
    for (; at != NULL && *at != '\0' && (*at != '\'' || at[1] == '\''); at++) {
        at += *at == '\'';
        cs_text_add_bytes(title, at, 1);
    }
    if (title->length == 0) {
        cs_text_add(title, "collsim");
    }
}

/* With a title of its own. */
static cs_status retitle(const cs_text *script, cs_text *picture, cs_error *err)
{
    cs_text title = {0}, titled = {0};

    title_of(script, &title);
    if (!title.failed) {
        cs_svg_retitle(&titled, picture->data, picture->length, title.data);
    }
    cs_status status = title.failed || titled.failed ? CS_NO_MEMORY(err, "the picture") : CS_OK;
    cs_text_free(&title);
    cs_text_free(picture);
    *picture = titled;
    return status;
}

cs_status cs_gnuplot_draw(const cs_text *script, cs_picture kind, int width, int height,
                          cs_text *picture, cs_error *err)
{
    static const cs_child_program gnuplot = {.path = "gnuplot", .words = {"-"}};
    cs_error                      why     = {0};
    cs_text                       whole   = {0};

    cs_text_add(&whole, "set encoding utf8\nset terminal %s size %g%s,%g%s %s\n",
                kinds[kind].terminal, width * kinds[kind].pixel, kinds[kind].unit,
                height * kinds[kind].pixel, kinds[kind].unit, kinds[kind].rest);
    cs_text_add_bytes(&whole, script->data, script->length);
    cs_status status = cs_text_status(&whole, &why);
    status           = status == CS_OK ? cs_child_filter(&gnuplot, &whole, picture, &why) : status;
    cs_text_free(&whole);
    if (status == CS_EMISSING) {
        return CS_FAIL(err, status, "output",
                       "the program gnuplot is missing: apt-get install gnuplot-nox");
    }
    if (status == CS_OK && kind == CS_PICTURE_PDF) {
        forget_time(picture);
    }
    if (status == CS_OK && kind == CS_PICTURE_SVG) {
        return retitle(script, picture, err);
    }
    return status == CS_OK ? CS_OK : CS_FAIL(err, status, "gnuplot", "%s", why.message);
}
