  stats DATA using 'ranks' name 'N' nooutput
  stats DATA using 'rule_of_thumb_rounds_over_bound' name 'R' nooutput
  stats DATA using 'published_rounds_over_bound' name 'P' nooutput
  MOST = max(exists('R_max') ? R_max : 0, exists('P_max') ? P_max : 0)
  eval title('Rounds of StragglAR''s main phase against the lower bound', \
    'AllReduce with one late rank; a rank sends and receives at most one chunk, 1/(n-1) of the buffer, a round')
  set logscale x 2
  set xrange [0.9 * N_min:1.113 * N_max]
  MOST = max(MOST, 2)
  set yrange [-0.09 * MOST:1.35 * MOST]
  if (N_records < 20) {
    eval data_ticks("column('ranks')", (1.0 * N_max / N_min) ** 0.04)
  } else {
    set xtics (4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096)
  }
  set ytics max(1, step(1.35 * MOST, 14))
  set xlabel 'number of ranks n (log scale)'
  set ylabel 'rounds of the main phase above the lower bound'
  set key top left Left reverse
  plot DATA using 'ranks':'formula_rounds_over_bound' with lines ls ls_bound title 'lower bound: n - 2 + ⌈log_2 n⌉ rounds', \
    '' using 'ranks':'replayed_rounds_over_bound' with points ls ls_stragglar ps 2*PS title 'StragglAR as built here, replayed', \
    '' using 'ranks':'rule_of_thumb_rounds_over_bound' with lines ls ls_formula \
       title 'the paper where n is no power of two: about n + 2 log_2 n - 2', \
    '' using 'ranks':'published_rounds_over_bound' with points ls ls_published ps 2*PS \
       title 'the paper where n is no power of two: published', \
    '' using 'ranks':'published_rounds_over_bound':(sprintf('+%d', column('published_rounds_over_bound'))) \
       with labels offset 2.2,0.6 notitle
