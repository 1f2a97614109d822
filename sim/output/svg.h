/* SPDX-License-Identifier: GPL-3.0-or-later */
/* output/svg.h -- what pictures over time share: an SVG 1.1 file, its background, words that are
 * safe in it, and where the time axis has marks. Lengths are pixels, from the upper left corner;
 * the same calls give the same bytes. */
#ifndef CS_OUTPUT_SVG_H
#define CS_OUTPUT_SVG_H

#include "base/text.h"

/* How style sheets begin: the font, class t (title) and class l (words at a legend). */
#define CS_SVG_STYLE                                                        \
    "<style>text{font-family:\"DejaVu Sans\",Verdana,sans-serif;fill:#111}" \
    ".t{font-size:15px;font-weight:bold}.l{font-size:11px}"

/* What stands for ranks that are not there yet and for slow NICs: hatches that a style sheet names
 * url(#late) and url(#slow); behind the style sheet. */
#define CS_SVG_HATCHES                                                                           \
    "<defs><pattern id=\"late\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">"       \
    "<rect width=\"6\" height=\"6\" fill=\"#E6E6E6\"/><path d=\"M0 6L6 0\" stroke=\"#8A8A8A\"/>" \
    "</pattern><pattern id=\"slow\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">"   \
    "<rect width=\"6\" height=\"6\" fill=\"#FBE8CF\"/><path d=\"M0 0L6 6\" stroke=\"#D97A00\" "  \
    "stroke-width=\"1.6\"/></pattern></defs>\n"

/* The head of a file, and its title: what it shows, for readers that see no picture. */
void cs_svg_begin(cs_text *out, double width, double height, const char *title);

/* A file that another program drew, `length` bytes: the same with `title` as its title, and without
 * others, which name parts in that program's words. */
void cs_svg_retitle(cs_text *out, const char *drawn, size_t length, const char *title);

/* A white background: after the style sheet, before what is drawn. */
void cs_svg_background(cs_text *out);

void cs_svg_end(cs_text *out);

/* Words that came from elsewhere, at most that many characters: safe in XML, without control
 * characters. */
void cs_svg_words(cs_text *out, const char *words, size_t most);

/* A time axis: marks at i * step * unit_s seconds, i < n_marks, called i * step with that many
 * decimals. */
typedef struct cs_time_axis {
    const char *unit; /* static storage */
    double      unit_s, step;
    int         decimals, n_marks;
} cs_time_axis;

/* An axis from 0 to `until_s` > 0 whose marks are `least_s` apart or a little more. */
cs_time_axis cs_time_axis_until(double until_s, double least_s);

/* The unit (s, ms, us with a Greek letter, ns) for an axis that ends at `until_s`, and what one of
 * it is in seconds. Static storage. */
const char *cs_time_unit(double until_s, double *unit_s_p);

#endif
