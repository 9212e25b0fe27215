#!/bin/sh
# What README.md and docs/ show is true: its commands run, its scenario is valid, the page of keys is current.
. "$SOURCE/tests/cli/support.sh"
ln -s "$SOURCE/scenarios" scenarios
mkdir bin
ln -s "$THINWIRE" bin/thinwire
PATH="$work/bin:$PATH"

# block LANGUAGE: the README's first block of that language
block() { awk -v fence='^```'"$1"'$' '$0 ~ fence { on = 1; next } /^```/ { if (on) exit } on' "$SOURCE/README.md"; }

block sh >commands
[ -s commands ] || { tried=README.md; status=1; complain "no block of commands"; }
while IFS= read -r line; do
    try sh -c "$line"
    expect_status 0
done <commands

block yaml >shown.yaml
try thinwire validate shown.yaml
expect_status 0
expect_stdout '6 runs'

try thinwire list keys
cp stdout keys.md
tried="diff docs/scenario.md (thinwire list keys >docs/scenario.md mends it)"
diff keys.md "$SOURCE/docs/scenario.md" >stdout || complain "docs/scenario.md is not what 'thinwire list keys' prints"

# the table of commands is the program's
for command in run plot explain validate flows list; do
    tried="README.md"
    grep -q "| \`thinwire $command" "$SOURCE/README.md" || complain "README.md does not name thinwire $command"
done
for script in quickstart check; do
    [ -x "$SOURCE/scripts/$script" ] || complain "no scripts/$script"
    grep -q "scripts/$script" "$SOURCE/README.md" || complain "README.md does not name scripts/$script"
done
grep -q 'scripts/check' "$SOURCE/.ci/run" || complain ".ci/run does not call scripts/check"

for file in "$SOURCE"/scenarios/*.yaml; do
    try thinwire validate "$file"
    expect_status 0
done
finish
