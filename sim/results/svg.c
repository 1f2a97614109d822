/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts of pictures: see svg.h. */
#include "results/svg.h"

#include <stdint.h>
#include <string.h>

/* Pixels of a character in the size that boxes have, about. */
#define CHARACTER 6.0

void cs_svg_begin(cs_text *out, double width, double height, const char *attributes)
{
    cs_text_add(out,
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"%.0f\" "
                "height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\"%s>\n",
                width, height, width, height, attributes);
}

void cs_svg_paper(cs_text *out)
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

void cs_svg_label(cs_text *out, double x, double y, double width, const char *words)
{
    cs_text_add(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">", x, y);
    cs_svg_words(out, words, (size_t)(width / CHARACTER));
    cs_text_add(out, "</text>\n");
}

void cs_svg_panel(cs_text *out, double x, double y, const char *words)
{
    size_t characters = strlen(words);
    double width      = CHARACTER * (double)characters;

    cs_text_add(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"14\" fill=\"#FFF\"/>\n",
                x - width / 2, y - 11, width);
    cs_svg_label(out, x, y, width + CHARACTER, words);
}

void cs_svg_box(cs_text *out, double x, double y, double width, double height, const char *colour,
                const char *words, const char *below)
{
    cs_text_add(out,
                "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"4\" fill=\"%s\" "
                "stroke=\"#444\"/>\n",
                x, y, width, height, colour);
    cs_svg_label(out, x + width / 2, y + (below[0] != '\0' ? 14 : height / 2 + 4), width, words);
    if (below[0] != '\0') {
        cs_svg_label(out, x + width / 2, y + 28, width, below);
    }
}

void cs_svg_line(cs_text *out, double x1, double y1, double x2, double y2, const char *colour,
                 double width)
{
    cs_text_add(out,
                "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" "
                "stroke-width=\"%.1f\"/>\n",
                x1, y1, x2, y2, colour, width);
}
