  # A bar is the mean of all iterations.
  stats DATA using 'worker' name 'W' nooutput
  N = int(W_max) + 1
  array ALIKE[N]; array DIFFER[N]
  percent(setting, worker) = stringcolumn('setting') eq setting && column('worker') == worker ? column('relay_percent') : NaN
  do for [k = 1:N] {
    stats DATA using (percent('homogeneous', k - 1)) name 'A' nooutput
    stats DATA using (percent('heterogeneous', k - 1)) name 'D' nooutput
    ALIKE[k] = A_mean; DIFFER[k] = D_mean
  }
  set multiplot
  eval titles('Who is a relay? Share of the iterations that start without a worker''s tensor', \
    sprintf('AllReduce of %s on %d GPUs, rule literal; %d generated iterations of each kind; %s model', \
      size(SIZE_GIB), RANKS, A_records, MODEL))
  set style fill solid border lc rgb '#404040'
  set xrange [-0.7:N - 0.3]
  set yrange [0:125]
  set ytics 0,20,100
  set format y '%g %%'
  set xtics 1 scale 0
  set grid noxtics
  set ylabel 'iterations as a relay'
  set key top right horizontal Left reverse nobox noopaque width 0
  bar(k, height, colour) = sprintf("set object %d rectangle from %g, 0 to %g, %g fillcolor rgb %d", k, k - 1.35, k - 0.65, height, colour)
  do for [k = 1:N] { eval bar(k, ALIKE[k], COLOUR[1]) }
  eval panel(0.11, 0.985, 0.555, 0.845)
  set title 'servers alike' . (CHANGED ? '' : ' (the AdapCC paper: evenly spread)') offset 0,-0.4
  plot NaN notitle, keyentry with boxes fc rgb COLOUR[1] title sprintf('mean of all: %.0f %%', HOMOGENEOUS)
  unset label
  do for [k = 1:N] { eval bar(k, DIFFER[k], k <= N / 2 ? COLOUR[1] : COLOUR[2]) }
  eval panel(0.11, 0.985, 0.115, 0.405)
  set xlabel 'worker (rank)'
  set title 'servers that differ' . (CHANGED ? '' : ' (the AdapCC paper: slower GPUs more often)') offset 0,-0.4
  plot NaN notitle, keyentry with boxes fc rgb COLOUR[1] title sprintf('on the faster servers, mean %.0f %%', FASTER), \
    keyentry with boxes fc rgb COLOUR[2] title sprintf('on the slower ones, mean %.0f %%', SLOWER)
  unset object
  unset multiplot
