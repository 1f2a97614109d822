  stats DATA using 'ranks' name 'N' nooutput
  stats DATA using 'beta_ratio_exact_1' name 'Y' nooutput
  eval title('β-competitive ratio of the critical delay', \
    sprintf('what the critical delay of StragglAR is of s β, whatever buffer s and bandwidth 1/β; %s model', MODEL))
  set logscale x 2
  set logscale y 10
  set xrange [0.9 * N_min:1.113 * N_max]
  set yrange [0.8 * Y_min:2.2 * Y_max]
  set xlabel 'number of ranks n (log scale)'
  eval 'set ytics ' . decade_ticks(0.8 * Y_min, 2.2 * Y_max)
  eval data_ticks("column('ranks')", (1.0 * N_max / N_min) ** 0.04)
  set ylabel 'factor of s β in the critical delay (log scale)'
  set key top right Left reverse
  plot DATA using 'ranks':'beta_ratio_exact_1' with lines ls ls_stragglar title 'exact: (⌈log_2 n⌉ - 2) / (n - 1) + 2 / n', \
    '' using 'ranks':'beta_ratio_replayed_1' with points ls ls_stragglar title sprintf('replayed, α = %g µs', ALPHA_US), \
    '' using 'ranks':'beta_ratio_simplified_1' with lines ls ls_formula dt (3,7) lw 3 title 'simplified: ⌈log_2 n⌉ / n'
