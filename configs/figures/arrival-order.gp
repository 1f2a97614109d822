  # A panel for each number of ranks and each size. The area below the bound is grey: no schedule can be there.
  set datafile missing NaN
  LIST = ' '
  stats DATA using (collect(column('ranks'))) nooutput
  MANY = LIST
  LIST = ' '
  stats DATA using (collect(column('size_MiB'))) nooutput
  SIZES = LIST
  ROWS = words(MANY); COLUMNS = words(SIZES)
  stats DATA using 'delay_over_ring_1' name 'X' nooutput
  is_here(n, mib) = column('ranks') == n && abs(column('size_MiB') - mib) <= 1e-4 * mib
  x(n, mib) = is_here(n, mib) ? column('delay_over_ring_1') : NaN
  y(n, mib, name) = is_here(n, mib) ? column(name) / column('ring_us') : NaN
  set multiplot
  eval titles('AllReduce when one rank is late: schedules that know of it, and two that wait', network)
  eval legend(1 - 87.0 / HEIGHT)
  plot NaN notitle, keyentry with linespoints ls ls_sorted_linear_tree title title_sorted_linear_tree, \
    keyentry with linespoints ls ls_pre_reduced_ring title title_pre_reduced_ring, \
    keyentry with linespoints ls ls_stragglar title title_stragglar, keyentry with linespoints ls ls_broadcast title title_broadcast, \
    keyentry with linespoints ls ls_ring title title_ring, keyentry with linespoints ls ls_rhd title title_rhd, \
    keyentry with lines ls ls_bound title 'lower bound (proven)'
  eval panels
  HIGH = (1 - 195.0 / HEIGHT) / ROWS; WIDE = 0.92 / COLUMNS
  set xtics step(X_max, 4)
  do for [r = 0:ROWS-1] { do for [c = 0:COLUMNS-1] {
    n = real(word(MANY, r + 1)); mib = real(word(SIZES, c + 1))
    unset logscale
    set autoscale
    stats DATA using (y(n, mib, 'bound_us')) name 'L' nooutput
    stats DATA using (is_here(n, mib) ? max(column('broadcast_us'), column('sorted_linear_tree_us')) / column('ring_us') : NaN) name 'H' nooutput
    set logscale y 10
    set xrange [0:X_max]
    set yrange [0.85 * L_min:1.2 * max(1, H_max)]
    eval 'set ytics ' . decade_ticks(0.85 * L_min, 1.2 * max(1, H_max))
    eval panel(0.085 + WIDE * c, 0.03 + WIDE * (c + 1), 1 - 180.0 / HEIGHT - HIGH * (r + 1) + 75.0 / HEIGHT, 1 - 180.0 / HEIGHT - HIGH * r)
    set label 1 sprintf('%g ranks, %s', n, size(mib / 1024)) at graph 0.02, graph 1.05 left front
    set xlabel (r + 1 == ROWS ? 'delay of the late rank, times of the ring' : '')
    set ylabel (c == 0 ? 'time after it has come / ring (log)' : '')
    plot DATA using (x(n, mib)):(y(n, mib, 'bound_us')) with filledcurves y1=(0.85 * L_min) fc rgb BELOW notitle, \
      '' using (x(n, mib)):(y(n, mib, 'ring_us')) with linespoints ls ls_ring notitle, \
      '' using (x(n, mib)):(y(n, mib, 'rhd_us')) with linespoints ls ls_rhd notitle, \
      '' using (x(n, mib)):(y(n, mib, 'broadcast_us')) with linespoints ls ls_broadcast notitle, \
      '' using (x(n, mib)):(y(n, mib, 'pre_reduced_ring_us')) with linespoints ls ls_pre_reduced_ring notitle, \
      '' using (x(n, mib)):(y(n, mib, 'sorted_linear_tree_us')) with linespoints ls ls_sorted_linear_tree notitle, \
      '' using (x(n, mib)):(y(n, mib, 'stragglar_us')) with linespoints ls ls_stragglar notitle, \
      '' using (x(n, mib)):(y(n, mib, 'bound_us')) with lines ls ls_bound notitle
  } }
  unset multiplot
