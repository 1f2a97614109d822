  LIST = ' '
  stats DATA using (collect(column('delay_ms'))) name 'D' nooutput
  stats DATA using 'ranks' name 'N' nooutput
  P = min(words(LIST), 4)
  T = D_records / words(LIST)
  set multiplot
  eval titles('Iteration of BERT-large, one rank late', \
    sprintf('%.1f ms of compute and %d AllReduces of gradients replayed, %s', COMPUTE, CALLS, network))
  eval legend(0.915)
  plot NaN notitle, \
    keyentry with linespoints ls ls_stragglar title 'StragglAR', \
    keyentry with linespoints ls ls_ring title 'ring', \
    keyentry with linespoints ls ls_rhd title 'rhd', \
    keyentry with linespoints ls ls_allpairs title 'allpairs', \
    keyentry with linespoints ls ls_broadcast title 'broadcast'
  eval panels
  # The delays add to all of a panel: all panels have the same span. The broadcast may leave it behind its least time.
  array LEAST[4]
  SPAN = 0
  do for [i = 1:P] {
    LEAST[i] = 1e300; HIGH = 0
    do for [column in 'ring rhd allpairs stragglar'] {
      stats DATA every ::(T*(i-1))::(T*i-1) using (column(column . '_ms')) name 'Y' nooutput
      LEAST[i] = min(LEAST[i], Y_min)
      HIGH = max(HIGH, Y_max)
    }
    stats DATA every ::(T*(i-1))::(T*i-1) using 'broadcast_ms' name 'Y' nooutput
    SPAN = max(SPAN, max(HIGH, Y_min) - LEAST[i])
  }
  set logscale x 2
  set xrange [0.875 * N_min:1.14 * N_max]
  set ytics step(1.48 * SPAN, 8)
  eval data_ticks("column('ranks')", (1.0 * N_max / N_min) ** 0.1)
  do for [i = 1:P] {
    LEFT = i % 2 == 1 ? 0.07 : 0.565
    LOW = i <= 2 ? 0.52 : 0.10
    eval panel(LEFT, LEFT + 0.42, LOW, LOW + 0.31)
    set yrange [LEAST[i] - 0.2 * SPAN:LEAST[i] + 1.28 * SPAN]
    set xlabel (i <= 2 && P > 2 ? '' : 'number of ranks n (log scale)')
    set ylabel 'iteration, ms'
    set title (real(word(LIST, i)) == 0 ? 'no delay' : \
      sprintf('delay of %s ms at each of the %d AllReduces', word(LIST, i), CALLS)) offset 0,-0.5
    plot DATA every ::(T*(i-1))::(T*i-1) using 'ranks':'broadcast_ms' with linespoints ls ls_broadcast, \
      '' every ::(T*(i-1))::(T*i-1) using 'ranks':'allpairs_ms' with linespoints ls ls_allpairs, \
      '' every ::(T*(i-1))::(T*i-1) using 'ranks':'rhd_ms' with linespoints ls ls_rhd, \
      '' every ::(T*(i-1))::(T*i-1) using 'ranks':'ring_ms' with linespoints ls ls_ring, \
      '' every ::(T*(i-1))::(T*i-1) using 'ranks':'stragglar_ms' with linespoints ls ls_stragglar
  }
  unset multiplot
