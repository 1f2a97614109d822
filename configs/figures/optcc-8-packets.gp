  # Panels a, b, .. in a grid of two rows, the key in the cell behind the last one. A panel is over the ranks, the
  # size or the slowdown (the column "axis"); what it shows is the column "setting". Curves are times above those
  # of a ring without a fault on a crossbar, in per cent.
  at(panel_, network_, name) = stringcolumn('panel') eq panel_ && stringcolumn('network') eq network_ ? column(name) : 1/0
  inside(panel_, name) = stringcolumn('panel') eq panel_ ? column(name) : 1/0
  SEEN = ''
  stats DATA using (letter = stringcolumn('panel'), SEEN = strstrt(SEEN, letter) ? SEEN : SEEN . letter, 1) nooutput
  N = strlen(SEEN)
  LEAST = SLOW == 1 && GPUS_PER_SERVER == 1 ? 2 : 0.8
  MOST = SLOW > 1 ? 8.5 : GPUS_PER_SERVER > 1 ? 4 : 6
  CLAIM = "the paper's OptCC: " . (LEAST > 1 ? sprintf('%g to %g %%', LEAST, MOST) : sprintf('at most %g %%', MOST))
  COLUMNS = N > 3 ? 3 : 2
  PITCH = 0.985 / COLUMNS
  cell(i) = panel(0.075 + PITCH * (i % COLUMNS), PITCH * (i % COLUMNS + 1) - 0.008, i < COLUMNS ? 0.565 : 0.1, \
    i < COLUMNS ? 0.86 : 0.395)
  L = 0
  array W[20]; array C[20]; array S[20]; array K[20]
  L = L + 1; W[L] = 'crossbar'; C[L] = 'iccl_percent'; S[L] = 'linespoints ls ls_ring'; K[L] = 'ring with fault (ICCL), crossbar'
  L = L + 1; W[L] = 'leaf/spine'; C[L] = 'iccl_percent'; S[L] = sprintf('points ls ls_ring pt 4 ps %g lw 1.5', 2.2 * PS); K[L] = 'ICCL, leaf/spine'
  L = L + 1; W[L] = 'DCQCN'; C[L] = 'iccl_percent'; S[L] = 'linespoints ls ls_ring dt (3,3) pt 4'; K[L] = 'ICCL, DCQCN'
  L = L + 1; W[L] = 'crossbar'; C[L] = 'r2ccl_percent'; S[L] = 'linespoints ls ls_broadcast'; K[L] = 'R^2CCL, crossbar'
  L = L + 1; W[L] = 'DCQCN'; C[L] = 'r2ccl_percent'; S[L] = 'linespoints ls ls_broadcast dt (3,3) pt 12'; K[L] = 'R^2CCL, DCQCN'
  L = L + 1; W[L] = 'leaf/spine'; C[L] = 'fault_free_here_percent'; S[L] = 'linespoints ls ls_rhd'; K[L] = 'ring without a fault, leaf/spine'
  L = L + 1; W[L] = 'crossbar'; C[L] = 'loggp_percent'; S[L] = 'lines ls ls_formula'; K[L] = 'OptCC, LogGP (no packets)'
  L = L + 1; W[L] = 'leaf/spine'; C[L] = 'optcc_percent'; S[L] = 'linespoints ls ls_published'; K[L] = 'OptCC, leaf/spine, one way a pair'
  L = L + 1; W[L] = 'early pauses'; C[L] = 'optcc_percent'; S[L] = 'linespoints ls ls_published dt (18,5) pt 10'
  K[L] = 'OptCC, leaf/spine, early pauses'
  L = L + 1; W[L] = 'sprayed'; C[L] = 'optcc_percent'; S[L] = 'linespoints ls ls_allpairs'; K[L] = 'OptCC, leaf/spine, sprayed'
  L = L + 1; W[L] = 'crossbar'; C[L] = 'optcc_percent'; S[L] = 'linespoints ls ls_stragglar'; K[L] = 'OptCC, crossbar'
  L = L + 1; W[L] = 'DCQCN'; C[L] = 'optcc_percent'; S[L] = sprintf('points ls ls_stragglar pt 6 ps %g lw 1.5', 2.4 * PS); K[L] = 'OptCC, DCQCN'
  array T[L]
  do for [k = 1:L] {
    COUNT = 0
    stats DATA using (stringcolumn('network') eq W[k] && column(C[k]) >= 0.8 ? (COUNT = COUNT + 1, 1) : 1) nooutput
    T[k] = COUNT
  }
  common(least, most, text) = most == least ? '; ' . text : ''
  set multiplot
  unset key
  set tics font TINY
  eval titles(sprintf('AllReduce with %d slow server%s, packets in lossless queues', SLOW, SLOW == 1 ? '' : 's'), \
    sprintf('time above a ring without a fault on a crossbar; NIC: %g Gb/s, %g µs; what is below 0.8 % is not drawn', 8 * NIC_GBPS, NIC_US))
  do for [i = 0:N-1] {
    LETTER = SEEN[i+1:i+1]
    AXIS = ''
    set xrange [*:*]; set yrange [*:*]
    unset logscale
    stats DATA using (stringcolumn('panel') eq LETTER ? (AXIS = stringcolumn('axis'), SETTING = stringcolumn('setting'), 1) : 1/0) \
      nooutput
    stats DATA using (inside(LETTER, 'ranks')) name 'P' nooutput
    stats DATA using (inside(LETTER, 'buffer_MiB')) name 'B' nooutput
    stats DATA using (inside(LETTER, 'slowdown_1')) name 'L1' nooutput
    if (CHANGED) {
      SETTING = sprintf(L1_min == L1_max ? 'l = %.3g' : 'l = %.3g to %.3g', L1_min, L1_max)
    }
    eval cell(i)
    set title sprintf('%s) %s%s%s', LETTER, SETTING, common(P_min, P_max, sprintf('p = %d', P_max)), \
      common(B_min, B_max, size(B_max / 1024.0))) font SMALL offset 0,-0.5
    set ylabel 'above fault-free, % (log scale)' offset 1,0
    unset object
    set logscale y
    set yrange [0.8:600]
    set ytics (1, 2, 5, 10, 20, 50, 100, 200, 500)
    set logscale x 2
    if (AXIS eq 'ranks') {
      X = 'ranks'
      set xrange [P_min / 1.15:P_max * 1.15]
      eval data_ticks("inside('" . LETTER . "', 'ranks')", 1.5)
      set xlabel 'number of ranks p (log scale)' offset 0,0.5
      if (!CHANGED) {
        set object 1 rectangle from graph 0, first LEAST to graph 1, first MOST behind fillcolor rgb '#FBE3D3' fillstyle solid noborder
      }
    } else { if (AXIS eq 'size') {
      X = 'buffer_MiB'
      set xrange [B_min / 1.15:B_max * 1.15]
      eval 'set xtics ' . size_ticks(B_min, B_max, 5)
      set xlabel 'buffer (log scale)' offset 0,0.5
    } else {
      X = 'slowdown_1'
      set xrange [L1_min / 1.08:L1_max * 1.08]
      set xtics ('8/7' 8.0/7, '4/3' 4.0/3, 2, 4)
      set xlabel 'slowdown l (bandwidth / l; log scale)' offset 0,0.5
    } }
    PLOT = 'plot '
    do for [k = 1:L] {
      PLOT = PLOT . sprintf("%sDATA using (at('%s','%s','%s')):(column('%s')) with %s notitle", k > 1 ? ', ' : '', \
        LETTER, W[k], X, C[k], S[k])
    }
    eval PLOT
    unset label; unset object
  }
  eval cell(N)
  set bmargin at screen 0.02; set tmargin at screen 0.46
  unset border; unset tics; unset grid; unset xlabel; unset ylabel; unset title
  unset logscale
  set xrange [0:1]; set yrange [0:1]
  set key center center vertical Left reverse noopaque nobox samplen 4 font SMALL
  PLOT = 'plot NaN notitle'
  do for [j = 0:L-1] {
    k = L - j
    if (T[k] > 0) {
      PLOT = PLOT . sprintf(", keyentry with %s title '%s'", S[k], K[k])
    }
  }
  if (!CHANGED) {
    PLOT = PLOT . ", keyentry with boxes fillcolor rgb '#FBE3D3' fillstyle solid border lc rgb '#FBE3D3' title \"" . CLAIM . "\""
  }
  eval PLOT
  unset multiplot
