// SPDX-License-Identifier: GPL-2.0
/*
 * A boot loader for one kernel: an EFI program for ia64 that has the kernel, its initramfs and its
 * command line inside and starts it. Made for the test image and no more than that needs.
 *
 * All is in one file because a program that EFI has loaded needs nothing further of EFI but memory:
 * no file system, device path or file that could be missing or of another build.
 *
 * EFI starts us in physical mode, so an address here is a physical one. It loads us anywhere; hence
 * all of this is addressed relative to gp (-mauto-pic), and no variable is initialised with an
 * address. Only the function descriptor of the entry has addresses, and a relocation for them.
 *
 * The host's test, loader_test.c, compiles this file as it is and plays the firmware.
 */
#include "loader.h"

/* What Linux maps with one translation register, and thus what it must lie in, kernel/head.S. */
#define KERNEL_PAGE	(64UL << 20)
/* Physical addresses have no region; the highest bit means "uncached" there. */
#define REGION_MASK	(7UL << 61)
#define MAX_BASES	1024	/* places to try for the kernel, 64 GiB */
#define MAX_EXITS	8
/* A page of the kernel is 64 KiB at most. */
#define LOW_PAGES	(0x10000 >> EFI_PAGE_SHIFT)
/* More descriptors than at the first look: our own allocations, and one of keep_low(). */
#define MORE_DESCRIPTORS	32

struct loader {
	void *image;		/* our handle */
	struct efi_system_table *systab;
	struct efi_boot_services *boot;

	struct ia64_boot_param *param;
	u64 entry;
	u64 fpswa;
	u64 map, map_room;
	u64 map_size, descriptor_size;
	u32 descriptor_version;
};

/* Built with -fno-tree-loop-distribute-patterns: there is no memcpy() that gcc could call. */
static void copy(u64 to, const void *from, u64 size)
{
	const u8 *f = from;
	u8 *t = (void *)to;

	while (size && ((to | (u64)f) & 7)) {
		*t++ = *f++;
		to++;
		size--;
	}
	for (; size >= 8; size -= 8, t += 8, f += 8)
		*(u64 *)t = *(const u64 *)f;
	while (size--)
		*t++ = *f++;
}

static void zero(u64 at, u64 size)
{
	u8 *t = (void *)at;

	while (size && (at & 7)) {
		*t++ = 0;
		at++;
		size--;
	}
	for (; size >= 8; size -= 8, t += 8)
		*(u64 *)t = 0;
	while (size--)
		*t++ = 0;
}

static void print(struct loader *l, const char *text)
{
	u16 wide[128];
	int n = 0;

	while (*text && n < 125)
		wide[n++] = *text++;
	wide[n++] = '\r';
	wide[n++] = '\n';
	wide[n] = 0;
	efi_call(l->systab->con_out->output_string, (u64)l->systab->con_out, (u64)wide, 0, 0, 0);
}

static u64 refuse(struct loader *l, u64 status, const char *why)
{
	print(l, why);
	return status;
}

/* What Linux gets must be "loader data": it looks for room of its own in all other kinds. */
static u64 allocate(struct loader *l, u64 kind, u64 pages, u64 *at)
{
	u64 status = efi_call(l->boot->allocate_pages, kind, EFI_LOADER_DATA, pages, (u64)at, 0);

	/* Page 0 is not for Linux, see keep_low(). It stays ours, so the next one is another. */
	if (status == EFI_SUCCESS && kind == EFI_ANY_PAGES && *at < LOW_PAGES << EFI_PAGE_SHIFT)
		status = efi_call(l->boot->allocate_pages, kind, EFI_LOADER_DATA,
				  pages + LOW_PAGES, (u64)at, 0);
	return status;
}

static u64 allocate_size(struct loader *l, u64 size, u64 *at)
{
	return allocate(l, EFI_ANY_PAGES, (size + EFI_PAGE_SIZE - 1) >> EFI_PAGE_SHIFT, at);
}

/* ---- the steps ---- */

/* The firmware's handler of assist faults; the kernel calls it at the address we pass on. */
static u64 find_fpswa(struct loader *l)
{
	/* c41b6531-97b9-11d3-9a29-0090273fc14d */
	u64 guid[2], size, interface = 0, handles[16];
	u64 i;

	guid[0] = 0x11d397b9c41b6531UL;
	guid[1] = 0x4dc13f279000299aUL;
	/* Not LocateProtocol(), which EFI before 1.10 does not have. */
	size = sizeof(handles);
	if (efi_call(l->boot->locate_handle, EFI_BY_PROTOCOL, (u64)guid, 0, (u64)&size,
		     (u64)handles) != EFI_SUCCESS)
		return 0;
	for (i = 0; i < size / sizeof(handles[0]); i++)
		if (efi_call(l->boot->handle_protocol, handles[i], (u64)guid, (u64)&interface,
			     0, 0) == EFI_SUCCESS && interface)
			return interface;
	return 0;
}

