#!/bin/sh
# Training speed beside plain PyTorch: the same model, batch and loop, the same cores, the same minute. Three interleaved
# rounds; PyTorch uses two cores the better of two ways (two threads, or two processes of one thread). The last ratio is
# per second of processor time, one thread each: other work on the machine changes it little.
# usage: training.sh BUILD [PRESET] [SECONDS]        PYTHON=python3 with torch (Debian: python3-torch python3-numpy)
set -eu
build=$1
preset=${2:-tiny}
seconds=${3:-3}
python=${PYTHON:-/usr/bin/python3}
here=$(cd "$(dirname "$0")" && pwd)
cmake --build "$build" --target bench_training -- --no-print-directory >/dev/null
bench=$build/tests/bench/bench_training
peer() { OMP_NUM_THREADS=$2 OPENBLAS_NUM_THREADS=$2 "$python" "$here/bench_training.py" "$preset" "$1" "$2" "$seconds"; }
for round in 1 2 3; do
    lines=$("$bench" "$preset" 8 2 "$seconds")
    threads=$(peer 8 2)
    processes=$( (peer 4 1 & peer 4 1; wait) | awk '{ wall += $1; core += $2 / 2 } END { printf "%.0f %.0f", wall, core }')
    echo "$lines"
    echo "$lines" | awk -v threads="$threads" -v processes="$processes" '
        NR == 1 {
            split(threads, t); split(processes, p)
            ours = $2; core = 0
            for (i = 3; i < NF; i++) if ($(i + 1) == "per" && $(i + 2) ~ /^core-second/) core = $i
            best = t[1] > p[1] ? t[1] : p[1]
            printf "  PyTorch: %d tokens/s on two threads, %d in two processes (%d per core-second); ratio %.2f, per core-second %.2f\n",
                   t[1], p[1], p[2], ours / best, core / p[2]
        }'
done
