  # The schedules of a panel in the order of their first cell; cells of one schedule stand side by side in the order of
  # the file. x(row) is the place of a cell: with it, and with NaN elsewhere, a panel takes its own cells.
  array NAMES[3]; array CELLS[3]; array X[100000]
  count(p, s) = (TALLY = sprintf(' %s:', s), NAMES[p] = strstrt(NAMES[p], TALLY) ? NAMES[p] : NAMES[p] . TALLY, 1)
  do for [p = 1:3] { NAMES[p] = ''; CELLS[p] = 0 }
  stats DATA using (P = int(column('panel')), CELLS[P] = CELLS[P] + 1, count(P, stringcolumn('schedule'))) nooutput
  place(p, s) = (AT = 0, SUM = sum [k = 1:words(NAMES[p])] (AT = word(NAMES[p], k) eq s . ':' ? k : AT, 0), AT)
  array MANY[300]; array SEEN[300]
  do for [k = 1:300] { MANY[k] = 0; SEEN[k] = 0 }
  slot(p, s) = 100 * (p - 1) + place(p, s)
  stats DATA using (K = slot(int(column('panel')), stringcolumn('schedule')), MANY[K] = MANY[K] + 1, 1) nooutput
  stats DATA using (P = int(column('panel')), K = slot(P, stringcolumn('schedule')), SEEN[K] = SEEN[K] + 1, \
    X[int(column('row'))] = K - 100 * (P - 1) - 0.42 + 0.84 * SEEN[K] / (MANY[K] + 1), 1) nooutput
  x(p) = int(column('panel')) == p ? X[int(column('row'))] : NaN
  error(name) = column(name . '_error_percent')
  spread(name, measured) = 100 * (column(name . '_ms') / column(measured . '_ms') - 1)
  of_kind(k, y) = stringcolumn('kind') eq k ? y : NaN
  over(t, y) = stringcolumn('transport') eq t ? y : NaN
  # Of a panel: its axis of schedules, and what separates them.
  schedules(p) = sprintf("unset arrow; set xtics (''0) scale 0 noenhanced font XT; set xrange [0.5:%g]; \
do for [k = 1:%d] { eval sprintf(\"set xtics add ('%%s' %%d)\", word(NAMES[%d], k)[1:strlen(word(NAMES[%d], k)) - 1], k) }; \
do for [k = 1:%d] { set arrow (100 + k) from first k + 0.5, graph 0 to first k + 0.5, graph 1 nohead lt 1 lc rgb '#C8C8C8' }", \
    words(NAMES[p]) + 0.5, words(NAMES[p]), p, p, words(NAMES[p]) - 1)
  # Ranges come from the data before there are any.
  low(p, name) = sprintf("stats DATA using (x(%d) > 0 ? error('%s') : NaN) name 'S' nooutput; LOW = min(LOW, S_min); \
HIGH = max(HIGH, S_max)", p, name)

  set multiplot
  eval titles('Prediction against measurement over real TCP with rate-limited NICs', \
    sprintf('%d cells with disciplined ports: median error %.2g %%, worst %.2g %%; nothing is fitted', CELLS[1], MEDIAN, WORST))
  set border 3 lw 1.5
  set grid noxtics
  LOW = 0; HIGH = 0; eval low(1, 'predicted'); eval low(1, 'wire'); TOP = max(3.4, 1.15 * max(HIGH, -LOW))
  LOW = 0; HIGH = 0
  if (CELLS[2] > 0) { eval low(2, 'predicted'); eval low(2, 'share') }
  EAGER_LOW = 10 * floor(0.1 * LOW - 0.2); EAGER_HIGH = 10 * ceil(0.1 * HIGH + 0.2)
  LOW = 0; HIGH = 0
  if (CELLS[3] > 0) { eval low(3, 'predicted') }
  LEAF_LOW = 10 * floor(0.1 * LOW - 0.2); LEAF_HIGH = 10 * ceil(0.1 * HIGH + 0.2)

  eval panel(0.07, 0.99, CELLS[2] + CELLS[3] > 0 ? 0.54 : 0.1, 0.84)
  XT = TINY; eval schedules(1)
  set yrange [-TOP:TOP]
  set ytics step(2 * TOP, 12)
  set ylabel 'predicted / measured - 1 (%)'
  set object 1 rectangle from graph 0, first -1 to graph 1, first 1 fc rgb '#E6F0E6' fs solid noborder behind
  set label 3 'disciplined: one message at a time, when its receiver is ready' at screen 0.99, 0.856 right font SMALL
  set key at screen 0.5, 0.902 center center horizontal Left reverse maxrows 2 noopaque nobox samplen 1 width 0 font SMALL
  KINDS = "'plain' 'late rank' 'slow NIC' 'changing NIC' 'servers'"
  plot for [i = 1:words(KINDS)] DATA using (of_kind(word(KINDS, i), x(1))):(error('predicted')): \
      (spread('predicted', 'most')):(spread('predicted', 'least')) with yerrorbars ls SERIES[i] dt 1 lw 1.2 \
      ps 0.8*PS title word(KINDS, i), \
    '' using (x(1)):(error('wire')) with points pt 2 ps 0.7*PS lw 1.2 lc rgb '#505050' \
      title 'collsim alone, α = 0', \
    3 with lines ls ls_ideal notitle, -3 with lines ls ls_ideal notitle, 0 with lines lt 1 lc rgb '#808080' notitle

  unset label
  unset object 1
  if (CELLS[2] > 0) {
    eval panel(0.07, CELLS[3] > 0 ? 0.62 : 0.99, 0.12, 0.42)
    XT = ',7.5'; eval schedules(2)
    set yrange [EAGER_LOW:EAGER_HIGH]
    set ytics 10
    set label 3 'eager: TCP left alone, where the port model ends' at graph 1, 1.06 right font SMALL
    set key at screen (CELLS[3] > 0 ? 0.345 : 0.5), 0.035 center center horizontal Left reverse maxrows 1 noopaque nobox samplen 1 width 0 font SMALL
    plot DATA using (x(2)):(error('predicted')) with points pt 7 ps 0.8*PS lc rgb COLOUR[2] title 'ports', \
      '' using (x(2)):(error('share')) with points pt 4 ps 0.9*PS lc rgb COLOUR[7] title 'flow, receivers share', \
      0 with lines lt 1 lc rgb '#808080' notitle
    unset label
  }
  if (CELLS[3] > 0) {
    eval panel(0.69, 0.99, 0.12, 0.42)
    XT = TINY; eval schedules(3)
    set yrange [LEAF_LOW:LEAF_HIGH]
    set ytics 10
    unset ylabel
    set label 3 'two leaves over a thin link; eager: open' at graph 1, 1.06 right font SMALL
    set key at screen 0.84, 0.035 center center horizontal Left reverse maxrows 1 noopaque nobox samplen 1 width -2 font SMALL
    plot DATA using (of_kind('flow', over('disciplined', x(3)))):(error('predicted')) with points pt 7 ps 0.8*PS lc rgb COLOUR[1] title 'flow', \
      '' using (of_kind('share', over('disciplined', x(3)))):(error('predicted')) with points pt 5 ps 0.8*PS lc rgb COLOUR[7] title 'shared', \
      '' using (of_kind('packet', over('disciplined', x(3)))):(error('predicted')) with points pt 9 ps 0.9*PS lc rgb COLOUR[3] title 'packet', \
      '' using (of_kind('flow', over('eager', x(3)))):(error('predicted')) with points pt 6 ps 0.8*PS lc rgb COLOUR[1] notitle, \
      '' using (of_kind('share', over('eager', x(3)))):(error('predicted')) with points pt 4 ps 0.8*PS lc rgb COLOUR[7] notitle, \
      '' using (of_kind('packet', over('eager', x(3)))):(error('predicted')) with points pt 8 ps 0.9*PS lc rgb COLOUR[3] notitle, \
      0 with lines lt 1 lc rgb '#808080' notitle
  }
  unset multiplot
