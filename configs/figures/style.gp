# What all pictures have in common. The figure's own commands stand for the line FIGURE below: they
# are run once for each kind of picture, so they set everything they need and leave terminal and
# output alone.
#
# What an algorithm looks like stands in front of the script, from the table of the program
# (sim/output/look.c): col_NAME is its colour, ls_NAME its line style (colour, dashes and mark),
# open_NAME that of a second curve of it (other dashes, an open mark), title_NAME what it is called.
# Styles of what is no algorithm:
ls_bound = 7; ls_formula = 8; ls_published = 9; ls_critical = 10; ls_ideal = 11; ls_ink = 12
col_published = 0x7B2D8E
# Series that are no algorithms, such as buffers, take SERIES[1], SERIES[2], ..; their second curves OPEN[..].
array SERIES[8] = [ls_ring, ls_stragglar, ls_rhd, ls_allpairs, ls_broadcast, ls_circulant, ls_optcc, ls_r2ccl]
array OPEN[8] = [open_ring, open_stragglar, open_rhd, open_allpairs, open_broadcast, open_circulant, open_optcc, open_r2ccl]
array COLOUR[8] = [col_ring, col_stragglar, col_rhd, col_allpairs, col_broadcast, col_circulant, col_optcc, col_r2ccl]

# A colour mixed with white: 1 is the colour itself.
part(colour, shift, w) = int(255 - w * (255 - ((colour >> shift) & 255))) << shift
tone(colour, w) = part(colour, 16, w) + part(colour, 8, w) + part(colour, 0, w)
# What no schedule can reach, below a bound.
BELOW = 0xE9E8E6

# A title, its second line smaller; over several panels they are labels 1 and 2 of the screen.
title(first, second) = sprintf("set title \"{/:Bold*1.15 %s}\\n%s\"", first, second)
titles(first, second) = sprintf("set label 1 \"{/:Bold*1.15 %s}\" at screen 0.5, %.4f center; \
set label 2 \"%s\" at screen 0.5, %.4f center", first, 1 - 22.4 / HEIGHT, second, 1 - 49.6 / HEIGHT)

# The place of a panel on the screen: from left to right and from bottom to top.
panel(left, right, bottom, top) = sprintf("set lmargin at screen %.4f; set rmargin at screen %.4f; \
set bmargin at screen %.4f; set tmargin at screen %.4f", left, right, bottom, top)

# The place of cell i = 0, 1, .. of n in a grid of two columns below the titles.
grid_cell(i, n) = (GRID_TOP = 1 - 80.0 / HEIGHT, GRID_ROW = GRID_TOP / ceil(n / 2.0), \
  panel(0.075 + 0.5 * (i % 2), 0.49 + 0.5 * (i % 2), GRID_TOP - (i / 2 + 1) * GRID_ROW + 76.0 / HEIGHT, \
    GRID_TOP - (i / 2) * GRID_ROW - 28.0 / HEIGHT))

# A key above several panels, which have none: eval legend(TOP), plot with entries, eval panels.
legend(top) = panel(0.01, 0.99, top - 0.04, top) . "; unset border; unset tics; unset grid; \
unset xlabel; unset ylabel; set key center center horizontal Left reverse noopaque nobox samplen 3 width LW; \
set xrange [0:1]; set yrange [0:1]"
panels = "unset key; unset label; set border 3 lw 1.5; set xtics nomirror out; set ytics nomirror out; \
set grid xtics ytics lt 1 lc rgb GRID lw 1; set xrange [*:*]; set yrange [*:*]"

size(gib) = gib >= 1 ? sprintf('%.4g GiB', gib) : gib >= 1.0 / 1024 ? sprintf('%.4g MiB', 1024 * gib) : \
  gib >= 1.0 / 1048576 ? sprintf('%.4g KiB', 1048576 * gib) : sprintf('%g bytes', 1073741824 * gib)
# What was replayed on: the model and the ports of the first row.
network = GPUS_PER_SERVER == 1 ? sprintf('%s model, α = %g µs, %.4g GB/s per port', MODEL, ALPHA_US, RATE_GBPS) : \
  sprintf('%s model, %d GPUs a server; NIC: %g µs, %.4g GB/s; NVLink: %g µs, %.4g GB/s', MODEL, GPUS_PER_SERVER, \
    NIC_US, NIC_GBPS, NVLINK_US, NVLINK_GBPS)
# Each value once: LIST = ' ', stats DATA using (collect(column('ranks'))) nooutput, word(LIST, i).
collect(x) = (LIST = strstrt(LIST, sprintf(' %g ', x)) ? LIST : LIST . sprintf('%g ', x), x)

# Names at the ends of curves, their marks beside them: eval ends, SUM = end(Y, STYLE, NAME) for each curve, then
# eval named(GAP), which moves names apart to at least GAP of the axis. They are labels 101 and up; STYLE 0: no mark.
array END_Y[20]; array END_STYLE[20]; array END_NAME[20]
ends = "ENDS = 0; do for [k = 101:120] { unset label k }"
end(y, style, name) = (ENDS = ENDS + 1, END_Y[ENDS] = y, END_STYLE[ENDS] = style, END_NAME[ENDS] = name, y)
swap(k) = (HELD = END_Y[k], END_Y[k] = END_Y[k+1], END_Y[k+1] = HELD, STYLE_HELD = END_STYLE[k], END_STYLE[k] = END_STYLE[k+1], \
  END_STYLE[k+1] = STYLE_HELD, NAME_HELD = END_NAME[k], END_NAME[k] = END_NAME[k+1], END_NAME[k+1] = NAME_HELD, 0)
