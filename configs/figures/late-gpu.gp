  # The area below the bound is grey: no schedule can be there.
  stats DATA using 'delay_ms' name 'X' nooutput
  stats DATA using 'bound_ms' name 'B' nooutput
  eval title(sprintf('AllReduce of %s on %d GPUs, one of them late', size(SIZE_GIB), RANKS), \
    sprintf('replayed on the %s model, α = %g µs, %.3g GB/s per GPU and direction%s', MODEL, ALPHA_US, RATE_GBPS, \
      CHANGED ? '' : ' (NVLink of a DGX H100)'))
  set xlabel 'delay of the late GPU, ms'
  set ylabel 'elapsed time, from the first arrival on, ms'
  set rmargin at screen 0.775
  set label 1 'no schedule can be faster' at graph 0.5, first 0.5 * B_min center front
  EACH = max(1, floor(X_records / 10))
  last(name) = sprintf("stats DATA every ::%d using '%s' name 'Y' nooutput", X_records - 1, name)
  HIGHEST = 0
  eval ends
  eval last('nccl_rings_ms'); HIGHEST = max(HIGHEST, end(Y_max, ls_nccl_rings, title_nccl_rings))
  eval last('rhd_ms'); HIGHEST = max(HIGHEST, end(Y_max, ls_rhd, title_rhd))
  eval last('stragglar_paper_ms')
  HIGHEST = max(HIGHEST, end(Y_max, open_stragglar, sprintf('%s, %d chunks', title_stragglar, PAPER_CHUNKS)))
  eval last('stragglar_ms'); HIGHEST = max(HIGHEST, end(Y_max, ls_stragglar, title_stragglar . ', chunks=auto'))
  eval last('bound_ms'); HIGHEST = max(HIGHEST, end(Y_max, 0, 'lower bound (proven)'))
  set xrange [0:X_max]
  set yrange [0:1.08 * HIGHEST]
  eval named(0.05 * HIGHEST)
  unset key
  plot DATA using 'delay_ms':'bound_ms' with filledcurves y1=0 fc rgb BELOW, \
    '' using 'delay_ms':'nccl_rings_ms' with lines ls ls_nccl_rings, \
    '' using 'delay_ms':'nccl_rings_ms' every EACH with points ls ls_nccl_rings, \
    '' using 'delay_ms':'rhd_ms' with lines ls ls_rhd, \
    '' using 'delay_ms':'rhd_ms' every EACH::(EACH/2) with points ls ls_rhd, \
    '' using 'delay_ms':'stragglar_paper_ms' with lines ls open_stragglar, \
    '' using 'delay_ms':'stragglar_paper_ms' every EACH with points ls open_stragglar, \
    '' using 'delay_ms':'stragglar_ms' with lines ls ls_stragglar, \
    '' using 'delay_ms':'stragglar_ms' every EACH with points ls ls_stragglar, \
    '' using 'delay_ms':'bound_ms' with lines ls ls_bound lw 3
