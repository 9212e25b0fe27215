#!/bin/sh
# thinwire flows: reference transfers of the fluid model, to the nanosecond.
. "$SOURCE/tests/cli/support.sh"

cat >two.yaml <<'YAML'
hosts: {A: {up: inf, down: inf}, B: {up: inf, down: inf}, C: {up: inf, down: 12.5 MB/s}}
flows:
  - {name: first, from: A, to: C, bytes: 1 GB}
  - {name: second, from: B, to: C, bytes: 2 GB, start: 40 s}
YAML
try "$THINWIRE" flows two.yaml
expect_status 0
expect_equal 'two flows into one down-link' 'name,start_s,end_s,outcome,tries
first,0.000000000,120.000000000,ok,1
second,40.000000000,240.000000000,ok,1' "$(cat stdout)"

cat >dumbbell.yaml <<'YAML'
hosts: {A1: {up: 8 MB/s, down: 8 MB/s}, A2: {up: 8 MB/s, down: 8 MB/s}, B1: {up: 8 MB/s, down: 8 MB/s}, B2: {up: 8 MB/s, down: 8 MB/s}}
links: {trunk: {bandwidth: 10 MB/s}}
routes: [{between: [A1, B1], over: [trunk]}, {between: [A2, B2], over: [trunk]}]
flows: [{name: long, from: A1, to: B1, bytes: 100 MB}, {name: short, from: A2, to: B2, bytes: 50 MB}]
YAML
try "$THINWIRE" flows dumbbell.yaml
expect_status 0
expect_stdout '^long,0\.000000000,16\.250000000,ok,1$'
expect_stdout '^short,0\.000000000,10\.000000000,ok,1$'

cat >changes.yaml <<'YAML'
hosts: {A: {}, B: {}}
links: {wire: {bandwidth: 10 MB/s, changes: [{at: 4 s, bandwidth: 5 MB/s}]}}
routes: [{between: [A, B], over: [wire]}]
flows: [{name: x, from: A, to: B, bytes: 100 MB}]
YAML
try "$THINWIRE" flows changes.yaml
expect_stdout '^x,0\.000000000,16\.000000000,ok,1$'

sed 's/changes: .*}]/down: [{from: 4 s, to: 9 s}]/' changes.yaml >down.yaml
try "$THINWIRE" flows down.yaml
expect_stdout '^x,0\.000000000,15\.000000000,ok,1$'

sed 's/down: .*}]/down: [{from: 4 s}]/' down.yaml >gone.yaml
try "$THINWIRE" flows gone.yaml
expect_status 0
expect_stdout '^x,0\.000000000,inf,failed,1$'

sed 's/to: B,/to: Bee,/' changes.yaml >host.yaml
try "$THINWIRE" flows host.yaml
expect_status 2
expect_stderr "^host\.yaml:4:[0-9]+: error: .*Bee"
expect_one_line

try "$THINWIRE" flows missing.yaml
expect_status 2
finish
