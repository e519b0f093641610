# SPDX-License-Identifier: MIT
# Includes that climb floors, cross the folders of the command, or form a cycle.
# Run over src/**/*.[ch] from the root of the tree.  Needs strip.awk: an include in a
# comment is ignored.
#
# A room includes itself, lower floors and public headers ("weir/...").  Rooms on
# the same floor do not include each other.  The command includes no header of the
# library except public ones, but cmd/diag, cmd/export and cmd/web read registries with src/diag.
#
# libweir-cluster is a library of its own: src/cluster includes public headers and itself.
# Its engines, the folders cluster/X, do not include each other.
#
# Inside the command, cmd/lib includes cmd/lib.  Another folder cmd/X includes cmd/X
# and cmd/lib.  cmd/export and cmd/web also include cmd/http, the HTTP server, and
# cmd/diag/source.h, the sources of a model, and keep.h; cmd/web also includes cmd/diag/json.h.  A
# file directly in cmd, such as main.c, includes cmd/lib and the header cmd/X/X.h of
# each folder.
#
# A source file and its header are one module: a.c and a.h.  Modules must not include
# each other in a cycle.
BEGIN {
	floor["base"] = 0
	floor["record"] = 1
	floor["core"] = floor["diag"] = 2
	floor["async"] = floor["named"] = floor["pattern"] = 3
	floor["cluster"] = floor["posix"] = 4
	floor["cmd"] = 5
}

# The node of a file in the graph of includes: its module.
function node(file) {
	sub(/\.[ch]$/, "", file)
	return file
}

# Whether a file in the folder `from` of the command ("" for main.c) may include
# cmd/to/file; `depth` is the number of parts of that path.
function allowed(from, to, file, depth) {
	if (depth != 3)
		return 0
	if (to == "lib" || to == from)
		return 1
	if ((from == "export" || from == "web") && to == "http")
		return 1
	if (from == "export" && to == "diag")
		return file == "source.h" || file == "keep.h"
	if (from == "web" && to == "diag")
		return file == "source.h" || file == "keep.h" || file == "json.h"
	return from == "" && file == to ".h"
}

# Depth-first search.  state: 1 on the path, 2 finished.
function visit(name, path,    next_, count, i) {
	if (state[name] == 2)
		return
	if (state[name] == 1) {
		sub("^.*" name " -> ", name " -> ", path)
		bad(name, "include cycle: " path name)
		return
	}
	state[name] = 1
	count = split(includes[name], next_, " ")
	for (i = 1; i <= count; i++)
		visit(next_[i], path name " -> ")
	state[name] = 2
}

FNR == 1 {
	parts = split(FILENAME, path, "/")
	from = path[2]
	folder = parts > 3 ? path[3] : ""
	if (path[1] != "src" || !(from in floor))
		bad(FILENAME, "is in no known room")
	nodes[++node_count] = node(FILENAME)
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
	depth = split(part[2], to, "/")
	target = node("src/" part[2])
	if (target != node(FILENAME))
		includes[node(FILENAME)] = includes[node(FILENAME)] " " target
	if (depth < 2)
		bad(FILENAME ":" FNR, "name the room: \"" from "/" part[2] "\"")
	else if (part[2] ~ /(^|\/)\.\.?(\/|$)/)
		bad(FILENAME ":" FNR, "no . or .. in an include")
	else if (to[1] == "cmd" && from == "cmd") {
		if (!allowed(folder, to[2], to[3], depth))
			bad(FILENAME ":" FNR, "cmd" (folder ? "/" folder : "") \
				" may not include " part[2])
	} else if (to[1] == "cluster" && from == "cluster" && depth > 2 &&
		   to[2] != folder)
		bad(FILENAME ":" FNR, "cluster" (folder ? "/" folder : "") \
			" may not include " part[2])
	else if (to[1] == "weir" || to[1] == from)
		;
	else if (!(to[1] in floor))
		bad(FILENAME ":" FNR, "unknown room " to[1])
	else if (from == "cmd" && folder ~ /^(diag|export|web)$/ && to[1] == "diag")
		;
	else if (from == "cmd" || from == "cluster")
		bad(FILENAME ":" FNR, from " uses public headers only")
	else if (floor[to[1]] >= floor[from])
		bad(FILENAME ":" FNR, from " may not include " to[1])
}

END {
	for (i = 1; i <= node_count; i++)
		visit(nodes[i], "")
	exit failed
}
