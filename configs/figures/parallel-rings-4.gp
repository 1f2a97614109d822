  stats DATA using 'size_MiB' name 'X' nooutput
  eval title(sprintf('AllGather among the %d GPUs of a server with an NVLink from each to each', RANKS), \
    sprintf('replayed, %s model, α = %g µs, %.4g GB/s for each pair and direction%s', MODEL, ALPHA_US, RATE_GBPS, \
      CHANGED ? '' : ' (H100, cluster B of the paper)'))
  set logscale xy
  set logscale x 2
  set xrange [0.85 * X_min:1.17 * X_max]
  eval 'set xtics ' . size_ticks(X_min, X_max, 9)
  set xlabel 'what a rank contributes, m (log scale)'
  set ylabel 'AllGather inside the server, ms (log scale)'
  set key top left Left reverse
  plot DATA using 'size_MiB':'ibcast_btdd_ms' with linespoints ls ls_ibcast_btdd title 'Ibcast BTDD', \
    '' using 'size_MiB':'iallgather_rd_ms' with linespoints ls ls_iallgather_rd \
       title 'Iallgather recursive doubling', \
    '' using 'size_MiB':'ibcast_btdh_ms' with linespoints ls ls_ibcast_btdh title 'Ibcast BTDH', \
    '' using 'size_MiB':'linear_formula_ms' with lines ls ls_formula title 'α + m β', \
    '' using 'size_MiB':'ibcast_knomial_ms' with points ls ls_ibcast_knomial ps 2.4*PS title 'Ibcast 4-nomial', \
    '' using 'size_MiB':'ibcast_linear_ms' with points ls ls_ibcast_linear \
       title 'Ibcast and Iallgather linear (in Parallel Rings)'
