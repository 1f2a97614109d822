/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scripts for gnuplot 5.4 or later: see script.h. Colours are those of Okabe and Ito, which
 * colour-blind readers can tell apart. */
#include "figures/script.h"

/* The svg terminal draws larger markers and guesses texts wider than they are: PS, KW and LW
 * even that out. */
static const char terminals[] =
    "  if (kind eq 'png') {\n"
    "    set terminal pngcairo enhanced size 1200,800 font 'DejaVu Sans,13' "
    "background '#FFFFFF'\n"
    "    set output PNG\n"
    "    PS = 1; KW = 1; LW = 1\n"
    "  } else {\n"
    "    set terminal svg enhanced size 1200,800 dynamic font 'DejaVu Sans,16' "
    "background '#FFFFFF'\n"
    "    set output SVG\n"
    "    PS = 0.65; KW = -6; LW = -2\n"
    "  }\n";

static const char settings[] =
    "set encoding utf8\n"
    "set datafile separator comma\n"
    "set datafile columnheaders\n"
    "set style line 1 lc rgb '#D55E00' lw 3 dt 1 pt 7 ps 1.4*PS\n"
    "set style line 2 lc rgb '#D55E00' lw 3 dt (12,6) pt 6 ps 1.4*PS\n"
    "set style line 3 lc rgb '#0072B2' lw 2.5 dt 1 pt 5 ps 1.3*PS\n"
    "set style line 4 lc rgb '#009E73' lw 2.5 dt (18,5) pt 9 ps 1.5*PS\n"
    "set style line 5 lc rgb '#CC79A7' lw 2.5 dt (8,5) pt 11 ps 1.5*PS\n"
    "set style line 6 lc rgb '#B8860B' lw 2.5 dt (14,5,3,5) pt 13 ps 1.6*PS\n"
    "set style line 7 lc rgb '#000000' lw 2 dt 1 pt 2 ps 1.3*PS\n"
    "set style line 8 lc rgb '#505050' lw 2 dt (6,5) pt 4 ps 1.3*PS\n"
    "set style line 9 lc rgb '#7B2D8E' lw 2.5 dt (3,4) pt 8 ps 1.6*PS\n";

static const char common[] =
    "  reset\n"
    "  set border 3 lw 1.5\n"
    "  set tics nomirror out\n"
    "  set grid lt 1 lc rgb '#D4D4D4' lw 1\n"
    "  set format '%g'\n"
    "  set key opaque box lt 1 lc rgb '#C0C0C0' lw 1 samplen 4 spacing 1.25 "
    "width KW height 0.4\n";

void cs_figure_title(cs_text *commands, const char *title, const char *subtitle)
{
    cs_text_add(commands, "set title \"{/:Bold*1.15 %s}\\n%s\"\n", title, subtitle);
}

void cs_figure_legend(cs_text *commands, double top, const char *entries)
{
    cs_text_add(commands,
                "  set lmargin at screen 0.01\n"
                "  set rmargin at screen 0.99\n"
                "  set tmargin at screen %.3f\n"
                "  set bmargin at screen %.3f\n",
                top, top - 0.04);
    cs_text_add(
        commands,
        "  unset border; unset tics; unset grid; unset xlabel; unset ylabel\n"
        "  set key center center horizontal Left reverse noopaque nobox samplen 3 width LW\n"
        "  plot [0:1][0:1] NaN notitle, \\\n%s\n"
        "  unset key\n",
        entries);
    cs_text_add(commands, "%s",
                "  unset label\n"
                "  set border 3 lw 1.5\n"
                "  set xtics nomirror out\n"
                "  set ytics nomirror out\n"
                "  set grid xtics ytics lt 1 lc rgb '#D4D4D4' lw 1\n");
}

void cs_figure_script(const cs_figure *figure, const cs_figure_data *data, cs_text *script)
{
    const char *name = figure->name;

    cs_text_add(script, "# %s: %s\n", name, figure->summary);
    cs_text_add(script, "# after: %s\n# gnuplot %s.gp draws %s.csv again.\n", figure->source, name,
                name);
    cs_text_add(script, "DATA = '%s.csv'\n", name);
    cs_text_add(script, "if (!exists('SVG')) SVG = '%s.svg'\n", name);
    cs_text_add(script, "if (!exists('PNG')) PNG = '%s.png'\n", name);
    cs_text_add(script, "do for [kind in 'png svg'] {\n");
    cs_text_add(script, "%s%s%s", terminals, common, settings);
    cs_text_add(script, "%s", data->gnuplot.length > 0 ? data->gnuplot.data : "");
    cs_text_add(script, "  unset output\n}\n");
}
