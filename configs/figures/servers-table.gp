  stats DATA using 'row' name 'R' nooutput
  stats DATA using 'best_over_bound_1' name 'P' nooutput
  stats DATA using 'over_bound_1' name 'Y' nooutput
  eval titles('AllReduce on servers of several GPUs after a late GPU, against its lower bound', \
    'buffer; servers x GPUs; the GPU is so late that the others have done what they can')
  eval panel(0.085, 0.98, 0.19, 0.83)
  set xrange [0.5:R_records + 0.5]
  set logscale y 2
  set yrange [0.93:1.5 * max(P_max, Y_max)]
  set ytics (1, 1.5, 2, 3, 4, 6, 8, 12, 16, 24)
  set ylabel 'time over the lower bound (log scale)'
  set grid noxtics
  set xtics rotate by 60 right font TINY scale 0.4
  set key at screen 0.5, 0.885 center center horizontal Left reverse maxrows 1 nobox samplen 3
  plot DATA using (column('row')):(column('best_over_bound_1')):xtic(stringcolumn('label')) with points ls ls_formula \
         title 'the fastest that waits for all', \
    '' using 'row':'over_bound_1' with points ls ls_stragglar title 'StragglAR over servers', \
    1 with lines ls ls_bound title 'lower bound'
