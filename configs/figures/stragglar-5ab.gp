  stats DATA using 'buffer_mib' name 'B' nooutput
  MOST = 0
  do for [column in 'ring rhd allpairs broadcast_hidden stragglar_hidden'] {
    stats DATA using (column(column . '_gb_per_s')) name 'Y' nooutput
    MOST = max(MOST, Y_max)
  }
  set multiplot
  eval titles(sprintf('Algorithmic bandwidth of AllReduce, %d ranks%s, one of them late', RANKS, \
      CHANGED ? '' : ' of a ' . SERVER), \
    'replayed, ' . network . (CHANGED ? '' : \
      sprintf(' (implied by the measured critical delay; nominal: %g)', NOMINAL_GBPS)))
  eval legend(0.915)
  plot NaN notitle, \
    keyentry with linespoints ls ls_stragglar title 'StragglAR', \
    keyentry with linespoints ls ls_ring title 'ring', \
    keyentry with linespoints ls ls_rhd title 'rhd', \
    keyentry with linespoints ls ls_allpairs title 'allpairs', \
    keyentry with linespoints ls ls_broadcast title 'broadcast'
  eval panels
  set logscale x 2
  set xrange [0.9 * B_min:1.11 * B_max]
  STEP = step(1.1 * MOST, 6)
  set ytics STEP
  set yrange [0:STEP * ceil(1.05 * MOST / STEP)]
  eval 'set xtics ' . size_ticks(B_min, B_max, 5)
  set xlabel 'buffer (log scale)'
  set ylabel 'buffer / time after the last arrival, GB/s'
  eval panel(0.08, 0.49, 0.10, 0.805)
  set title 'a delay that hides every pre-phase'
  plot DATA using 'buffer_mib':'ring_gb_per_s' with linespoints ls ls_ring, \
    '' using 'buffer_mib':'rhd_gb_per_s' with linespoints ls ls_rhd, \
    '' using 'buffer_mib':'allpairs_gb_per_s' with linespoints ls ls_allpairs, \
    '' using 'buffer_mib':'broadcast_hidden_gb_per_s' with linespoints ls ls_broadcast, \
    '' using 'buffer_mib':'stragglar_hidden_gb_per_s' with linespoints ls ls_stragglar
  eval panel(0.575, 0.985, 0.10, 0.805)
  set title sprintf('%s, %.4g ms: hides %s', CHANGED ? 'delay' : 'mean delay', DELAY, \
    HIDDEN > 0 ? 'it up to ' . size(HIDDEN / 1024) : 'none')
  if (HIDDEN > B_min && HIDDEN < B_max) {
    set arrow 1 from HIDDEN, graph 0 to HIDDEN, graph 1 nohead ls ls_ideal
  }
  plot DATA using 'buffer_mib':'ring_gb_per_s' with linespoints ls ls_ring, \
    '' using 'buffer_mib':'rhd_gb_per_s' with linespoints ls ls_rhd, \
    '' using 'buffer_mib':'allpairs_gb_per_s' with linespoints ls ls_allpairs, \
    '' using 'buffer_mib':'broadcast_delayed_gb_per_s' with linespoints ls ls_broadcast, \
    '' using 'buffer_mib':'stragglar_delayed_gb_per_s' with linespoints ls ls_stragglar
  unset multiplot
