-- Tables of schema version 1. A later version is a further step in migrate.c; this file then stays as it is.
--
-- Times are whole nanoseconds of virtual time. NULL means "no such value" (not evaluated, timing only, unknown).

CREATE TABLE run (
    run_id INTEGER PRIMARY KEY AUTOINCREMENT,
    scenario TEXT NOT NULL,
    label TEXT NOT NULL,             -- what distinguishes the cell of a grid
    config TEXT NOT NULL,            -- the resolved scenario, canonical JSON
    config_hash TEXT NOT NULL,
    timing_only INTEGER NOT NULL,
    backend TEXT NOT NULL,
    build TEXT NOT NULL,
    started TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')),
    strategy TEXT NOT NULL,
    seed INTEGER NOT NULL,
    workers INTEGER NOT NULL,
    inner_steps INTEGER NOT NULL,
    rank INTEGER,
    up_bps INTEGER NOT NULL,         -- 9223372036854775807 = no limit
    down_bps INTEGER NOT NULL,
    latency_ns INTEGER NOT NULL,
    failure_rate REAL NOT NULL,
    -- Filled when the run ends.
    status TEXT NOT NULL DEFAULT 'running'
        CHECK (status IN ('done', 'diverged', 'failed', 'interrupted', 'running')),
    reason TEXT,
    rounds INTEGER,
    rounds_planned INTEGER,
    virtual_ns INTEGER,
    compute_ns INTEGER,              -- sums over workers and rounds
    wait_mix1_ns INTEGER,
    wait_mix2_ns INTEGER,
    wait_other_ns INTEGER,
    wasted_ns INTEGER,
    down_ns INTEGER,
    utilization REAL,
    bytes_sent INTEGER,
    bytes_lost INTEGER,
    optimizer_bytes INTEGER,
    perplexity_floor REAL,
    diverged_worker INTEGER,
    diverged_step INTEGER,
    trajectory_hash TEXT,
    wall_seconds REAL
) STRICT;

CREATE INDEX run_by_config ON run (config_hash);

CREATE TABLE round (
    run_id INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    round INTEGER NOT NULL,
    start_ns INTEGER NOT NULL,
    end_ns INTEGER NOT NULL,
    workers INTEGER NOT NULL,
    compute_ns INTEGER NOT NULL,     -- sums over workers
    wait_mix1_ns INTEGER NOT NULL,
    wait_mix2_ns INTEGER NOT NULL,
    wait_other_ns INTEGER NOT NULL,
    wasted_ns INTEGER NOT NULL,
    down_ns INTEGER NOT NULL,
    bytes_sent INTEGER NOT NULL,
    bytes_lost INTEGER NOT NULL,
    steps INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    contributors INTEGER NOT NULL,
    loss REAL,
    gradient_norm REAL,
    learning_rate REAL,
    perplexity REAL,
    perplexity_worst REAL,
    perplexity_average_model REAL,
    js_distance REAL,
    js_distance_inner REAL,
    l2_consensus REAL,
    l2_consensus_inner REAL,
    outer_updated INTEGER NOT NULL,
    PRIMARY KEY (run_id, round)
) STRICT, WITHOUT ROWID;

CREATE TABLE worker_round (
    run_id INTEGER NOT NULL,
    round INTEGER NOT NULL,
    worker INTEGER NOT NULL,
    start_ns INTEGER NOT NULL,
    end_ns INTEGER NOT NULL,
    compute_ns INTEGER NOT NULL,
    wait_mix1_ns INTEGER NOT NULL,
    wait_mix2_ns INTEGER NOT NULL,
    wait_other_ns INTEGER NOT NULL,
    wasted_ns INTEGER NOT NULL,
    down_ns INTEGER NOT NULL,
    bytes_sent INTEGER NOT NULL,
    bytes_lost INTEGER NOT NULL,
    loss REAL,
    perplexity REAL,
    js_distance REAL,
    PRIMARY KEY (run_id, round, worker),
    FOREIGN KEY (run_id, round) REFERENCES round ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE transfer (
    run_id INTEGER NOT NULL,
    round INTEGER NOT NULL,
    number INTEGER NOT NULL,         -- within the round, in the order of the records
    program_op INTEGER NOT NULL,
    operation TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    source INTEGER NOT NULL,
    destination INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    start_ns INTEGER NOT NULL,
    end_ns INTEGER NOT NULL,
    outcome TEXT NOT NULL CHECK (outcome IN ('ok', 'failed')),
    PRIMARY KEY (run_id, round, number),
    FOREIGN KEY (run_id, round) REFERENCES round ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE reference (
    source TEXT NOT NULL,
    table_name TEXT NOT NULL,
    case_name TEXT NOT NULL,
    metric TEXT NOT NULL,
    value REAL NOT NULL,
    PRIMARY KEY (source, table_name, case_name, metric)
) STRICT, WITHOUT ROWID;

-- Factored Gossip DiLoCo: 8 workers, 1.5 B parameters, H = 100; validation perplexities after 10 B and 30 B tokens.
INSERT INTO reference (source, table_name, case_name, metric, value) VALUES
    ('arXiv 2606.22768', 'utilization', 'DiLoCo, 100 Mbps', 'utilization', 0.36),
    ('arXiv 2606.22768', 'utilization', 'DiLoCo, 200 Mbps', 'utilization', 0.53),
    ('arXiv 2606.22768', 'utilization', 'GlobalM1, 100 Mbps', 'utilization', 0.56),
    ('arXiv 2606.22768', 'utilization', 'GlobalM1, 200 Mbps', 'utilization', 1.0),
    ('arXiv 2606.22768', 'utilization', 'GlobalM1LocalM2, 100 Mbps', 'utilization', 0.36),
    ('arXiv 2606.22768', 'utilization', 'GlobalM1LocalM2, 200 Mbps', 'utilization', 0.66),
    ('arXiv 2606.22768', 'utilization', 'GlobalM1LocalM2-subset, 100 Mbps', 'utilization', 0.45),
    ('arXiv 2606.22768', 'perplexity', 'DDP, 10 B tokens', 'perplexity', 17.53),
    ('arXiv 2606.22768', 'perplexity', 'DiLoCo, 10 B tokens', 'perplexity', 18.65),
    ('arXiv 2606.22768', 'perplexity', 'GlobalM1LocalM2, 10 B tokens', 'perplexity', 18.80),
    ('arXiv 2606.22768', 'perplexity', 'GlobalM1LocalM2-subset, 10 B tokens', 'perplexity', 19.15),
    ('arXiv 2606.22768', 'perplexity', 'LocalM1M2, 10 B tokens', 'perplexity', 19.37),
    ('arXiv 2606.22768', 'perplexity', 'GlobalM1, 10 B tokens', 'perplexity', 19.42),
    ('arXiv 2606.22768', 'perplexity', 'DiLoCo, 30 B tokens', 'perplexity', 15.52),
    ('arXiv 2606.22768', 'perplexity', 'GlobalM1LocalM2, 30 B tokens', 'perplexity', 15.60);
