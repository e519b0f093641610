# SPDX-License-Identifier: MIT
# What manual pages say, one a line as "kind page what":
#
#   name       of its NAME
#   synopsis   a function of its SYNOPSIS, in the form of header.awk
#   described  a function that is spoken of in DESCRIPTION or behind it
#   function   whatever is called a function or a page of functions of weir's
#   constant   whatever is called a constant of weir's, or an error
FNR == 1 {
	page = FILENAME
	sub(/.*\//, "", page)
	section = ""
	behind = 0
}
/^\.Sh / {
	section = $2
	if (section == "DESCRIPTION")
		behind = 1
}
section == "NAME" && page ~ /3$/ && /^\.Nm / { say("name", word($2)) }
behind && /^\.Fn / { say("described", word($2)) }
/^\.(Fn|Fo|Nm) weir_/ { say("function", word($2)) }
/^\.(It|Pq|Op) (Fn|Xr) weir_/ { say("function", word($3)) }
/^\.Xr weir_[a-z0-9_]+ 3/ { say("function", word($2)) }
!/^\.(Dt|Ev|It Ev) / {
	rest = $0
	while (match(rest, /WEIR_[A-Z0-9_]+/)) {
		say("constant", substr(rest, RSTART, RLENGTH))
		rest = substr(rest, RSTART + RLENGTH)
	}
}
section != "SYNOPSIS" { next }
/^\.Ft / { type = substr($0, 5) }
/^\.Fn / { split_words(substr($0, 5)); show() }
/^\.Fo / { split_words(substr($0, 5)) }
/^\.Fa / { split_words(substr($0, 5), 1) }
/^\.Fc/ { show() }

function say(kind, what) {
	print kind, page, what
}

function word(s) {
	match(s, /^[a-z0-9_]*/)
	return substr(s, 1, RLENGTH)
}

# Words are separated by spaces, or quoted.
function split_words(s, more) {
	if (!more)
		words = 0
	while (match(s, /^ *("[^"]*"|[^ ]+)/)) {
		found = substr(s, RSTART, RLENGTH)
		s = substr(s, RSTART + RLENGTH)
		gsub(/^ *"?|"$/, "", found)
		word_at[++words] = found
	}
}

function show(    i, s) {
	s = type " " word_at[1] "("
	for (i = 2; i <= words; i++)
		s = s (i > 2 ? "," : "") word_at[i]
	gsub(/ ?\* ?/, "*", s)
	say("synopsis", s ")")
}
