  # A panel for each number of servers. The area below the bound is grey: no schedule can be there.
  LIST = ' '
  collect(n) = (LIST = strstrt(LIST, sprintf(' %d ', n)) ? LIST : LIST . sprintf('%d ', n), 0)
  stats DATA using (collect(column('servers_count'))) nooutput
  stats DATA using 'dead_nics' name 'X' nooutput
  stats DATA using 'ring_ms' name 'R' nooutput
  N = words(LIST)
  PER_ROW = N > 1 ? int(ceil(N / 2.0)) : 1
  x(n) = column('servers_count') == n ? column('dead_nics') : NaN
  set multiplot
  eval titles(sprintf('AllReduce of %s on servers of %d GPUs, one of them with dead NICs', size(SIZE_GIB), GPUS_PER_SERVER), network)
  eval legend(0.91)
  plot NaN notitle, keyentry with linespoints ls ls_ring title 'fastest ring', \
    keyentry with linespoints ls ls_r2ccl title 'r2ccl', keyentry with linespoints ls ls_optcc title 'optcc', \
    keyentry with lines ls ls_bound title 'lower bound (proven)'
  eval panels
  set xrange [0:X_max]
  set xtics 1
  set yrange [0:1.1 * R_max]
  do for [k = 1:N] {
    n = int(word(LIST, k)); COLUMN = (k - 1) % PER_ROW; ROW = (k - 1) / PER_ROW
    WIDE = 0.93 / PER_ROW; HIGH = N > 1 ? 0.31 : 0.71
    eval panel(0.07 + WIDE * COLUMN, 0.02 + WIDE * (COLUMN + 1), 0.81 - HIGH - 0.41 * ROW, 0.81 - 0.41 * ROW)
    set label 1 sprintf('%d servers', n) at graph 0.04, graph 0.92 left front
    set xlabel ROW == (N - 1) / PER_ROW ? sprintf('dead NICs of %d', GPUS_PER_SERVER) : ''
    set ylabel COLUMN == 0 ? 'time, ms' : ''
    plot DATA using (x(n)):'bound_ms' with filledcurves y1=0 fc rgb BELOW notitle, \
      '' using (x(n)):'ring_ms' with linespoints ls ls_ring notitle, \
      '' using (x(n)):'r2ccl_ms' with linespoints ls ls_r2ccl notitle, \
      '' using (x(n)):'optcc_ms' with linespoints ls ls_optcc notitle, \
      '' using (x(n)):'bound_ms' with lines ls ls_bound notitle
  }
  unset multiplot
