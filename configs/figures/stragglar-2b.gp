  # A panel for each number of ranks, on one axis.
  LIST = ' '
  stats DATA using (collect(column('ranks'))) nooutput
  stats DATA using 'best_percent' name 'B' nooutput
  stats DATA using 'worst_percent' name 'W' nooutput
  N = words(LIST)
  T = B_records / N
  first(i) = (i - 1) * T
  last(i) = i * T - 1
  set multiplot
  eval titles('Iteration speedup with StragglAR: range over the delays', \
    sprintf('AllReduce of %s replayed, %s', \
      SIZE_GIB * 1.073741824 >= 0.1 ? sprintf('%.4g GB', SIZE_GIB * 1.073741824) : size(SIZE_GIB), network))
  eval legend(0.915)
  plot NaN notitle, keyentry with linespoints ls ls_stragglar title 'best: pre-phase hidden', \
    keyentry with linespoints ls open_stragglar title 'worst: no delay', \
    keyentry with lines ls ls_ring title 'the ring'
  eval panels
  unset key
  set xrange [0:100]
  set xtics 0, 25, 100
  set style fill solid 1 noborder
  STEP = step(B_max - W_min, 12)
  set ytics STEP
  set yrange [STEP * (floor(W_min / STEP) - 0.5):STEP * (ceil(B_max / STEP) + 0.5)]
  WIDE = 0.905 / N
  set label 99 'exposed communication: share of AllReduce in the iteration time with the ring, %' at screen 0.53, screen 0.035 center
  do for [i = 1:N] {
    eval panel(0.095 + WIDE * (i - 1), 0.06 + WIDE * i, 0.12, 0.805)
    set title word(LIST, i) . ' ranks'
    set format y (i == 1 ? '%g %%' : '')
    set ylabel (i == 1 ? 'iteration faster than with the ring by' : '')
    plot DATA every ::first(i)::last(i) using 'exposed_percent':'worst_percent':'best_percent' \
        with filledcurves fc rgb tone(col_stragglar, 0.15), \
      0 with lines ls ls_ring, \
      '' every ::first(i)::last(i) using 'exposed_percent':'best_percent' with lines ls ls_stragglar, \
      '' every 4::first(i)::last(i) using 'exposed_percent':'best_percent' with points ls ls_stragglar, \
      '' every ::first(i)::last(i) using 'exposed_percent':'worst_percent' with lines ls open_stragglar, \
      '' every 4::first(i)::last(i) using 'exposed_percent':'worst_percent' with points ls open_stragglar
  }
  unset label
  unset multiplot
