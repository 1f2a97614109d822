  # A map: a block for each kind of servers, delays from left to right, slow NICs from bottom to top. The
  # colour says who is best, the lighter the closer the second best is; a cell says both, too.
  array RATIO[9]; array SLOWDOWN[20]; array DELAY[20]; array LATE_MS[20]
  R = 0; S = 0; D = 0
  ratio_at(v) = (FOUND = 0, SUM = sum [k = 1:R] (RATIO[k] == v ? (FOUND = k, 0) : 0), FOUND)
  slowdown_at(v) = (FOUND = 0, SUM = sum [k = 1:S] (SLOWDOWN[k] == v ? (FOUND = k, 0) : 0), FOUND)
  delay_at(v) = (FOUND = 0, SUM = sum [k = 1:D] (DELAY[k] == v ? (FOUND = k, 0) : 0), FOUND)
  stats DATA using (V = column('half_ratio'), ratio_at(V) ? 0 : (R = R + 1, RATIO[R] = V, 0)) nooutput
  stats DATA using (V = column('slowdown'), slowdown_at(V) ? 0 : (S = S + 1, SLOWDOWN[S] = V, 0)) nooutput
  stats DATA using (V = column('delay_T0'), delay_at(V) ? 0 : (D = D + 1, DELAY[D] = V, LATE_MS[D] = column('delay_ms'), 0)) nooutput
  array NAMES[6] = ['nccl_rings', 'double_binary_tree', 'adapcc', 'adapcc_relay', 'stragglar', 'optcc']
  array SHORT[6] = ['rings', 'tree', 'AdapCC', 'relays', 'StragglAR', 'OptCC']
  array LONG[6] = ['nccl\_rings', 'double\_binary\_tree', 'adapcc', 'adapcc, relays', 'stragglar', 'optcc']
  array COLOURS[6] = [col_nccl_rings, col_double_binary_tree, col_adapcc, col_adapcc, col_stragglar, col_optcc]
  array PLACES[6] = [0.0, 0.145, 0.335, 0.46, 0.625, 0.765]
  which(name) = (FOUND = 1, SUM = sum [k = 1:6] (NAMES[k] eq name ? (FOUND = k, 0) : 0), FOUND)
  # From a light tone where the second best is as fast to the full one where it takes half as long again.
  FULL = 50.0
  strength(margin) = margin != margin ? 1 : 0.25 + 0.75 * min(1, margin / FULL)
  bright(c) = 0.3 * ((c >> 16) & 255) + 0.59 * ((c >> 8) & 255) + 0.11 * (c & 255)
  colour(i) = tone(COLOURS[which(stringcolumn('best'))], strength(column('second_above_best_percent')))
  ink(i) = bright(colour(0)) > 125 ? 0x000000 : 0xFFFFFF
  percent(v) = v != v ? 'alone' : v < 0.05 ? '0 %' : sprintf(v < 9.95 ? '+%.1f %%' : '+%.0f %%', v)
  winner(i) = SHORT[which(stringcolumn('best'))]
  WIDE = D + 0.6
  x(i) = WIDE * (ratio_at(column('half_ratio')) - 1) + delay_at(column('delay_T0'))
  y(i) = slowdown_at(column('slowdown'))
  SMALLEST = sprintf(',%g', real(TINY[2:]) - 0.9)
  set multiplot
  eval titles('Which schedule is best? Over a late rank, a slow NIC, and servers that differ', \
    sprintf('AllReduce of %s on %d GPUs; %s', size(SIZE_GIB), RANKS, network))
  eval panel(0.075, 0.99, 0.225, 0.87)
  unset key; unset border; unset tics; unset grid
  set xrange [0.5:WIDE * (R - 1) + D + 0.5]
  set yrange [0.5:S + 0.5]
  do for [k = 1:S] {
    set label SLOWDOWN[k] == 1 ? 'none' : sprintf('%g ×', SLOWDOWN[k]) at first 0.4, first k right font SMALL
  }
  set label "one NIC slower by" at screen 0.014, screen 0.547 center rotate by 90
  do for [b = 1:R] {
    set label RATIO[b] == 1 ? '{/:Bold all servers alike}' : sprintf('{/:Bold half of the NICs %g × slower}', RATIO[b]) \
      at first WIDE * (b - 1) + (D + 1) / 2.0, screen 0.888 center
    do for [k = 1:D] {
      set label DELAY[k] == 0 ? 'none' : sprintf("%g T_0\n%.3g ms", DELAY[k], LATE_MS[k]) at first WIDE * (b - 1) + k, screen 0.207 center font TINY
    }
  }
  set label sprintf('the last rank is late by (T_0 = %.3g ms: an AllReduce without faults)', T0_MS) at screen 0.53, screen 0.152 center
  do for [k = 1:6] {
    do for [t = 0:4] {
      set object 5 * k + t rectangle from screen 0.075 + PLACES[k] + 0.008 * t, screen 0.092 \
        to screen 0.075 + PLACES[k] + 0.008 * (t + 1), screen 0.118 fillcolor rgb tone(COLOURS[k], 0.25 + 0.1875 * t) fillstyle solid noborder
    }
    set label LONG[k] at screen 0.12 + PLACES[k], screen 0.105 left font SMALL
  }
  set label sprintf('Colour: the best one; light where the second best is as fast, full where it takes %.0f %% longer or more.', FULL) \
    at screen 0.075, screen 0.062 left font SMALL
  set label 'In a cell: the best one, how much longer the second best takes, and [how far the best is above the lower bound]; times from the last arrival on.' \
    at screen 0.075, screen 0.031 left font SMALL
  set style fill solid border lc rgb '#FFFFFF'
  plot DATA using (x(0)):(y(0)):(x(0) - 0.5):(x(0) + 0.5):(y(0) - 0.5):(y(0) + 0.5):(colour(0)) with boxxyerror lc rgb variable notitle, \
    '' using (x(0)):(y(0) + 0.21):(winner(0)):(ink(0)) with labels font SMALLEST tc rgb variable notitle, \
    '' using (x(0)):(y(0) - 0.02):(percent(column('second_above_best_percent'))):(ink(0)) with labels font TINY tc rgb variable notitle, \
    '' using (x(0)):(y(0) - 0.22):('[' . percent(column('best_above_bound_percent')) . ']'):(ink(0)) with labels font TINY tc rgb variable notitle
  unset label; unset object
  unset multiplot
