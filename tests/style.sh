#!/bin/sh
# style.sh SOURCE: what no file of the tree may contain.
set -eu
cd "$1"
faults=0
sources=$(find base kernels data netmodel optim sim scenarios results cli tests \( -name '*.c' -o -name '*.h' \) | sort)

# complain PATTERN WHAT FILES...
complain() {
    pattern=$1
    what=$2
    shift 2
    if found=$(grep -nE "$pattern" "$@" /dev/null); then
        echo "$what:"
        echo "$found"
        faults=1
    fi
}

# gnuplot has an sprintf of its own, with single quotes
complain '\bsprintf\([^'"'"']|\b(strcpy|strcat|gets|atoi|atol|atof|rand|srand|strtok)\(' 'banned function' $sources
complain '[[:blank:]]+$' 'white space at the end of a line' $sources
complain '	' 'tab' $sources
complain '//' 'line comment (use /* */)' $(echo "$sources" | xargs grep -LE 'https?://|"[^"]*//[^"]*"')
complain '\b(TODO|FIXME|XXX)\b' 'unfinished place' $sources
complain '^.{121,}' 'line over 120 columns' $(echo "$sources" | grep -v golden)
exit $faults
