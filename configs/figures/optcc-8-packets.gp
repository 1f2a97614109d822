  # Panels a, b, .. in a grid of two columns, the key in the cell behind the last one. A panel is over the ranks, the
  # size or the slowdown (the column "axis"); what it shows is the column "setting". Curves are times over the lower
  # bound of their row, which knows no headers of packets.
  at(panel_, network_, name) = stringcolumn('panel') eq panel_ && stringcolumn('network') eq network_ ? column(name) : 1/0
  inside(panel_, name) = stringcolumn('panel') eq panel_ ? column(name) : 1/0
  ratio(name) = column(name) / column('bound_ms')
  SEEN = ''
  stats DATA using (letter = stringcolumn('panel'), SEEN = strstrt(SEEN, letter) ? SEEN : SEEN . letter, 1) nooutput
  N = strlen(SEEN)
  LEAST = SLOW == 1 && GPUS_PER_SERVER == 1 ? 2 : 0
  MOST = SLOW > 1 ? 8.5 : GPUS_PER_SERVER > 1 ? 4 : 6
  CLAIM = "the paper: OptCC " . (LEAST > 1 ? sprintf('%g to %g %%', LEAST, MOST) : sprintf('at most %g %%', MOST)) . ' above the ring without the fault'
  PALE = tone(col_published, 0.16)
  # From back to front: network, column, style, title; T: whether there is such a curve.
  L = 0
  array W[20]; array C[20]; array S[20]; array K[20]
  L = L + 1; W[L] = 'crossbar'; C[L] = 'bound_ms'; S[L] = 'lines ls ls_bound'; K[L] = 'lower bound (proven)'
  L = L + 1; W[L] = 'crossbar'; C[L] = 'fault_free_ms'; S[L] = 'linespoints ls open_ring'; K[L] = 'ring without the fault, crossbar'
  L = L + 1; W[L] = 'leaf/spine'; C[L] = 'fault_free_here_ms'; S[L] = 'linespoints ls open_ring dt (2,4) pt 12'
  K[L] = 'ring without the fault, leaf/spine'
  L = L + 1; W[L] = 'crossbar'; C[L] = 'iccl_ms'; S[L] = 'linespoints ls ls_ring'; K[L] = 'ring with the fault (ICCL), crossbar'
  L = L + 1; W[L] = 'leaf/spine'; C[L] = 'iccl_ms'; S[L] = sprintf('points ls ls_ring pt 4 ps %g lw 1.5', 2.2 * PS); K[L] = 'ICCL, leaf/spine'
  L = L + 1; W[L] = 'DCQCN'; C[L] = 'iccl_ms'; S[L] = 'linespoints ls ls_ring dt (3,3) pt 4'; K[L] = 'ICCL, congestion control'
  L = L + 1; W[L] = 'crossbar'; C[L] = 'r2ccl_ms'; S[L] = 'linespoints ls ls_r2ccl'; K[L] = 'R^2CCL, crossbar'
  L = L + 1; W[L] = 'DCQCN'; C[L] = 'r2ccl_ms'; S[L] = 'linespoints ls open_r2ccl'; K[L] = 'R^2CCL, congestion control'
  L = L + 1; W[L] = 'crossbar'; C[L] = 'loggp_ms'; S[L] = 'lines ls ls_optcc lw 1.4 dt (2,3)'; K[L] = 'OptCC, LogGP (no packets)'
  L = L + 1; W[L] = 'leaf/spine'; C[L] = 'optcc_ms'; S[L] = 'linespoints ls open_optcc'; K[L] = 'OptCC, leaf/spine, one way a pair'
  L = L + 1; W[L] = 'early pauses'; C[L] = 'optcc_ms'; S[L] = 'linespoints ls open_optcc dt (9,4) pt 10'
  K[L] = 'OptCC, leaf/spine, early pauses'
  L = L + 1; W[L] = 'sprayed'; C[L] = 'optcc_ms'; S[L] = 'linespoints ls open_optcc dt (2,3) pt 8'; K[L] = 'OptCC, leaf/spine, sprayed'
  L = L + 1; W[L] = 'crossbar'; C[L] = 'optcc_ms'; S[L] = 'linespoints ls ls_optcc'; K[L] = 'OptCC, crossbar'
  L = L + 1; W[L] = 'DCQCN'; C[L] = 'optcc_ms'; S[L] = sprintf('points ls ls_optcc pt 6 ps %g lw 1.5', 2.4 * PS)
  K[L] = 'OptCC, congestion control'
  array T[L]
  do for [k = 1:L] {
    COUNT = 0
    stats DATA using (stringcolumn('network') eq W[k] && column(C[k]) > 0 ? (COUNT = COUNT + 1, 1) : 1) nooutput
    T[k] = COUNT
  }
  common(least, most, text) = most == least ? ', ' . text : ''
  set multiplot
  unset key
  set tics font SMALL
  eval titles(sprintf('AllReduce with %s, packets in lossless queues: time over the lower bound', \
      SLOW == 1 ? 'one slow server' : sprintf('%d slow servers', SLOW)), \
    sprintf('replayed; NIC of %g Gb/s, start-up %g µs%s', 8 * NIC_GBPS, NIC_US, GPUS_PER_SERVER > 1 ? sprintf('; %d GPUs with a NIC each in every server', GPUS_PER_SERVER) : ''))
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
      SETTING = sprintf(L1_min == L1_max ? 'bandwidth divided by %.3g' : 'bandwidth divided by %.3g to %.3g', L1_min, L1_max)
    }
    eval grid_cell(i, N + 1)
    set title sprintf('%s) %s%s%s', LETTER, SETTING, common(P_min, P_max, sprintf('%d ranks', P_max)), \
      common(B_min, B_max, size(B_max / 1024.0))) font SMALL offset 0,-0.5
    set ylabel 'time over the lower bound' offset 0.7,0
    set offsets 0, 0, graph 0.05, graph 0.05
    set logscale x 2
    IS_CLAIMED = !CHANGED && AXIS eq 'ranks'
    if (AXIS eq 'ranks') {
      X = 'ranks'
      set xrange [P_min / 1.15:P_max * 1.15]
      eval data_ticks("inside('" . LETTER . "', 'ranks')", 1.5)
      set xlabel 'number of ranks (log scale)' offset 0,0.5
    } else { if (AXIS eq 'size') {
      X = 'buffer_MiB'
      set xrange [B_min / 1.15:B_max * 1.15]
      eval 'set xtics ' . size_ticks(B_min, B_max, 5)
      set xlabel 'buffer (log scale)' offset 0,0.5
    } else {
      X = 'slowdown_1'
      set xrange [L1_min / 1.08:L1_max * 1.08]
      set xtics ('8/7' 8.0/7, '4/3' 4.0/3, 2, 4)
      set xlabel 'the slow server''s bandwidth is divided by (log scale)' offset 0,0.5
    } }
    PLOT = 'plot ' . (IS_CLAIMED ? sprintf("DATA using (at('%s','crossbar','ranks')):((1 + 0.01 * LEAST) * ratio('fault_free_ms')):((1 + 0.01 * MOST) * ratio('fault_free_ms')) with filledcurves fc rgb PALE notitle", LETTER) : 'NaN notitle')
    do for [k = 1:L] {
      PLOT = PLOT . sprintf(", DATA using (at('%s','%s','%s')):(ratio('%s')) with %s notitle", LETTER, W[k], X, C[k], S[k])
    }
    eval PLOT
    unset label
  }
  eval grid_cell(N, N + 1)
  unset border; unset tics; unset grid; unset xlabel; unset ylabel; unset title
  unset logscale; set offsets 0, 0, 0, 0
  set xrange [0:1]; set yrange [0:1]
  set bmargin at screen 0.005; set tmargin at screen GRID_ROW - 12.0 / HEIGHT
  KEY_FONT = kind eq 'png' ? SMALL : TINY
  KEY_SPACING = kind eq 'png' ? 1.12 : 0.95
  set key center center vertical Left reverse noopaque nobox samplen 4 spacing KEY_SPACING maxrows 20 font KEY_FONT
  PLOT = 'plot NaN notitle'
  do for [j = 0:L-1] {
    k = L - j
    if (T[k] > 0) {
      PLOT = PLOT . sprintf(", keyentry with %s title '%s'", S[k], K[k])
    }
  }
  if (!CHANGED) {
    PLOT = PLOT . ", keyentry with boxes fillcolor rgb PALE fillstyle solid border lc rgb PALE title \"" . CLAIM . "\""
  }
  eval PLOT
  unset multiplot
