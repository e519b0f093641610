# SPDX-License-Identifier: MIT
# Shared by the lints: C text apart from its comments.  POSIX awk; give it before
# the lint, `awk -f strip.awk -f seam.awk FILE...`.
#
# strip(line) returns the code of a line, comments gone and the insides of strings
# and character constants blanked; what the comments said is in `remark`.  A
# comment that runs over several lines is followed from call to call, so call it
# for every line, in order.
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
			if (c == "\\")
				i++
			else if (c == quote) {
				quote = ""
				code = code c
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
