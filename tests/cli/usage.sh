#!/bin/sh
# Wrong usage and wrong input: exit status 2, one line that names the place, nothing written.
. "$SOURCE/tests/cli/support.sh"
small_scenario

try "$THINWIRE"
expect_status 2
expect_stderr 'Usage: thinwire COMMAND'

try "$THINWIRE" --help
expect_status 0
expect_stdout 'thinwire run'

try "$THINWIRE" --version
expect_status 0
expect_stdout '^thinwire [0-9]+\.[0-9]+\.[0-9]+ '

try "$THINWIRE" rnu
expect_status 2
expect_stderr "unknown command 'rnu'; did you mean 'run'\?"
expect_one_line

for command in run plot validate explain flows; do
    try "$THINWIRE" $command
    expect_status 2
    try "$THINWIRE" $command --no-such-option
    expect_status 2
    try "$THINWIRE" $command --help
    expect_status 0
    expect_stdout 'Usage: thinwire '$command
done

try "$THINWIRE" run missing.yaml
expect_status 2
expect_stderr '^missing\.yaml: error: '
expect_one_line
expect_no_file thinwire.db

try "$THINWIRE" run small.yaml --seeds 0
expect_status 2
expect_stderr "--seeds '0'"

try "$THINWIRE" run small.yaml --jobs 5x
expect_status 2

try "$THINWIRE" run small.yaml --backend opemblas
expect_status 2
expect_stderr 'openblas'
expect_no_file thinwire.db

try "$THINWIRE" run small.yaml --set cluster.link.bandwith=5
expect_status 2
expect_stderr "bandwidth"
expect_no_file thinwire.db

sed 's/bandwidth: 100 Mbps/bandwidth: 100/' small.yaml >unit.yaml
try "$THINWIRE" run unit.yaml
expect_status 2
expect_stderr '^unit\.yaml:4:[0-9]+: error: .*Mbps'
expect_one_line

sed 's/inner_steps/iner_steps/' small.yaml >key.yaml
try "$THINWIRE" validate key.yaml small.yaml
expect_status 2
expect_stderr '^key\.yaml:[0-9]+:[0-9]+: error: .*inner_steps'
expect_stdout '^small\.yaml: ok'

sed 's/corpus: synthetic, tokens: 200k/text: no-such-file.txt/' small.yaml >text.yaml
try "$THINWIRE" run text.yaml
expect_status 2
expect_stderr 'no-such-file\.txt'
expect_no_file thinwire.db

printf 'not a database, but a text of some length\n' >foreign.db
try "$THINWIRE" run small.yaml --db foreign.db
expect_status 2
expect_stderr 'foreign\.db'
expect_one_line
expect_equal 'foreign file' 'not a database, but a text of some length' "$(cat foreign.db)"

try "$THINWIRE" run small.yaml --quiet --no-plot --db /proc/thinwire.db
expect_status 2
expect_stderr '/proc/thinwire\.db'

try "$THINWIRE" plot missing.db
expect_status 2
expect_stderr 'missing\.db'
expect_no_file missing.db

try "$THINWIRE" plot thinwire.db --kind fronteir
expect_status 2
expect_stderr "frontier"

try "$THINWIRE" list stategies
expect_status 2
expect_stderr 'strategies'
finish
