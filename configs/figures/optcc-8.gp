  # Panels a, b, .. in a grid of two rows, the key in the cell behind the last one. A panel is over the ranks, the
  # size or the slowdown (the column "axis"); what it shows is the column "setting".
  at(panel_, model_, name) = stringcolumn('panel') eq panel_ && stringcolumn('model') eq model_ ? column(name) : 1/0
  SEEN = ''
  stats DATA using (letter = stringcolumn('panel'), SEEN = strstrt(SEEN, letter) ? SEEN : SEEN . letter, 1) nooutput
  stats DATA using 'gpus_per_server' name 'G' nooutput
  N = strlen(SEEN)
  COLUMNS = N > 3 ? 3 : 2
  PITCH = 0.99 / COLUMNS
  cell(i) = panel(0.07 + PITCH * (i % COLUMNS), PITCH * (i % COLUMNS + 1) - 0.02, \
    i < COLUMNS ? 0.565 : 0.085, i < COLUMNS ? 0.88 : 0.4)
  # From back to front: model, column, style, title. Times on LogGP have open markers. ICCL's differ little.
  IS_ONE = SLOW == 1 && G_max == 1
  L = 0
  array M[10]; array C[10]; array S[10]; array K[10]
  L = L + 1; M[L] = 'alpha-beta'; C[L] = 'bound_ms'; S[L] = 'lines ls 7 dt (8,4)'; K[L] = 'lower bound'
  L = L + 1; M[L] = 'alpha-beta'; C[L] = 'fault_free_ms'; S[L] = 'linespoints ls 4'
  K[L] = G_max == 1 ? 'fault-free ring, both models' : 'fault-free ring, alpha-beta'
  if (G_max > 1) {
    L = L + 1; M[L] = 'loggp'; C[L] = 'fault_free_ms'; S[L] = 'linespoints ls 4 dt (3,3) pt 8'; K[L] = 'fault-free ring, LogGP'
  }
  L = L + 1; M[L] = 'alpha-beta'; C[L] = 'iccl_ms'; S[L] = 'linespoints ls 3'; K[L] = 'ICCL, alpha-beta'
  if (SLOW == 1) {
    L = L + 1; M[L] = 'alpha-beta'; C[L] = 'r2ccl_closed_form_ms'; S[L] = 'lines ls 6 dt (3,4)'; K[L] = 'R^2CCL, closed form'
  }
  if (IS_ONE) {
    L = L + 1; M[L] = 'alpha-beta'; C[L] = 'r2ccl_ms'; S[L] = 'linespoints ls 6'; K[L] = 'R^2CCL, alpha-beta'
    L = L + 1; M[L] = 'loggp'; C[L] = 'r2ccl_ms'; S[L] = 'linespoints ls 6 dt (3,3) pt 12'; K[L] = 'R^2CCL, LogGP'
  }
  L = L + 1; M[L] = 'alpha-beta'; C[L] = 'optcc_ms'; S[L] = 'linespoints ls 1'; K[L] = 'OptCC, alpha-beta'
  L = L + 1; M[L] = 'loggp'; C[L] = 'optcc_ms'; S[L] = 'linespoints ls 2'; K[L] = 'OptCC, LogGP'
  set multiplot
  unset key
  eval sprintf("set tics font ',%d'", N > 3 ? 10 : 11)
  eval titles(HEADING, sprintf('NIC %g Gb/s, α = %g µs (LogGP: o = 0, L = α)%s%s', 8 * RATE_GBPS, ALPHA_US, \
    G_max > 1 ? sprintf('; NVLink %g GB/s and %g µs', NVLINK_GBPS, NVLINK_US) : '', CHANGED ? '' : '; ' . NOTE))
  do for [i = 0:N-1] {
    LETTER = SEEN[i+1:i+1]
    AXIS = ''
    stats DATA using (stringcolumn('panel') eq LETTER ? (AXIS = stringcolumn('axis'), SETTING = stringcolumn('setting'), 1) : 1/0) \
      nooutput
    eval cell(i)
    set title sprintf('%s) %s', LETTER, SETTING) offset 0,-0.5
    set ylabel 'time, ms' offset (N > 3 ? 0.5 : 1.2),0
    if (AXIS eq 'ranks') {
      X = 'ranks'
      set logscale x 2; set xrange [*:*]; set yrange [*:*]
      set xtics (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
      set offsets graph 0.04, graph 0.04, graph 0.05, graph 0.05
      set xlabel 'ranks p (log scale)' offset 0,0.5
    } else { if (AXIS eq 'size') {
      X = 'buffer_GiB'
      unset logscale x; set xrange [0:*]; set yrange [0:*]; set xtics auto
      set autoscale xfixmax
      set offsets 0, graph 0.04, graph 0.05, 0
      set xlabel 'buffer, GiB' offset 0,0.5
    } else {
      X = 'slowdown_1'
      stats DATA using (stringcolumn('panel') eq LETTER ? column('slowdown_1') : 1/0) name 'R' nooutput
      unset logscale x; set yrange [*:*]
      set xrange [R_min - 0.05 * (R_max - R_min) - 0.01:R_max + 0.05 * (R_max - R_min) + 0.01]
      set xtics auto
      set offsets 0, 0, graph 0.05, graph 0.05
      set xlabel 'slowdown l' offset 0,0.5
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
  set key center center vertical Left reverse noopaque nobox samplen 3
  PLOT = 'plot [0:1][0:1] NaN notitle'
  do for [j = 0:L-1] {
    k = L - j
    PLOT = PLOT . sprintf(", keyentry with %s title '%s'", S[k], K[k])
  }
  eval PLOT
  unset multiplot
