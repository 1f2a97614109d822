  # A panel for each machine. The area below the bound is grey: no schedule can be there.
  LIST = ''
  collect(n) = (LIST = strstrt(LIST, '|' . n . '|') ? LIST : LIST . '|' . n . '|', 0)
  stats DATA using (collect(strcol('machine'))) nooutput
  stats DATA using 'delay_ms' name 'X' nooutput
  stats DATA using 'ring_ms' name 'R' nooutput
  stats DATA using 'aware_ms' name 'A' nooutput
  MOST = 1.1 * (A_max > R_max ? A_max : R_max)
  N = 0
  REST = LIST
  array NAMES[9]
  while (strlen(REST) > 1 && N < 9) {
    N = N + 1
    END = strstrt(REST[2:], '|')
    NAMES[N] = REST[2:END]
    REST = REST[END + 2:]
  }
  x(k) = strcol('machine') eq NAMES[k] ? column('delay_ms') : NaN
  set multiplot
  eval titles(sprintf('AllReduce of %.3g GB behind an NVSwitch, one GPU late', SIZE_GIB * 1.073741824), 'kernels of sends and receives, and multimem, at the rates that they reach')
  eval legend(0.885)
  plot NaN notitle, keyentry with linespoints ls ls_ring title 'ring', keyentry with linespoints ls ls_stragglar title 'stragglar', \
    keyentry with linespoints ls ls_nvls title 'nvls', keyentry with linespoints ls open_nvls title 'nvls, aware', \
    keyentry with lines ls ls_bound title 'data sheet: the late buffer once'
  eval panels
  WIDE = 0.93 / N
  set xrange [0:X_max]
  set yrange [0:MOST]
  set xtics step(X_max, 4)
  do for [k = 1:N] {
    eval panel(0.07 + WIDE * (k - 1), 0.02 + WIDE * k, 0.11, 0.81)
    set label 1 NAMES[k] at graph 0.5, graph 0.95 center front
    set xlabel 'delay of the late GPU, ms'
    set ylabel k == 1 ? 'time after it has come, ms' : ''
    plot DATA using (x(k)):'bound_ms' with filledcurves y1=0 fc rgb BELOW notitle, \
      '' using (x(k)):'ring_ms' with linespoints ls ls_ring notitle, \
      '' using (x(k)):'stragglar_ms' with linespoints ls ls_stragglar notitle, \
      '' using (x(k)):'nvls_ms' with linespoints ls ls_nvls notitle, \
      '' using (x(k)):'aware_ms' with linespoints ls open_nvls notitle, \
      '' using (x(k)):'bound_ms' with lines ls ls_bound notitle
  }
  unset multiplot
