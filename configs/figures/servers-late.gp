  # A panel for each number of servers. The area below the bound is grey: no schedule can be there.
  LIST = ' '
  collect(n) = (LIST = strstrt(LIST, sprintf(' %d ', n)) ? LIST : LIST . sprintf('%d ', n), 0)
  stats DATA using (collect(column('servers_count'))) nooutput
  stats DATA using 'delay_ms' name 'X' nooutput
  stats DATA using 'hierarchical_ms' name 'H' nooutput
  N = words(LIST)
  PER_ROW = N > 1 ? int(ceil(N / 2.0)) : 1
  x(n) = column('servers_count') == n ? column('delay_ms') : NaN
  set multiplot
  eval titles(sprintf('AllReduce of %s on servers of %d GPUs, one of them late', size(SIZE_GIB), GPUS_PER_SERVER), network)
  eval legend(0.91)
  plot NaN notitle, keyentry with linespoints ls 4 title 'hierarchical', \
    keyentry with linespoints ls 3 title 'parallel\_rings', keyentry with linespoints ls 1 title 'stragglar', \
    keyentry with lines ls 7 lw 3.5 title 'lower bound (proven)'
  eval panels
  set xrange [0:X_max]
  set yrange [0:1.1 * H_max]
  do for [k = 1:N] {
    n = int(word(LIST, k)); COLUMN = (k - 1) % PER_ROW; ROW = (k - 1) / PER_ROW
    WIDE = 0.93 / PER_ROW; HIGH = N > 1 ? 0.31 : 0.71
    eval panel(0.07 + WIDE * COLUMN, 0.02 + WIDE * (COLUMN + 1), 0.81 - HIGH - 0.41 * ROW, 0.81 - 0.41 * ROW)
    set label 1 sprintf('%d servers', n) at graph 0.98, graph 0.07 right front
    set xlabel ROW == (N - 1) / PER_ROW ? 'delay of the late GPU, ms' : ''
    set ylabel COLUMN == 0 ? 'time after it has come, ms' : ''
    plot DATA using (x(n)):'bound_ms' with filledcurves y1=0 fc rgb '#E4E4E4' notitle, \
      '' using (x(n)):'hierarchical_ms' with linespoints ls 4 notitle, \
      '' using (x(n)):'parallel_rings_ms' with linespoints ls 3 notitle, \
      '' using (x(n)):'stragglar_ms' with linespoints ls 1 notitle, \
      '' using (x(n)):'bound_ms' with lines ls 7 lw 3.5 notitle
  }
  unset multiplot
