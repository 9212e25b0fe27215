#!/bin/sh
# layers.sh BUILD LAYERS: the arrows between rooms, seen in the object files. Each line of LAYERS is "room: rooms it may
# use". Also: SQLite only in results, libfyaml only in scenarios, BLAS and CUDA only in kernels; no room prints, exits or
# aborts.
set -eu
build=$1
layers=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rooms=$(cut -d: -f1 "$layers")

library() { find "$build" -name "lib$1.a" | head -n 1; }

for room in $rooms; do
    [ -n "$(library "$room")" ] || { echo "no library of room $room in $build"; exit 1; }
    nm --defined-only -g "$(library "$room")" 2>/dev/null | awk -v room="$room" 'NF == 3 { print $3, room }'
done | sort -u >"$work/defined"

for room in $rooms; do
    allowed=" $room $(sed -n "s/^$room: *//p" "$layers") "
    nm -u "$(library "$room")" 2>/dev/null | awk 'NF == 2 { print $2 }' | sort -u >"$work/used"
    while read -r symbol; do
        owner=$(awk -v symbol="$symbol" '$1 == symbol { print $2; exit }' "$work/defined")
        case "$allowed" in *" ${owner:-$room} "*) ;; *) echo "$room uses $symbol of $owner" ;; esac
        case "$room:$symbol" in
        results:sqlite3_* | scenarios:fy_* | kernels:cblas_* | kernels:openblas_* | kernels:LAPACKE_* | kernels:cuda*) ;;
        *:sqlite3_* | *:fy_* | *:cblas_* | *:openblas_* | *:LAPACKE_* | *:cuda*) echo "$room calls $symbol" ;;
        *:printf | *:puts | *:putchar | *:exit | *:abort | *:malloc | *:calloc | *:realloc)
            case "$room:$symbol" in base:malloc | base:calloc | base:realloc) ;; *) echo "$room calls $symbol" ;; esac ;;
        esac
    done <"$work/used"
done >"$work/faults"
cat "$work/faults"
[ ! -s "$work/faults" ]
