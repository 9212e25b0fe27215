-- The stable views: what scripts and notebooks read. Made anew by every migration; columns may be added, never renamed
-- or removed. docs/database.md says what each means. A column that is added has a name that no other view has: else it would
-- make a name ambiguous in joins that people have written.

-- Before a run has ended its summary is gathered from the rounds played so far. Perplexities and distances are those of
-- the last evaluated round.
DROP VIEW IF EXISTS v_run;
CREATE VIEW v_run AS
SELECT
    run.run_id,
    scenario,
    strategy,
    seed,
    run.workers,
    inner_steps,
    CASE WHEN min(up_bps, down_bps) = 9223372036854775807 THEN 9e999 ELSE min(up_bps, down_bps) END AS bandwidth_bps,
    latency_ns / 1e9 AS latency_s,
    failure_rate,
    rank,
    status,
    reason,
    coalesce(rounds, (SELECT count(*) FROM round AS r WHERE r.run_id = run.run_id)) AS rounds,
    (SELECT tokens FROM round AS r WHERE r.run_id = run.run_id ORDER BY r.round DESC LIMIT 1) AS tokens,
    coalesce(virtual_ns, (SELECT max(r.end_ns) FROM round AS r WHERE r.run_id = run.run_id)) / 1e9 AS virtual_seconds,
    coalesce(utilization, (SELECT 1.0 * sum(r.compute_ns) / (max(r.end_ns) * run.workers)
                           FROM round AS r WHERE r.run_id = run.run_id)) AS utilization,
    last.perplexity,
    last.perplexity_worst,
    last.perplexity_average_model,
    last.js_distance,
    last.l2_consensus,
    coalesce(run.bytes_sent, (SELECT sum(r.bytes_sent) FROM round AS r WHERE r.run_id = run.run_id)) AS bytes_sent,
    coalesce(run.bytes_lost, (SELECT sum(r.bytes_lost) FROM round AS r WHERE r.run_id = run.run_id)) AS bytes_lost,
    optimizer_bytes,
    wall_seconds,
    config_hash,
    trajectory_hash,
    build,
    label,
    config,
    backend,
    timing_only,
    started,
    rounds_planned,
    perplexity_floor,
    last.loss AS final_loss,
    run.compute_ns / 1e9 / run.workers AS total_compute_s,
    run.wait_mix1_ns / 1e9 / run.workers AS total_wait_mix1_s,
    run.wait_mix2_ns / 1e9 / run.workers AS total_wait_mix2_s,
    run.wait_other_ns / 1e9 / run.workers AS total_wait_other_s,
    run.wasted_ns / 1e9 / run.workers AS total_wasted_s,
    run.down_ns / 1e9 / run.workers AS total_down_s,
    diverged_worker,
    diverged_step
FROM run
LEFT JOIN round AS last
    ON last.run_id = run.run_id
    AND last.round = (SELECT r.round FROM round AS r WHERE r.run_id = run.run_id AND r.perplexity IS NOT NULL
                      ORDER BY r.round DESC LIMIT 1);

DROP VIEW IF EXISTS v_round;
CREATE VIEW v_round AS
SELECT
    run_id,
    round,
    start_ns / 1e9 AS virtual_start_s,
    end_ns / 1e9 AS virtual_end_s,
    compute_ns / 1e9 / workers AS compute_s,
    wait_mix1_ns / 1e9 / workers AS wait_mix1_s,
    wait_mix2_ns / 1e9 / workers AS wait_mix2_s,
    wait_other_ns / 1e9 / workers AS wait_other_s,
    wasted_ns / 1e9 / workers AS wasted_s,
    down_ns / 1e9 / workers AS down_s,
    loss,
    perplexity,
    js_distance,
    l2_consensus,
    contributors,
    bytes_sent,
    bytes_lost,
    steps AS steps_so_far,
    tokens AS tokens_so_far,
    learning_rate,
    gradient_norm,
    perplexity_worst AS worst_perplexity,
    perplexity_average_model AS average_model_perplexity,
    js_distance_inner,
    l2_consensus_inner,
    outer_updated
FROM round;

DROP VIEW IF EXISTS v_worker_round;
CREATE VIEW v_worker_round AS
SELECT
    run_id,
    round,
    worker,
    start_ns / 1e9 AS virtual_start_s,
    end_ns / 1e9 AS virtual_end_s,
    compute_ns / 1e9 AS compute_s,
    wait_mix1_ns / 1e9 AS wait_mix1_s,
    wait_mix2_ns / 1e9 AS wait_mix2_s,
    wait_other_ns / 1e9 AS wait_other_s,
    wasted_ns / 1e9 AS wasted_s,
    down_ns / 1e9 AS down_s,
    loss,
    bytes_sent AS worker_bytes_sent,
    bytes_lost AS worker_bytes_lost,
    perplexity AS worker_perplexity,
    js_distance AS worker_js_distance
FROM worker_round;

DROP VIEW IF EXISTS v_transfer;
CREATE VIEW v_transfer AS
SELECT
    run_id,
    round,
    operation,
    source,
    destination,
    bytes,
    start_ns / 1e9 AS virtual_start_s,
    end_ns / 1e9 AS virtual_end_s,
    outcome,
    attempt,
    program_op
FROM transfer;

DROP VIEW IF EXISTS v_reference;
CREATE VIEW v_reference AS
SELECT source, table_name, case_name, metric, value FROM reference;
