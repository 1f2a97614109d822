  # Means over the times, which `smooth unique` makes; a number is NCCL's mean over AdapCC's.
  stats DATA using 'amplification_ratio' name 'X' nooutput
  LIST = ' '
  stats DATA using (collect(column('amplification_ratio'))) nooutput
  N = words(LIST)
  HIGHEST = 0
  do for [k = 1:N] {
    VALUE = real(word(LIST, k))
    stats DATA using (column('amplification_ratio') == VALUE ? column('nccl_ms') : NaN) name 'R' nooutput
    stats DATA using (column('amplification_ratio') == VALUE ? column('adapcc_ms') : NaN) name 'A' nooutput
    HIGHEST = max(HIGHEST, max(R_mean, A_mean))
    set label k sprintf('%.2f', R_mean / A_mean) at VALUE, max(R_mean, A_mean) center offset 0,0.9 font SMALL
  }
  eval title('AllReduces while the rates of NICs change', \
    sprintf('mean time of %s on %d servers of %d GPUs, %g GB/s a GPU, over generated rates; %s model', size(SIZE_GIB), \
      RANKS / GPUS_PER_SERVER, GPUS_PER_SERVER, NIC_GBPS, MODEL))
  set xrange [X_min - 0.05 * (X_max - X_min):X_max + 0.05 * (X_max - X_min)]
  set yrange [0:1.15 * HIGHEST]
  set xlabel 'amplification x: rates that dropped 1 - x times, those that rose 1 + x times the observed ones'
  set ylabel 'mean time of an AllReduce, ms'
  set key bottom left Left reverse
  if (!CHANGED) { set label 99 'the AdapCC paper: gains over NCCL, more the larger x' at graph 0.02, graph 0.97 left font SMALL }
  plot DATA using 'amplification_ratio':'nccl_ms' smooth unique with linespoints ls ls_nccl_rings title 'NCCL: rings (numbers: its time over AdapCC''s)', \
    '' using 'amplification_ratio':'adapcc_ms' smooth unique with linespoints ls ls_adapcc title 'AdapCC, M = 4, trees for the rates of the moment', \
    '' using 'amplification_ratio':'msccl_ms' smooth unique with linespoints ls ls_hierarchical title 'hierarchical (as MSCCL, its stages overlapped)', \
    '' using 'amplification_ratio':'bound_ms' smooth unique with lines ls ls_bound title 'lower bound'
