# SPDX-License-Identifier: MIT
# Shared by the lints: separates C code from its comments.  POSIX awk; give it
# before the lint, `awk -f strip.awk -f seam.awk FILE...`.
#
# strip(line) returns the code of a line without its comments.  The contents of
# strings and character constants are blanked, unless keep_strings is set.  The text
# of the comments is in `remark`.  A comment may span lines, so the caller must pass
# every line of a file, in order.
function strip(line,    i, c, two, code, quote) {
	if (FNR == 1)
		in_comment_ = 0
	remark = ""
	code = ""
	quote = ""
	for (i = 1; i <= length(line); i++) {
		c = substr(line, i, 1)
		two = substr(line, i, 2)
		if (in_comment_) {
			if (two == "*/") {
				in_comment_ = 0
				code = code " "
				i++
			} else {
				remark = remark c
			}
		} else if (quote != "") {
			if (keep_strings || c == quote)
				code = code c
			if (c == "\\") {
				i++
				if (keep_strings)
					code = code substr(line, i, 1)
			} else if (c == quote) {
				quote = ""
			}
		} else if (two == "/*") {
			in_comment_ = 1
			remark = remark " "
			i++
		} else if (two == "//") {
			remark = remark substr(line, i + 2)
			break
		} else {
			if (c == "\"" || c == "'")
				quote = c
			code = code c
		}
	}
	return code
}

function bad(where, text) {
	print where ": " text
	failed = 1
}
