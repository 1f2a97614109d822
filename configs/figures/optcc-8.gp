  # Panels a, b, .. in a grid of two rows, the key in the cell behind the last one. A panel is over the ranks, the
  # size or the slowdown (the column "axis"); what it shows is the column "setting".
  at(panel_, model_, name) = stringcolumn('panel') eq panel_ && stringcolumn('model') eq model_ ? column(name) : 1/0
  inside(panel_, name) = stringcolumn('panel') eq panel_ ? column(name) : 1/0
  SEEN = ''
  stats DATA using (letter = stringcolumn('panel'), SEEN = strstrt(SEEN, letter) ? SEEN : SEEN . letter, 1) nooutput
  stats DATA using 'gpus_per_server' name 'G' nooutput
  N = strlen(SEEN)
  COLUMNS = N > 3 ? 3 : 2
  PITCH = 0.985 / COLUMNS
  cell(i) = panel((N > 3 ? 0.08 : 0.095) + PITCH * (i % COLUMNS), PITCH * (i % COLUMNS + 1) - 0.005, \
    i < COLUMNS ? 0.565 : 0.1, i < COLUMNS ? 0.86 : 0.395)
  # What all rows of a panel have in common, and the slowdowns where they are not those of the figure's file.
  common(least, most, text) = most == least ? '; ' . text : ''
  slowdown(least, most) = most == least ? sprintf('%.3g', most) : sprintf('%.3g to %.3g', least, most)
  # From back to front: model, column, style, title. Times on LogGP have open markers. ICCL's differ little.
  IS_ONE = SLOW == 1 && G_max == 1
  L = 0
  array M[10]; array C[10]; array S[10]; array K[10]
  L = L + 1; M[L] = 'alpha-beta'; C[L] = 'bound_ms'; S[L] = 'lines ls ls_bound dt (8,4)'; K[L] = 'lower bound, proven'
  L = L + 1; M[L] = 'alpha-beta'; C[L] = 'fault_free_ms'; S[L] = 'linespoints ls ls_rhd'
  K[L] = G_max == 1 ? 'fault-free ring, both models' : 'fault-free ring, alpha-beta'
  if (G_max > 1) {
    L = L + 1; M[L] = 'loggp'; C[L] = 'fault_free_ms'; S[L] = 'linespoints ls ls_rhd dt (3,3) pt 8'; K[L] = 'fault-free ring, LogGP'
  }
  L = L + 1; M[L] = 'alpha-beta'; C[L] = 'iccl_ms'; S[L] = 'linespoints ls ls_ring'; K[L] = 'ring with fault (ICCL), alpha-beta'
  if (SLOW == 1) {
    L = L + 1; M[L] = 'alpha-beta'; C[L] = 'r2ccl_closed_form_ms'; S[L] = 'lines ls ls_broadcast dt (3,4)'; K[L] = 'R^2CCL, closed form'
  }
  if (IS_ONE) {
    L = L + 1; M[L] = 'alpha-beta'; C[L] = 'r2ccl_ms'; S[L] = 'linespoints ls ls_broadcast'; K[L] = 'R^2CCL, alpha-beta'
    L = L + 1; M[L] = 'loggp'; C[L] = 'r2ccl_ms'; S[L] = 'linespoints ls ls_broadcast dt (3,3) pt 12'; K[L] = 'R^2CCL, LogGP'
  }
  L = L + 1; M[L] = 'alpha-beta'; C[L] = 'optcc_ms'; S[L] = 'linespoints ls ls_stragglar'; K[L] = 'OptCC, alpha-beta'
  L = L + 1; M[L] = 'loggp'; C[L] = 'optcc_ms'; S[L] = 'linespoints ls open_stragglar'; K[L] = 'OptCC, LogGP'
  set multiplot
  unset key
  TICS_FONT = N > 3 ? TINY : SMALL
  set tics font TICS_FONT
  eval titles(sprintf('AllReduce with %d slow server%s, %s', SLOW, SLOW == 1 ? '' : 's', \
      G_max > 1 ? sprintf('%d GPUs with a NIC each in every server', G_max) : 'one GPU in every server'), \
    sprintf('replayed; NIC: %g Gb/s, α = %g µs (LogGP: o = 0, L = α)%s', 8 * NIC_GBPS, NIC_US, \
      G_max > 1 ? sprintf('; NVLink: %g GB/s, %g µs', NVLINK_GBPS, NVLINK_US) : ''))
  do for [i = 0:N-1] {
    LETTER = SEEN[i+1:i+1]
    AXIS = ''
    stats DATA using (stringcolumn('panel') eq LETTER ? (AXIS = stringcolumn('axis'), SETTING = stringcolumn('setting'), 1) : 1/0) \
      nooutput
    stats DATA using (inside(LETTER, 'ranks')) name 'P' nooutput
    stats DATA using (inside(LETTER, 'buffer_GiB')) name 'S' nooutput
    stats DATA using (inside(LETTER, 'slowdown_1')) name 'L1' nooutput
    if (SLOW > 1) {
      stats DATA using (inside(LETTER, 'slowdown_2')) name 'L2' nooutput
    }
    if (CHANGED) {
      SETTING = 'l = ' . slowdown(L1_min, L1_max) . (SLOW > 1 ? ' and ' . slowdown(L2_min, L2_max) : '')
    }
    eval cell(i)
    set title sprintf('%s) %s%s%s', LETTER, SETTING, common(P_min, P_max, sprintf('p = %d', P_max)), \
      common(S_min, S_max, size(S_max))) font SMALL offset 0,-0.5
    set ylabel 'AllReduce, ms' offset 0.7,0
    if (AXIS eq 'ranks') {
      X = 'ranks'
      set logscale x 2; set xrange [*:*]; set yrange [*:*]
      eval data_ticks("inside('" . LETTER . "', 'ranks')", (1.0 * P_max / P_min) ** 0.08)
      set offsets graph 0.04, graph 0.04, graph 0.05, graph 0.05
      set xlabel 'number of ranks p (log scale)' offset 0,0.5
    } else { if (AXIS eq 'size') {
      X = 'buffer_GiB'
      unset logscale x; set xrange [0:*]; set yrange [0:*]; set xtics auto
      set autoscale xfixmax
      set offsets 0, graph 0.04, graph 0.05, 0
      set xlabel 'buffer, GiB' offset 0,0.5
    } else {
      X = 'slowdown_1'
      unset logscale x; set yrange [*:*]
      set xrange [L1_min - 0.05 * (L1_max - L1_min) - 0.01:L1_max + 0.05 * (L1_max - L1_min) + 0.01]
      set xtics auto
      set offsets 0, 0, graph 0.05, graph 0.05
      set xlabel 'slowdown l (bandwidth / l)' offset 0,0.5
    } }
    PLOT = 'plot '
    do for [k = 1:L] {
      PLOT = PLOT . sprintf("%sDATA using (at('%s','%s','%s')):(column('%s')) with %s notitle", k > 1 ? ', ' : '', \
        LETTER, M[k], X, C[k], S[k])
    }
    eval PLOT
    unset label
  }
  eval cell(N)
  set bmargin at screen 0.02; set tmargin at screen 0.46
  unset border; unset tics; unset grid; unset xlabel; unset ylabel; unset title
  unset logscale; set offsets 0, 0, 0, 0
  set key center center vertical Left reverse noopaque nobox samplen 4
  PLOT = 'plot [0:1][0:1] NaN notitle'
  do for [j = 0:L-1] {
    k = L - j
    PLOT = PLOT . sprintf(", keyentry with %s title '%s'", S[k], K[k])
  }
  eval PLOT
  unset multiplot
