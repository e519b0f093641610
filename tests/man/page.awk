# SPDX-License-Identifier: MIT
# Print the names that occur in manual pages, one per line, as "kind page name":
#
#   name       an entry of the NAME section
#   synopsis   a function of the SYNOPSIS section, in the form of header.awk
#   described  a function mentioned in DESCRIPTION or a later section
#   function   anything marked up as a function or a page of functions of weir
#   constant   anything marked up as a constant or an error of weir
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
section == "NAME" && page ~ /3$/ && /^\.Nm / { emit("name", word($2)) }
behind && /^\.Fn / { emit("described", word($2)) }
/^\.(Fn|Fo|Nm) weir_/ { emit("function", word($2)) }
/^\.(It|Pq|Op) (Fn|Xr) weir_/ { emit("function", word($3)) }
/^\.Xr weir_[a-z0-9_]+ 3/ { emit("function", word($2)) }
!/^\.(Dt|Ev|It Ev) / {
	rest = $0
	while (match(rest, /WEIR_[A-Z0-9_]+/)) {
		emit("constant", substr(rest, RSTART, RLENGTH))
		rest = substr(rest, RSTART + RLENGTH)
	}
}
section != "SYNOPSIS" { next }
/^\.Ft / { type = substr($0, 5) }
/^\.Fn / { split_words(substr($0, 5)); show() }
/^\.Fo / { split_words(substr($0, 5)) }
/^\.Fa / { split_words(substr($0, 5), 1) }
/^\.Fc/ { show() }

function emit(kind, name) {
	print kind, page, name
}

function word(s) {
	match(s, /^[a-z0-9_]*/)
	return substr(s, 1, RLENGTH)
}

# Words are separated by spaces; a quoted word may contain spaces.
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
	emit("synopsis", s ")")
}
