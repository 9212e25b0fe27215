#!/bin/sh
# A small run end to end: table, database, figures, JSON, timing only, thread counts.
. "$SOURCE/tests/cli/support.sh"
small_scenario

try "$THINWIRE" run small.yaml --set 'grid={strategy.name: [DiLoCo, GlobalM1LocalM2, LocalM1M2]}'
expect_status 0
expect_stdout 'strategy +link'
expect_stdout '^GlobalM1LocalM2 +100 Mbps'
expect_file thinwire.db
expect_file out/frontier.svg
expect_file out/frontier.gp
expect_file out/loss.svg
tried="sqlite3 thinwire.db"
expect_equal 'runs' '3|done' "$(sqlite3 thinwire.db "select count(*), min(status) from v_run where rounds = 2 and perplexity > 1 and utilization > 0")"
expect_equal 'rounds' '6' "$(sqlite3 thinwire.db 'select count(*) from v_round')"
expect_equal 'worker rounds' '24' "$(sqlite3 thinwire.db 'select count(*) from v_worker_round')"
expect_equal 'times that do not sum to the round' '0' "$(sqlite3 thinwire.db "select count(*) from v_worker_round w
    join v_round r using (run_id, round) where abs(w.compute_s + w.wait_mix1_s + w.wait_mix2_s + w.wait_other_s + w.wasted_s
    + w.down_s - (r.virtual_end_s - r.virtual_start_s)) > 1e-6 and 0.0 = (select latency_s from v_run where run_id = w.run_id)")"
expect_equal 'integrity' 'ok' "$(sqlite3 thinwire.db 'pragma integrity_check')"

# The same run again, with another number of threads and at another bandwidth: equal to the last digit.
first="$(sqlite3 thinwire.db "select perplexity, loss, js_distance, l2_consensus from v_round where run_id = 1")"
try "$THINWIRE" run small.yaml --db again.db --no-plot --jobs 3 --set 'cluster.link.bandwidth=1 Gbps'
expect_status 0
expect_equal 'another bandwidth and thread count' "$first" \
    "$(sqlite3 again.db "select perplexity, loss, js_distance, l2_consensus from v_round where run_id = 1")"

# Replaying replaces the run of the same configuration.
try "$THINWIRE" run small.yaml --db again.db --no-plot --set 'cluster.link.bandwidth=1 Gbps'
expect_status 0
tried="sqlite3 again.db"
expect_equal 'runs after replaying' '1' "$(sqlite3 again.db 'select count(*) from v_run')"

try "$THINWIRE" run small.yaml --json --quiet --db json.db --no-plot
expect_status 0
expect_equal 'stderr of a quiet run' '' "$(cat stderr)"
expect_stdout '"utilization": 0\.'

try "$THINWIRE" run small.yaml --timing-only --db timing.db --no-plot --seeds 2
expect_status 0
tried="sqlite3 timing.db"
expect_equal 'timing only' '2|0' "$(sqlite3 timing.db 'select count(*), count(perplexity) from v_run')"

# A run that diverges is a row, and the next one plays.
try "$THINWIRE" run small.yaml --db diverged.db --no-plot --set 'grid={train.optimizer.lr: [1e6, 3e-3]}'
expect_status 0
tried="sqlite3 diverged.db"
expect_equal 'diverged and done' 'diverged,done' "$(sqlite3 diverged.db "select group_concat(status) from (select status from v_run order by run_id)")"
expect_equal 'reason' '1' "$(sqlite3 diverged.db "select count(*) from v_run where status = 'diverged' and reason like 'worker %step%'")"

try "$THINWIRE" plot thinwire.db --kind all --out figures
expect_status 0
for kind in frontier loss consensus timeline heatmap bytes; do expect_file figures/$kind.svg; done
try "$THINWIRE" plot thinwire.db --format txt
expect_status 0
expect_stdout 'perplexity'

try "$THINWIRE" list
expect_status 0
expect_stdout 'GlobalM1LocalM2-subset'
expect_stdout '1498482688 parameters'
expect_stdout 'openblas'
finish