static const struct elf_phdr *segment(const struct elf_ehdr *e, int i)
{
	return (const struct elf_phdr *)((const u8 *)e + e->phoff) + i;
}

static u64 physical(u64 addr)
{
	return addr & ~REGION_MASK;
}

/*
 * Puts the kernel where it was linked to or, where that is taken (we may have been loaded there
 * ourselves), at the same offset in another 64 MiB: it finds out where it is from its own ip.
 */
static u64 place_kernel(struct loader *l, const char **why)
{
	const struct elf_ehdr *e = (const void *)kernel_start();
	u64 size = kernel_size(), low = ~0UL, high = 0, at, delta, pages, status;
	const struct elf_phdr *p;
	int i;

	*why = "loader: the kernel inside is not an ELF executable for ia64";
	if (size < sizeof(*e) || e->magic != ELF_MAGIC || e->class_data != ELF_CLASS64_LSB ||
	    e->type != ELF_ET_EXEC || e->machine != ELF_EM_IA_64 ||
	    e->phentsize != sizeof(*p) || e->phoff > size ||
	    e->phnum * sizeof(*p) > size - e->phoff)
		return EFI_LOAD_ERROR;
	for (i = 0; i < e->phnum; i++) {
		p = segment(e, i);
		if (p->type != ELF_PT_LOAD || !p->memsz)
			continue;
		if (p->filesz > p->memsz || p->offset > size || p->filesz > size - p->offset)
			return EFI_LOAD_ERROR;
		if (physical(p->paddr) < low)
			low = physical(p->paddr);
		if (physical(p->paddr) + p->memsz > high)
			high = physical(p->paddr) + p->memsz;
	}
	*why = "loader: the kernel inside does not fit in one 64 MiB page";
	if (low >= high || low / KERNEL_PAGE != (high - 1) / KERNEL_PAGE ||
	    physical(e->entry) < low || physical(e->entry) >= high)
		return EFI_LOAD_ERROR;

	*why = "loader: too little memory for the kernel";
	low &= ~(EFI_PAGE_SIZE - 1);
	pages = (high - low + EFI_PAGE_SIZE - 1) >> EFI_PAGE_SHIFT;
	at = low;
	status = allocate(l, EFI_AT_ADDRESS, pages, &at);
	for (i = 1; status != EFI_SUCCESS && i < MAX_BASES; i++) {
		at = i * KERNEL_PAGE + low % KERNEL_PAGE;
		status = allocate(l, EFI_AT_ADDRESS, pages, &at);
	}
	if (status != EFI_SUCCESS)
		return EFI_OUT_OF_RESOURCES;
	delta = at - low;

	for (i = 0; i < e->phnum; i++) {
		p = segment(e, i);
		if (p->type != ELF_PT_LOAD || !p->memsz)
			continue;
		copy(physical(p->paddr) + delta, (const u8 *)e + p->offset, p->filesz);
		zero(physical(p->paddr) + delta + p->filesz, p->memsz - p->filesz);
	}
	/* It was written as data and will be fetched as instructions. */
	flush_icache(at, high - low);
	l->entry = physical(e->entry) + delta;
	return EFI_SUCCESS;
}

static u64 place_initrd(struct loader *l)
{
	u64 at;

	if (allocate_size(l, initrd_size(), &at) != EFI_SUCCESS)
		return EFI_OUT_OF_RESOURCES;
	copy(at, initrd_start(), initrd_size());
	l->param->initrd_start = at;
	l->param->initrd_size = initrd_size();
	return EFI_SUCCESS;
}

static u64 place_param(struct loader *l)
{
	u64 at, size = cmdline_size(), room = sizeof(struct ia64_boot_param);

	if (size > COMMAND_LINE_SIZE - 1)
		size = COMMAND_LINE_SIZE - 1;
	if (allocate_size(l, room + size + 1, &at) != EFI_SUCCESS)
		return EFI_OUT_OF_RESOURCES;
	zero(at, room + size + 1);
	l->param = (struct ia64_boot_param *)at;
	copy(at + room, cmdline_start(), size);
	l->param->command_line = at + room;
	return EFI_SUCCESS;
}

