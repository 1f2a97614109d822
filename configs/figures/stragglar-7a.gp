  stats DATA using 'ranks' name 'N' nooutput
  stats DATA using 'ideal_delay_ms' name 'Y' nooutput
  stats DATA using (column('alpha_part_ms') > 0 ? column('alpha_part_ms') : 1/0) name 'A' nooutput
  stats DATA using 'critical_delay_exact_ms' name 'C' nooutput
  eval title('Critical delay: from here on StragglAR beats the ring', \
    sprintf('%s, %s model, α = %g µs, %g GB/s per port', size(SIZE_GIB), MODEL, ALPHA_US, RATE_GBPS))
  set logscale x 2
  set logscale y 10
  set xrange [0.9 * N_min:1.113 * N_max]
  set yrange [0.66 * min(exists('A_min') ? A_min : C_min, C_min):1.5 * max(Y_max, C_max)]
  set xlabel 'number of ranks n (log scale)'
  set ytics (0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)
  set ylabel 'delay of the last rank, ms (log scale)'
  set key below Left reverse maxrows 3 nobox
  set bmargin 8.5
  plot DATA using 'ranks':'ideal_delay_ms':xtic(1) with lines ls 4 lw 2.5 title 'ideal delay (ReduceScatter of n-1 ranks)', \
    '' using 'ranks':'critical_delay_exact_ms' with lines ls 1 title 'critical delay, exact', \
    '' using 'ranks':'critical_delay_replayed_ms' with points ls 1 title 'critical delay, replayed', \
    '' using 'ranks':'critical_delay_simplified_ms' with lines ls 8 dt (3,7) lw 3 \
       title 'critical delay, simplified as in the paper', \
    '' using 'ranks':'critical_delay_published_rounds_ms' with points ls 9 \
       title 'critical delay with published rounds', \
    '' using 'ranks':($1 > 4 ? column('alpha_part_ms') : 1/0) with lines ls 3 dt (8,6) \
       title 'its part from latency: (⌈log_2 n⌉ - 2) α'
