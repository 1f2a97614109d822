  # Panels a, b, .. in a grid of two columns, the key in the cell behind the last one. A panel is over the ranks, the
  # size or the slowdown (the column "axis"); what it shows is the column "setting". Curves are times over the lower
  # bound of their row.
  at(panel_, model_, name) = stringcolumn('panel') eq panel_ && stringcolumn('model') eq model_ ? column(name) : 1/0
  inside(panel_, name) = stringcolumn('panel') eq panel_ ? column(name) : 1/0
  SEEN = ''
  stats DATA using (letter = stringcolumn('panel'), SEEN = strstrt(SEEN, letter) ? SEEN : SEEN . letter, 1) nooutput
  stats DATA using 'gpus_per_server' name 'G' nooutput
  N = strlen(SEEN)
  # What all rows of a panel have in common, and the slowdowns where they are not those of the figure's file.
  common(least, most, text) = most == least ? ', ' . text : ''
  slowdown(least, most) = most == least ? sprintf('%.3g', most) : sprintf('%.3g to %.3g', least, most)
  # From back to front: model, column, style, title.
  IS_ONE = SLOW == 1 && G_max == 1
  L = 0
  array M[10]; array C[10]; array S[10]; array K[10]
  L = L + 1; M[L] = 'alpha-beta'; C[L] = 'bound_ms'; S[L] = 'lines ls ls_bound'; K[L] = 'lower bound (proven)'
  L = L + 1; M[L] = 'alpha-beta'; C[L] = 'fault_free_ms'; S[L] = 'linespoints ls open_ring'
  K[L] = G_max == 1 ? 'ring without the fault, on either model' : 'ring without the fault, alpha-beta'
  if (G_max > 1) {
    L = L + 1; M[L] = 'loggp'; C[L] = 'fault_free_ms'; S[L] = 'linespoints ls open_ring dt (2,4) pt 12'
    K[L] = 'ring without the fault, LogGP'
  }
  L = L + 1; M[L] = 'alpha-beta'; C[L] = 'iccl_ms'; S[L] = 'linespoints ls ls_ring'; K[L] = 'ring with the fault (ICCL), alpha-beta'
  if (SLOW == 1) {
    L = L + 1; M[L] = 'alpha-beta'; C[L] = 'r2ccl_closed_form_ms'; S[L] = 'lines ls open_r2ccl lw 1.6 dt (2,4)'
    K[L] = 'R^2CCL, its closed form'
  }
  if (IS_ONE) {
    L = L + 1; M[L] = 'alpha-beta'; C[L] = 'r2ccl_ms'; S[L] = 'linespoints ls ls_r2ccl'; K[L] = 'R^2CCL, alpha-beta'
    L = L + 1; M[L] = 'loggp'; C[L] = 'r2ccl_ms'; S[L] = 'linespoints ls open_r2ccl'; K[L] = 'R^2CCL, LogGP'
  }
  L = L + 1; M[L] = 'alpha-beta'; C[L] = 'optcc_ms'; S[L] = 'linespoints ls ls_optcc'; K[L] = 'OptCC, alpha-beta'
  L = L + 1; M[L] = 'loggp'; C[L] = 'optcc_ms'; S[L] = 'linespoints ls open_optcc'; K[L] = 'OptCC, LogGP'
  set multiplot
  unset key
  set tics font SMALL
  eval titles(sprintf('AllReduce with %s, %s: time over the lower bound', SLOW == 1 ? 'one slow server' : sprintf('%d slow servers', SLOW), \
      G_max > 1 ? sprintf('%d GPUs with a NIC each in every server', G_max) : 'one GPU in every server'), \
    sprintf('replayed; NIC of %g Gb/s, start-up %g µs: it holds the port (alpha-beta) or not (LogGP)%s', 8 * NIC_GBPS, NIC_US, \
      G_max > 1 ? sprintf('; NVLink: %g GB/s, %g µs', NVLINK_GBPS, NVLINK_US) : ''))
  do for [i = 0:N-1] {
    LETTER = SEEN[i+1:i+1]
    AXIS = ''
    set xrange [*:*]; set yrange [*:*]
    stats DATA using (stringcolumn('panel') eq LETTER ? (AXIS = stringcolumn('axis'), SETTING = stringcolumn('setting'), 1) : 1/0) \
      nooutput
    stats DATA using (inside(LETTER, 'ranks')) name 'P' nooutput
    stats DATA using (inside(LETTER, 'buffer_GiB')) name 'S' nooutput
    stats DATA using (inside(LETTER, 'slowdown_1')) name 'L1' nooutput
    if (SLOW > 1) {
      stats DATA using (inside(LETTER, 'slowdown_2')) name 'L2' nooutput
    }
    if (CHANGED) {
      SETTING = 'bandwidth divided by ' . slowdown(L1_min, L1_max) . (SLOW > 1 ? ' and ' . slowdown(L2_min, L2_max) : '')
    }
    eval grid_cell(i, N + 1)
    set title sprintf('%s) %s%s%s', LETTER, SETTING, common(P_min, P_max, sprintf('%d ranks', P_max)), \
      common(S_min, S_max, size(S_max))) font SMALL offset 0,-0.5
    set ylabel 'time over the lower bound' offset 0.7,0
    set offsets graph 0.04, graph 0.04, graph 0.05, graph 0.05
    set logscale x 2
    if (AXIS eq 'ranks') {
      X = 'ranks'
      eval data_ticks("inside('" . LETTER . "', 'ranks')", (1.0 * P_max / P_min) ** 0.08)
      set xlabel 'number of ranks (log scale)' offset 0,0.5
    } else { if (AXIS eq 'size') {
      X = 'buffer_GiB'
      eval 'set xtics ' . size_ticks(1024 * S_min, 1024 * S_max, 6)
      set xlabel 'buffer (log scale)' offset 0,0.5
    } else {
      X = 'slowdown_1'
      unset logscale x
      set xtics auto
      set xrange [L1_min - 0.04 * (L1_max - L1_min) - 0.01:L1_max + 0.04 * (L1_max - L1_min) + 0.01]
      set offsets 0, 0, graph 0.05, graph 0.05
      set xlabel 'the slow server''s bandwidth is divided by' offset 0,0.5
    } }
    X_UNIT = AXIS eq 'size' ? 1024.0 : 1.0
    PLOT = 'plot '
    do for [k = 1:L] {
      PLOT = PLOT . sprintf("%sDATA using (X_UNIT * at('%s','%s','%s')):(column('%s') / column('bound_ms')) with %s notitle", \
        k > 1 ? ', ' : '', LETTER, M[k], X, C[k], S[k])
    }
    eval PLOT
    unset label
  }
  eval grid_cell(N, N + 1)
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
