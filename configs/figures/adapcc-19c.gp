  stats DATA using 'servers' name 'X' nooutput
  stats DATA using 'profile_s' name 'P' nooutput
  stats DATA using 'published_most_s' name 'T' nooutput
  stats DATA using 'published_least_s' name 'L' nooutput
  eval title('How long a job stands still for another schedule', \
    sprintf('servers of %d GPUs; assumed: set-up of trees %g s, relaunch %g s, detection %g s; %s model', GPUS_PER_SERVER, \
      SETUP_S, RELAUNCH_S, DETECTION_S, MODEL))
  set logscale xy
  set xrange [X_min / 1.1:X_max * 1.1]
  set yrange [P_min / 15:4 * (RELAUNCH_S + DETECTION_S)]
  eval data_ticks("column('servers')", 1.2)
  set xlabel 'servers'
  set ylabel 'time, s (log scale)'
  set key bottom right Left reverse
  set label 1 'a worker has died: detection and restart' at X_min, RELAUNCH_S + DETECTION_S left offset 0,0.6 font SMALL
  set label 2 'checkpoint and restart' at X_min, RELAUNCH_S left offset 0,-0.7 font SMALL
  if (!CHANGED) {
    set label 3 'the AdapCC paper: 74 % of a restart saved' at X_min, T_max left offset 0,0.6 font SMALL
    set label 4 '91 % saved' at X_min, L_max left offset 0,0.6 font SMALL
  }
  is(name, y) = stringcolumn('setting') eq name ? column(y) : NaN
  plot DATA using 'servers':'restart_after_death_s' with lines ls ls_formula notitle, \
    '' using 'servers':'restart_s' with lines ls ls_ink notitle, \
    '' using 'servers':'published_most_s' with lines ls ls_published notitle, \
    '' using 'servers':'published_least_s' with lines ls ls_published notitle, \
    '' using 'servers':(is('heterogeneous', 'adapcc_s')) with linespoints ls SERIES[2] \
       title sprintf('AdapCC, servers that differ: saves %.1f %% of a restart or more', SAVED_LEAST), \
    '' using 'servers':(is('homogeneous', 'adapcc_s')) with linespoints ls SERIES[1] \
       title sprintf('AdapCC, servers alike: saves up to %.1f %%', SAVED_MOST), \
    '' using 'servers':(is('heterogeneous', 'profile_s')) with linespoints ls OPEN[2] title 'of it: the profile, servers that differ', \
    '' using 'servers':(is('homogeneous', 'profile_s')) with linespoints ls OPEN[1] title 'of it: the profile, servers alike'
