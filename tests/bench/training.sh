#!/bin/sh
# Tokens/s of thinwire and of plain PyTorch on the same model, cores and minute: three interleaved rounds, the better of two
# ways to use two cores for PyTorch (two threads, or two processes of one thread), and the ratio.
# usage: training.sh BUILD [PRESET] [SECONDS]        PYTHON=python3 with torch (Debian: python3-torch python3-numpy)
set -eu
build=$1
preset=${2:-tiny}
seconds=${3:-3}
python=${PYTHON:-/usr/bin/python3}
here=$(cd "$(dirname "$0")" && pwd)
cmake --build "$build" --target bench_training -- --no-print-directory >/dev/null
bench=$(find "$build" -name bench_training -type f)
for round in 1 2 3; do
    line=$("$bench" "$preset" 8 2 "$seconds")
    ours=$(echo "$line" | sed 's/.*: \([0-9]*\) tokens.*/\1/')
    threads=$("$python" "$here/bench_training.py" "$preset" 8 2 "$seconds")
    processes=$( ("$python" "$here/bench_training.py" "$preset" 4 1 "$seconds" & "$python" "$here/bench_training.py" "$preset" 4 1 "$seconds"; wait) | awk '{ sum += $1 } END { print sum }')
    peer=$([ "$threads" -gt "$processes" ] && echo "$threads" || echo "$processes")
    echo "$line"
    echo "  PyTorch: $threads tokens/s on two threads, $processes in two processes; ratio $(awk "BEGIN { printf \"%.2f\", $ours / $peer }")"
done
