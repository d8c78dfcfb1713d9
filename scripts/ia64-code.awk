# SPDX-License-Identifier: GPL-2.0
# Reads "objdump -dr --no-show-raw-insn" of an ia64 object and looks at the instructions that the fix
# is about; scripts/ia64 calls it with check=limit or check=caller. Prints one line for each thing
# that it found to be so. What is not so is one line on stderr, and status 1.
#
# It follows what registers hold along all ways through the function. A store, or a branch that
# matters, is accepted only where that is known, so other code from another compiler may be refused.
#
#	limit	percpu_ratelimit_allow(): where each store goes; which side of the test of the CPU's
#		memory of a full window goes without the shared line; what is returned without a
#		successful exchange. Not shown: the arithmetic of the word and the count that is
#		returned, that the exchange expects the word looked at, the test of the count against
#		the burst, and the load of jiffies, which has a line of its own to share.
#	caller	handle_fpu_swa(): all that a task can come to that has asked for silence. Not shown:
#		that the word of the task whose bit is tested is thread.flags (its offset is printed),
#		what the functions do that are called, and that the messages are the right ones.

BEGIN {
	name = check == "limit" ? "percpu_ratelimit_allow" : "handle_fpu_swa"
	# The limit's word and what goes with it have a cache line of their own, the first.
	LINE = 128
	OWN = 24		# size of the CPU's own part
	SILENT_BIT = 6		# IA64_THREAD_FPEMU_NOPRINT
	# What the base calls for everybody, besides the firmware's handler.
	CALLS = " __copy_user ia64_increment_ip force_sig_fault printk _printk "
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
	if (op[n] == "alloc") {
		split(args[n], field, ",")
		locals = field[3]
	}
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
	return op[i] ~ /^(brl?|f?chkf?)(\.|$)/ && !is_call(i) && !is_return(i)
}

