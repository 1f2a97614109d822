  # A panel for each number of servers, and two over their number. The area below the bound is grey: no schedule can be
  # there.
  set datafile missing NaN # lines go on over rows of other panels
  LIST = ' '
  collect(n) = (LIST = strstrt(LIST, sprintf(' %d ', n)) ? LIST : LIST . sprintf('%d ', n), 0)
  stats DATA using (collect(column('servers_count'))) nooutput
  stats DATA using 'delay_ms' name 'X' nooutput
  stats DATA using 'hierarchical_ms' name 'H' nooutput
  stats DATA using 'servers_count' name 'S' nooutput
  N = words(LIST)
  PER_ROW = N > 1 ? int(ceil(N / 2.0)) : 1
  COLUMNS = N > 1 ? PER_ROW + 1 : 1
  x(n) = column('servers_count') == n ? column('delay_ms') : NaN
  from(n, delay) = column('servers_count') == n ? column(delay) : NaN
  set multiplot
  eval titles(sprintf('AllReduce of %s on servers of %d GPUs, one of them late', size(SIZE_GIB), GPUS_PER_SERVER), network)
  eval legend(0.885)
  plot NaN notitle, keyentry with linespoints ls ls_hierarchical title 'hierarchical', \
    keyentry with linespoints ls ls_parallel_rings title 'parallel\_rings', keyentry with linespoints ls open_stragglar title 'stragglar, share=1', \
    keyentry with linespoints ls ls_stragglar title 'stragglar', keyentry with lines ls ls_bound title 'lower bound (proven)', \
    keyentry with lines ls ls_critical lw 2.5 title 'critical delay', keyentry with lines ls ls_ideal lw 2.5 title 'ideal delay'
  eval panels
  WIDE = 0.93 / COLUMNS; HIGH = N > 1 ? 0.31 : 0.71
  place(at_column, row) = panel(0.07 + WIDE * at_column, 0.02 + WIDE * (at_column + 1), 0.81 - HIGH - 0.41 * row, 0.81 - 0.41 * row)
  set xrange [0:X_max]
  set yrange [0:1.1 * H_max]
  set xtics step(X_max, 4)
  do for [k = 1:N] {
    n = int(word(LIST, k)); COLUMN = (k - 1) % PER_ROW; ROW = (k - 1) / PER_ROW
    eval place(COLUMN, ROW)
    set label 1 sprintf('%d servers', n) at graph 0.42, graph 0.07 center front
    set xlabel ROW == (N - 1) / PER_ROW ? 'delay of the late GPU, ms' : ''
    set ylabel COLUMN == 0 ? 'time after it has come, ms' : ''
    plot DATA using (x(n)):'bound_ms' with filledcurves y1=0 fc rgb BELOW notitle, \
      '' using (from(n, 'critical_delay_ms')):(0):(0):(1.1 * H_max) with vectors nohead ls ls_critical lw 2.5 notitle, \
      '' using (from(n, 'ideal_delay_ms')):(0):(0):(1.1 * H_max) with vectors nohead ls ls_ideal lw 2.5 notitle, \
      '' using (x(n)):'hierarchical_ms' with linespoints ls ls_hierarchical notitle, \
      '' using (x(n)):'parallel_rings_ms' with linespoints ls ls_parallel_rings notitle, \
      '' using (x(n)):'whole_ms' with linespoints ls open_stragglar notitle, \
      '' using (x(n)):'stragglar_ms' with linespoints ls ls_stragglar notitle, \
      '' using (x(n)):'bound_ms' with lines ls ls_bound notitle
  }
  if (N > 1) {
    hidden(y) = column('delay_ms') == X_max ? column(y) : NaN
    set logscale x 2
    set xrange [0.9 * S_min:1.1 * S_max]
    eval data_ticks("column('servers_count')", 1.5)
    eval place(PER_ROW, 0)
    set label 1 sprintf('delay %g ms', X_max) at graph 0.5, graph 0.07 center front
    set xlabel ''
    set ylabel ''
    plot DATA using 'servers_count':(hidden('bound_ms')) with filledcurves y1=0 fc rgb BELOW notitle, \
      '' using 'servers_count':(hidden('hierarchical_ms')) with linespoints ls ls_hierarchical notitle, \
      '' using 'servers_count':(hidden('parallel_rings_ms')) with linespoints ls ls_parallel_rings notitle, \
      '' using 'servers_count':(hidden('stragglar_ms')) with linespoints ls ls_stragglar notitle, \
      '' using 'servers_count':(hidden('bound_ms')) with lines ls ls_bound notitle
    eval place(PER_ROW, 1)
    unset label 1
    set xlabel 'servers'
    set yrange [0:*]
    set label 1 'delay, ms' at graph 0.5, graph 0.5 center front
    plot DATA using 'servers_count':(hidden('critical_delay_ms')) with linespoints ls ls_critical notitle, \
      '' using 'servers_count':(hidden('ideal_delay_ms')) with linespoints ls ls_ideal notitle
  }
  unset multiplot
