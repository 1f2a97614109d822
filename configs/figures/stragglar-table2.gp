  LIST = ' '
  stats DATA using (collect(column('buffer_gib'))) name 'B' nooutput
  stats DATA using 'persistence_percent' name 'P' nooutput
  stats DATA using 'saved_ms' name 'S' nooutput
  HIGH = max(S_max, 0); LOW = min(S_min, 0)
  stats DATA using 'iteration_saved_exposed_30_percent' name 'M' nooutput
  stats DATA using 'published_speedup_percent' name 'U' nooutput
  N = words(LIST)
  T = B_records / N
  # The rows of the table, in one text; their points are those of the first buffer.
  TEXT = ''
  stats DATA every ::0::(T-1) using (strlen(stringcolumn('published_model')) > 0 ? (TEXT = TEXT . \
    sprintf("%s: %.2f %%, %.2f GPU-h/day\n", stringcolumn('published_model'), column('published_speedup_percent'), \
    column('published_gpu_hours_per_day')), 1) : 1/0) nooutput
  set multiplot
  eval titles('What StragglAR saves when it is made for one rank (table 2)', \
    network . '; where another rank is last, the pre-phase waits for it')
  eval legend(0.915)
  plot NaN notitle, \
    for [i = 1:N] keyentry with lines ls SERIES[(i-1) % 8 + 1] title 'buffer ' . size(real(word(LIST, i))), \
    keyentry with points ls ls_published ps 2*PS title (strlen(TEXT) > 0 ? 'published' : '')
  eval panels
  set xrange [P_min:P_max]
  set xtics step(P_max - P_min, 8)
  set xlabel 'persistence: how often the presumed rank is the last, %'
  eval panel(0.08, 0.475, 0.10, 0.805)
  set yrange [LOW - 0.06 * (HIGH - LOW):HIGH + 0.06 * (HIGH - LOW)]
  set ylabel 'saved per AllReduce, ms'
  set title sprintf('%d %s, delay %g ms, replayed', RANKS, CHANGED ? 'ranks' : '× ' . SERVER, DELAY)
  set arrow 1 from P_min, 0 to P_max, 0 nohead lc rgb '#000000' lw 1.5
  plot for [i = 1:N] DATA every ::(T*(i-1))::(T*i-1) using 'persistence_percent':'saved_ms' \
    with lines ls SERIES[(i-1) % 8 + 1]
  eval panel(0.57, 0.985, 0.10, 0.805)
  HIGH = 1.45 * max(M_max, exists('U_max') ? U_max : 0); LOW = min(-0.1 * HIGH, 1.2 * M_min)
  set yrange [LOW:HIGH]
  set ytics step(HIGH - LOW, 12)
  set format y '%g %%'
  set ylabel 'share of the iteration saved' offset 1,0
  set title 'pre-phase hidden by the delay, ' . size(real(word(LIST, 1)))
  set label 1 TEXT at graph 0.03, 0.955 textcolor rgb col_published
  # The lines are called at their right ends.
  plot DATA every ::0::(T-1) using 'persistence_percent':'iteration_saved_exposed_30_percent' with lines ls ls_ink, \
    '' every ::0::(T-1) using 'persistence_percent':'iteration_saved_exposed_20_percent' with lines ls ls_ink, \
    '' every ::0::(T-1) using 'persistence_percent':'iteration_saved_exposed_10_percent' with lines ls ls_ink, \
    '' every ::(T-1)::(T-1) using 'persistence_percent':'iteration_saved_exposed_30_percent':('30 % exposed') \
       with labels right offset 0,0.8, \
    '' every ::(T-1)::(T-1) using 'persistence_percent':'iteration_saved_exposed_20_percent':('20 %') \
       with labels right offset 0,0.8, \
    '' every ::(T-1)::(T-1) using 'persistence_percent':'iteration_saved_exposed_10_percent':('10 %') \
       with labels right offset 0,0.8, \
    '' every ::0::(T-1) using 'persistence_percent':'published_speedup_percent' with points ls ls_published ps 2*PS, \
    for [above = 0:1] '' every ::0::(T-1) using 'persistence_percent': \
       (above == (column('published_speedup_percent') > column('iteration_saved_exposed_20_percent')) ? \
        column('published_speedup_percent') : 1/0):(stringcolumn('published_model')[1:1]) \
       with labels center offset 0,(above ? 1.1 : -1.1) textcolor rgb col_published
  unset multiplot
