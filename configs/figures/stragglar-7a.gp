  stats DATA using 'ranks' name 'N' nooutput
  stats DATA using 'ideal_delay_ms' name 'Y' nooutput
  stats DATA using (column('alpha_part_ms') > 0 ? column('alpha_part_ms') : 1/0) name 'A' nooutput
  stats DATA using 'critical_delay_exact_ms' name 'C' nooutput
  eval title('Critical delay: from here on StragglAR beats the ring', \
    'AllReduce of ' . size(SIZE_GIB) . ', ' . network)
  set logscale x 2
  set logscale y 10
  set xrange [0.9 * N_min:1.113 * N_max]
  LEAST = min(exists('A_min') ? A_min : C_min, C_min); MOST = max(Y_max, C_max)
  set yrange [0.66 * LEAST:1.5 * MOST]
  set xlabel 'number of ranks n (log scale)'
  eval 'set ytics ' . decade_ticks(0.66 * LEAST, 1.5 * MOST)
  eval data_ticks("column('ranks')", (1.0 * N_max / N_min) ** 0.04)
  set ylabel 'delay of the last rank, ms (log scale)'
  set key below Left reverse maxrows 3 nobox
  set bmargin 8.5
  plot DATA using 'ranks':'ideal_delay_ms' with lines ls ls_ideal title 'ideal delay: the ReduceScatter of n-1', \
    '' using 'ranks':'critical_delay_exact_ms' with lines ls ls_stragglar title 'critical delay, exact', \
    '' using 'ranks':'critical_delay_replayed_ms' with points ls ls_stragglar title 'critical delay, replayed', \
    '' using 'ranks':'critical_delay_simplified_ms' with lines ls ls_formula dt (3,7) lw 3 \
       title 'critical delay, simplified (paper)', \
    '' using 'ranks':'critical_delay_published_rounds_ms' with points ls ls_published \
       title 'critical delay, published rounds', \
    '' using 'ranks':($1 > 4 ? column('alpha_part_ms') : 1/0) with lines ls ls_ink lw 1.8 dt (2,5) \
       title 'its latency: (⌈log_2 n⌉ - 2) α'
