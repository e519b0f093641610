# SPDX-License-Identifier: MIT
# Includes that climb floors.  Run over src/*/*.[ch] from the root of the tree.
# Needs strip.awk (an include in a comment is none).
#
# A room includes itself, lower floors and public headers ("weir/...").  Rooms on
# one floor do not know each other.  The command line sees public headers only.
BEGIN {
	floor["base"] = 0
	floor["core"] = 1
	floor["async"] = floor["named"] = floor["cluster"] = floor["pattern"] = 2
	floor["diag"] = 3
	floor["cmd"] = 4
}

FNR == 1 {
	split(FILENAME, path, "/")
	from = path[2]
	if (path[1] != "src" || !(from in floor))
		bad(FILENAME, "is in no known room")
}

{ code = strip($0) }

code ~ /^[ \t]*#[ \t]*include/ {
	if ($0 ~ /include[ \t]*</) {
		# A public header in angle brackets is a public header.
		next
	}
	if (split($0, part, "\"") < 3) {
		bad(FILENAME ":" FNR, "an include by macro; name the file")
		next
	}
	# The schedule explorer's own seam replaces base/atomic.h from outside.
	if (part[2] ~ /^seam\// && from == "base")
		next
	if (split(part[2], to, "/") < 2)
		bad(FILENAME ":" FNR, "name the room: \"" from "/" part[2] "\"")
	else if (part[2] ~ /(^|\/)\.\.?(\/|$)/)
		bad(FILENAME ":" FNR, "no . or .. in an include")
	else if (to[1] == "weir" || to[1] == from)
		;
	else if (!(to[1] in floor))
		bad(FILENAME ":" FNR, "unknown room " to[1])
	else if (from == "cmd")
		bad(FILENAME ":" FNR, "cmd uses public headers only")
	else if (floor[to[1]] >= floor[from])
		bad(FILENAME ":" FNR, from " may not include " to[1])
}

END { exit failed }
