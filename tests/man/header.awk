# SPDX-License-Identifier: MIT
# Print the public functions of C headers, one per line, as "type name(type arg,...)"
# without redundant spaces.  A name that ends in an underscore is private.
FNR == 1 { finish(); text = "" }
{ text = text $0 "\n" }
END { finish() }

function finish(    lines, n, i, code, skip) {
	while ((i = index(text, "/*")) > 0) {
		code = substr(text, i + 2)
		text = substr(text, 1, i - 1) " " \
			substr(code, index(code, "*/") + 2)
	}
	gsub(/\\\n/, " ", text)
	n = split(text, lines, "\n")
	code = ""
	skip = 0
	for (i = 1; i <= n; i++) {
		if (lines[i] ~ /^#[ \t]*if/ &&
		    (skip || lines[i] ~ /ifdef[ \t]+__cplusplus/))
			skip++
		else if (skip && lines[i] ~ /^#[ \t]*endif/)
			skip--
		else if (!skip && lines[i] !~ /^#/)
			code = code lines[i] " "
	}
	walk(code)
}

# A statement ends with a semicolon.  The bodies of functions and structs are
# skipped.
function walk(code,    i, c, depth, statement) {
	depth = 0
	statement = ""
	for (i = 1; i <= length(code); i++) {
		c = substr(code, i, 1)
		if (c == "{") {
			depth++
		} else if (c == "}") {
			depth--
			if (depth == 0 && declare(statement))
				statement = ""
		} else if (depth == 0 && c == ";") {
			declare(statement)
			statement = ""
		} else if (depth == 0) {
			statement = statement c
		}
	}
}

function declare(s) {
	gsub(/WEIR_(API|MUST_USE|DECLS_BEGIN|DECLS_END)/, " ", s)
	gsub(/[ \t]+/, " ", s)
	sub(/^ /, "", s)
	sub(/^static inline /, "", s)
	# "struct x" alone declares no function.  If a function returns a struct, then
	# its name follows.
	if (s ~ /^(typedef|enum|_Static_assert)/ || s ~ /^struct [a-z_]+ ?$/)
		return 0
	if (!match(s, /[a-z0-9_]+ ?\(/))
		return 0
	if (substr(s, RSTART, RLENGTH) ~ /_ ?\($/)
		return 1
	gsub(/ ?\* ?/, "*", s)
	gsub(/ ?\( ?/, "(", s)
	gsub(/ ?\) ?/, ")", s)
	gsub(/ ?, ?/, ",", s)
	print s
	return 1
}
