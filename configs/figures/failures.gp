  # A curve for each policy; bars are the intervals of the means.
  of(p, y) = stringcolumn('policy') eq p ? column(y) : NaN
  POLICIES = "'wait' 'spare' 'exclude' 'shrink' 'restart' 'iccl' 'optcc'"
  TEXTS = "'wait for every repair' 'one spare server, paid for' 'exclude: restart without the server' 'shrink: go on without the server' 'restart (NCCL) on the NICs that are left' 'go on with nccl\\_rings' 'go on with optcc'"
  array STYLES[7] = [ls_formula, SERIES[5], SERIES[3], SERIES[4], open_nccl_rings, ls_nccl_rings, ls_optcc]
  stats DATA using 'mttr_hours_count' name 'X' nooutput
  set datafile missing NaN
  eval title('GPU-hours lost to failures over the time to repair', \
    '30 days on 16 servers of 8 GPUs that fail four times as often as those of Llama 3; 95 % intervals')
  set logscale xy
  set xrange [0.8 * X_min:1.25 * X_max]
  set xlabel 'mean time to repair, hours'
  set ylabel 'GPU-hours lost against the best healthy schedule, % of paid'
  set key top left Left reverse
  plot for [i = 1:words(POLICIES)] DATA using 'mttr_hours_count':(of(word(POLICIES, i), 'lost_percent')):(of(word(POLICIES, i), 'low_percent')): \
      (of(word(POLICIES, i), 'high_percent')) with yerrorlines ls STYLES[i] title word(TEXTS, i), \
    '' using 'mttr_hours_count':(of('healthy', 'lost_percent')) with lines ls ls_ink title 'no failures: checkpoints alone'
