# SPDX-License-Identifier: MIT
# Completion of weir(1) for fish.

function __weir_names
	weir ls 2>/dev/null | awk 'NR > 1 { print $1 }'
end

set -l all run hold release wait ls stat watch explain dump top web export resize pause resume close open rm doctor jobserver posix help
set -l first "not __fish_seen_subcommand_from $all"

complete -c weir -f
complete -c weir -n $first -a run -d 'run a command when a permit is granted'
complete -c weir -n $first -a hold -d 'acquire a permit for a script'
complete -c weir -n $first -a release -d 'release the permit of a weir hold'
complete -c weir -n $first -a wait -d 'wait until a semaphore is idle, or until permits are free'
complete -c weir -n $first -a ls -d 'list semaphores'
complete -c weir -n $first -a stat -d 'show the holders and waiters of a semaphore'
complete -c weir -n $first -a watch -d 'show a semaphore live'
complete -c weir -n $first -a explain -d 'show who holds what in a process, and find deadlocks'
complete -c weir -n $first -a dump -d 'save the holders and waiters of a process to a file'
complete -c weir -n $first -a top -d 'show the watched semaphores of processes live'
complete -c weir -n $first -a web -d 'show the semaphores of processes as a web page with a graph'
complete -c weir -n $first -a export -d 'serve metrics of semaphores to Prometheus'
complete -c weir -n $first -a resize -d 'change the capacity of a semaphore'
complete -c weir -n $first -a pause -d 'stop granting permits, and keep the queue'
complete -c weir -n $first -a resume -d 'grant permits again after a pause'
complete -c weir -n $first -a close -d 'refuse all further requests'
complete -c weir -n $first -a open -d 'create a semaphore, or reopen a closed one'
complete -c weir -n $first -a rm -d 'remove an unused semaphore'
complete -c weir -n $first -a doctor -d 'find and repair problems of semaphores'
complete -c weir -n $first -a jobserver -d 'run make with a job server that recovers the tokens of killed jobs'
complete -c weir -n $first -a posix -d 'run a program with sem_t on weir'
complete -c weir -n $first -a help -d 'describe a command'
complete -c weir -n $first -l version -d 'print the version'
complete -c weir -s h -l help -d 'print help'

complete -c weir -n '__fish_seen_subcommand_from help' -a "$all"
complete -c weir -a '(__weir_names)' \
	-n '__fish_seen_subcommand_from run hold wait stat watch resize pause resume close open rm doctor'
complete -c weir -n '__fish_seen_subcommand_from run jobserver posix' \
	-a '(__fish_complete_subcommand --fcs-skip=3)'

set -l take '__fish_seen_subcommand_from run hold'
complete -c weir -n $take -x -s w -l weight -d 'acquire this many permits'
complete -c weir -n $take -l try -d 'do not wait'
complete -c weir -n $take -l nested -d 'even if WEIR_HELD contains the name'
complete -c weir -n $take -x -s l -l label -d 'label that stat shows'
complete -c weir -n '__fish_seen_subcommand_from run hold open jobserver' \
	-x -s n -l capacity -d 'create it with this many permits'
complete -c weir -n '__fish_seen_subcommand_from run hold wait open' \
	-x -s t -l timeout -d 'wait no longer'
complete -c weir -n '__fish_seen_subcommand_from run hold wait' \
	-x -s E -l exit-code -d 'exit status if not granted'
complete -c weir -n '__fish_seen_subcommand_from run hold wait stat watch resize pause resume close open rm' \
	-l shared -d 'use a semaphore that is shared between users'
complete -c weir -n '__fish_seen_subcommand_from run' \
	-x -l orphan -a 'kill keep' -d 'if weir is killed'
complete -c weir -n '__fish_seen_subcommand_from run' -x -l kill-after -d 'time between TERM and KILL'
complete -c weir -n '__fish_seen_subcommand_from run' -s q -l quiet -d 'print nothing about waiting'
complete -c weir -n '__fish_seen_subcommand_from hold' \
	-x -l while-pid -a '(__fish_complete_pids)' -d 'hold as long as this process lives'
complete -c weir -n '__fish_seen_subcommand_from wait close open' -l nested \
	-d 'even if WEIR_HELD contains the name'
complete -c weir -n '__fish_seen_subcommand_from wait' -l idle -d 'no permit is held'
complete -c weir -n '__fish_seen_subcommand_from wait' -x -l free -d 'this many permits are free'
complete -c weir -n '__fish_seen_subcommand_from ls stat watch explain dump top' -l json -d 'one object per line'
complete -c weir -n '__fish_seen_subcommand_from close' -x -l drain -d 'wait until all permits are released'
complete -c weir -n '__fish_seen_subcommand_from open' -l fast -d 'release permits of killed processes at once'
complete -c weir -n '__fish_seen_subcommand_from rm' -s f -l force -d 'remove it unconditionally'
complete -c weir -n '__fish_seen_subcommand_from explain dump top web' -F -a '(__fish_complete_pids)'
complete -c weir -n '__fish_seen_subcommand_from top' -l once -d 'print one table and exit'
complete -c weir -n '__fish_seen_subcommand_from watch top' -x -s i -l interval -d 'sampling interval'
complete -c weir -n '__fish_seen_subcommand_from watch' -l lines -d 'print lines even on a terminal'
complete -c weir -n '__fish_seen_subcommand_from watch' -x -s c -l count -d 'exit after this many lines'
complete -c weir -n '__fish_seen_subcommand_from export web' -x -l listen -d 'listen on this address'
complete -c weir -n '__fish_seen_subcommand_from export web' -l allow-remote -d 'allow an address that other machines can reach'
complete -c weir -n '__fish_seen_subcommand_from export' -x -l url -d 'also read this server'
complete -c weir -n '__fish_seen_subcommand_from export' -l once -d 'print the metrics and exit'
complete -c weir -n '__fish_seen_subcommand_from export' -l openmetrics -d 'with --once: print OpenMetrics'
complete -c weir -n '__fish_seen_subcommand_from jobserver' \
	-x -l style -a 'pipe fifo' -d 'how clients find the tokens'
complete -c weir -n '__fish_seen_subcommand_from jobserver' -l plain -d 'do not track which process takes tokens'
complete -c weir -n '__fish_seen_subcommand_from jobserver' \
	-s v -l verbose -d 'report recovered tokens'
complete -c weir -n '__fish_seen_subcommand_from posix' -l barging -d 'a running thread may overtake'
complete -c weir -n '__fish_seen_subcommand_from posix' -l print-library -d 'print the path of the library'
