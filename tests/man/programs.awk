# SPDX-License-Identifier: MIT
# Extract the complete programs from the EXAMPLES section of a manual page: each
# literal block that begins with #include becomes a file.  Prints the names of the
# files.
#
#   awk -v stem=OUT/weir_sem.3 -f programs.awk weir_sem.3
#
# The programs of weir_cpp.3 are in C++.
#
# In mdoc "\e" is a backslash, and "\&" keeps a dot from starting a macro.
function fail(what) {
	print FILENAME ":" FNR ": " what >"/dev/stderr"
	failed = 1
	exit 1
}
/^\.Sh / { examples = ($2 == "EXAMPLES") }
examples && /^\.Bd -literal/ { inside = 1; fresh = 1; writing = 0; next }
inside && /^\.Ed/ {
	if (writing) {
		close(file)
		print file
	}
	inside = 0
	next
}
inside && fresh {
	fresh = 0
	writing = /^#include/
	if (writing)
		file = stem "-" ++count (stem ~ /weir_cpp/ ? ".cpp" : ".c")
}
inside && writing {
	if (/^[.']/)
		fail("a macro in a program")
	gsub(/\\&/, "")
	line = ""
	while (match($0, /\\/)) {
		escape = substr($0, RSTART, 2)
		if (escape != "\\e" && escape != "\\-")
			fail("unknown escape: " escape)
		line = line substr($0, 1, RSTART - 1) \
			(escape == "\\e" ? "\\" : "-")
		$0 = substr($0, RSTART + 2)
	}
	print line $0 >file
}
END {
	if (!failed && inside)
		fail("a block does not end")
}
