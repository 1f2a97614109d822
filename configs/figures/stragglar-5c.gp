  stats DATA using 'delay_ms' name 'X' nooutput
  LAST = X_max
  LEAST = 1e300; MOST = 0
  do for [column in 'ring rhd allpairs broadcast stragglar'] {
    stats DATA using (column(column . '_ms')) name 'Y' nooutput
    stats DATA using (column(column . '_after_last_arrival_ms')) name 'Z' nooutput
    MOST = max(MOST, Y_max)
    LEAST = min(LEAST, Z_min)
  }
  stats DATA using 'broadcast_ms' name 'B' nooutput
  STEP = step(MOST - LEAST, 9)
  set multiplot
  eval titles(sprintf('AllReduce of %s on %d ranks, one of them late', size(SIZE_GIB), RANKS), \
    'replayed, ' . network . (CHANGED ? '' : NOTE))
  eval legend(0.915)
  plot NaN notitle, \
    keyentry with linespoints ls ls_stragglar title 'StragglAR', \
    keyentry with linespoints ls ls_ring title 'ring', \
    keyentry with linespoints ls ls_rhd title 'rhd', \
    keyentry with linespoints ls ls_allpairs title 'allpairs', \
    keyentry with linespoints ls ls_broadcast title 'broadcast'
  eval panels
  set xrange [X_min:LAST]
  set yrange [STEP * floor(LEAST / STEP):MOST + 0.2 * (MOST - LEAST)]
  set xtics step(LAST - X_min, 10)
  set ytics STEP
  set xlabel 'delay of the last rank, ms'
  # The two delays are written above all curves, where there is room for it, else into a title.
  ROOM = 0.15 * (LAST - X_min)
  HAS_ROOM = CRITICAL > X_min + ROOM && IDEAL > CRITICAL && IDEAL < LAST - ROOM
  # Where ring, rhd and allpairs hardly differ, their lines are one, and their markers take turns.
  do for [i = 1:2] {
    suffix = i == 1 ? '_ms' : '_after_last_arrival_ms'
    if (i == 1) { eval panel(0.08, 0.49, 0.10, 0.805) } else { eval panel(0.575, 0.985, 0.10, 0.805) }
    set title (i == 1 ? 'from the first arrival on (as in the paper)' : HAS_ROOM ? 'from the last arrival on' : \
      sprintf('critical delay %.3g ms, ideal delay %.3g ms', CRITICAL, IDEAL))
    set ylabel (i == 1 ? 'time after the first arrival, ms' : 'time after the last arrival, ms')
    if (HAS_ROOM) {
      set arrow 1 from CRITICAL, graph 0 to CRITICAL, graph 1 nohead ls ls_critical
      set arrow 2 from IDEAL, graph 0 to IDEAL, graph 1 nohead ls ls_ideal
      set label 1 sprintf("critical\n%.4g ms", CRITICAL) at CRITICAL, graph 0.965 right offset -0.7,0 font SMALL
      set label 2 sprintf("ideal\n%.4g ms", IDEAL) at IDEAL, graph 0.965 left offset 0.7,0 font SMALL
    }
    plot DATA using 'delay_ms':(column('allpairs' . suffix)) with lines ls ls_allpairs, \
      '' using 'delay_ms':(column('rhd' . suffix)) with lines ls ls_rhd, \
      '' using 'delay_ms':(column('ring' . suffix)) with lines ls ls_ring, \
      '' using 'delay_ms':(column('ring' . suffix)) every 6::0 with points ls ls_ring, \
      '' using 'delay_ms':(column('rhd' . suffix)) every 6::2 with points ls ls_rhd, \
      '' using 'delay_ms':(column('allpairs' . suffix)) every 6::4 with points ls ls_allpairs, \
      '' using 'delay_ms':(column('broadcast' . suffix)) with lines ls ls_broadcast, \
      '' using 'delay_ms':(column('broadcast' . suffix)) every 4 with points ls ls_broadcast, \
      '' using 'delay_ms':(column('stragglar' . suffix)) with lines ls ls_stragglar, \
      '' using 'delay_ms':(column('stragglar' . suffix)) every 4 with points ls ls_stragglar
  }
  unset multiplot
