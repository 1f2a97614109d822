  stats DATA using 'buffer_mib' name 'B' nooutput
  stats DATA using 'implied_ms' name 'I' nooutput
  stats DATA using 'nominal_ms' name 'O' nooutput
  stats DATA using 'critical_implied_ms' name 'C' nooutput
  eval title(sprintf('Ideal delay%s: the ReduceScatter among %d of %d ranks', CHANGED ? '' : ' on a ' . SERVER, RANKS - 1, RANKS), \
    sprintf('%s model, α = %g µs%s', MODEL, ALPHA_US, CHANGED ? '' : '; implied: by the critical delay measured with 4 GiB'))
  set logscale x 2
  set logscale y 10
  set xrange [0.9 * B_min:1.11 * B_max]
  LEAST = min(O_min, C_min > 0 ? C_min : O_min); MOST = max(max(I_max, O_max), DELAY)
  set yrange [0.8 * LEAST:2 * MOST]
  eval 'set xtics ' . size_ticks(B_min, B_max, 8)
  eval 'set ytics ' . decade_ticks(0.8 * LEAST, 2 * MOST)
  set xlabel 'buffer (log scale)'
  set ylabel 'time, ms (log scale)'
  set key below Left reverse maxrows 3 nobox
  set bmargin 8.5
  set style fill solid 1 noborder
  # Without another nominal bandwidth there is one curve.
  HAS_RANGE = NOMINAL != IMPLIED
  plot DATA using 'buffer_mib':(HAS_RANGE ? column('nominal_ms') : 1/0):'implied_ms' with filledcurves lc rgb tone(col_stragglar, 0.15) \
         title (HAS_RANGE ? 'ideal delay, range' : ''), \
    '' using 'buffer_mib':'implied_ms' with linespoints ls ls_stragglar \
       title sprintf('ReduceScatter replayed, %.4g GB/s%s', IMPLIED, CHANGED ? '' : ' (implied)'), \
    '' using 'buffer_mib':(HAS_RANGE ? column('nominal_ms') : 1/0) with linespoints ls open_stragglar \
       title (HAS_RANGE ? sprintf('ReduceScatter replayed, %g GB/s (nominal)', NOMINAL) : ''), \
    '' using 'buffer_mib':'mean_delay_ms' with lines ls ls_ink \
       title sprintf('%s, %.4g ms', CHANGED ? 'delay of the late rank' : 'mean delay measured', DELAY), \
    '' using 'buffer_mib':'critical_implied_ms' with lines ls ls_critical \
       title sprintf('critical delay, %.4g GB/s (formula)', IMPLIED)
