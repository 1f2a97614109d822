/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of an SVG 1.1 file, and the time axis. */
#include "output/svg.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

static void add_title(cs_text *out, const char *title)
{
    cs_text_add(out, "<title>");
    cs_svg_words(out, title, SIZE_MAX);
    cs_text_add(out, "</title>");
}

void cs_svg_begin(cs_text *out, double width, double height, const char *title)
{
    cs_text_add(out,
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"%.0f\" "
                "height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\">\n",
                width, height, width, height);
    add_title(out, title);
    cs_text_add(out, "\n");
}

/* Where the head of the file ends: behind the tag "<svg ..>". */
static const char *end_of_head(const char *drawn, size_t length)
{
    const char *tag = memmem(drawn, length, "<svg", 4);
    const char *end = tag != NULL ? memchr(tag, '>', length - (size_t)(tag - drawn)) : NULL;

    return end != NULL ? end + 1 : drawn;
}

void cs_svg_retitle(cs_text *out, const char *drawn, size_t length, const char *title)
{
    static const char open[] = "<title>", close[] = "</title>";
    const char       *end = drawn + length, *head = end_of_head(drawn, length), *at;

    cs_text_add_bytes(out, drawn, (size_t)(head - drawn));
    if (head > drawn) {
        cs_text_add(out, "\n");
        add_title(out, title);
    }
    drawn = head;
    while ((at = memmem(drawn, (size_t)(end - drawn), open, strlen(open))) != NULL) {
        const char *behind = memmem(at, (size_t)(end - at), close, strlen(close));
        if (behind == NULL) {
            break;
        }
        cs_text_add_bytes(out, drawn, (size_t)(at - drawn));
        drawn = behind + strlen(close);
    }
    cs_text_add_bytes(out, drawn, (size_t)(end - drawn));
}

void cs_svg_background(cs_text *out)
{
    cs_text_add(out, "<rect width=\"100%%\" height=\"100%%\" fill=\"#FFF\"/>\n");
}

void cs_svg_end(cs_text *out)
{
    cs_text_add(out, "</svg>\n");
}

void cs_svg_words(cs_text *out, const char *words, size_t most)
{
    size_t characters = 0;

    for (const char *c = words; *c != '\0' && characters < most; c++) {
        const char *as = *c == '<' ? "&lt;" : *c == '>' ? "&gt;" : *c == '&' ? "&amp;" : NULL;
        if (as != NULL) {
            cs_text_add(out, "%s", as);
        } else if ((unsigned char)*c >= ' ') {
            cs_text_add_bytes(out, c, 1);
        }
        characters += ((unsigned char)c[1] & 0xC0u) != 0x80u;
    }
}

const char *cs_time_unit(double until_s, double *unit_s_p)
{
    static const struct {
        const char *name;
        double      seconds;
    } units[] = {{"s", 1}, {"ms", 1e-3}, {"µs", 1e-6}, {"ns", 1e-9}};
    size_t i  = 0;

    while (i < 3 && until_s < 2 * units[i].seconds) {
        i++;
    }
    *unit_s_p = units[i].seconds;
    return units[i].name;
}

/* 1, 2 or 5 times a power of ten, at least `least` (> 0); the decimals that it needs. */
static double step_of(double least, int *decimals_p)
{
    double power = pow(10, floor(log10(least))), step = power;

    step        = step < least ? 2 * power : step;
    step        = step < least ? 5 * power : step;
    step        = step < least ? 10 * power : step;
    *decimals_p = (int)fmax(0, -floor(log10(step) + 1e-9));
    return step;
}

cs_time_axis cs_time_axis_until(double until_s, double least_s)
{
    cs_time_axis axis = {0};

    axis.unit = cs_time_unit(until_s, &axis.unit_s);
    axis.step = step_of(least_s / axis.unit_s, &axis.decimals);
    while (axis.n_marks * axis.step * axis.unit_s <= until_s * (1 + 1e-9)) {
        axis.n_marks++;
    }
    return axis;
}
