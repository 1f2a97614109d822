# Tests of more than two seconds (optimised), the longest first: ctest begins with them, so that none
# is left when all others have ended. They have the label slow; all others, quick.
set(slow_tests
  # one after another, so they begin
  browser.keys browser.live browser.looks browser.frames browser.answer browser.hover browser.access browser.kinds browser.quiet browser.files browser.formats
  conformance.times conformance.algorithms conformance.bounds unit.figures validation.paper_schedule validation.mpi_montecarlo
  validation.mpi_sweep validation.serve models.simgrid models.ns3 validation.optcc_best validation.simgrid validation.simulators validation.testbed_cells validation.hunt unit.hunt unit.figure_files unit.whatif_faults
  unit.whatif_change conformance.plugins conformance.faults conformance.nic_faults algorithms.optcc_choice conformance.mutants
  validation.stragglar_every_n conformance.msccl conformance.mscclpp models.flow algorithms.optcc algorithms.adapcc_solver algorithms.adapcc_late conformance.dispatch unit.chrome_trace browser.site_pages check.site check.style
  algorithms.circulant validation.run_notes unit.montecarlo unit.call_log validation.stragglar_oracle unit.training
  algorithms.rotation algorithms.published_times validation.montecarlo_oracle unit.sweep
  validation.endings unit.workers unit.store validation.other_build validation.build_identity
  validation.install unit.nic unit.report_timeline unit.infragraph unit.explain)

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
