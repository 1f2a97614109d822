/* SPDX-License-Identifier: GPL-3.0-or-later */
/* results/svg.h -- what all pictures share: an SVG 1.1 file, its paper, words that are safe in it,
 * lines and boxes. Lengths are pixels, from the upper left corner; the same calls give the same
 * bytes. */
#ifndef CS_RESULTS_SVG_H
#define CS_RESULTS_SVG_H

#include "base/text.h"

/* How style sheets begin: the font, class t (title) and class l (words at a legend). */
#define CS_SVG_STYLE                                                        \
    "<style>text{font-family:\"DejaVu Sans\",Verdana,sans-serif;fill:#111}" \
    ".t{font-size:15px;font-weight:bold}.l{font-size:11px}"

/* The head of a file; `attributes` are more of the root's, with a space before them, or "". */
void cs_svg_begin(cs_text *out, double width, double height, const char *attributes);

/* White paper under everything: before what is drawn, behind a style sheet. */
void cs_svg_paper(cs_text *out);

void cs_svg_end(cs_text *out);

/* Words that came from elsewhere, at most that many characters: safe in XML, without control
 * characters. */
void cs_svg_words(cs_text *out, const char *words, size_t most);

/* Words whose middle is at (x, y), cut where they are wider than `width`. */
void cs_svg_label(cs_text *out, double x, double y, double width, const char *words);

/* The same on a piece of white, where lines pass behind it. */
void cs_svg_panel(cs_text *out, double x, double y, const char *words);

/* A box with rounded corners and one line of words, or two where `below` is not empty. */
void cs_svg_box(cs_text *out, double x, double y, double width, double height, const char *colour,
                const char *words, const char *below);

void cs_svg_line(cs_text *out, double x1, double y1, double x2, double y2, const char *colour,
                 double width);

#endif
