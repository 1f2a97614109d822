# What all pictures have in common. The figure's own commands stand for the line FIGURE below: they
# are run once for each kind of picture, so they set everything they need and leave terminal and
# output alone. Colours are those of Okabe and Ito, which colour-blind readers can tell apart; each
# line style has its own dashes and marker, too:
#   1 StragglAR best, 2 StragglAR worst, 3 ring, 4 rhd, 5 allpairs, 6 broadcast, 7 a bound or limit,
#   8 a formula or approximation, 9 published by the paper

# A title, its second line smaller; over several panels they are labels 1 and 2 of the screen.
title(first, second) = sprintf("set title \"{/:Bold*1.15 %s}\\n%s\"", first, second)
titles(first, second) = sprintf("set label 1 \"{/:Bold*1.15 %s}\" at screen 0.5, 0.972 center; \
set label 2 \"%s\" at screen 0.5, 0.937 center", first, second)

# The place of a panel on the screen: from left to right and from bottom to top.
panel(left, right, bottom, top) = sprintf("set lmargin at screen %.4f; set rmargin at screen %.4f; \
set bmargin at screen %.4f; set tmargin at screen %.4f", left, right, bottom, top)

# A key above several panels, which have none: eval legend(TOP), plot with entries, eval panels.
legend(top) = panel(0.01, 0.99, top - 0.04, top) . "; unset border; unset tics; unset grid; \
unset xlabel; unset ylabel; set key center center horizontal Left reverse noopaque nobox samplen 3 width LW; \
set xrange [0:1]; set yrange [0:1]"
panels = "unset key; unset label; set border 3 lw 1.5; set xtics nomirror out; set ytics nomirror out; \
set grid xtics ytics lt 1 lc rgb '#D4D4D4' lw 1; set xrange [*:*]; set yrange [*:*]"

size(gib) = gib >= 1 ? sprintf('%g GiB', gib) : gib >= 1.0 / 1024 ? sprintf('%g MiB', 1024 * gib) : \
  sprintf('%g KiB', 1048576 * gib)
# Each value once: LIST = ' ', stats DATA using (collect(column('ranks'))) nooutput, word(LIST, i).
collect(x) = (LIST = strstrt(LIST, sprintf(' %g ', x)) ? LIST : LIST . sprintf('%g ', x), x)
max(a, b) = a > b ? a : b
min(a, b) = a < b ? a : b

do for [kind in 'png svg'] {
  if (kind eq 'png') {
    set terminal pngcairo enhanced size 1200,800 font 'DejaVu Sans,13' background '#FFFFFF'
    set output PNG
    PS = 1; KW = 1; LW = 1
  } else {
    # It draws larger markers and guesses texts wider than they are.
    set terminal svg enhanced size 1200,800 dynamic font 'DejaVu Sans,16' background '#FFFFFF'
    set output SVG
    PS = 0.65; KW = -6; LW = -2
  }
  reset
  set encoding utf8
  set datafile separator comma
  set datafile columnheaders
  set border 3 lw 1.5
  set tics nomirror out
  set grid lt 1 lc rgb '#D4D4D4' lw 1
  set format '%g'
  set key opaque box lt 1 lc rgb '#C0C0C0' lw 1 samplen 4 spacing 1.25 width KW height 0.4
  set style line 1 lc rgb '#D55E00' lw 3 dt 1 pt 7 ps 1.4*PS
  set style line 2 lc rgb '#D55E00' lw 3 dt (12,6) pt 6 ps 1.4*PS
  set style line 3 lc rgb '#0072B2' lw 2.5 dt 1 pt 5 ps 1.3*PS
  set style line 4 lc rgb '#009E73' lw 2.5 dt (18,5) pt 9 ps 1.5*PS
  set style line 5 lc rgb '#CC79A7' lw 2.5 dt (8,5) pt 11 ps 1.5*PS
  set style line 6 lc rgb '#B8860B' lw 2.5 dt (14,5,3,5) pt 13 ps 1.6*PS
  set style line 7 lc rgb '#000000' lw 2 dt 1 pt 2 ps 1.3*PS
  set style line 8 lc rgb '#505050' lw 2 dt (6,5) pt 4 ps 1.3*PS
  set style line 9 lc rgb '#7B2D8E' lw 2.5 dt (3,4) pt 8 ps 1.6*PS
# FIGURE
  unset output
}
