  # A map: situations from top to bottom, algorithms from left to right in a block for each model; the
  # colour says how large the error is, the number what it is.
  array ROW[99]; array GROUP[99]; array PLACE[99]; array ALGORITHM[20]
  N = 0; A = 0
  at(name) = (FOUND = 0, SUM = sum [k = 1:N] (ROW[k] eq name ? (FOUND = k, 0) : 0), FOUND)
  of(name) = (FOUND = 0, SUM = sum [k = 1:A] (ALGORITHM[k] eq name ? (FOUND = k, 0) : 0), FOUND)
  key(i) = stringcolumn('group') . '|' . stringcolumn('situation')
  stats DATA using (NAME = key(0), at(NAME) ? 0 : (N = N + 1, ROW[N] = NAME, GROUP[N] = stringcolumn('group'), \
    PLACE[N] = N == 1 ? 0 : PLACE[N-1] - (GROUP[N] eq GROUP[N-1] ? 1 : 1.35), 0)) nooutput
  stats DATA using (NAME = stringcolumn('algorithm'), of(NAME) ? 0 : (A = A + 1, ALGORITHM[A] = NAME, 0)) nooutput
  if (A > 1 && ALGORITHM[max(1, A - 1)] eq 'ibcast_linear') {
    ALGORITHM[A-1] = ALGORITHM[A]; ALGORITHM[A] = 'ibcast_linear'
  }
  title_of(name) = name eq 'stragglar' ? 'StragglAR' : name eq 'optcc' ? 'OptCC' : name eq 'parallel_rings' ? 'Parallel Rings' : \
    name eq 'ibcast_linear' ? 'linear AllGather' : name
  array MODELS[3] = ['alpha_beta', 'loggp', 'flow']
  array HEADS[3] = ['alpha-beta', 'LogGP, o = 0', 'flow']
  error(model, b) = column(model)
  COLOUR_1 = 0xFFFFFF; COLOUR_5 = 0xBFD9EE; COLOUR_20 = 0xF2B84B; COLOUR_MORE = 0xC8501E
  colour(e) = e != e ? 0xE8E8E8 : abs(e) < 1 ? COLOUR_1 : abs(e) < 5 ? COLOUR_5 : abs(e) < 20 ? COLOUR_20 : COLOUR_MORE
  ink(e) = abs(e) < 20 ? 0x000000 : 0xFFFFFF
  shown(e) = e != e ? '' : e >= 999.5 ? sprintf('×%.0f', 1 + e / 100) : abs(e) < 0.05 ? '0' : sprintf(abs(e) < 1 ? '%+.1f' : '%+.0f', e)
  WIDE = A + 0.7
  x(b) = WIDE * b + of(stringcolumn('algorithm'))
  y(i) = PLACE[at(key(0))]
  set multiplot
  eval titles('Which model is enough? Error against packets, in per cent', \
    sprintf('usual setting: %d ranks, %s, NICs of %g Gb/s and %g µs, crossbar; alpha-beta, LogGP and flow with the rate of payload', \
      N_RANKS, size(MIB / 1024.0), 8 * NIC_GBPS, NIC_US))
  eval panel(0.165, 0.945, 0.115, 0.79)
  unset key; unset border; unset tics; unset grid
  set xrange [0.5:2 * WIDE + A + 0.5]
  set yrange [PLACE[N] - 0.5:0.5]
  do for [k = 1:N] {
    SITUATION = ROW[k][strlen(GROUP[k])+2:]
    set label SITUATION at first 0.35, first PLACE[k] right font SMALL
    if (k == 1 || GROUP[k] ne GROUP[max(1, k - 1)]) {
      set label '{/:Bold ' . GROUP[k] . '}' at screen 0.008, first PLACE[k] left font SMALL
    }
  }
  do for [b = 0:2] {
    set label '{/:Bold ' . HEADS[b+1] . '}' at first WIDE * b + (A + 1) / 2.0, screen 0.9 center
    do for [a = 1:A] {
      set label title_of(ALGORITHM[a]) at first WIDE * b + a, screen 0.798 left rotate by 45 font TINY
    }
  }
  array EDGES[5] = ['within 1 %', '1 to 5 %', '5 to 20 %', 'more', '']
  array COLOURS[4] = [COLOUR_1, COLOUR_5, COLOUR_20, COLOUR_MORE]
  do for [k = 1:4] {
    set object k rectangle from screen 0.165 + 0.13 * (k - 1), screen 0.06 to screen 0.19 + 0.13 * (k - 1), screen 0.09 \
      fillcolor rgb COLOURS[k] fillstyle solid border lc rgb '#808080'
    set label EDGES[k] at screen 0.197 + 0.13 * (k - 1), screen 0.075 left font SMALL
  }
  set label '+: too slow, -: too fast' at screen 0.70, screen 0.075 left font SMALL
  set label 'OptCC: one NIC has half its rate in every row; Parallel Rings: 4 GPUs in every server; leaf/spine: 8 leaves, rates below to above' \
    at screen 0.165, screen 0.03 left font SMALL
  set style fill solid border lc rgb '#B0B0B0'
  plot for [b = 0:2] DATA using (x(b)):(y(0)):(x(b) - 0.5):(x(b) + 0.5):(y(0) - 0.5):(y(0) + 0.5):(colour(column(MODELS[b+1] . '_percent'))) \
      with boxxyerror lc rgb variable notitle, \
    for [b = 0:2] DATA using (x(b)):(y(0)):(shown(column(MODELS[b+1] . '_percent'))):(ink(column(MODELS[b+1] . '_percent'))) \
      with labels font TINY tc rgb variable notitle
  unset label; unset object
  unset multiplot
