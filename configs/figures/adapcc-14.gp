  # Means over the iterations of a group, which `smooth unique` makes: models from left to right in a
  # panel for each network and kind of servers. A label is the mean speedup of its group.
  array NETWORKS[4] = ['RDMA', 'RDMA', 'TCP', 'TCP']
  array SETTINGS[4] = ['homogeneous', 'heterogeneous', 'homogeneous', 'heterogeneous']
  array HEADS[4] = ['RDMA, servers alike', 'RDMA, servers that differ', 'TCP, servers alike', 'TCP, servers that differ']
  array COLUMNS[3] = ['nccl_ms', 'adapcc_ms', 'adapcc_relay_ms']
  array IS[3] = ['NCCL, one ring', 'AdapCC, all wait', 'AdapCC with relays, rule literal']
  array COLOURS[3] = [col_nccl, tone(col_adapcc, 0.45), col_adapcc]
  LIST = ' '
  collect_name(name) = (LIST = strstrt(LIST, ' ' . name . ' ') ? LIST : LIST . name . ' ', 0)
  stats DATA using (collect_name(stringcolumn('model_is'))) nooutput
  N = words(LIST)
  at(name) = (FOUND = 0, SUM = sum [k = 1:N] (word(LIST, k) eq name ? (FOUND = k, 0) : 0), FOUND)
  is_in(p) = stringcolumn('network') eq NETWORKS[p] && stringcolumn('setting') eq SETTINGS[p]
  x(p, b) = is_in(p) ? at(stringcolumn('model_is')) + EACH * (b - (B + 1) / 2.0) : NaN
  B = BARS
  EACH = 0.8 / B
  set multiplot
  eval titles('Waiting and communication: from the first worker that is ready to the end', \
    sprintf('means of generated iterations; %s model, %d GPUs%s', MODEL, RANKS, \
      CHANGED ? '' : ', NIC of a server: 12.5 GB/s A100, 6.25 GB/s V100'))
  set label 3 'Numbers: NCCL''s time over that of the bar; above 1 it is faster than NCCL.' at screen 0.085, screen 0.02 left font SMALL
  eval legend(0.91)
  plot NaN notitle, for [b = 1:B] keyentry with boxes fill solid fc rgb COLOURS[b] title IS[b], \
    keyentry with boxes fill solid 0.15 lc rgb '#404040' fc rgb '#404040' title 'of it: waiting for the last worker'
  eval panels
  set style fill solid border lc rgb '#404040'
  set boxwidth EACH
  unset xtics
  set grid noxtics
  do for [p = 1:4] {
    set xrange [*:*]; set yrange [*:*]
    HIGHEST = 0
    COLUMN = (p - 1) % 2; ROW = (p - 1) / 2
    eval panel(0.085 + 0.485 * COLUMN, 0.505 + 0.485 * COLUMN, 0.52 - 0.435 * ROW, 0.81 - 0.435 * ROW)
    set xrange [0.5:N + 0.5]
    set yrange [0:1.12 * HIGHEST]
    set ylabel COLUMN == 0 ? 'time, ms' : '' offset 0,0
    do for [k = 1:N] {
      set label 10 + k word(LIST, k) at first k, graph -0.09 center
      set yrange [*:*]
      array MEANS[3]
      do for [b = 1:B] {
        stats DATA using (is_in(p) && stringcolumn('model_is') eq word(LIST, k) ? column(COLUMNS[b]) : NaN) name 'G' nooutput
        MEANS[b] = G_mean
        HIGHEST = max(HIGHEST, G_mean)
      }
      do for [b = 2:B] {
        set label 10 * (k + 1) + b sprintf('%.2f', MEANS[1] / MEANS[b]) at first k + EACH * (b - (B + 1) / 2.0), \
          first MEANS[b] center font TINY offset 0,0.6
      }
    }
    set yrange [0:1.12 * HIGHEST]
    set title HEADS[p] . (CHANGED ? '' : p % 2 == 1 ? ' (the AdapCC paper: 1.12 to 1.30)' : ' (the AdapCC paper: up to 2)') offset 0,-0.5
    plot for [b = 1:B] DATA using (x(p, b)):(column(COLUMNS[b])) smooth unique with boxes fc rgb COLOURS[b], \
      for [b = 1:2] '' using (x(p, b)):'wait_ms' smooth unique with boxes fill pattern 4 fc rgb '#202020'
  }
  unset multiplot
