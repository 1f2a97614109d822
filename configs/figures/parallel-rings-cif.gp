  stats DATA using 'row' name 'R' nooutput
  MOST = 0
  do for [column in 'queued shared shared_incast paper'] {
    stats DATA using (column(column . '_over_proposed_1')) name 'Y' nooutput
    MOST = max(MOST, Y_max)
  }
  N = R_records
  eval title('Congestion impact factor between the sockets of a server', \
    sprintf('replayed: alpha-beta (queues), flow with shared receivers; %g GB/s a GPU between sockets, %g GB/s NVLink pairs%s', \
      CROSS_GBPS, NVLINK_GBPS, CHANGED ? '' : ' (cluster A)'))
  set xrange [0.4:N + 0.6]
  set yrange [0:1.19 * MOST]
  set ytics 1
  set grid noxtics
  set boxwidth 0.19
  set style fill solid 1 border lc rgb '#303030'
  set ylabel 'time over that of the proposed exchange'
  set xtics scale 0 font ',11'
  set bmargin at screen 0.19
  set key at screen 0.5, 0.055 center center horizontal Left reverse maxrows 2 nobox
  if (!CHANGED) {
    set arrow 2 from first 0.4, first 4.57 to first 6.5, first 4.57 nohead lt 1 dt (6,5) lw 2 lc rgb '#505050'
    set label 3 'the paper''s largest, 4.57: not reproduced' at first 6.42, first 4.67 right font ',10' tc rgb '#505050'
    set arrow 1 from first 6.5, graph 0 to first 6.5, graph 1 nohead lt 1 lc rgb '#808080'
    set label 1 'inside one server of two sockets, 4 GPUs, 64 MB each' at first 3.5, graph 0.965 center font ',11'
    set label 2 "Parallel Rings,\n16 GPUs" at first 7, graph 0.965 center font ',11'
  }
  plot DATA using 1:(0):xtic(stringcolumn('algorithm')."\n{/*0.85 ".stringcolumn('agreement').'}') with dots lc rgb '#FFFFFF' notitle, \
    '' using ($1-0.3):'paper_over_proposed_1' with boxes fc rgb '#FFFFFF' \
       title 'paper, measured (average; right: the largest)', \
    '' using ($1-0.1):'queued_over_proposed_1' with boxes fc rgb '#A9CCE3' title 'messages queue at a receiving port', \
    '' using ($1+0.1):'shared_over_proposed_1' with boxes fc rgb '#F5C39A' title 'they share it', \
    '' using ($1+0.3):'shared_incast_over_proposed_1' with boxes fc rgb '#D55E00' \
       title 'they share it, incast: 1.25 times less', \
    '' using ($1-0.3):'paper_over_proposed_1':(sprintf('%.2f', column('paper_over_proposed_1'))) \
       with labels offset 0,0.6 font ',9' notitle, \
    '' using ($1+0.3):'shared_incast_over_proposed_1':(sprintf('%.2f', column('shared_incast_over_proposed_1'))) \
       with labels offset 0,0.6 font ',9' notitle
