#!/bin/sh
# Ctrl-C: the rounds played stay, the run is marked, exit status 130; kill -9 leaves a whole database.
. "$SOURCE/tests/cli/support.sh"
small_scenario
long="--no-plot --set train.rounds=100000 --set evaluate.every=1000"

# wait_for_rounds DATABASE: until it holds some.
wait_for_rounds() {
    for _ in $(seq 300); do
        rounds=$(sqlite3 "$1" 'select count(*) from v_round' 2>/dev/null || echo 0)
        [ "${rounds:-0}" -ge 3 ] && return 0
        sleep 0.1
    done
    tried="waiting for rounds in $1"
    status=1
    complain "no rounds within 30 s"
}

# play_and_signal SIGNAL DATABASE: sets $status.
play_and_signal() {
    tried="run with SIG$1"
    "$THINWIRE" run small.yaml $long --db "$2" >stdout 2>stderr </dev/null &
    pid=$!
    wait_for_rounds "$2"
    kill -"$1" $pid
    wait $pid
    status=$?
}

play_and_signal INT int.db
expect_status 130
expect_equal 'status of the run' interrupted "$(sqlite3 int.db 'select status from v_run')"
expect_equal 'integrity' ok "$(sqlite3 int.db 'pragma integrity_check')"

play_and_signal TERM term.db
expect_status 143

play_and_signal KILL kill.db
expect_status 137
expect_equal 'integrity' ok "$(sqlite3 kill.db 'pragma integrity_check')"
expect_equal 'half rounds' 0 "$(sqlite3 kill.db 'select count(*) from (select round, count(*) n from v_worker_round group by round having n <> 4)')"
try "$THINWIRE" run small.yaml --db kill.db --no-plot
expect_status 0
finish
