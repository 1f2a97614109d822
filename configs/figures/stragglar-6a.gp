  stats DATA using 'buffer_mib' name 'B' nooutput
  stats DATA using 'implied_ms' name 'I' nooutput
  stats DATA using 'nominal_ms' name 'O' nooutput
  stats DATA using 'critical_implied_ms' name 'C' nooutput
  eval title(sprintf('Ideal delay%s: the ReduceScatter among %d of %d ranks', CHANGED ? '' : ' on a ' . SERVER, RANKS - 1, RANKS), \
    sprintf('%s model, α = %g µs%s', MODEL, ALPHA_US, \
      CHANGED ? '' : '; implied: by the critical delay measured with 4 GiB'))
  set logscale x 2
  set logscale y 10
  set xrange [0.9 * B_min:1.11 * B_max]
  set yrange [0.8 * min(O_min, C_min):2 * max(I_max, DELAY)]
  set xtics ('1 KiB' 1.0/1024, '4 KiB' 1.0/256, '16 KiB' 1.0/64, '64 KiB' 1.0/16, '256 KiB' 0.25, '1 MiB' 1, '4 MiB' 4, \
    '16 MiB' 16, '64 MiB' 64, '256 MiB' 256, '1 GiB' 1024, '4 GiB' 4096, '16 GiB' 16384)
  set ytics (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300)
  set xlabel 'buffer'
  set ylabel 'time, ms (log scale)'
  set key bottom right Left reverse
  set style fill solid 1 noborder
  plot DATA using 'buffer_mib':'nominal_ms':'implied_ms' with filledcurves lc rgb '#FAE7DB' title 'range of the ideal delay', \
    '' using 'buffer_mib':'implied_ms' with linespoints ls 1 \
       title sprintf('ReduceScatter replayed, %.3g GB/s%s', IMPLIED, CHANGED ? '' : ' (implied)'), \
    '' using 'buffer_mib':'nominal_ms' with linespoints ls 2 \
       title sprintf('ReduceScatter replayed, %g GB/s (nominal)', NOMINAL), \
    '' using 'buffer_mib':'mean_delay_ms' with lines ls 7 title sprintf('mean delay measured, %.2f ms', DELAY), \
    '' using 'buffer_mib':'critical_implied_ms' with lines ls 8 \
       title sprintf('critical delay, %.3g GB/s (formula)', IMPLIED)
