# SPDX-License-Identifier: MIT
# Memory orders without a partner.  Needs strip.awk.
#
#   1. An access with an order, at_..._acquire(...) and its kin, names its pair
#      and its side, "[S1] acquire", in a comment on its line or at most REACH
#      lines above.  An acquire takes the acquire side, a release the release
#      side; acq_rel and seq_cst may take either or both.
#   2. A relaxed access says why that is enough, "relaxed: ...", in that reach.
#   3. Each tag stands in one "Pairs" table at the head of a file, and both its
#      sides are used somewhere.
#   4. There are no stand-alone fences: ThreadSanitizer does not see them.
BEGIN { REACH = 6 }

FNR == 1 {
	for (i = 0; i <= REACH; i++)
		said[i] = ""
	in_table = 0
}

{
	code = strip($0)
	said[FNR % (REACH + 1)] = remark
}

remark ~ /^ \* Pairs[ \t]*$/ { in_table = 1 }
in_table && remark ~ /^ \*[ \t]+\[[A-Z]+[0-9]+\][ \t]+[a-z]/ {
	tag = remark
	sub(/^[^[]*\[/, "", tag)
	sub(/\].*/, "", tag)
	if (tag in declared)
		bad(FILENAME ":" FNR, "[" tag "] is also at " declared[tag])
	declared[tag] = FILENAME ":" FNR
}
!in_comment_ { in_table = 0 }

# The definitions themselves: the order is in the name, the pair is the caller's.
FILENAME ~ /(^|\/)base\/atomic\.h$/ { next }
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

function relaxed(access,    k) {
	for (k = 0; k <= REACH; k++)
		if (said_above(k) ~ /relaxed:/)
			return
	bad(FILENAME ":" FNR, access " without a \"relaxed:\" reason")
}

function said_above(k) {
	return k < FNR ? said[(FNR - k) % (REACH + 1)] : ""
}

# Count the sides named by the nearest remark that fits the access.
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
	exit failed
}
