  # Distribution functions: a step of 1 / N for each message, and for each iteration.
  stats DATA using 'message_ms' name 'M' nooutput
  stats DATA using 'start_ms' name 'S' nooutput
  eval title('How long messages to AdapCC''s coordinator take, and when it starts', \
    sprintf('%d workers, all ready at 0 ms, %d iterations; the AllReduce of %s behind it takes %.3g ms (%s model)', \
      RANKS, S_records, size(SIZE_GIB), ALLREDUCE_MS, MODEL))
  set xrange [0:1.02 * max(M_max, S_max)]
  set yrange [0:124]
  set ytics 0,10,100
  set format y '%g %%'
  set xlabel 'time, ms'
  set ylabel 'share of the messages, or iterations, with at most this time'
  set key top left Left reverse
  if (!CHANGED) {
    set arrow 1 from 1.5, 0 to 1.5, 90 nohead ls ls_published
    set arrow 2 from 0, 90 to 1.5, 90 nohead ls ls_published
  }
  plot DATA using 'message_ms':(100.0 / M_records) smooth cumulative with steps ls SERIES[1] \
         title sprintf('a message to the coordinator: median %.2g ms', MESSAGE_MEDIAN), \
    '' using 'start_ms':(100.0 / S_records) smooth cumulative with steps ls SERIES[2] \
         title sprintf('the start, behind a tick of 5 ms and the slowest answer: median %.3g ms', START_MEDIAN), \
    (CHANGED ? NaN : -1) with lines ls ls_published title (CHANGED ? '' : 'the AdapCC paper: 90 % of the messages take less than 1.5 ms')
