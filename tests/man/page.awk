# SPDX-License-Identifier: MIT
# The functions of a manual page's SYNOPSIS, in the form of header.awk.
/^\.Sh / { synopsis = ($2 == "SYNOPSIS") }
!synopsis { next }
/^\.Ft / { type = substr($0, 5) }
/^\.Fn / { split_words(substr($0, 5)); show(1) }
/^\.Fo / { split_words(substr($0, 5)) }
/^\.Fa / { split_words(substr($0, 5), 1) }
/^\.Fc/ { show() }

# Words are separated by spaces, or quoted.
function split_words(s, more) {
	if (!more)
		words = 0
	while (match(s, /^ *("[^"]*"|[^ ]+)/)) {
		word = substr(s, RSTART, RLENGTH)
		s = substr(s, RSTART + RLENGTH)
		gsub(/^ *"?|"$/, "", word)
		word_at[++words] = word
	}
}

function show(    i, s) {
	s = type " " word_at[1] "("
	for (i = 2; i <= words; i++)
		s = s (i > 2 ? "," : "") word_at[i]
	gsub(/ ?\* ?/, "*", s)
	print s ")"
}
