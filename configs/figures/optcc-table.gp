  # A line for each row of the table, from top to bottom; settings are groups with a heading.
  stats DATA using 'row' name 'R' nooutput
  stats DATA using 'paper_over_bound_1' name 'P' nooutput
  stats DATA using 'replayed_over_bound_1' name 'Y' nooutput
  stats DATA using 'limit_over_bound_1' name 'U' nooutput
  array PLACE[R_records]; BEFORE = ''; M = 0; SUM = 0
  heading(name) = name eq BEFORE ? 0 : (M = M + 1, BEFORE = name, 1)
  stats DATA using (SUM = SUM + 1 + 1.35 * heading(stringcolumn('setting')), PLACE[int(column('row'))] = SUM, 1) nooutput
  set multiplot
  eval titles('OptCC at α = 0: every setting against its lower bound', \
    'AllReduce with slow NICs; the formula with as many sections as are replayed')
  eval legend(1 - 70.0 / HEIGHT)
  set key font SMALL maxrows 1
  plot NaN notitle, keyentry with points ls ls_optcc lw 1.5 pt 7 title 'OptCC, replayed', \
    keyentry with points ls ls_published title 'the paper''s formula', \
    keyentry with points ls ls_formula ps PS title 'limit of many sections', \
    keyentry with lines ls ls_bound title 'lower bound'
  eval panels
  unset key
  BEFORE = ''; M = 0
  do for [k = 1:R_records] {
    stats DATA every ::(k-1)::(k-1) using (LABEL = stringcolumn('label'), NAME = stringcolumn('setting'), 1) nooutput
    if (heading(NAME)) {
      set label '{/:Bold ' . NAME . '}' at screen 0.012, first PLACE[k] - 1.1 left font SMALL
    }
    set label LABEL at screen 0.327, first PLACE[k] right font TINY
    set arrow k from graph 0, first PLACE[k] to graph 1, first PLACE[k] nohead back lc rgb GRID lw 0.7
  }
  eval panel(0.335, 0.975, 66.0 / HEIGHT, 1 - 112.0 / HEIGHT)
  set logscale x 2
  MOST = max(Y_max, exists('P_max') ? P_max : 0)
  set xrange [0.97:1.12 * MOST]
  set xtics (1, 1.1, 1.2, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64)
  set xlabel 'time over the lower bound (log scale)'
  set yrange [SUM + 0.8:0.1]
  unset ytics
  set border 1
  set grid noytics
  set arrow 99 from first 1, graph 0 to first 1, graph 1 nohead back ls ls_bound
  y(i) = PLACE[int(column('row'))]
  plot DATA using (1):(y(0)):(column('replayed_over_bound_1') - 1):(0) with vectors nohead lc rgb tone(col_optcc, 0.35) lw 2, \
    '' using 'paper_over_bound_1':(y(0)) with points ls ls_published, \
    '' using 'limit_over_bound_1':(y(0)) with points ls ls_formula ps PS, \
    '' using 'replayed_over_bound_1':(y(0)) with points ls ls_optcc lw 1.5 pt 7
  unset label; unset arrow
  unset multiplot
