# SPDX-License-Identifier: MIT
# Memory orders without a partner.  Needs strip.awk.
#
#   1. An access with an order, such as at_load_acquire(...), names its pair and its
#      side, "[S1] acquire", in a comment on its line or at most REACH lines above.  An
#      acquire takes the acquire side, a release the release side; acq_rel and
#      seq_cst take either or both.
#   2. A relaxed access states why that is enough, "relaxed: ...", within that reach.
#   3. Each tag stands in one "Pairs" table at the head of a file:
#
#        [S1] permit  release: put, weir_put_fast_
#                     acquire: grant_batch,
#                     weir_take_fast_
#                     What was done under a permit is seen by its next holders.
#
#      Each list names exactly the functions (or macros) in which that side of the
#      tag is used; a list continues on the next line after a comma.
#   4. There are no stand-alone fences: ThreadSanitizer does not see them.
BEGIN { REACH = 6 }

FNR == 1 {
	for (i = 0; i <= REACH; i++)
		said[i] = ""
	in_table = 0
	inside = candidate = ""
}

{
	code = strip($0)
	said[FNR % (REACH + 1)] = remark
	find_function(code)
}

remark ~ /^ \* Pairs[ \t]*$/ { in_table = 1; tag = side = "" }
in_table { read_table(remark) }
!in_comment_ { in_table = 0 }

# The definitions of the accesses: the order is in the name, the pair is the caller's.
FILENAME ~ /(^|\/)(base|weir)\/atomic\.h$/ { next }
code ~ /^#define weir_at_/ { next }

code ~ /(^|[^A-Za-z0-9_])(at_fence|atomic_thread_fence|atomic_signal_fence|__atomic_thread_fence|__atomic_signal_fence|__sync_synchronize)[A-Za-z0-9_]*[ \t]*\(/ {
	bad(FILENAME ":" FNR, "a stand-alone fence; put the order on an access")
}

{
	while (match(code, /(^|[^A-Za-z0-9_])(weir_)?at_[a-z0-9_]*_(relaxed|acquire|release|acq_rel|seq_cst)_?[ \t]*\(/)) {
		access = substr(code, RSTART, RLENGTH)
		code = substr(code, RSTART + RLENGTH)
		sub(/^[^aw]/, "", access)
		sub(/^weir_/, "", access)
		sub(/_?[ \t]*\($/, "", access)
		if (access ~ /_relaxed$/)
			relaxed(access)
		else
			ordered(access)
	}
}

# The function or macro that a line belongs to, into `inside`.  A definition begins
# in the first column; its body is between braces in the first column.
function find_function(code,    name) {
	if (macro && macro_ends) {
		inside = ""
		macro = 0
	}
	if (code ~ /^[ \t]*#[ \t]*define[ \t]+[A-Za-z_][A-Za-z0-9_]*\(/) {
		inside = code
		sub(/^[ \t]*#[ \t]*define[ \t]+/, "", inside)
		sub(/\(.*/, "", inside)
		defined[inside] = macro = 1
	} else if (code ~ /^[A-Za-z_].*\(/ && code !~ /;[ \t]*$/) {
		name = code
		gsub(/__attribute__[ \t]*\(\([^)]*\)\)/, "", name)
		sub(/\(.*/, "", name)
		sub(/^.*[^A-Za-z0-9_]/, "", name)
		if (name != "")
			candidate = name
	} else if (code ~ /^\{/ && candidate != "") {
		inside = candidate
		defined[inside] = 1
	} else if (code ~ /^\}/) {
		inside = candidate = ""
	}
	macro_ends = code !~ /\\$/
}

# A line of a Pairs table: a tag, lists of functions, or the explanation.
function read_table(text,    list, n, names, i, more) {
	if (text ~ /^ \*[ \t]+\[[A-Z]+[0-9]+\][ \t]+[a-z]/) {
		tag = text
		sub(/^[^[]*\[/, "", tag)
		sub(/\].*/, "", tag)
		if (tag in declared)
			bad(FILENAME ":" FNR, "[" tag "] is also at " declared[tag])
		declared[tag] = FILENAME ":" FNR
		side = ""
	}
	if (tag == "")
		return
	sub(/^ \*[ \t]*/, "", text)
	while (side != "" || match(text, /(release|acquire):/)) {
		if (side == "") {
			side = substr(text, RSTART, RLENGTH - 1)
			text = substr(text, RSTART + RLENGTH)
		}
		# One name, and a comma if the list continues.
		sub(/^[ \t]+/, "", text)
		if (text == "")
			return
		if (!match(text, /^[A-Za-z_][A-Za-z0-9_]*/)) {
			bad(FILENAME ":" FNR, "[" tag "] " side ": not a function: " text)
			side = ""
			continue
		}
		listed[tag, side, substr(text, 1, RLENGTH)] = FILENAME ":" FNR
		text = substr(text, RLENGTH + 1)
		sub(/^[ \t]*\([^)]*\)/, "", text)
		if (text ~ /^,/)
			text = substr(text, 2)
		else
			side = ""
	}
}

function relaxed(access,    k) {
	for (k = 0; k <= REACH; k++)
		if (said_above(k) ~ /relaxed:/)
			return
	bad(FILENAME ":" FNR, access " without a \"relaxed:\" reason")
}

function said_above(k) {
	return k < FNR ? said[(FNR - k) % (REACH + 1)] : ""
}

# Count the sides that the nearest fitting comment names.
function ordered(access,    k, found, other, text, tag, side) {
	found = 0
	other = ""
	for (k = 0; k <= REACH && !found; k++) {
		text = said_above(k)
		while (match(text, /\[[A-Z]+[0-9]+\] (acquire|release)/)) {
			side = tag = substr(text, RSTART, RLENGTH)
			text = substr(text, RSTART + RLENGTH)
			sub(/^\[/, "", tag)
			sub(/\].*/, "", tag)
			sub(/^.* /, "", side)
			if (access ~ /_(acquire|release)$/ && access !~ "_" side "$") {
				other = side
				continue
			}
			found = 1
			used[tag, side] = seen[tag] = FILENAME ":" FNR
			carries[tag, side, inside] = FILENAME ":" FNR
		}
	}
	if (!found && other != "")
		bad(FILENAME ":" FNR, access " carries only the " other " side of a pair")
	else if (!found)
		bad(FILENAME ":" FNR, access " without a \"[TAG] side\"")
}

END {
	for (tag in seen)
		if (!(tag in declared))
			bad(seen[tag], "[" tag "] is in no Pairs table")
	for (tag in declared) {
		if (!((tag, "acquire") in used))
			bad(declared[tag], "[" tag "] has no acquire side")
		if (!((tag, "release") in used))
			bad(declared[tag], "[" tag "] has no release side")
	}
	for (key in listed) {
		split(key, part, SUBSEP)
		if (!(part[3] in defined))
			bad(listed[key], "[" part[1] "] names " part[3] ", which does not exist")
		else if (!(key in carries))
			bad(listed[key], "[" part[1] "] names " part[3] ", which has no \"[" part[1] "] " part[2] "\"")
	}
	for (key in carries) {
		split(key, part, SUBSEP)
		if ((part[1] in declared) && !(key in listed))
			bad(carries[key], part[3] " has \"[" part[1] "] " part[2] "\" and is not in the table at " declared[part[1]])
	}
	exit failed
}
