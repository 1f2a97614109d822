  stats DATA using 'ranks' name 'N' nooutput
  MOST = 0; LEAST = 1
  do for [column in 'stragglar_best stragglar_worst rhd allpairs'] {
    stats DATA using (column(column . '_speedup_over_ring')) name 'Y' nooutput
    MOST = max(MOST, Y_max); LEAST = min(LEAST, Y_min)
  }
  eval title('AllReduce of ' . size(SIZE_GIB) . ': speedup over the ring, powers of two and others', \
    sprintf('replayed on the %s model, α = %g µs, %g GB/s per port', MODEL, ALPHA_US, RATE_GBPS))
  set logscale x 2
  set xrange [0.9 * N_min:1.113 * N_max]
  set yrange [floor(4 * LEAST - 0.2) / 4.0:ceil(5.2 * MOST) / 4.0]
  set xlabel 'number of ranks n (log scale)'
  set ylabel 'speedup over the ring: ring time / time'
  set ytics 0.25
  set key top left Left reverse maxrows 4
  set style fill solid 1 noborder
  plot DATA using 'ranks':'stragglar_worst_speedup_over_ring':'stragglar_best_speedup_over_ring':xtic(1) \
         with filledcurves lc rgb '#FAE7DB' title 'range of StragglAR, n-2+⌈log_2 n⌉ rounds', \
    '' using 'ranks':'stragglar_best_speedup_over_ring' with linespoints ls 1 title 'best: pre-phase hidden', \
    '' using 'ranks':'stragglar_worst_speedup_over_ring' with linespoints ls 2 title 'worst: no delay', \
    '' using 'ranks':'published_best_speedup_over_ring' with points ls 9 title 'best and worst, heuristic of the paper', \
    '' using 'ranks':'published_worst_speedup_over_ring' with points ls 9 notitle, \
    1 with lines ls 3 title 'ring', \
    '' using 'ranks':'rhd_speedup_over_ring' with linespoints ls 4 title 'rhd (3-2 elimination)', \
    '' using 'ranks':'allpairs_speedup_over_ring' with linespoints ls 5 title 'allpairs'
