# SPDX-License-Identifier: MIT
# Completion of weir(1) for bash.

_weir_names() {
	weir ls 2>/dev/null | awk 'NR > 1 { print $1 }'
}

# Print the options of a command, as its help lists them.
_weir_options() {
	local take='-n --capacity -w --weight -t --timeout --try -E --exit-code
		--nested -l --label --shared'

	case $1 in
	run) echo "$take --orphan --kill-after -q --quiet" ;;
	hold) echo "$take --while-pid" ;;
	wait) echo '--idle --free -t --timeout -E --exit-code --nested --shared' ;;
	ls) echo '--json' ;;
	stat) echo '--json --shared' ;;
	watch) echo '-i --interval --lines --json -c --count --shared' ;;
	explain|dump) echo '--json' ;;
	top) echo '-i --interval --once --json' ;;
	web) echo '--listen --allow-remote' ;;
	export) echo '--listen --allow-remote --url --once --openmetrics' ;;
	resize|pause|resume) echo '--shared' ;;
	close) echo '--drain --nested --shared' ;;
	open) echo '-n --capacity -t --timeout --fast --nested --shared' ;;
	rm) echo '-f --force --shared' ;;
	jobserver) echo '-n --capacity --style --plain -v --verbose' ;;
	posix) echo '--barging --print-library' ;;
	esac
	echo '-h --help'
}

_weir_reply() {
	mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2")
}

# Names are untrusted: compgen -W would expand a $(...) in them.
_weir_reply_names() {
	local name

	while IFS= read -r name; do
		[[ $name != "$1"* ]] || COMPREPLY+=("$(printf %q "$name")")
	done < <(_weir_names)
}

_weir() {
	local commands='run hold release wait ls stat watch explain dump top web export resize
		pause resume close open rm doctor jobserver posix help'
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
	local command=${COMP_WORDS[1]} words=0 i

	COMPREPLY=()
	# Readline splits --orphan=keep into three words.
	if [ "$word" = = ]; then
		word=
	elif [ "$before" = = ]; then
		before=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	if [ "$COMP_CWORD" -eq 1 ]; then
		_weir_reply "$commands --help --version" "$word"
		return
	fi
	# Count the words before that are not options; find where a command begins.
	for ((i = 2; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		--) words=2; i=$((i + 1)); break ;;
		-n|-w|-t|-E|-l|--capacity|--weight|--timeout|--exit-code|--label|\
		--orphan|--kill-after|--while-pid|--free|--drain|-i|--interval|-c|\
		--count|--style|--listen|=)
			[ "${COMP_WORDS[i + 1]}" = = ] || i=$((i + 1))
			;;
		-*) ;;
		*)
			words=$((words + 1))
			case $command,$words in
			jobserver,1|posix,1|*,2) break ;;
			esac
			;;
		esac
	done
	case $command,$words in
	run,2|jobserver,[12]|posix,[12])
		# Complete another command and its arguments.
		if declare -F _command_offset >/dev/null; then
			_command_offset "$i"
		else
			mapfile -t COMPREPLY < <(compgen -c -f -- "$word")
		fi
		return
		;;
	esac
	case $before in
	--orphan) _weir_reply 'kill keep' "$word" ;;
	--style) _weir_reply 'pipe fifo' "$word" ;;
	--while-pid) _weir_reply "\$\$ $(ps -eo pid= 2>/dev/null)" "$word" ;;
	-n|-w|-t|-E|-l|--capacity|--weight|--timeout|--exit-code|--label|\
	--kill-after|--free|--drain|-i|--interval|-c|--count|--listen) ;;
	*)
		case $command,$words,$word in
		*,*,-*) _weir_reply "$(_weir_options "$command")" "$word" ;;
		help,0,*) _weir_reply "$commands" "$word" ;;
		run,1,*) mapfile -t COMPREPLY < <(compgen -c -- "$word") ;;
		explain,0,*|dump,0,*|top,0,*|web,*)
			mapfile -t COMPREPLY < <(compgen -f -W "$(ps -eo pid= 2>/dev/null)" -- "$word")
			;;
		explain,*|dump,*|top,*) ;;
		release,*|ls,*|export,*|jobserver,*|posix,*) ;;
		*,0,*) _weir_reply_names "$word" ;;
		esac
		;;
	esac
}

complete -o default -F _weir weir
