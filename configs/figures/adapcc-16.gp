  # Means over the iterations, which `smooth unique` makes; a number is AdapCC's mean over NCCL's.
  stats DATA using 'batch' name 'X' nooutput
  stats DATA using 'no_communication_samples_per_s' name 'U' nooutput
  LIST = ' '
  stats DATA using (collect(column('batch'))) nooutput
  N = words(LIST)
  MOST = 0
  do for [k = 1:N] {
    VALUE = real(word(LIST, k))
    stats DATA using (column('batch') == VALUE ? column('nccl_samples_per_s') : NaN) name 'R' nooutput
    stats DATA using (column('batch') == VALUE ? column('adapcc_samples_per_s') : NaN) name 'A' nooutput
    MOST = max(MOST, max(R_mean, A_mean))
    set label k sprintf('%+.1f %%', 100 * (A_mean / R_mean - 1)) at VALUE, A_mean center offset 0,1 font SMALL
  }
  eval title(sprintf('Training %s: throughput over the batch', NAME), \
    sprintf('%d GPUs on %d servers, NIC of %g GB/s a server, %s of gradients; %s model, generated waits', \
      RANKS, RANKS / GPUS_PER_SERVER, NIC_GBPS, size(SIZE_GIB), MODEL))
  set logscale x 2
  set xrange [X_min / 1.15:X_max * 1.15]
  eval data_ticks("column('batch')", 1.5)
  set yrange [0:1.42 * U_max]
  set xlabel 'samples a GPU and iteration'
  set ylabel 'throughput, samples/s'
  set key top left Left reverse
  if (PAPER > 0) { set label 99 sprintf('the AdapCC paper: gains up to %g %%, more the larger the batch', PAPER) at graph 0.98, graph 0.03 right font SMALL }
  plot DATA using 'batch':'no_communication_samples_per_s' smooth unique with lines ls ls_ink title 'computing alone', \
    '' using 'batch':'adapcc_samples_per_s' smooth unique with linespoints ls ls_adapcc title 'AdapCC, all wait (numbers: its gain over NCCL)', \
    '' using 'batch':'nccl_samples_per_s' smooth unique with linespoints ls ls_nccl title 'NCCL, one ring', \
    '' using 'batch':'adapcc_relay_samples_per_s' smooth unique with linespoints ls open_adapcc title 'AdapCC with relays, rule literal'
