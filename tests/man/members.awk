# SPDX-License-Identifier: MIT
# Print the public members of the classes in the parts of weir/semaphore.hpp, one per
# line, as "class::member", and each class itself as "class".
/^namespace detail/ { detail = 1 }
/^} \/\* namespace detail/ { detail = 0 }
detail { next }
/^class .*;$/ { next }
/^class / {
	name = $0
	sub(/^class (\[\[nodiscard\]\] )?/, "", name)
	sub(/[ :{].*/, "", name)
	public = 0
	# The awaitable is used through co_await only, the category through error.
	if (name !~ /_$|_awaiter$/)
		print name
}
/^public:/ { public = name !~ /_$|_awaiter$/ }
/^private:|^};/ { public = 0 }
public && /^\t[a-z].*\(/ && !/ = delete|operator|\tusing/ {
	line = $0
	sub(/\(.*/, "", line)
	sub(/.*[^a-z_]/, "", line)
	if (line != "" && line != name)
		print name "::" line
}
