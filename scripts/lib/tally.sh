# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Counts what passed and what failed; to be sourced after packages.sh.

n_passed=0
n_failed=0
failed_steps=""

tally() {
    if [ "$1" -eq 0 ]; then
        n_passed=$((n_passed + 1))
    else
        n_failed=$((n_failed + 1))
        failed_steps="$failed_steps  $2"$'\n'
    fi
}

# What `time` says behind a step: on a machine that others use, too, the seconds of the processors
# are those to compare.
TIMEFORMAT='   took %0R s; processors: %0U s, and %0S s in the system'

# step WHAT LOG COMMAND...: run it quietly; show the end of the log when it fails.
step() {
    local what=$1 log=$2 status=0
    shift 2
    say "$what"
    { time "$@" >"$log" 2>&1 </dev/null; } 2>&1 || status=$?
    if [ "$status" -ne 0 ]; then
        grep -n -E 'error|warning|FAILED|undefined reference' "$log" | head -n 30
        tail -n 30 "$log"
        echo "FAILED with status $status; all of it is in $log"
    fi
    tally "$status" "$what"
    return "$status"
}

# shown WHAT COMMAND...: the same for a command whose output is worth seeing.
shown() {
    local what=$1 status=0
    shift
    say "$what"
    { time "$@" </dev/null; } 2>&1 || status=$?
    [ "$status" -eq 0 ] || echo "FAILED with status $status"
    tally "$status" "$what"
    return "$status"
}

# Add the counts of a JUnit file of ctest; without one, that is a failure.
tally_junit() {
    local head tests failures
    head=$(tr '\n' ' ' 2>/dev/null <"$1" | grep -o '<testsuite [^>]*>' | head -n 1)
    tests=$(sed -n 's/.*[[:space:]]tests="\([0-9]*\)".*/\1/p' <<<"$head")
    failures=$(sed -n 's/.*[[:space:]]failures="\([0-9]*\)".*/\1/p' <<<"$head")
    if [ -z "$tests" ] || [ -z "$failures" ] || [ "$tests" -eq 0 ]; then
        echo "FAILED: no tests were run"
        tally 1 "run the tests"
        return
    fi
    n_passed=$((n_passed + tests - failures))
    n_failed=$((n_failed + failures))
    if [ "$failures" -gt 0 ]; then
        failed_steps="$failed_steps  $failures of $tests tests"$'\n'
    fi
}

# The last lines, and the exit status.
tally_end() {
    if [ "$n_failed" -gt 0 ]; then
        printf '\nFailed:\n%s' "$failed_steps"
    fi
    echo
    echo "$SECONDS s in all"
    printf '%d passed, %d failed\n' "$n_passed" "$n_failed"
    [ "$n_failed" -eq 0 ]
    exit
}
