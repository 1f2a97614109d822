  # Every cluster has as many rows, one for each size; its title is a column.
  LIST = ' '
  stats DATA using (collect(column('size_MiB'))) name 'R' nooutput
  T = words(LIST)
  N = R_records / T
  stats DATA using 'size_MiB' name 'X' nooutput
  stats DATA using 'parallel_rings_ms' name 'P' nooutput
  stats DATA using 'flat_ring_ms' name 'F' nooutput
  stats DATA using 'gain_over_nccl_percent' name 'G' nooutput
  set multiplot
  eval titles('AllGather: Parallel Rings against a flat ring and NCCL''s rings', sprintf('markers: replayed on %s and on flow', MODEL) . \
    (CHANGED ? sprintf('; %d GPUs a server', GPUS_PER_SERVER) : '; NIC start-up fitted to the 31 %; MVAPICH-Plus is not modelled'))
  eval legend(0.875)
  plot NaN notitle, \
    keyentry with linespoints ls ls_flat_ring title 'flat ring (Open MPI)', \
    keyentry with linespoints ls ls_nccl_rings title 'rings as NCCL builds them', \
    keyentry with linespoints ls ls_parallel_rings title 'Parallel Rings', \
    keyentry with lines ls ls_formula dt 1 lw 1.2 title 'closed forms', \
    keyentry with lines ls (CHANGED ? -2 : ls_flat_ring) dt (2,4) title (CHANGED ? '' : 'paper, measured: at most, over Open MPI'), \
    keyentry with lines ls (CHANGED ? -2 : ls_nccl_rings) dt (7,3,2,3) title (CHANGED ? '' : 'paper, measured: at most, over NCCL')
  eval panels
  set logscale x 2
  set xrange [0.8 * X_min:1.25 * X_max]
  eval data_ticks("column('size_MiB')", (1.0 * X_max / X_min) ** 0.1)
  PITCH = 0.945 / N
  do for [c = 0:N-1] {
    LEFT = 0.085 + c * PITCH
    FIRST = c * T; LAST = FIRST + T - 1
    stats DATA every ::FIRST::FIRST using (name = (CHANGED ? sprintf('%d GPUs; ', column('gpus')) : '') . stringcolumn('cluster'), 1) nooutput
    eval panel(LEFT, LEFT + PITCH - 0.045, 0.46, 0.745)
    set title name font SMALL
    set logscale y
    set yrange [0.55 * P_min:10 ** ceil(log10(F_max))]
    eval 'set ytics ' . decade_ticks(0.55 * P_min / 1e3, F_max * 1e3)
    set format y (c == 0 ? '%g' : '')
    unset xlabel
    if (c == 0) { set ylabel 'AllGather, ms (log scale)' } else { unset ylabel }
    plot for [formula in 'flat_ring nccl_rings parallel_rings'] DATA every ::FIRST::LAST \
           using 'size_MiB':(column(formula . '_formula_ms')) with lines ls ls_formula dt 1 lw 1.2, \
      '' every ::FIRST::LAST using 'size_MiB':'flat_ring_ms' with points ls ls_flat_ring, \
      '' every ::FIRST::LAST using 'size_MiB':'nccl_rings_ms' with points ls ls_nccl_rings, \
      '' every ::FIRST::LAST using 'size_MiB':'parallel_rings_ms' with points ls ls_parallel_rings
    eval panel(LEFT, LEFT + PITCH - 0.045, 0.115, 0.39)
    unset title
    unset logscale y
    set yrange [min(-15, 1.2 * G_min):95]
    set ytics 20
    set format y (c == 0 ? '%g' : '')
    set xlabel 'contribution of a rank, MiB (log scale)' offset 0,0.6
    if (c == 0) { set ylabel 'Parallel Rings save, %' } else { unset ylabel }
    plot 0 with lines lc rgb '#000000' lw 1, \
      DATA every ::FIRST::LAST using 'size_MiB':'paper_most_over_flat_percent' with lines ls ls_flat_ring dt (2,4), \
      '' every ::FIRST::LAST using 'size_MiB':'paper_most_over_nccl_percent' with lines ls ls_nccl_rings dt (7,3,2,3), \
      '' every ::FIRST::LAST using 'size_MiB':'gain_over_flat_percent' with linespoints ls ls_flat_ring, \
      '' every ::FIRST::LAST using 'size_MiB':'gain_over_nccl_percent' with linespoints ls ls_nccl_rings
  }
  unset multiplot