apart(k, gap) = (MISSING = gap - (END_Y[k+1] - END_Y[k]), MISSING > 0 ? (END_Y[k] = END_Y[k] - MISSING / 2, \
  END_Y[k+1] = END_Y[k+1] + MISSING / 2, 0) : 0)
named(gap) = sprintf("do for [r = 1:ENDS] { do for [k = 1:ENDS-1] { if (END_Y[k] > END_Y[k+1]) { SUM = swap(k) } } }; \
do for [r = 1:60] { do for [k = 1:ENDS-1] { SUM = apart(k, %g) } }; \
do for [k = 1:ENDS] { if (END_STYLE[k] > 0) { set label 100 + k END_NAME[k] at graph 1.025, first END_Y[k] left offset 1.2,0 \
  noenhanced point ls END_STYLE[k] } else { set label 100 + k END_NAME[k] at graph 1.025, first END_Y[k] left offset 1.75,0 noenhanced } }", gap)

# The smallest of 1, 2, 2.5, 5 times a power of ten that divides a range into at most so many steps.
step(range, most) = (UNIT = 10 ** floor(log10(1.0 * range / most)), PART = 1.0 * range / most / UNIT - 1e-9, \
  UNIT * (PART <= 1 ? 1 : PART <= 2 ? 2 : PART <= 2.5 ? 2.5 : PART <= 5 ? 5 : 10))

# Ticks of logarithmic axes. eval data_ticks("column('ranks')", LEAST): where the data are, each at least the
# LEAST-fold of the one before. In brackets, for `set xtics`: buffers in MiB, at most MOST of them; for `set ytics`:
# 1, 2, 5 in every decade, or the decades alone where these are many.
data_ticks(x, least) = sprintf("TICKS = ''; LAST_TICK = 0; stats DATA using (data_tick(%s, %g)) nooutput; \
eval 'set xtics (' . TICKS[2:] . ')'", x, least)
data_tick(x, least) = (FAR = LAST_TICK == 0 || x >= least * LAST_TICK, TICKS = FAR ? TICKS . sprintf(',%g', x) : TICKS, \
  LAST_TICK = FAR ? x : LAST_TICK, x)
size_ticks(low, high, most) = (TICKS = '', FOLD = 2 ** ceil((floor(log(high / low) / log(2) + 1e-9) + 1.0) / most), \
  FOLD = FOLD < 2 ? 2 : FOLD, \
  SUM = sum [k = 0:int(log(high / low) / log(FOLD) + 1e-9)] (TICKS = TICKS . sprintf(",'%s' %.17g", \
    size(low * FOLD ** k / 1024), low * FOLD ** k), 0), '(' . TICKS[2:] . ')')
decade_ticks(low, high) = (TICKS = '', SPAN = log10(1.0 * high / low), \
  SUM = sum [k = int(floor(log10(low))):int(ceil(log10(high)))] (TICKS = TICKS . (SPAN > 5 ? sprintf(',%g', 10.0 ** k) : \
    sprintf(',%g,%g,%g', 10.0 ** k, 2 * 10.0 ** k, 5 * 10.0 ** k)), 0), '(' . TICKS[2:] . ')')
# The axis of speedups over the ring from `low`, with room for a key above the data; logarithmic where they differ much.
speedup_axis(low, least, most) = most <= 8 ? (STEP = step(1.3 * most - low, 12), \
  sprintf("set ytics %g; set yrange [%g:%g]; set ylabel 'speedup over the ring: ring time / time'", STEP, \
    STEP * floor(low / STEP), STEP * ceil(1.3 * most / STEP))) : \
  sprintf("set logscale y 10; set ytics %s; set yrange [%g:%g]; \
set ylabel 'speedup over the ring: ring time / time (log scale)'", decade_ticks(least, most), 0.8 * least, \
    most * (most / least) ** 0.4)
max(a, b) = a > b ? a : b
min(a, b) = a < b ? a : b

# Of the pictures, in pixels; they are 1200 wide.
if (!exists('HEIGHT')) HEIGHT = 800

do for [kind in 'png svg'] {
  if (kind eq 'png') {
    set terminal pngcairo enhanced dashlength 2 size 1200,HEIGHT font 'DejaVu Sans,13' background '#FFFFFF'
    set output PNG
    SMALL = ',11'; TINY = ',9.8'; PS = 1; KW = 1; LW = 1
  } else {
    # It draws larger markers and guesses texts wider than they are.
    set terminal svg enhanced size 1200,HEIGHT dynamic font 'DejaVu Sans,16' background '#FFFFFF'
    set output SVG
    SMALL = ',13.5'; TINY = ',12'; PS = 0.65; KW = -6; LW = -2
  }
  reset
  set encoding utf8
  set datafile separator comma
  set datafile columnheaders
  set border 3 lw 1.5
  set tics nomirror out
  set grid lt 1 lc rgb GRID lw 1
  set format '%g'
  set key opaque box lt 1 lc rgb '#C0C0C0' lw 1 samplen 4 spacing 1.25 width KW height 0.4
  eval LOOKS
  set style line ls_bound lc rgb INK lw 2.5 dt (4,3) pt 2 ps 1.3*PS
  set style line ls_formula lc rgb 0x505050 lw 2 dt (6,5) pt 4 ps 1.3*PS
  set style line ls_published lc rgb col_published lw 2.5 dt (3,4) pt 8 ps 1.6*PS
  set style line ls_critical lc rgb INK lw 1.6 dt 1
  set style line ls_ideal lc rgb 0x404040 lw 1.9 dt (12,5)
  set style line ls_ink lc rgb INK lw 2 dt 1 pt 2 ps 1.3*PS
# FIGURE
  unset output
}
