  stats DATA using 'row' name 'R' nooutput
  stats DATA using 'paper_over_bound_1' name 'P' nooutput
  stats DATA using 'replayed_over_bound_1' name 'Y' nooutput
  eval titles('OptCC at α = 0: every setting against its lower bound', \
    'AllReduce on p servers (x g GPUs) with slow NICs: slowdowns l (bandwidth / l); R rounds')
  eval panel(0.085, 0.98, 0.33, 0.83)
  set xrange [0.5:R_records + 0.5]
  set logscale y 2
  set yrange [0.93:max(exists('P_max') ? 1.75 * P_max : 0, 4 * Y_max)]
  set ytics (1, 1.2, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64)
  set ylabel 'time over the lower bound (log scale)'
  set grid noxtics
  set xtics rotate by 60 right font TINY scale 0.4
  set key at screen 0.5, 0.885 center center horizontal Left reverse maxrows 1 nobox samplen 3
  # A line between two settings, and the name of each.
  BEFORE = ''; M = 0
  stats DATA using (name = stringcolumn('setting'), name eq BEFORE ? 0 : (M = M + 1), BEFORE = name, 1) nooutput
  array FIRST[M]; array NAME[M]
  BEFORE = ''; M = 0
  stats DATA using (name = stringcolumn('setting'), \
    name eq BEFORE ? 0 : (M = M + 1, FIRST[M] = column('row'), NAME[M] = name), BEFORE = name, 1) nooutput
  do for [i = 1:M] {
    if (i > 1) {
      set arrow i from first FIRST[i] - 0.5, graph 0 to first FIRST[i] - 0.5, graph 1 nohead lt 1 lc rgb '#A0A0A0'
    }
    set label (10 + i) NAME[i] at first FIRST[i] - 0.2, graph 0.985 rotate by -90 left font TINY tc rgb '#505050'
  }
  plot DATA using (column('row')):(column('paper_over_bound_1')):xtic(stringcolumn('label')) with points ls ls_published \
         title 'paper''s formula, as many sections', \
    '' using 'row':'replayed_over_bound_1' with points ls ls_stragglar title 'replayed', \
    '' using 'row':'limit_over_bound_1' with points ls ls_formula ps 1*PS title 'limit of many sections', \
    1 with lines ls ls_bound title 'lower bound'
