  # A line for each machine, with a point where NCCL changes its algorithm or protocol; dotted: the same
  # schedule on ports.
  LIST = ''
  collect(n) = (LIST = strstrt(LIST, '|' . n . '|') ? LIST : LIST . '|' . n . '|', 0)
  stats DATA using (collect(strcol('machine'))) nooutput
  stats DATA using 'size_bytes' name 'S' nooutput
  stats DATA using 'busbw_GBps' name 'E' nooutput
  stats DATA using 'ports_GBps' name 'P' nooutput
  MOST = 1.05 * (E_max > P_max ? E_max : P_max)
  N = 0
  REST = LIST
  array NAMES[9]
  while (strlen(REST) > 1 && N < 9) {
    N = N + 1
    END = strstrt(REST[2:], '|')
    NAMES[N] = REST[2:END]
    REST = REST[END + 2:]
  }
  LAST = -1
  new(c, s) = (CHANGED = s > S_min && c != LAST, LAST = c, CHANGED)
  of(k, name) = strcol('machine') eq NAMES[k] ? column(name) : NaN
  at_change(k) = strcol('machine') eq NAMES[k] && new(column('choice_number'), column('size_bytes')) ? column('busbw_GBps') : NaN
  set multiplot
  eval titles('AllReduce by NCCL: what nccl-tests is expected to show', 'points: another algorithm or protocol from there on; dotted: the same schedule on ports that carry what the data sheet says')
  eval legend(0.885)
  plot NaN notitle, for [k = 1:N] keyentry with lines ls SERIES[(k - 1) % 8 + 1] title NAMES[k]
  eval panels
  eval panel(0.08, 0.98, 0.11, 0.81)
  set logscale x 2
  set xrange [S_min:S_max]
  set yrange [0:MOST]
  set xtics ('1 B' 1, '32 B' 32, '1 KiB' 1024, '32 KiB' 32768, '1 MiB' 2**20, '32 MiB' 2**25, '1 GiB' 2**30, '32 GiB' 2.0**35)
  set xlabel 'size'
  set ylabel 'bus bandwidth, GB/s'
  plot for [k = 1:N] DATA using 'size_bytes':(of(k, 'ports_GBps')) with lines ls SERIES[(k - 1) % 8 + 1] lw 1 dt (2,4) notitle, \
    for [k = 1:N] DATA using 'size_bytes':(of(k, 'busbw_GBps')) with lines ls SERIES[(k - 1) % 8 + 1] notitle, \
    for [k = 1:N] DATA using 'size_bytes':(at_change(k)) with points ls SERIES[(k - 1) % 8 + 1] pt 7 ps 1 notitle
  unset multiplot
