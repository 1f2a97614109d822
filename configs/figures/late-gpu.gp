  # The area below the bound is grey: no schedule can be there.
  stats DATA using 'delay_ms' name 'X' nooutput
  stats DATA using 'bound_ms' name 'B' nooutput
  eval title(sprintf('AllReduce of %s on %d GPUs, one of them late', size(SIZE_GIB), RANKS), \
    sprintf('replayed on the %s model, α = %g µs, %.3g GB/s per GPU and direction%s', MODEL, ALPHA_US, RATE_GBPS, \
      CHANGED ? '' : ' (NVLink of a DGX H100)'))
  set xrange [0:X_max]
  set yrange [0:*]
  set xlabel 'delay of the late GPU, ms'
  set ylabel 'elapsed time, from the first arrival on, ms'
  set key top left Left reverse noenhanced
  set label 1 'no schedule can be faster' at graph 0.5, first 0.5 * B_min center front
  EACH = max(1, floor(X_records / 10))
  plot DATA using 'delay_ms':'bound_ms' with filledcurves y1=0 fc rgb '#E4E4E4' notitle, \
    '' using 'delay_ms':'nccl_rings_ms' with lines ls ls_ring notitle, \
    '' using 'delay_ms':'nccl_rings_ms' every EACH with points ls ls_ring notitle, \
    keyentry with linespoints ls ls_ring title 'nccl_rings', \
    '' using 'delay_ms':'rhd_ms' with lines ls ls_rhd title 'rhd', \
    '' using 'delay_ms':'stragglar_paper_ms' with lines ls open_stragglar notitle, \
    '' using 'delay_ms':'stragglar_paper_ms' every EACH with points ls open_stragglar notitle, \
    keyentry with linespoints ls open_stragglar title sprintf('stragglar, %d chunks (as in its paper)', PAPER_CHUNKS), \
    '' using 'delay_ms':'stragglar_ms' with lines ls ls_stragglar notitle, \
    '' using 'delay_ms':'stragglar_ms' every EACH with points ls ls_stragglar notitle, \
    keyentry with linespoints ls ls_stragglar title 'stragglar, chunks=auto', \
    '' using 'delay_ms':'bound_ms' with lines ls ls_bound lw 3.5 title 'lower bound (proven)'