function flow(	i, to) {
	for (i = 1; i <= n; i++) {
		succs[i] = 0
		if (op[i] ~ /^br\.[cw](top|exit)/)
			wrong("renames registers at " addr[i])
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

# ---- what registers hold: state[i] is "r32=rl:0 r18=rl:128 ", before i; what is not there is unknown ----
#
#	rl:N own:N stack:N current:N	an address in the shared struct, in the CPU's own part of it, in
#			the stack, in the task; N is "?" where it is not one number
#	cpu:N &offset offset:N	the struct's pointer to the own part, where the CPU's offset is and
#			that itself; own is the sum of the two
#	flags:N		a word of the task
#	word old	the limit's word as loaded, and as the exchange found it
#	closed deadline	the CPU's memory of a full window, without its count
#	&jiffies now now<<8 left	left is now<<8 - deadline, negative while the window is closed
#	full open, never seen, won lost, silent loud	predicates that are set in that case
#	a number	itself
#
# All but rl are so on every way here; rl is so on one at least, and goes on to whatever is computed
# from it.

function value(state, reg,	f, i, k) {
	if (reg == "r0")
		return "0"
	if (reg ~ /^-?[0-9]+$/)
		return reg
	k = split(state, f, " ")
	for (i = 1; i <= k; i++)
		if (index(f[i], reg "=") == 1)
			return substr(f[i], length(reg) + 2)
	return ""
}

function set(state, reg, new,	f, i, k, out) {
	k = split(state, f, " ")
	out = ""
	for (i = 1; i <= k; i++)
		if (index(f[i], reg "=") != 1)
			out = out f[i] " "
	return new == "" ? out : out reg "=" new " "
}

function kind(v) {
	sub(/:.*/, "", v)
	return v
}

function place(v) {
	sub(/.*:/, "", v)
	return v
}

# What is either a or b.
function join(a, b) {
	if (a == b)
		return a
	if (kind(a) == "rl" || kind(b) == "rl")
		return "rl:?"
	if (a ~ /:/ && kind(a) == kind(b))
		return kind(a) ":?"
	return a b ~ /^(oldword|wordold)$/ ? "word" : ""
}

# The order stays unless something changes, so that follow() sees when it is done.
function merge(a, b,	f, i, k, reg, new) {
	k = split(a b, f, " ")
	for (i = 1; i <= k; i++) {
		reg = f[i]
		sub(/=.*/, "", reg)
		new = join(value(a, reg), value(b, reg))
		if (new != value(a, reg))
			a = set(a, reg, new)
	}
	return a
}

function sum(a, b,	n) {
	if (a ~ /^-?[0-9]+$/) {
		n = a
		a = b
		b = n
	}
	n = place(a) == "?" || place(b) == "?" ? "?" : place(a) + place(b)
	if (b ~ /^-?[0-9]+$/)
		return a ~ /:/ ? kind(a) ":" n : a ~ /^-?[0-9]+$/ ? n "" : ""
	if (kind(a) kind(b) ~ /^(cpuoffset|offsetcpu)$/)
		return "own:" n
	return kind(a) == "rl" || kind(b) == "rl" ? "rl:?" : ""
}

function is_atomic(i) {
	return op[i] ~ /^(xchg|cmpxchg|fetchadd)/
}

# Also what takes a line away from the others without writing it.
function is_store(i) {
	return op[i] ~ /^(st[1248f]|st16|lfetch.*excl|fc)/ || is_atomic(i)
}

function is_access(i) {
	return is_store(i) || op[i] ~ /^(ld[1248f]|ld16|lfetch)/
}

# The register of the address.
function address(i,	a) {
	a = args[i]
	if (op[i] !~ /^fc/ && (!sub(/.*\[/, "", a) || !sub(/\].*/, "", a)))
		wrong("no address at " addr[i] ": " op[i] " " args[i])
	return a
}

function loaded(i, at) {
	if (op[i] == "cmpxchg8.acq" && at == "rl:0")
		return "old"
	if (is_store(i))
		return ""
	if (kind(at) == "current")
		return "flags:" place(at)
	if (op[i] !~ /^ld8/)
		return ""
	if (symbol[addr[i]] == "jiffies")
		return "&jiffies"
	return at == "rl:0" ? "word" : at == "rl:128" ? "cpu:0" : at == "&offset" ? "offset:0" : \
		at == "own:0" ? "closed" : at == "&jiffies" ? "now" : ""
}

# computed(i, a, b, k): from k operands, the first two of which hold a and b.
function computed(i, a, b, k) {
	if (symbol[addr[i]] != "")
		return op[i] == "mov" && symbol[addr[i]] == "local_per_cpu_offset" ? "&offset" : ""
	if (op[i] == "mov" && k == 1)
		return a
	if (op[i] ~ /^add[sl]?$/ && k == 2)
		return sum(a, b)
	if (op[i] == "shl" && a == "now" && b == "8")
		return "now<<8"
	if (op[i] == "and" && a b ~ /^(-256closed|closed-256)$/)
		return "deadline"
	return op[i] == "sub" && a == "now<<8" && b == "deadline" && k == 2 ? "left" : ""
}

# The two predicates of a comparison.
function compared(i, a, b) {
	delete tested[i]
	if (pred[i] != "")
		return ""
	if (op[i] == "cmp.lt" && a == "left" && b == "0")
		return "full open"
	if (op[i] == "cmp.eq" && a b ~ /^(oldword|wordold)$/)
		return "won lost"
	if (op[i] == "cmp.eq" && a b ~ /^(0closed|closed0)$/)
		return "never seen"
	if (op[i] ~ /^tbit\.n?z$/ && a ~ /^flags:[0-9]+$/ && b == SILENT_BIT) {
		tested[i] = place(a)
		return op[i] == "tbit.z" ? "loud silent" : "silent loud"
	}
	return ""
}

# What a call leaves: registers that are the caller's to keep.
function after_call(state,	f, i, k, reg, out) {
	k = split(state, f, " ")
	out = ""
	for (i = 1; i <= k; i++) {
		reg = f[i]
		sub(/=.*/, "", reg)
		if (reg ~ /^r([4-7]|1[23])$/ || (sub(/^r/, "", reg) && reg + 0 >= 32 && reg + 0 < 32 + locals))
			out = out f[i] " "
	}
	return out
}

function step(i, state,	old, eq, dest, source, f, v, d, j, k, base, followed, new) {
	if (is_call(i))
		return after_call(state)
	old = state
	eq = index(args[i], "=")
	dest = eq ? substr(args[i], 1, eq - 1) : ""
	source = substr(args[i], eq + 1)
	if (is_access(i)) {
		base = address(i)
		sub(/^\[[^]]*\],?/, "", source)
	}
	k = split(source, f, ",")
	for (j = 1; j <= k; j++) {
		v[j] = value(old, f[j])
		if (kind(v[j]) == "rl")
			followed = 1
	}
	if (base != "") {
		if (followed)
			wrong("the address of the struct is stored at " addr[i])
		new = loaded(i, value(old, base))
		# The address moves on by what stands behind it; of a store that is behind the value.
		j = op[i] ~ /^st/ ? 2 : 1
		if (!is_atomic(i) && k >= j)
			state = set(state, base, sum(value(old, base), v[j]))
	} else {
		new = computed(i, v[1], v[2], k)
		if (new == "" && followed)
			new = "rl:?"
	}
	if (dest ~ /^\[/)
		return state
	if (dest ~ /^pr/)
		wrong("all predicates are written at " addr[i])
	if (dest ~ /^p/)
		split(compared(i, v[1], v[2]), v, " ")
	k = split(dest, d, ",")
	for (j = 1; j <= k; j++) {
		if (d[j] !~ /^r/ && followed)
			wrong("the address of the struct goes to " d[j] " at " addr[i])
		if (d[j] ~ /^p/)
			state = set(state, d[j], v[j])
		else if (d[j] ~ /^r/)
			state = set(state, d[j], pred[i] == "" ? new : join(value(old, d[j]), new))
	}
	return state
}

# follow(start): from the state at the entry to state[] of all that can be reached, which is seen[].
# The way from i to cut[i] is not gone.
function follow(start,	i, j, out, to, merged, changed) {
	split("", seen)
	state[1] = start
	seen[1]
	do {
		changed = 0
		for (i = 1; i <= n; i++) {
			if (!(i in seen))
				continue
			if (!succs[i] && !is_return(i))
				wrong("runs off its end at " addr[i])
			out = step(i, state[i])
			for (j = 1; j <= succs[i]; j++) {
				to = succ[i, j]
				if (i in cut && cut[i] == to)
					continue
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
			if (!(to in found) && !(to in blocked) && !(i in cut && cut[i] == to)) {
				found[to]
				came[to] = i
				queue[++tail] = to
			}
		}
	}
}

# fork(yes, no, what): the only branch on such a predicate; to[yes] and to[no] are where it goes.
function fork(yes, no, what,	i, v, found) {
	for (i = 1; i <= n; i++) {
		if (!(i in seen) || !is_branch(i))
			continue
		v = value(state[i], pred[i])
		if (v != yes && v != no)
			continue
		if (found || target[i] == i + 1)
			wrong("more than one branch on " what)
		found = i
		to[v] = target[i]
		to[v == yes ? no : yes] = i + 1
	}
	if (!found)
		wrong("no branch on " what)
	return found
}

# ---- the checks ----

function check_limit(	i, j, at, exchange, own, shared, none, found, full, first, won, path, reads, words, stores) {
	for (i = 1; i <= n; i++)
		if (is_call(i))
			wrong("calls something at " addr[i])
	follow("r32=rl:0 ")
	for (i = 1; i <= n; i++) {
		if (!(i in seen) || !is_access(i))
			continue
		at = value(state[i], address(i))
		if (kind(at) == "rl" && (place(at) == "?" || place(at) + 0 < LINE))
			shared[i]
		if (!is_store(i))
			continue
		if (op[i] == "cmpxchg8.acq" && at == "rl:0") {
			if (exchange)
				wrong("two exchanges, at " addr[exchange] " and " addr[i])
			exchange = i
		} else if (kind(at) == "rl")
			wrong(op[i] " at " addr[i] " can write the shared struct, at offset " place(at))
		else if (is_atomic(i))
			wrong(op[i] " at " addr[i] " is another atomic instruction")
		else if (at !~ /^own:[0-9]+$/ || place(at) + 0 >= OWN)
			wrong(op[i] " at " addr[i] " is not known to go to this CPU's part")
		else
			own++
	}
	if (!exchange)
		wrong("does not write the shared word")
	print name ": of " own + 1 " stores one goes to the shared struct, cmpxchg8.acq to its word, and " own + 0 \
		" to this CPU's part of it"

	full = fork("full", "open", "the end of the window that this CPU saw full")
	first = fork("never", "seen", "whether this CPU saw one full")
	cut[full] = to["full"]
	reach(1, shared, found)
	for (i in found)
		if (is_return(i))
			wrong("returns at " addr[i] " without a look at the word, nor having seen the window full")
	cut[full] = to["open"]
	cut[first] = to["never"]
	reach(1, none, found)
	for (i in shared)
		if (i in found)
			wrong("a window seen full does not keep from the shared line at " addr[i])
	for (i = 1; i <= n; i++)
		if (i in found) {
			at = is_access(i) ? value(state[i], address(i)) : ""
			if (kind(at) == "rl" && !(at in words)) {
				words[at]
				reads++
			}
			if (is_store(i))
				stores++
			if (is_return(i) && !path)
				for (j = i; j; j = j == 1 ? 0 : came[j])
					path++
		}

	won = fork("won", "lost", "the success of the exchange")
	split("", cut)
	cut[won] = to["won"]
	follow("r32=rl:0 ")
	for (i = 1; i <= n; i++)
		if (i in seen && is_return(i) && value(state[i], "r8") != "0")
			wrong("can return at " addr[i] " something else than 0 without a successful exchange")
	print name ": without a successful exchange all returns give 0"
	print name ": closed window: the branch at " addr[full] ", " path " instructions, " stores + 0 " store" \
		(stores == 1 ? "" : "s") ", of the shared struct only " reads + 0 " word" (reads == 1 ? "" : "s") \
		" of its read-only line read"
}

# All that a task can come to that asked for silence: whatever is not behind the other side of the test.
function check_caller(	i, call, test, fork_at, none, found, handler, called, f, start) {
	start = "r12=stack:0 r13=current:0 "
	for (i = 1; i <= n; i++)
		if (is_call(i) && symbol[addr[i]] == "percpu_ratelimit_allow")
			call = call ? -1 : i
	if (!call || call < 0)
		wrong("does not call percpu_ratelimit_allow() in one place")
	follow(start)
	for (i in tested)
		test = test ? -1 : i
	if (!test || test < 0)
		wrong("does not test IA64_THREAD_FPEMU_NOPRINT in one place")
	fork_at = fork("silent", "loud", "IA64_THREAD_FPEMU_NOPRINT as tested at " addr[test])
	reach(to["loud"], none, found)
	if (!(call in found))
		wrong("percpu_ratelimit_allow() is not called by who did not ask for silence")

	cut[fork_at] = to["loud"]
	follow(start)
	for (i = 1; i <= n; i++) {
		if (!(i in seen))
			continue
		if (is_atomic(i))
			wrong("who asked for silence can come to " op[i] " at " addr[i])
		if (is_store(i) && kind(value(state[i], address(i))) != "stack")
			wrong("who asked for silence can come to " op[i] " at " addr[i] ", which is not known to go to the stack")
		if (!is_call(i))
			continue
		if (args[i] ~ /=b[0-7]$/ && symbol[addr[i]] == "") {
			if (handler)
				wrong("calls through a register at " addr[handler] " and at " addr[i])
			handler = i
		} else if (!index(CALLS, " " symbol[addr[i]] " "))
			wrong("who asked for silence can come to the call of " symbol[addr[i]] " at " addr[i])
		else if (!index(called, " " symbol[addr[i]]))
			called = called " " symbol[addr[i]]
	}
	if (!handler)
		wrong("who asked for silence does not come to the firmware's handler")
	# The base prints only in place of going on.
	for (i = 1; i <= n; i++)
		if (i in seen && is_call(i) && symbol[addr[i]] ~ /printk$/) {
			reach(i, none, found)
			if (handler in found)
				wrong("who asked for silence can come to " symbol[addr[i]] " at " addr[i] " and go on")
		}
	print name ": with bit " SILENT_BIT " set in the word at current+" tested[test] ", the branch at " addr[fork_at] \
		" goes past the call of percpu_ratelimit_allow() at " addr[call]
	print name ": from its entry to its end such a task comes to no atomic instruction, stores only to the stack," \
		" and calls only the firmware and" called
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
