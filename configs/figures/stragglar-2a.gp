  stats DATA using 'delay_ms' name 'D' nooutput
  stats DATA using 'straggler_delay_ms' name 'S' nooutput
  LOW = min(0, S_min)
  MARGIN = D_max > LOW ? 0.05 * (D_max - LOW) : 1
  HIGH = D_max + MARGIN
  set xrange [LOW - MARGIN:HIGH]
  set yrange [0:103]
  set ytics 10
  set format y '%g %%'
  set xlabel 'delay behind the other ranks, ms'
  set ylabel 'share of the calls with at most this delay'
  set key top left Left reverse
  array S[3] = ['256 MiB', '1 GiB', '2 GiB']
  array D[3] = [IDEAL_256, IDEAL_1024, IDEAL_2048]
  DRAWN = 0
  do for [i = 1:3] {
    if (D[i] > 0 && D[i] < HIGH) {
      set arrow i from D[i], graph 0 to D[i], graph 1 nohead ls ls_ideal
      DRAWN = DRAWN + 1
      set label i sprintf('hides %s', S[i]) at D[i], graph 0.94 - 0.24 * i center rotate by 90 offset -0.9,0
    }
  }
  eval title(sprintf('How late the straggler is: a trace of %d calls of %d ranks', CALLS, TRACE_RANKS), \
    TRACE . (TRACE[1:9] eq 'generated' ? ', not a measurement' : '') . (DRAWN == 0 ? '' : \
      sprintf('; dashed: hides StragglAR''s pre-phase at α = %g µs, %.4g GB/s per port', ALPHA_US, RATE_GBPS)))
  plot DATA using 'straggler_delay_ms':'calls_percent' with steps ls SERIES[1] lw 6 \
         title sprintf('rank %d, the usual straggler, behind all others (negative: another is last)', STRAGGLER), \
    '' using 'delay_ms':'calls_percent' with steps ls SERIES[2] title 'the last rank, whichever it is, behind the last but one'
