  stats DATA using 'trees' name 'M' nooutput
  stats DATA using 'adapcc_speedup_over_nccl' name 'S' nooutput
  stats DATA using 'bound_speedup_over_nccl' name 'U' nooutput
  eval title(sprintf('AllReduce of %s%s: how many trees?', size(SIZE_GIB), CHANGED ? '' : ' (VGG16)'), \
    sprintf('%s model; GPUs of a server share its NIC%s; NIC %g µs, NVLink %g µs', MODEL, \
      CHANGED ? '' : ': 12.5 GB/s A100, 6.25 GB/s V100', NIC_US, NVLINK_US))
  set xrange [M_min - 0.3:M_max + 0.3]
  set yrange [0:1.22 * U_max]
  set xlabel 'trees, at most (M)'
  set ylabel 'speedup of AdapCC over NCCL (the faster of rings and double binary tree)'
  set key top left Left reverse maxrows 3 width -6
  if (!CHANGED) {
    set arrow 1 from 4, 0 to 4, graph 0.74 nohead ls ls_published
    set label 1 'the AdapCC paper chooses 4' at 4, graph 0.05 left offset 0.7,0 font SMALL
  }
  is(name, x) = stringcolumn('servers_are') eq name ? column(x) : NaN
  plot DATA using 'trees':(is('all A100', 'adapcc_speedup_over_nccl')) with linespoints ls SERIES[1] title 'servers alike', \
    '' using 'trees':(is('A100 and V100', 'adapcc_speedup_over_nccl')) with linespoints ls SERIES[2] title 'servers that differ', \
    '' using 'trees':(is('all A100', 'bound_speedup_over_nccl')) with lines ls ls_bound lc rgb COLOUR[1] title 'no schedule is faster, alike', \
    '' using 'trees':(is('A100 and V100', 'bound_speedup_over_nccl')) with lines ls ls_bound lc rgb COLOUR[2] lw 2.4 title 'no schedule is faster, that differ'
