# SPDX-License-Identifier: GPL-2.0
# Reads "objdump -dr --no-show-raw-insn" of an ia64 object and looks at the instructions that the fix
# is about; scripts/ia64 calls it with check=limit or check=caller. Prints one line for each thing
# that it found to be so. What is not so is one line on stderr, and status 1.
#
#	limit	percpu_ratelimit_allow(): which stores can go to the struct that all CPUs share. A
#		register is followed from r32, the argument, through everything that computes with it;
#		what is loaded from memory is another address (that of the CPU's own part).
#	caller	handle_fpu_swa(): what can be reached when the task asked for silence

BEGIN {
	name = check == "limit" ? "percpu_ratelimit_allow" : "handle_fpu_swa"
	# The limit's word and what goes with it have a cache line of their own, the first.
	LINE = 128
	SILENT_BIT = 6		# IA64_THREAD_FPEMU_NOPRINT
}

function wrong(why) {
	if (!failed)
		print "ia64: " name ": " why >"/dev/stderr"
	failed = 1
	exit 1
}

# ---- reading ----

/^[0-9a-f]+ <.*>:$/ {
	within = $2 == "<" name ">:"
	# Cold parts are functions of their own to the disassembler.
	if (index($2, "<" name ".") == 1)
		wrong("has a part elsewhere: " $2)
	next
}

!within { next }

/^\t\t\t/ {
	# The last digit is the slot of the bundle.
	at = $1
	sub(/:$/, "", at)
	slot = substr(at, length(at))
	symbol[substr(at, 1, length(at) - 1) (slot == 0 ? "0" : slot == 1 ? "6" : "c")] = $3
	next
}

/^ *[0-9a-f]+:/ {
	line = $0
	sub(/^ */, "", line)
	n++
	addr[n] = line
	sub(/:.*/, "", addr[n])
	number[addr[n]] = n
	sub(/^[0-9a-f]+:[ \t]*/, "", line)
	sub(/^\[[A-Z]+\][ \t]*/, "", line)
	sub(/[ \t]*;;[ \t]*$/, "", line)
	sub(/[ \t]*<.*/, "", line)
	pred[n] = ""
	if (line ~ /^\(p[0-9]+\)/) {
		pred[n] = line
		sub(/\).*/, "", pred[n])
		sub(/^\(p0*/, "p", pred[n])
		sub(/^\(p[0-9]+\)[ \t]*/, "", line)
	}
	op[n] = line
	sub(/[ \t].*/, "", op[n])
	args[n] = line
	if (!sub(/^[^ \t]+[ \t]+/, "", args[n]))
		args[n] = ""
}

# ---- the flow of control: succ[i, 1..succs[i]] ----

function add(i, to) {
	if (to < 1 || to > n)
		wrong("leaves the function at " addr[i])
	succ[i, ++succs[i]] = to
}

function is_call(i) {
	return op[i] ~ /^brl?\.call/
}

function is_return(i) {
	return op[i] ~ /^br\.ret/
}

function is_branch(i) {
	return op[i] ~ /^(br|brl|chk)\./ && !is_call(i) && !is_return(i)
}

function flow(	i, to) {
	for (i = 1; i <= n; i++) {
		succs[i] = 0
		if (is_branch(i)) {
			to = args[i]
			sub(/.*,/, "", to)
			if (!(to in number))
				wrong("a branch to " args[i] " at " addr[i])
			target[i] = number[to]
			add(i, target[i])
		}
		# The last one may be filling behind a return.
		if (i < n && !(pred[i] == "" && (is_return(i) || op[i] ~ /^brl?\.(cond|few|many|sptk)/)))
			add(i, i + 1)
	}
}

# ---- registers that hold an address in the struct: state[i] is "r32=0 r18=128 ", before i ----

function offset(state, reg,	f, i, k) {
	k = split(state, f, " ")
	for (i = 1; i <= k; i++)
		if (index(f[i], reg "=") == 1)
			return substr(f[i], length(reg) + 2)
	return ""
}

