  # Distribution functions: a step of 1 / N for each iteration.
  stats DATA using 'wait_over_communication_ratio' name 'R' nooutput
  stats DATA using 'homogeneous_ratio' name 'A' nooutput
  stats DATA using 'heterogeneous_ratio' name 'B' nooutput
  eval title('How long workers wait for the last one', \
    sprintf('wait over the time of an AllReduce of %s on %d GPUs by NCCL-like rings (%.3g ms); %d generated iterations each', \
      size(SIZE_GIB), RANKS, COMMUNICATION_MS, A_records))
  set xrange [0:100 * R_max]
  set yrange [0:103]
  set ytics 10
  set format y '%g %%'
  set format x '%g %%'
  set xlabel 'wait from the first to the last worker, as a share of the communication behind it'
  set ylabel 'share of the iterations with at most this wait'
  set key bottom right Left reverse
  if (!CHANGED) {
    set arrow 1 from 10, 0 to 10, 50 nohead ls ls_published
    set arrow 2 from 23, 0 to 23, 50 nohead ls ls_published
    set arrow 3 from 0, 50 to 23, 50 nohead ls ls_published
  }
  plot DATA using (100 * column('homogeneous_ratio')):(100.0 / A_records) smooth cumulative with steps ls SERIES[1] \
         title sprintf('servers alike: median %.0f %%', 100 * HOMOGENEOUS_MEDIAN), \
    '' using (100 * column('heterogeneous_ratio')):(100.0 / B_records) smooth cumulative with steps ls SERIES[2] \
         title sprintf('servers that differ: median %.0f %%', 100 * HETEROGENEOUS_MEDIAN), \
    (CHANGED ? NaN : -1) with lines ls ls_published title (CHANGED ? '' : 'the AdapCC paper: medians above 10 % and 23 %')
