/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The part of the loader that C cannot say: where EFI enters, how a function of the firmware is
 * called, instruction caches, the jump into Linux; and the files that the loader carries.
 */

	/*
	 * What the PE header names as entry: a function descriptor. These are the only two addresses
	 * in the whole image, and .reloc tells the firmware to add to them what it moved us by.
	 */
	.section .descriptor, "aw", @progbits
	.align	4096
	.global	loader_descriptor
loader_descriptor:
	data8	loader_entry
	data8	__gp

	.section .reloc, "aw", @progbits
	.align	4096
	/* One block: its page, its size, and an entry for each address, type 10 (64 bits). */
	data4	loader_descriptor
	data4	12
	data2	(10 << 12) + 0
	data2	(10 << 12) + 8

	.text
	.explicit
	/* u64 loader_entry(handle, system table) */
	.align	32
	.global	loader_entry
	.proc	loader_entry
loader_entry:
	alloc	loc0 = ar.pfs, 2, 4, 2, 0
	mov	loc1 = rp
	mov	loc2 = gp
	/* As good as the descriptor's, and also right where a firmware forgot to relocate it. */
	movl	loc3 = @gprel(here)
	;;
here:
	mov	r9 = ip
	mov	out0 = in0
	mov	out1 = in1
	;;
	sub	gp = r9, loc3
	br.call.sptk.many rp = loader_main
	;;
	mov	gp = loc2
	mov	rp = loc1
	mov	ar.pfs = loc0
	;;
	br.ret.sptk.many rp
	.endp	loader_entry

	/* u64 efi_call(descriptor, five arguments) */
	.align	32
	.global	efi_call
	.proc	efi_call
efi_call:
	alloc	loc0 = ar.pfs, 6, 3, 5, 0
	mov	loc1 = rp
	mov	loc2 = gp
	ld8	r14 = [in0], 8
	mov	out0 = in1
	mov	out1 = in2
	;;
	ld8	gp = [in0]
	mov	b6 = r14
	mov	out2 = in3
	mov	out3 = in4
	mov	out4 = in5
	;;
	br.call.sptk.many rp = b6
	;;
	mov	gp = loc2
	mov	rp = loc1
	mov	ar.pfs = loc0
	;;
	br.ret.sptk.many rp
	.endp	efi_call

	/* void flush_icache(at, size); a line has 32 bytes at least */
	.align	32
	.global	flush_icache
	.proc	flush_icache
flush_icache:
	alloc	r2 = ar.pfs, 2, 0, 0, 0
	add	r14 = in0, in1
	;;
1:	fc.i	in0
	adds	in0 = 32, in0
	;;
	cmp.ltu	p6, p0 = in0, r14
(p6)	br.cond.sptk.few 1b
	;;
	sync.i
	;;
	srlz.i
	;;
	br.ret.sptk.many rp
	.endp	flush_icache

	/* void start_kernel(entry, param); Linux expects param in r28, and no interrupts */
	.align	32
	.global	start_kernel
	.proc	start_kernel
start_kernel:
	alloc	r2 = ar.pfs, 2, 0, 0, 0
	rsm	psr.i
	;;
	srlz.d
	mov	r28 = in1
	mov	b6 = in0
	;;
	br.cond.sptk.few b6
	.endp	start_kernel

	/* const u8 *<file>_start(void), u64 <file>_size(void) */
	.macro	embed file, path
	.text
	.align	32
	.global	\file\()_start
	.proc	\file\()_start
\file\()_start:
	movl	r8 = @gprel(\file\()_data)
	;;
	add	r8 = gp, r8
	br.ret.sptk.many rp
	.endp	\file\()_start

	.align	32
	.global	\file\()_size
	.proc	\file\()_size
\file\()_size:
	movl	r8 = \file\()_end - \file\()_data
	br.ret.sptk.many rp
	.endp	\file\()_size

	/* Aligned, so that it is copied by words. */
	.section .files, "aw", @progbits
	.align	4096
\file\()_data:
	.incbin	"\path"
\file\()_end:
	.endm

	embed	kernel, "kernel"
	embed	initrd, "initrd"
	embed	cmdline, "cmdline"
