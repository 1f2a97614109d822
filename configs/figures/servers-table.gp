  # A line for each row of the table, from top to bottom.
  stats DATA using 'row' name 'R' nooutput
  stats DATA using 'best_over_bound_1' name 'P' nooutput
  stats DATA using 'over_bound_1' name 'Y' nooutput
  set multiplot
  eval titles('AllReduce on servers of several GPUs after a late GPU, against its lower bound', \
    'buffer; servers x GPUs; the GPU is so late that the others have done what they can')
  eval legend(1 - 70.0 / HEIGHT)
  set key font SMALL maxrows 1
  plot NaN notitle, keyentry with points ls ls_stragglar title 'StragglAR over servers', \
    keyentry with points ls ls_formula title 'fastest that waits for all', \
    keyentry with lines ls ls_bound title 'lower bound'
  eval panels
  unset key
  do for [k = 1:R_records] {
    stats DATA every ::(k-1)::(k-1) using (LABEL = stringcolumn('label'), 1) nooutput
    set label LABEL at graph -0.01, first k right font TINY
    set arrow k from graph 0, first k to graph 1, first k nohead back lc rgb GRID lw 0.7
  }
  eval panel(0.16, 0.975, 66.0 / HEIGHT, 1 - 112.0 / HEIGHT)
  set logscale x 2
  set xrange [0.97:1.12 * max(P_max, Y_max)]
  set xtics (1, 1.1, 1.2, 1.5, 2, 3, 4, 6, 8, 12, 16, 24)
  set xlabel 'time over the lower bound (log scale)'
  set yrange [R_records + 0.7:0.3]
  unset ytics
  set border 1
  set grid noytics
  set arrow 99 from first 1, graph 0 to first 1, graph 1 nohead back ls ls_bound
  plot DATA using 'best_over_bound_1':'row':(column('over_bound_1') - column('best_over_bound_1')):(0) with vectors nohead \
      lc rgb tone(col_stragglar, 0.35) lw 2, \
    '' using 'best_over_bound_1':'row' with points ls ls_formula, \
    '' using 'over_bound_1':'row' with points ls ls_stragglar
  unset label; unset arrow
  unset multiplot
