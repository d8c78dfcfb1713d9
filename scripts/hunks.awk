# SPDX-License-Identifier: GPL-2.0
# Rewrites the section of a hook for one file so that it makes another edit, hunk by hunk: a hunk that
# says the same stays as it is, and one that changed keeps its extent. A hunk that was cut short so that
# it goes on every base must not grow lines that only one base has.
#
#	pre	the file before the edit
#	edit	git diff -U0 of the edit wanted
#	applied	what git apply -v said of the section on pre: the offsets of its hunks
#	section	the section as it is
#
# Line numbers are those of pre. An insertion has no line of its own: it lies between last and first.

function max(a, b) { return a > b ? a : b }
function min(a, b) { return a < b ? a : b }

# "@@ -5,2 +6 @@" sets old, old_len, new, new_len.
function header(l,	w, o, n) {
	split(l, w, " ")
	old = substr(w[2], 2)
	new = substr(w[3], 2)
	old_len = split(old, o, ",") > 1 ? o[2] : 1
	new_len = split(new, n, ",") > 1 ? n[2] : 1
	old = o[1] + 0
	new = n[1] + 0
}

function add_range(from, to,	i) {
	for (i = ++ranges; i > 1 && start[i - 1] > from; i--) {
		start[i] = start[i - 1]
		end[i] = end[i - 1]
	}
	start[i] = from
	end[i] = to
}

function inside(e,	r) {
	for (r = 1; r <= hook_ranges; r++)
		if ((first[e] > own_start[r] || own_start[r] <= 1) && last[e] <= own_end[r] &&
		    (last[e] < own_end[r] || own_end[r] == lines))
			return 1
	return 0
}

# A block that begins or ends like its surroundings can be put in one line up or down with the same
# result: dir is -1 or 1.
function slide(e, dir,	i, n, l) {
	n = added_lines[e]
	if (last[e] >= first[e] || !n)
		return 0
	l = dir < 0 ? last[e] : first[e]
	if (l < 1 || l > lines || (dir < 0 ? l <= last[e - 1] : e < edits && l >= first[e + 1]) ||
	    line[l] != added[e, dir < 0 ? n : 1])
		return 0
	if (dir < 0)
		for (i = n; i > 1; i--)
			added[e, i] = added[e, i - 1]
	else
		for (i = 1; i < n; i++)
			added[e, i] = added[e, i + 1]
	added[e, dir < 0 ? 1 : n] = line[l]
	first[e] += dir
	last[e] += dir
	return 1
}

BEGIN {
	while ((getline l <pre) > 0)
		line[++lines] = l

	while ((getline l <edit) > 0) {
		if (l ~ /^@@ -/) {
			header(l)
			first[++edits] = old + (old_len == 0)
			last[edits] = first[edits] + old_len - 1
		} else if (edits && l ~ /^\+/) {
			added[edits, ++added_lines[edits]] = substr(l, 2)
		}
	}

	while ((getline l <applied) > 0)
		if (split(l, w, /[ #]+/) > 6 && w[1] == "Hunk" && w[3] == "succeeded")
			offset[w[2]] = substr(l, index(l, "(offset ") + 8) + 0

	# git counts a hunk's place in the file with the hunks above already in.
	while ((getline l <section) > 0) {
		if (l ~ /^@@ -/) {
			header(l)
			at = new + offset[++hunks] - grown
			grown += new_len - old_len
			add_range(at, at + old_len - 1)
			place[hunks] = at " " at + old_len - 1
			title[hunks] = l
		} else if (!hunks) {
			print l
		} else {
			text[hunks] = text[hunks] l "\n"
			if (l !~ /^-/)
				result[hunks] = result[hunks] substr(l, 2) "\n"
		}
	}

	# An edit outside of all hunks, or with no context left on a side, gets three lines of it.
	hook_ranges = ranges
	for (r = 1; r <= ranges; r++) {
		own_start[r] = start[r]
		own_end[r] = end[r]
	}
	for (e = 1; e <= edits; e++) {
		n = 0
		while (!inside(e) && slide(e, -1))
			n++
		if (!inside(e))
			for (; n > 0; n--)
				slide(e, 1)
		while (!inside(e) && slide(e, 1))
			n++
		if (!inside(e)) {
			for (; n > 0; n--)
				slide(e, -1)
			add_range(max(1, first[e] - 3), min(lines, last[e] + 3))
		}
	}

	grown = 0
	e = 1
	for (r = 1; r <= ranges; r++) {
		from = start[r]
		to = end[r]
		for (; r < ranges && start[r + 1] <= to; r++)
			to = max(to, end[r + 1])

		body = after = ""
		n = from
		old_len = new_len = to - from + 1
		changed = 0
		for (; e <= edits && last[e] <= to; e++) {
			for (; n < first[e]; n++) {
				body = body " " line[n] "\n"
				after = after line[n] "\n"
			}
			for (; n <= last[e]; n++)
				body = body "-" line[n] "\n"
			for (i = 1; i <= added_lines[e]; i++) {
				body = body "+" added[e, i] "\n"
				after = after added[e, i] "\n"
			}
			new_len += added_lines[e] - (last[e] - first[e] + 1)
			changed = 1
		}
		if (!changed)
			continue
		for (; n <= to; n++) {
			body = body " " line[n] "\n"
			after = after line[n] "\n"
		}

		head = "@@ -" from "," old_len " +" from + grown "," new_len " @@"
		grown += new_len - old_len
		for (h = 1; h <= hunks; h++)
			if (place[h] == from " " to && result[h] == after) {
				head = title[h]
				body = text[h]
			}
		printf "%s\n%s", head, body
	}
}
