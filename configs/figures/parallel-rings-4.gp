  stats DATA using 'size_MiB' name 'X' nooutput
  eval title(sprintf('AllGather among %d GPUs with an NVLink from each to each', RANKS), \
    sprintf('replayed on the %s model, α = %g µs, %g GB/s for each pair and direction%s', MODEL, ALPHA_US, RATE_GBPS, \
      CHANGED ? '' : ' (cluster B)'))
  set logscale xy
  set logscale x 2
  set xrange [0.85 * X_min:1.17 * X_max]
  set xtics (0.25, 0.5, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
  set xlabel 'contribution of a rank, MiB (log scale)'
  set ylabel 'AllGather inside the server, ms (log scale)'
  set key top left Left reverse
  plot DATA using 'size_MiB':'ibcast_btdd_ms' with linespoints ls 5 title 'Ibcast BTDD', \
    '' using 'size_MiB':'iallgather_rd_ms' with linespoints ls 3 \
       title 'Iallgather RD (two steps, the second of two blocks)', \
    '' using 'size_MiB':'ibcast_btdh_ms' with linespoints ls 4 title 'Ibcast BTDH', \
    '' using 'size_MiB':'linear_formula_ms' with lines ls 8 title 'α + mβ', \
    '' using 'size_MiB':'ibcast_knomial_ms' with points ls 9 ps 2.4*PS title 'Ibcast 4-nomial', \
    '' using 'size_MiB':'ibcast_linear_ms' with points ls 1 \
       title 'Ibcast and Iallgather linear: what Parallel Rings use here'
