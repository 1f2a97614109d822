  LIST = ' '
  stats DATA using (collect(column('ranks'))) nooutput
  stats DATA using 'best_percent' name 'B' nooutput
  stats DATA using 'worst_percent' name 'W' nooutput
  N = words(LIST)
  n(i) = word(LIST, i)
  T = B_records / N
  first(i) = (i - 1) * T
  last(i) = i * T - 1
  array COLOR[4] = ['#009E73', '#0072B2', '#D55E00', '#CC79A7']
  array LIGHT[4] = ['#D9F0E8', '#D9E9F4', '#FAE7DB', '#F6E6EF']
  array SHAPE[4] = [9, 5, 7, 11]
  array OPEN[4] = [8, 4, 6, 10]
  style(i) = (i - 1) % 4 + 1
  eval title('Iteration speedup with StragglAR: range over the delays', \
    sprintf('AllReduce of %s replayed, %s; shaded: worst to best', \
      SIZE_GIB * 1.073741824 >= 0.1 ? sprintf('%.4g GB', SIZE_GIB * 1.073741824) : size(SIZE_GIB), network))
  set xrange [0:100]
  set xtics 10
  set format x '%g %%'
  set format y '%g %%'
  set xlabel 'exposed communication: share of AllReduce in the iteration time with the ring'
  set ylabel 'iteration faster than with the ring by'
  set key top left Left reverse
  set style fill solid 1 noborder
  set arrow from 0, 0 to 100, 0 nohead lc rgb '#000000' lw 1.5
  STEP = step(B_max - W_min, 12)
  set ytics STEP
  set yrange [STEP * (floor(W_min / STEP) - 0.5):STEP * (ceil(B_max / STEP) + 0.5)]
  plot for [k = 0:N-1] DATA every ::first(N-k)::last(N-k) using 'exposed_percent':'worst_percent':'best_percent' \
         with filledcurves lc rgb LIGHT[style(N-k)] notitle, \
    for [k = 0:N-1] '' every 2::first(N-k)::last(N-k) using 'exposed_percent':'best_percent' with linespoints \
         lc rgb COLOR[style(N-k)] lw 2.5 pt SHAPE[style(N-k)] ps 1.4*PS \
         title sprintf('best (pre-phase hidden), n = %s', n(N-k)), \
    for [k = 0:N-1] '' every 2::first(N-k)::last(N-k) using 'exposed_percent':'worst_percent' with linespoints \
         lc rgb COLOR[style(N-k)] lw 2.5 dt (12,6) pt OPEN[style(N-k)] ps 1.4*PS \
         title sprintf('worst (no delay), n = %s', n(N-k))
