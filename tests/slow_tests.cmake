# Tests of more than two seconds (optimised), the longest first: ctest begins with them, so that none
# is left when all others have ended. They have the label slow; all others, quick.
set(slow_tests
  validation.mpi_montecarlo validation.mpi_sweep models.simgrid validation.stragglar_every_n
  unit.figures validation.simgrid conformance.plugins validation.optcc_best conformance.times
  conformance.algorithms unit.optcc_figures algorithms.optcc_choice algorithms.optcc unit.whatif_faults
  unit.chrome_trace check.style unit.sweep conformance.mutants validation.montecarlo_oracle models.flow
  conformance.msccl validation.run_notes validation.other_build algorithms.circulant unit.montecarlo
  unit.farm validation.stragglar_oracle validation.build_identity conformance.bounds unit.store
  algorithms.rotation validation.endings
  validation.install)

# Label a test: `labels` and quick or slow.
function(label_test name)
  list(FIND slow_tests ${name} place)
  if(place EQUAL -1)
    set_tests_properties(${name} PROPERTIES LABELS "${ARGN};quick")
  else()
    math(EXPR cost "1000 - ${place}")
    set_tests_properties(${name} PROPERTIES LABELS "${ARGN};slow" COST ${cost})
  endif()
endfunction()
