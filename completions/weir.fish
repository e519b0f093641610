# SPDX-License-Identifier: MIT
# Completion of weir(1) for fish.

function __weir_names
	weir ls 2>/dev/null | awk 'NR > 1 { print $1 }'
end

set -l all run hold release wait ls stat watch resize close open rm doctor jobserver help
set -l first "not __fish_seen_subcommand_from $all"

complete -c weir -f
complete -c weir -n $first -a run -d 'run a command when it is its turn'
complete -c weir -n $first -a hold -d 'take a permit for a script; prints a token'
complete -c weir -n $first -a release -d 'give back what hold took'
complete -c weir -n $first -a wait -d 'wait until nobody holds, or permits are free'
complete -c weir -n $first -a ls -d 'the semaphores that there are'
complete -c weir -n $first -a stat -d 'who holds a semaphore, who waits'
complete -c weir -n $first -a watch -d 'look on, live'
complete -c weir -n $first -a resize -d 'change the capacity'
complete -c weir -n $first -a close -d 'grant nothing any more'
complete -c weir -n $first -a open -d 'make a semaphore, or open a closed one again'
complete -c weir -n $first -a rm -d 'remove a semaphore that nobody uses'
complete -c weir -n $first -a doctor -d 'find out what is wrong, and repair it'
complete -c weir -n $first -a jobserver -d 'a jobserver for make whose tokens survive'
complete -c weir -n $first -a help -d 'what a command does'
complete -c weir -n $first -l version -d 'which weir this is'
complete -c weir -s h -l help -d 'help'

complete -c weir -n '__fish_seen_subcommand_from help' -a "$all"
complete -c weir -a '(__weir_names)' \
	-n '__fish_seen_subcommand_from run hold wait stat watch resize close open rm doctor'
complete -c weir -n '__fish_seen_subcommand_from run jobserver' \
	-a '(__fish_complete_subcommand --fcs-skip=3)'

set -l take '__fish_seen_subcommand_from run hold'
complete -c weir -n $take -x -s w -l weight -d 'take so many'
complete -c weir -n $take -l try -d 'do not wait'
complete -c weir -n $take -l nested -d 'also if it runs under it already'
complete -c weir -n $take -x -s l -l label -d 'what stat calls it'
complete -c weir -n '__fish_seen_subcommand_from run hold open jobserver' \
	-x -s n -l capacity -d 'make it with so many permits'
complete -c weir -n '__fish_seen_subcommand_from run hold wait open' \
	-x -s t -l timeout -d 'wait no longer'
complete -c weir -n '__fish_seen_subcommand_from run hold wait' \
	-x -s E -l exit-code -d 'status if it was not granted'
complete -c weir -n '__fish_seen_subcommand_from run hold wait stat watch resize close open rm' \
	-l shared -d 'for a semaphore that other users may use as well'
complete -c weir -n '__fish_seen_subcommand_from run' \
	-x -l orphan -a 'kill keep' -d 'if weir is killed'
complete -c weir -n '__fish_seen_subcommand_from run' -x -l kill-after -d 'time to end in'
complete -c weir -n '__fish_seen_subcommand_from run' -s q -l quiet -d 'say nothing of waiting'
complete -c weir -n '__fish_seen_subcommand_from hold' \
	-x -l while-pid -a '(__fish_complete_pids)' -d 'as long as it lives'
complete -c weir -n '__fish_seen_subcommand_from wait' -l nested \
	-d 'also if it runs under it already'
complete -c weir -n '__fish_seen_subcommand_from wait' -l idle -d 'all is back'
complete -c weir -n '__fish_seen_subcommand_from wait' -x -l free -d 'so many are free'
complete -c weir -n '__fish_seen_subcommand_from ls stat watch' -l json -d 'one object per line'
complete -c weir -n '__fish_seen_subcommand_from close' -x -l drain -d 'wait until all is back'
complete -c weir -n '__fish_seen_subcommand_from open' -l fast -d 'the dead count no longer at once'
complete -c weir -n '__fish_seen_subcommand_from rm' -s f -l force -d 'whatever it is'
complete -c weir -n '__fish_seen_subcommand_from watch' -x -s i -l interval -d 'look this often'
complete -c weir -n '__fish_seen_subcommand_from watch' -l lines -d 'lines also on a terminal'
complete -c weir -n '__fish_seen_subcommand_from watch' -x -s c -l count -d 'end after so many lines'
complete -c weir -n '__fish_seen_subcommand_from jobserver' \
	-x -l style -a 'pipe fifo' -d 'how clients are told'
complete -c weir -n '__fish_seen_subcommand_from jobserver' -l plain -d 'do not watch who takes tokens'
complete -c weir -n '__fish_seen_subcommand_from jobserver' \
	-s v -l verbose -d 'say when tokens come back'
