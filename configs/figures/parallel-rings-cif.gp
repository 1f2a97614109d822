  stats DATA using 'row' name 'R' nooutput
  MOST = 0
  do for [column in 'queued shared shared_incast' . (CHANGED ? '' : ' paper')] {
    stats DATA using (column(column . '_over_proposed_1')) name 'Y' nooutput
    MOST = max(MOST, Y_max)
  }
  N = R_records
  eval titles('AllGather between the sockets of a server: congestion impact factor', \
    sprintf('replayed; a GPU across the sockets: %.4g GB/s, NVLink pairs: %.4g GB/s%s', CROSS_GBPS, NVLINK_GBPS, \
      CHANGED ? '' : ' (A30, cluster A of the paper)'))
  eval panel(0.075, 0.98, 0.19, 0.9)
  set xrange [0.4:N + 0.6]
  set yrange [0:1.19 * MOST]
  set ytics step(1.19 * MOST, 8)
  set grid noxtics
  set boxwidth 0.19
  set style fill solid 1 border lc rgb '#303030'
  set ylabel 'time / time of the exchange that the paper proposes'
  set xtics scale 0 font SMALL
  set key at screen 0.5, 0.055 center center horizontal Left reverse maxrows 2 nobox
  if (!CHANGED) {
    set arrow 2 from first 0.4, first 4.57 to first 6.5, first 4.57 nohead lt 1 dt (6,5) lw 2 lc rgb '#505050'
    set label 13 'the paper''s largest, 4.57: not reproduced' at first 6.42, first 4.67 right font TINY tc rgb '#505050'
    set arrow 1 from first 6.5, graph 0 to first 6.5, graph 1 nohead lt 1 lc rgb '#808080'
    set label 11 'inside one server of two sockets, 4 GPUs, 64 MB each' at first 3.5, graph 0.965 center font SMALL
    set label 12 "Parallel Rings,\n16 GPUs" at first 7, graph 0.965 center font SMALL
  }
  plot DATA using 1:(0):xtic(stringcolumn('algorithm') . (CHANGED ? '' : "\n{/*0.85 " . stringcolumn('agreement') . '}')) with dots lc rgb '#FFFFFF' notitle, \
    '' using ($1-0.3):'paper_over_proposed_1' with boxes fc rgb '#FFFFFF' \
       title (CHANGED ? '' : 'paper, measured (right: the largest)'), \
    '' using ($1-0.1):'queued_over_proposed_1' with boxes fc rgb tone(COLOUR[1], 0.35) title 'messages queue at a receiving port', \
    '' using ($1+0.1):'shared_over_proposed_1' with boxes fc rgb tone(COLOUR[2], 0.4) title 'they share it', \
    '' using ($1+0.3):'shared_incast_over_proposed_1' with boxes fc rgb COLOUR[2] \
       title 'they share it, incast: 1.25 times less', \
    '' using ($1-0.3):'paper_over_proposed_1':(sprintf('%.2f', column('paper_over_proposed_1'))) \
       with labels offset 0,0.6 font TINY notitle, \
    '' using ($1+0.3):'shared_incast_over_proposed_1':(sprintf('%.2f', column('shared_incast_over_proposed_1'))) \
       with labels offset 0,0.6 font TINY notitle
