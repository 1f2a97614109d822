  stats DATA using 'ranks' name 'N' nooutput
  MOST = 0
  LEAST = 1
  do for [column in 'stragglar_best stragglar_worst rhd allpairs broadcast_best'] {
    stats DATA using (column(column . '_speedup_over_ring')) name 'Y' nooutput
    MOST = max(MOST, Y_max); LEAST = min(LEAST, Y_min)
  }
  eval title('AllReduce of ' . size(SIZE_GIB) . ': speedup over the ring', \
    'replayed, ' . network . '; shaded: from no delay to a hidden pre-phase')
  set logscale x 2
  set xrange [0.9 * N_min:1.113 * N_max]
  eval speedup_axis(0, LEAST, MOST)
  eval data_ticks("column('ranks')", (1.0 * N_max / N_min) ** 0.04)
  set xlabel 'number of ranks n (log scale)'
  set key top left Left reverse maxrows 3
  set style fill solid 1 noborder
  plot DATA using 'ranks':'stragglar_worst_speedup_over_ring':'stragglar_best_speedup_over_ring' \
         with filledcurves lc rgb tone(col_stragglar, 0.15) notitle, \
    '' using 'ranks':'stragglar_best_speedup_over_ring' with linespoints ls ls_stragglar title 'StragglAR best: pre-phase hidden', \
    '' using 'ranks':'stragglar_worst_speedup_over_ring' with linespoints ls open_stragglar title 'StragglAR worst: no delay', \
    1 with lines ls ls_ring title 'ring (= 1)', \
    '' using 'ranks':'rhd_speedup_over_ring' with linespoints ls ls_rhd title 'recursive halving and doubling (rhd)', \
    '' using 'ranks':'allpairs_speedup_over_ring' with linespoints ls ls_allpairs title 'allpairs', \
    '' using 'ranks':'broadcast_best_speedup_over_ring' with linespoints ls ls_broadcast title 'broadcast, pre-phase hidden'
