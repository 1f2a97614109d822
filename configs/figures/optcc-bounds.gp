  at(panel_, name) = stringcolumn('panel') eq panel_ ? column(name) : 1/0
  stats DATA using (at('a', 'slowdown_1')) name 'L' nooutput
  stats DATA using (at('b', 'ranks')) name 'P' nooutput
  stats DATA using (at('a', 'ranks')) name 'A' nooutput
  stats DATA using (at('b', 'slowdown_1')) name 'B' nooutput
  stats DATA using (at('b', 'iccl_over_t0_1')) name 'I' nooutput
  stats DATA using (at('d', 'ranks')) name 'D' nooutput
  stats DATA using (at('d', 'gpus_per_server')) name 'G' nooutput
  L_STEP = step(L_max - 0.75, 7)
  set multiplot
  eval titles('AllReduce with slow NICs: lower bounds and baselines', \
    sprintf('over a ring without a fault; ICCL: a ring with it; %s model, α = %g µs', MODEL, ALPHA_US))
  eval legend(0.91)
  plot NaN notitle, \
    keyentry with lines ls ls_ring title 'ICCL', \
    keyentry with points ls ls_ring title 'ICCL, replayed', \
    keyentry with lines ls ls_r2ccl title 'R^2CCL', \
    keyentry with lines ls ls_bound title 'lower bound', \
    keyentry with lines ls ls_bound lw 1.5 dt (2,4) title 'weaker bound'
  eval panels
  set xlabel offset 0,0.5
  set ylabel 'time / ring without a fault' offset 0.7,0
  set title offset 0,-0.5
  eval panel(0.075, 0.485, 0.54, 0.82)
  set title sprintf('a) one slow rank of %d: theorems 6 and 1', A_min)
  set xrange [L_min:L_max]
  set yrange [0.75:L_max + 0.25]
  set xtics L_STEP
  set ytics L_STEP
  set xlabel 'bandwidth divided by'
  plot DATA using (at('a','slowdown_1')):(column('iccl_over_t0_1')) with lines ls ls_ring, \
    '' using (at('a','slowdown_1')):(column('iccl_replayed_over_t0_1')) every 4 with points ls ls_ring, \
    '' using (at('a','slowdown_1')):(column('r2ccl_over_t0_1')) with lines ls ls_r2ccl, \
    '' using (at('a','slowdown_1')):(column('theorem_6_over_t0_1')) with lines ls ls_bound, \
    '' using (at('a','slowdown_1')):(column('theorem_1_over_t0_1')) with lines ls ls_bound lw 1.5 dt (2,4)
  eval panel(0.57, 0.985, 0.54, 0.82)
  set title sprintf('b) one slow rank, bandwidth / %g: theorems 6 and 1', B_min)
  set logscale x 2
  set xrange [0.93 * P_min:1.12 * P_max]
  set yrange [0.95:I_max + 0.1]
  if (P_max >= 16 * P_min) { set xtics autofreq } else { eval data_ticks("at('b', 'ranks')", 1.1) }
  set ytics step(I_max - 0.85, 7)
  set xlabel 'number of ranks (log scale)'
  plot DATA using (at('b','ranks')):(column('iccl_over_t0_1')) with lines ls ls_ring, \
    '' using (at('b','ranks')):(column('iccl_replayed_over_t0_1')) with points ls ls_ring, \
    '' using (at('b','ranks')):(column('r2ccl_over_t0_1')) with lines ls ls_r2ccl, \
    '' using (at('b','ranks')):(column('theorem_6_over_t0_1')) with lines ls ls_bound, \
    '' using (at('b','ranks')):(column('theorem_1_over_t0_1')) with lines ls ls_bound lw 1.5 dt (2,4)
  unset logscale x
  eval panel(0.075, 0.485, 0.095, 0.375)
  set title sprintf('c) two slow ranks of %d: theorem 2', A_min)
  set xrange [L_min:L_max]
  set yrange [0.75:L_max + 0.25]
  set xtics L_STEP
  set ytics L_STEP
  set xlabel 'bandwidth divided by'
  plot DATA using (at('c','slowdown_1')):(column('iccl_over_t0_1')) with lines ls ls_ring, \
    '' using (at('c','slowdown_1')):(column('iccl_replayed_over_t0_1')) every 4::3 with points ls ls_ring, \
    '' using (at('c','slowdown_1')):(column('theorem_2_over_t0_1')) with lines ls ls_bound
  eval panel(0.57, 0.985, 0.095, 0.375)
  set title sprintf('d) one slow server of %d; %d GPUs each: theorems 13 and 3', D_min / G_min, G_min)
  set yrange [0.5:L_max + 0.25]
  plot DATA using (at('d','slowdown_1')):(column('iccl_over_t0_1')) with lines ls ls_ring, \
    '' using (at('d','slowdown_1')):(column('theorem_13_over_t0_1')) with lines ls ls_bound, \
    '' using (at('d','slowdown_1')):(column('theorem_3_over_t0_1')) with lines ls ls_bound lw 1.5 dt (2,4)
  unset multiplot
