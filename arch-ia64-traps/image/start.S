/* SPDX-License-Identifier: GPL-2.0 */
/* Where a program begins, and how it calls the kernel. */

	.text
	.explicit
	.align	32
	.global	_start
	.proc	_start
_start:
	alloc	r2 = ar.pfs, 0, 0, 1, 0
	/* All data is addressed from gp, which nobody has set: it is as far from here as linked. */
	movl	r3 = @gprel(here)
	;;
here:
	mov	r9 = ip
	/* Above the 16 bytes that a function may use at its caller's sp are argc, argv, envp. */
	adds	out0 = 16, sp
	;;
	sub	gp = r9, r3
	br.call.sptk.many rp = libc_start
	;;
	break	0
	.endp	_start

	/* long kernel_call(long nr, six arguments) */
	.align	32
	.global	kernel_call
	.proc	kernel_call
kernel_call:
	/* The kernel finds the arguments in the out registers, as a function would. */
	alloc	r2 = ar.pfs, 7, 1, 6, 0
	mov	r15 = in0
	mov	out0 = in1
	mov	out1 = in2
	mov	out2 = in3
	;;
	mov	out3 = in4
	mov	out4 = in5
	mov	out5 = in6
	mov	loc0 = r2
	;;
	break	0x100000
	;;
	/* On an error, r10 is -1 and r8 the positive number. */
	cmp.eq	p6, p0 = -1, r10
	mov	ar.pfs = loc0
	;;
(p6)	sub	r8 = r0, r8
	br.ret.sptk.many rp
	.endp	kernel_call
