  stats DATA using 'buffer_mib' name 'B' nooutput
  MOST = 0
  do for [column in 'ring rhd allpairs broadcast_hidden stragglar_hidden'] {
    stats DATA using (column(column . '_gb_per_s')) name 'Y' nooutput
    MOST = max(MOST, Y_max)
  }
  set multiplot
  eval titles(sprintf('Algorithmic bandwidth of AllReduce, %d ranks%s, one of them late', RANKS, \
      CHANGED ? '' : ' of a ' . SERVER), \
    sprintf('replayed, α = %g µs, %.3g GB/s per port%s', ALPHA_US, RATE_GBPS, \
      CHANGED ? '' : sprintf(', as the measured critical delay implies (nominal: %g)', NOMINAL_GBPS)))
  eval legend(0.915)
  plot NaN notitle, \
    keyentry with linespoints ls 1 title 'stragglar', \
    keyentry with linespoints ls 3 title 'ring', \
    keyentry with linespoints ls 4 title 'rhd', \
    keyentry with linespoints ls 5 title 'allpairs', \
    keyentry with linespoints ls 6 title 'broadcast'
  eval panels
  set logscale x 2
  set xrange [0.9 * B_min:1.11 * B_max]
  STEP = 0.2 * 10 ** floor(log10(MOST))
  set yrange [0:STEP * ceil(1.1 * MOST / STEP)]
  set xtics ('1 KiB' 1.0/1024, '8 KiB' 1.0/128, '64 KiB' 1.0/16, '512 KiB' 0.5, '1 MiB' 1, '8 MiB' 8, '64 MiB' 64, \
    '512 MiB' 512, '4 GiB' 4096, '32 GiB' 32768)
  set xlabel 'buffer (log scale)'
  set ylabel 'buffer / time after the last arrival, GB/s'
  eval panel(0.08, 0.49, 0.10, 0.805)
  set title 'delay long enough to hide every pre-phase'
  plot DATA using 'buffer_mib':'ring_gb_per_s' with linespoints ls 3, \
    '' using 'buffer_mib':'rhd_gb_per_s' with linespoints ls 4, \
    '' using 'buffer_mib':'allpairs_gb_per_s' with linespoints ls 5, \
    '' using 'buffer_mib':'broadcast_hidden_gb_per_s' with linespoints ls 6, \
    '' using 'buffer_mib':'stragglar_hidden_gb_per_s' with linespoints ls 1
  eval panel(0.575, 0.985, 0.10, 0.805)
  set title sprintf('mean delay, %.2f ms: hides the pre-phase up to %.0f MiB', DELAY, HIDDEN)
  set arrow 1 from HIDDEN, graph 0 to HIDDEN, graph 1 nohead lc rgb '#505050' lw 2 dt (12,5)
  plot DATA using 'buffer_mib':'ring_gb_per_s' with linespoints ls 3, \
    '' using 'buffer_mib':'rhd_gb_per_s' with linespoints ls 4, \
    '' using 'buffer_mib':'allpairs_gb_per_s' with linespoints ls 5, \
    '' using 'buffer_mib':'broadcast_delayed_gb_per_s' with linespoints ls 6, \
    '' using 'buffer_mib':'stragglar_delayed_gb_per_s' with linespoints ls 1
  unset multiplot