static u64 map_get(struct loader *l, u64 *key)
{
	u64 status;

	/* One is left free for keep_low(). */
	l->map_size = l->map ? l->map_room - l->descriptor_size : 0;
	status = efi_call(l->boot->get_memory_map, (u64)&l->map_size, l->map, (u64)key,
			  (u64)&l->descriptor_size, (u64)&l->descriptor_version);
	return status;
}

static u64 map_allocate(struct loader *l)
{
	u64 key;

	if (map_get(l, &key) != EFI_BUFFER_TOO_SMALL || l->descriptor_size < sizeof(struct efi_md))
		return EFI_LOAD_ERROR;
	l->map_room = l->map_size + MORE_DESCRIPTORS * l->descriptor_size;
	return allocate_size(l, l->map_room, &l->map);
}

/*
 * The first try may well fail: an event handler of the firmware allocated something. What the key
 * stands for is read again then, and nothing else is called, since parts of the firmware may have
 * stopped already. For the same reason the map's room was not allocated here.
 */
static u64 leave_firmware(struct loader *l)
{
	u64 key, status = EFI_LOAD_ERROR;
	int i;

	for (i = 0; i < MAX_EXITS; i++) {
		status = map_get(l, &key);
		if (status != EFI_SUCCESS)
			break;
		status = efi_call(l->boot->exit_boot_services, (u64)l->image, key, 0, 0, 0);
		if (status == EFI_SUCCESS)
			break;
	}
	return status;
}

static bool given_to_linux(u32 type)
{
	return type == EFI_CONVENTIONAL || (type >= EFI_LOADER_CODE && type <= EFI_BOOT_DATA);
}

/*
 * Linux must not get physical page 0: it would hand it out, and takes its address for none. Cut off
 * as a piece of its own, with the same attributes: Linux takes only whole granules of 16 MiB, and a
 * hole here would cost it the rest of the first one.
 */
static void keep_low(struct loader *l)
{
	struct efi_md *md, *next;
	u64 at;

	for (at = l->map; at < l->map + l->map_size; at += l->descriptor_size) {
		md = (struct efi_md *)at;
		if (md->phys >> EFI_PAGE_SHIFT >= LOW_PAGES || !given_to_linux(md->type))
			continue;
		if ((md->phys >> EFI_PAGE_SHIFT) + md->pages > LOW_PAGES) {
			u64 pages = LOW_PAGES - (md->phys >> EFI_PAGE_SHIFT);
			u64 i;

			/* From the end, since the places overlap. */
			for (i = (l->map_size - (at - l->map)) / 8; i--;)
				((u64 *)(at + l->descriptor_size))[i] = ((u64 *)at)[i];
			l->map_size += l->descriptor_size;
			next = (struct efi_md *)(at + l->descriptor_size);
			next->phys += pages << EFI_PAGE_SHIFT;
			next->virt += pages << EFI_PAGE_SHIFT;
			next->pages -= pages;
			md->pages = pages;
		}
		md->type = EFI_RESERVED;
	}
}

/* Comes back only if Linux cannot be started. */
u64 loader_main(void *image, struct efi_system_table *systab)
{
	struct loader loader, *l = &loader;
	const char *why;
	u64 status;

	zero((u64)l, sizeof(*l));
	l->image = image;
	l->systab = systab;
	l->boot = systab->boot;
	print(l, "loader: Linux for the FPSWA test");

	l->fpswa = find_fpswa(l);
	if (!l->fpswa)
		return refuse(l, EFI_NOT_FOUND,
			      "loader: this firmware has no FPSWA protocol, load its fpswa.efi first");
	status = place_kernel(l, &why);
	if (status != EFI_SUCCESS)
		return refuse(l, status, why);
	status = place_param(l);
	if (status == EFI_SUCCESS)
		status = place_initrd(l);
	if (status != EFI_SUCCESS)
		return refuse(l, status, "loader: too little memory for the initramfs");
	status = map_allocate(l);
	if (status != EFI_SUCCESS)
		return refuse(l, status, "loader: no memory map");

	print(l, "loader: starting the kernel");
	status = leave_firmware(l);
	/* The console may be gone, but there is nothing better to do. */
	if (status != EFI_SUCCESS)
		return refuse(l, status, "loader: the firmware does not let go (ExitBootServices)");

	keep_low(l);
	l->param->efi_systab = (u64)systab;
	l->param->efi_memmap = l->map;
	l->param->efi_memmap_size = l->map_size;
	l->param->efi_memdesc_size = l->descriptor_size;
	l->param->efi_memdesc_version = l->descriptor_version;
	l->param->fpswa = l->fpswa;
	start_kernel(l->entry, (u64)l->param);
}
