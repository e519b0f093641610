# SPDX-License-Identifier: MIT
# Rules for every text file: a licence line, no path of a developer's machine, no
# white space at line ends.
function finish() {
	if (name == "")
		return
	if (!spdx && (script || name ~ /(\.[chsS]|\.cc|\.cpp|\.awk|\.sh|\.ini|\.map|\.ld|\.[1-8]|meson\.build|meson_options\.txt|Makefile)$/))
		bad(name, "no SPDX-License-Identifier in the first three lines")
}

function bad(where, text) {
	print where ": " text
	failed = 1
}

FNR == 1 {
	finish()
	name = FILENAME
	spdx = 0
	script = /^#!/
}

FNR <= 3 && /SPDX-License-Identifier: MIT/ { spdx = 1 }

/(^|[^A-Za-z0-9_.*}-])\/(home|root|work|Users|mnt|media)\// {
	bad(FILENAME ":" FNR, "a path of a machine")
}
/\r$/ { bad(FILENAME ":" FNR, "a carriage return") }
# An empty line of context is a space in a patch.
/[ \t]$/ && FILENAME !~ /\.patch$/ { bad(FILENAME ":" FNR, "white space at the end of the line") }

END {
	finish()
	exit failed
}