function set(state, reg, value,	f, i, k, out) {
	k = split(state, f, " ")
	out = ""
	for (i = 1; i <= k; i++)
		if (index(f[i], reg "=") != 1)
			out = out f[i] " "
	return value == "" ? out : out reg "=" value " "
}

# merge: all that either has; offsets that differ are "?".
function merge(a, b,	f, i, k, reg, old) {
	k = split(b, f, " ")
	for (i = 1; i <= k; i++) {
		reg = f[i]
		sub(/=.*/, "", reg)
		old = offset(a, reg)
		if (old == "")
			a = a f[i] " "
		else if (reg "=" old != f[i])
			a = set(a, reg, "?")
	}
	return a
}

function is_store(i) {
	return op[i] ~ /^(st[1248f]|st16|xchg|cmpxchg|fetchadd)/
}

function is_access(i) {
	return is_store(i) || op[i] ~ /^(ld[1248f]|ld16)/
}

# The register of the address.
function address(i,	a) {
	a = args[i]
	if (!sub(/.*\[/, "", a) || !sub(/\].*/, "", a))
		wrong("no address at " addr[i] ": " op[i] " " args[i])
	return a
}

function step(i, state,	eq, dest, source, f, k, j, value, base) {
	eq = index(args[i], "=")
	if (!eq)
		return state
	dest = substr(args[i], 1, eq - 1)
	source = substr(args[i], eq + 1)
	if (is_access(i)) {
		base = address(i)
		value = offset(state, base)
		# The address moves on by what stands behind it; of a store that is behind the value.
		if (value != "" && (source ~ /\],-?[0-9]+$/ || (op[i] ~ /^st/ && source ~ /,-?[0-9]+$/)))
			state = set(state, base, "?")
		if (op[i] ~ /^st/ && (k = split(source, f, ",")) && offset(state, f[1]) != "")
			wrong("the address of the struct is stored at " addr[i])
		return dest ~ /^r[0-9]+$/ && pred[i] == "" ? set(state, dest, "") : state
	}
	if (dest !~ /^r[0-9]+$/)
		return state
	value = ""
	k = split(source, f, ",")
	for (j = 1; j <= k; j++)
		if (offset(state, f[j]) != "") {
			value = "?"
			base = offset(state, f[j])
			if (k == 1 && op[i] ~ /^mov/)
				value = base
			else if (k == 2 && op[i] ~ /^add[sl]?$/ && base != "?" && f[3 - j] ~ /^-?[0-9]+$/)
				value = base + f[3 - j]
		}
	if (pred[i] != "")
		return value == "" ? state : set(state, dest, "?")
	return set(state, dest, value)
}

function follow(	i, j, out, to, merged, changed) {
	state[1] = "r32=0 "
	seen[1]
	do {
		changed = 0
		for (i = 1; i <= n; i++) {
			if (!(i in seen))
				continue
			out = step(i, state[i])
			for (j = 1; j <= succs[i]; j++) {
				to = succ[i, j]
				merged = to in seen ? merge(state[to], out) : out
				if (!(to in seen) || merged != state[to]) {
					seen[to]
					state[to] = merged
					changed = 1
				}
			}
		}
	} while (changed)
}

# reach(from, blocked, found): all instructions that can come after from, itself included, but those
# that are blocked; came[] is the way back.
function reach(from, blocked, found,	queue, head, tail, i, j, to) {
	split("", found)
	split("", came)
	if (from in blocked)
		return
	queue[tail = 1] = from
	found[from]
	for (head = 1; head <= tail; head++) {
		i = queue[head]
		for (j = 1; j <= succs[i]; j++) {
			to = succ[i, j]
			if (!(to in found) && !(to in blocked)) {
				found[to]
				came[to] = i
				queue[++tail] = to
			}
		}
	}
}

# ---- the checks ----

