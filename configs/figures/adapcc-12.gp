  # A group of bars for each set of GPUs, and below the speedups with those of the paper.
  array COLUMNS[4] = ['adapcc', 'nccl', 'msccl', 'blink']
  array IS[4] = ['AdapCC, M = 4', 'NCCL: ' . NCCL_IS, 'MSCCL: ' . MSCCL_IS, 'Blink: ' . BLINK_IS]
  array COLOURS[4] = [col_adapcc, col_nccl, tone(col_nccl, 0.45), tone(col_blink, 0.35)]
  array ON_BAR[4] = ['#FFFFFF', '#FFFFFF', '#000000', '#000000']
  array PAPER[4] = ['', NCCL_PAPER, MSCCL_PAPER, BLINK_PAPER]
  array LEAST[4] = [1, NCCL_LEAST, MSCCL_LEAST, BLINK_LEAST]
  array MOST[4] = [1, NCCL_MOST, MSCCL_MOST, BLINK_MOST]
  array MEAN[4] = [1, NCCL_GEOMEAN, MSCCL_GEOMEAN, BLINK_GEOMEAN]
  array BOUND[4] = [HAS_ADAPCC ? 1 : NaN, NCCL_BOUND, MSCCL_BOUND, BLINK_BOUND]
  array SHOWN[4]; B = 0
  do for [k = 1:4] { if (BOUND[k] == BOUND[k]) { B = B + 1; SHOWN[B] = k } }
  stats DATA using 'bound_GBps' name 'U' nooutput
  N = U_records
  EACH = 0.8 / B
  digits(v) = v >= 9.995 ? sprintf('%.1f', v) : sprintf('%.2f', v)
  set multiplot
  eval titles(sprintf('%s of %s: algorithm bandwidth of AdapCC and others', COLLECTIVE, size(SIZE_GIB)), \
    sprintf('%s model; GPUs of a server share its NIC%s; NIC %g µs, NVLink %g µs', MODEL, \
      CHANGED ? '' : ': 12.5 GB/s A100, 6.25 GB/s V100', NIC_US, NVLINK_US))
  eval legend(0.915)
  set key font SMALL
  plot NaN notitle, for [b = 1:B] keyentry with boxes fill solid fc rgb COLOURS[SHOWN[b]] title IS[SHOWN[b]], \
    keyentry with lines ls ls_bound title 'no schedule is faster'
  eval panels
  eval panel(0.075, 0.985, 0.285, 0.845)
  set xrange [0.5:N + 0.5]
  set yrange [0:1.05 * U_max]
  unset xtics
  set grid noxtics
  set ylabel 'algorithm bandwidth: size / time, GB/s'
  START = CHANGED ? 7 : 1 # without the names of GPUs
  do for [k = 1:N] {
    stats DATA every ::(k-1)::(k-1) using (NAME = stringcolumn('gpus'), CUT = strstrt(NAME, '; '), 0) nooutput
    set label CUT == 0 ? NAME[START:] : NAME[START:CUT-1] . "\n" . NAME[CUT+1+START:] at first k, screen 0.262 center font SMALL
  }
  set label 'GPUs in use, server by server' at screen 0.53, screen 0.202 center
  set label '{/:Bold speedup of AdapCC over}' at screen 0.075, screen 0.160 left font SMALL
  set label '{/:Bold least to most; mean}' at screen 0.35, screen 0.160 left font SMALL
  set label '{/:Bold mean of the bound}' at screen 0.58, screen 0.160 left font SMALL
  if (strlen(NCCL_PAPER) > 0) { set label '{/:Bold the AdapCC paper}' at screen 0.80, screen 0.160 left font SMALL }
  LINE = 0.16
  do for [b = 1:B] {
    K = SHOWN[b]
    if (K > 1) {
      LINE = LINE - 0.035
      set label IS[K] at screen 0.075, screen LINE left font SMALL
      set label HAS_ADAPCC ? sprintf('%.2f to %.2f; %.2f', LEAST[K], MOST[K], MEAN[K]) : 'AdapCC has none' at screen 0.35, screen LINE left font SMALL
      set label sprintf('%.2f', BOUND[K]) at screen 0.58, screen LINE left font SMALL
      set label PAPER[K] at screen 0.80, screen LINE left font SMALL
    }
  }
  set label 'Means are geometric; that of the bound is what a schedule at the lower bound of the time would gain.' . (CHANGED ? '' : ' The sets of GPUs in the paper are others.') at screen 0.075, screen 0.02 left font TINY
  set style fill solid border lc rgb '#404040'
  set boxwidth EACH
  plot for [b = 1:B] DATA using ($0 + 1 + EACH * (b - (B + 1) / 2.0)):(column(COLUMNS[SHOWN[b]] . '_GBps')) with boxes fc rgb COLOURS[SHOWN[b]], \
    for [b = 1:B] '' using ($0 + 1 + EACH * (b - (B + 1) / 2.0)):(column(COLUMNS[SHOWN[b]] . '_GBps')):(digits(column(COLUMNS[SHOWN[b]] . '_GBps'))) \
      with labels font TINY tc rgb ON_BAR[SHOWN[b]] offset 0,-0.7, \
    '' using ($0 + 1):'bound_GBps':(0.43) with xerrorbars ls ls_bound lw 2.5 pt -1
  unset label
  unset multiplot
