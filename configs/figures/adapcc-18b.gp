  # Period 0 is one GPU alone; of the others `smooth unique` draws the mean.
  stats DATA using 'late_ms' name 'X' nooutput
  stats DATA using 'bound_speedup_over_nccl' name 'U' nooutput
  eval title('How much faster than NCCL while some GPUs are late, waiting included', \
    sprintf('AllReduce of %s on %d servers of %d GPUs, a NIC of %g GB/s each; %s model', \
      size(SIZE_GIB), RANKS / GPUS_PER_SERVER, GPUS_PER_SERVER, NIC_GBPS, MODEL))
  one(y) = column('period') == 0 ? column(y) : NaN
  many(y) = column('period') > 0 ? column(y) : NaN
  set xrange [0:X_max]
  set yrange [0:1.3 * U_max]
  set xlabel 'how late the slowed GPUs are, ms'
  set ylabel 'speedup over NCCL''s ring: time from the first arrival on, ratio'
  set key top right Left reverse maxrows 3 font SMALL
  if (!CHANGED) {
    set arrow 1 from 0, 1.49 to X_max, 1.49 nohead ls ls_published
    set label 1 'the AdapCC paper: up to 1.49' at graph 0.99, first 1.49 right offset 0,0.6 font SMALL
  }
  set arrow 2 from 0, 1 to X_max, 1 nohead lc rgb '#808080' lw 1.5
  plot DATA using 'late_ms':(one('bound_speedup_over_nccl')) with lines ls ls_bound title 'one GPU is late: no schedule is faster', \
    '' using 'late_ms':(one('adapcc_speedup_over_nccl')) with linespoints ls SERIES[1] title 'one GPU is late: all wait', \
    '' using 'late_ms':(one('adapcc_relay_speedup_over_nccl')) with linespoints ls OPEN[1] title 'one GPU is late: with relays', \
    '' using 'late_ms':(many('adapcc_speedup_over_nccl')) smooth unique with linespoints ls SERIES[2] title '0 to 2 of every server: all wait', \
    '' using 'late_ms':(many('adapcc_relay_speedup_over_nccl')) smooth unique with linespoints ls OPEN[2] title '0 to 2 of every server: with relays'