function check_limit(	i, at, writers, own, what, blocked, found, end, path, reads, stores, zero) {
	follow()
	split("", blocked)
	for (i = 1; i <= n; i++) {
		if (!(i in seen))
			continue
		if (is_call(i))
			wrong("calls something at " addr[i])
		if (!is_access(i))
			continue
		at = offset(state[i], address(i))
		if (at != "" && (at == "?" || at + 0 < LINE))
			blocked[i]
		if (!is_store(i))
			continue
		if (at == "") {
			own++
			continue
		}
		writers++
		what = op[i]
		if (what != "cmpxchg8.acq" || at != "0")
			wrong(what " at " addr[i] " can write the shared struct, at offset " at)
	}
	if (writers != 1)
		wrong("writes the shared struct in " writers + 0 " places, not in one")
	print name ": of " own + writers " stores only one can go to the shared struct: " what " to its word"

	# What is left when nothing may touch the first line is the path of the closed window.
	reach(1, blocked, found)
	for (i = 1; i <= n; i++)
		if (i in found && is_return(i))
			end = i
	if (!end)
		wrong("there is no way to return without the shared line")
	for (i = end; i; i = i == 1 ? 0 : came[i]) {
		path++
		if (is_store(i))
			stores++
		if (is_access(i) && offset(state[i], address(i)) != "")
			reads++
		if (zero == "" && args[i] ~ /^r8=/)
			zero = args[i]
	}
	if (zero !~ /^r8=(r0|0)$/)
		wrong("the way without the shared line does not return 0, but " zero)
	print name ": closed window: " path " instructions, " stores + 0 " store" (stores == 1 ? "" : "s") \
		", of the shared struct only " reads + 0 " word" (reads == 1 ? "" : "s") " of its read-only line read"
}

function check_caller(	i, j, test, call, silent, loud, f, from, to, blocked, found, shared) {
	for (i = 1; i <= n; i++) {
		if (is_call(i) && symbol[addr[i]] == "percpu_ratelimit_allow")
			call = call ? -1 : i
		if (op[i] ~ /^tbit\.n?z/ && args[i] ~ "," SILENT_BIT "$")
			test = test ? -1 : i
	}
	if (!call || call < 0)
		wrong("does not call percpu_ratelimit_allow() in one place")
	if (!test || test < 0)
		wrong("does not test IA64_THREAD_FPEMU_NOPRINT in one place")
	split(args[test], f, /[,=]/)
	# tbit.z sets the first predicate if the bit is clear; silent is the one of a bit that is set.
	silent = op[test] ~ /^tbit\.z/ ? f[2] : f[1]
	loud = op[test] ~ /^tbit\.z/ ? f[1] : f[2]
	# The test itself blocks the way back to before it.
	blocked[test]
	for (i = test + 1; i <= n && !(is_branch(i) && (pred[i] == silent || pred[i] == loud)); i++)
		if (is_branch(i) || is_call(i) || is_return(i))
			wrong("the test at " addr[test] " is not followed by its branch")
	from = pred[i] == silent ? target[i] : i + 1
	to = pred[i] == silent ? i + 1 : target[i]
	reach(to, blocked, found)
	if (!(call in found))
		wrong("percpu_ratelimit_allow() is not called by who did not ask for silence")
	reach(from, blocked, found)
	if (call in found)
		wrong("who asked for silence can come from " addr[test] " to percpu_ratelimit_allow() at " addr[call])
	for (j in found)
		if (op[j] ~ /^(cmpxchg|fetchadd|xchg)/)
			wrong("who asked for silence can come from " addr[test] " to " op[j] " at " addr[j])
	print name ": with NOPRINT set, the branch at " addr[i] " goes past the call of percpu_ratelimit_allow() at " \
		addr[call] "; no atomic instruction can be reached"
}

END {
	if (failed)
		exit 1
	if (!n)
		wrong("no such function in the disassembly")
	flow()
	if (check == "limit")
		check_limit()
	else
		check_caller()
}
