# Sourced by the scripts of this folder. $THINWIRE is the program, $SOURCE the source tree; each script runs in an empty
# folder of its own. `try COMMAND...` runs and keeps $status, stdout, stderr; the expect_ functions complain and count.
set -u
faults=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

try() {
    "$@" >stdout 2>stderr </dev/null
    status=$?
    tried="$*"
}
complain() {
    faults=$((faults + 1))
    echo "FAULT: $1"
    echo "  command: $tried"
    echo "  exit status: $status"
    sed 's/^/  stdout: /' stdout | head -n 20
    sed 's/^/  stderr: /' stderr | head -n 20
}
expect_status() { [ "$status" -eq "$1" ] || complain "expected exit status $1"; }
expect_stdout() { grep -qE -- "$1" stdout || complain "expected on stdout: $1"; }
expect_stderr() { grep -qE -- "$1" stderr || complain "expected on stderr: $1"; }
expect_one_line() { [ "$(wc -l <stderr)" -eq 1 ] || complain "expected one line on stderr"; }
expect_file() { [ -s "$1" ] || complain "expected file $1"; }
expect_no_file() { [ ! -e "$1" ] || complain "unexpected file $1"; }
# expect_equal WHAT EXPECTED GOT
expect_equal() { [ "$2" = "$3" ] || complain "$1: expected '$2', got '$3'"; }
finish() {
    [ "$faults" -eq 0 ] || { echo "$faults faults"; exit 1; }
    exit 0
}
# A scenario that plays in well under a second: two rounds of a tiny model.
small_scenario() {
    cat >small.yaml <<'YAML'
name: small
cluster:
  workers: 4
  link: {bandwidth: 100 Mbps, latency: 20 ms}
  compute: {step: 1 s}
payload: {parameters: 1M, dtype: bf16}
model: {dim: 16, layers: 1, heads: 2, kv_heads: 1, ffn: 32, vocab: 256, context: 16}
data: {corpus: synthetic, tokens: 200k}
train: {rounds: 2, batch: 2, optimizer: {name: adamw, lr: 3e-3}, schedule: cosine, warmup: 2}
strategy: {name: DiLoCo, inner_steps: 5}
evaluate: {every: 1, tokens: 2k, js_tokens: 256}
YAML
}
