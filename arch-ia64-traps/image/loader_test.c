// SPDX-License-Identifier: GPL-2.0
/*
 * The loader on the host: this is the firmware, the processor and the files inside, and looks at
 * what Linux would get. One scenario per run; exit 0 if it went as it should.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "check.h"
#include "loader.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE	0x100000
#endif

#define BASE		0x4000000UL	/* where the kernel is linked to */
#define ENTRY		(BASE + 0x1040)
#define WB		8
#define MD_SIZE		48		/* firmware may have more in a descriptor than we know */
#define MAX_MD		64

static const char *scenario;

static bool is(const char *name)
{
	return !strcmp(scenario, name);
}

/* ---- the files inside ---- */

static struct {
	struct elf_ehdr e;
	struct elf_phdr p[4];
	u8 text[0x3000];
	u8 data[0x801];
} kernel;
static u64 kernel_bytes = sizeof(kernel);
static u8 initrd[12345];
static char cmdline[4000] = "console=ttyS0 cpus=4";

const u8 *kernel_start(void) { return (u8 *)&kernel; }
u64 kernel_size(void) { return kernel_bytes; }
const u8 *initrd_start(void) { return initrd; }
u64 initrd_size(void) { return sizeof(initrd); }
const u8 *cmdline_start(void) { return (u8 *)cmdline; }
u64 cmdline_size(void) { return strlen(cmdline); }

static void files(void)
{
	unsigned int i;

	kernel.e.magic = ELF_MAGIC;
	kernel.e.class_data = ELF_CLASS64_LSB;
	kernel.e.type = ELF_ET_EXEC;
	kernel.e.machine = ELF_EM_IA_64;
	kernel.e.entry = ENTRY;
	kernel.e.phoff = offsetof(typeof(kernel), p);
	kernel.e.phentsize = sizeof(kernel.p[0]);
	kernel.e.phnum = 4;
	kernel.p[0] = (struct elf_phdr) {
		.type = ELF_PT_LOAD, .offset = offsetof(typeof(kernel), text),
		.vaddr = 0xa000000100000000, .paddr = BASE + 0x1000,
		.filesz = sizeof(kernel.text), .memsz = sizeof(kernel.text),
	};
	/* With region bits, and memory that the file does not have. */
	kernel.p[1] = (struct elf_phdr) {
		.type = ELF_PT_LOAD, .offset = offsetof(typeof(kernel), data),
		.vaddr = 0xa000000100010000, .paddr = 0xa000000000000000 | (BASE + 0x10000),
		.filesz = sizeof(kernel.data), .memsz = 0x20007,
	};
	/* Not to be loaded, and nonsense. */
	kernel.p[2] = (struct elf_phdr) { .type = 4, .offset = ~0UL, .filesz = ~0UL, };
	kernel.p[3] = (struct elf_phdr) { .type = ELF_PT_LOAD, };
	for (i = 0; i < sizeof(kernel.text); i++)
		kernel.text[i] = i * 7 + 1;
	for (i = 0; i < sizeof(kernel.data); i++)
		kernel.data[i] = i * 5 + 3;
	for (i = 0; i < sizeof(initrd); i++)
		initrd[i] = i * 3 + 2;
}

/* ---- the firmware ---- */

static struct efi_md map[MAX_MD] = {
	{ EFI_BOOT_DATA, 0, 0, 0, 0xa0, WB },			/* page 0, free after the exit */
	{ 11, 0, 0xa0000, 0, 0x60, 1 },				/* I/O */
	{ EFI_CONVENTIONAL, 0, 0x100000, 0, 0x7f00, WB },
	{ EFI_LOADER_CODE, 0, 0x8000000, 0, 0x1000, WB },
	{ 6, 0, 0x9000000, 0, 0x10, WB | 1UL << 63 },		/* runtime */
};
static unsigned int maps = 5;
static u64 map_key = 1;
static bool left, leaving;
static unsigned int exits, exit_failures, any_zeroes, allocations;
static u64 flushed, flushed_size, kernel_at = BASE;
static u64 fpswa[2], fpswa_handle = 0x1234;
static char said[2000];

static void busy(void)
{
	CHECK(!left);
	/* Only these two may be called once an exit was tried. */
	CHECK(!leaving);
}

static u64 allocate_pages(u64 kind, u64 type, u64 pages, u64 at, u64 e)
{
	u64 *where = (u64 *)at;
	void *p;

	(void)e;
	busy();
	CHECK(type == EFI_LOADER_DATA);
	CHECK(pages);
	allocations++;
	map_key++;
	if (kind == EFI_AT_ADDRESS) {
		if (is("no-kernel-room") || (is("taken") && *where / BASE <= 3))
			return EFI_NOT_FOUND;
		p = mmap((void *)*where, pages * 4096, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
		if (p != (void *)*where)
			return EFI_NOT_FOUND;
		memset(p, 0xaa, pages * 4096);
		kernel_at = *where;
		return EFI_SUCCESS;
	}
	CHECK(kind == EFI_ANY_PAGES);
	if ((is("no-initrd-room") && pages > 2) || is("no-room"))
		return EFI_OUT_OF_RESOURCES;
	if (any_zeroes) {
		any_zeroes--;
		*where = 0;
		return EFI_SUCCESS;
	}
	p = mmap(NULL, pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(p != MAP_FAILED);
	memset(p, 0xaa, pages * 4096);
	*where = (u64)p;
	/* The map grows with what was allocated; and this is where it was. */
	map[maps++] = (struct efi_md) { type, 0, (u64)p, 0, pages, WB };
	return EFI_SUCCESS;
}

static u64 get_memory_map(u64 size, u64 at, u64 key, u64 descriptor_size, u64 version)
{
	u64 *sz = (u64 *)size, room = *sz;
	unsigned int i;

	CHECK(!left);
	*sz = maps * MD_SIZE;
	*(u64 *)descriptor_size = MD_SIZE;
	*(u32 *)version = 1;
	if (room < maps * MD_SIZE)
		return EFI_BUFFER_TOO_SMALL;
	CHECK(at);
	for (i = 0; i < maps; i++) {
		memset((void *)(at + i * MD_SIZE), 0x55, MD_SIZE);
		memcpy((void *)(at + i * MD_SIZE), &map[i], sizeof(map[i]));
	}
	*(u64 *)key = map_key;
	return EFI_SUCCESS;
}

static u64 exit_boot_services(u64 image, u64 key, u64 c, u64 d, u64 e)
{
	(void)c, (void)d, (void)e;
	CHECK(!left);
	CHECK(image == 42);
	exits++;
	leaving = true;
	if (key != map_key)
		return EFI_INVALID_PARAMETER;
	if (exit_failures) {
		exit_failures--;
		/* An event handler of ours allocated something. */
		map_key++;
		map[maps++] = (struct efi_md) { EFI_BOOT_DATA, 0, 0xa000000, 0, 1, WB };
		return EFI_INVALID_PARAMETER;
	}
	left = true;
	return EFI_SUCCESS;
}

static u64 locate_handle(u64 how, u64 guid, u64 search, u64 size, u64 handles)
{
	static const u8 want[16] = { 0x31, 0x65, 0x1b, 0xc4, 0xb9, 0x97, 0xd3, 0x11,
				     0x9a, 0x29, 0x00, 0x90, 0x27, 0x3f, 0xc1, 0x4d };

	busy();
	CHECK(how == EFI_BY_PROTOCOL && !search);
	if (memcmp((void *)guid, want, 16) || is("no-fpswa"))
		return EFI_NOT_FOUND;
	CHECK(*(u64 *)size >= 8);
	*(u64 *)size = 8;
	*(u64 *)handles = fpswa_handle;
	return EFI_SUCCESS;
}

static u64 handle_protocol(u64 handle, u64 guid, u64 interface, u64 d, u64 e)
{
	(void)guid, (void)d, (void)e;
	busy();
	CHECK(handle == fpswa_handle);
	*(u64 *)interface = (u64)fpswa;
	return EFI_SUCCESS;
}

static u64 output_string(u64 console, u64 text, u64 c, u64 d, u64 e)
{
	const u16 *w = (u16 *)text;
	size_t n = strlen(said);

	(void)c, (void)d, (void)e;
	CHECK(console && !left);
	while (*w && n < sizeof(said) - 1)
		said[n++] = *w++;
	return EFI_SUCCESS;
}

static struct efi_boot_services boot = {
	.allocate_pages = allocate_pages,
	.get_memory_map = get_memory_map,
	.handle_protocol = handle_protocol,
	.locate_handle = locate_handle,
	.exit_boot_services = exit_boot_services,
};
static struct efi_console console = { .output_string = output_string };
static struct efi_system_table systab = { .con_out = &console, .boot = &boot };

/* ---- the processor ---- */

u64 efi_call(void *function, u64 a, u64 b, u64 c, u64 d, u64 e)
{
	u64 (*f)(u64, u64, u64, u64, u64) = function;

	CHECK(f);
	return f(a, b, c, d, e);
}

void flush_icache(u64 at, u64 size)
{
	/* What is written later would not be seen. */
	CHECK(!memcmp((void *)(at + (BASE + 0x1000) % 0x4000000 - at % 0x4000000), kernel.text,
		      sizeof(kernel.text)));
	flushed = at;
	flushed_size = size;
}

static void check_map(const struct ia64_boot_param *param)
{
	struct efi_md got[MAX_MD], want[MAX_MD];
	unsigned int i, n = param->efi_memmap_size / MD_SIZE, wants;

	CHECK(param->efi_memdesc_size == MD_SIZE && param->efi_memdesc_version == 1);
	CHECK(param->efi_memmap_size % MD_SIZE == 0 && n <= MAX_MD);
	for (i = 0; i < n; i++)
		memcpy(&got[i], (void *)(param->efi_memmap + i * MD_SIZE), sizeof(got[i]));
	/* As the firmware has it, but for the first 64 KiB. */
	memcpy(want, map, sizeof(map));
	wants = maps;
	if (is("small-page-0")) {
		want[0].type = want[1].type = EFI_RESERVED;
		memmove(&want[3], &want[2], (wants - 2) * sizeof(want[0]));
		want[2].pages = 0x10 - want[2].phys / 4096;
		want[2].type = EFI_RESERVED;
		want[3].phys = want[3].virt = 0x10000;
		want[3].pages -= want[2].pages;
		wants++;
	} else if (!is("no-page-0")) {
		memmove(&want[1], &want[0], wants * sizeof(want[0]));
		want[0].type = EFI_RESERVED;
		want[0].pages = 0x10;
		want[1].phys = want[1].virt = 0x10000;
		want[1].pages -= 0x10;
		wants++;
	}
	CHECK(n == wants);
	for (i = 0; i < n; i++)
		if (memcmp(&got[i], &want[i], sizeof(got[i]))) {
			printf("descriptor %u: type %u at %lx, %lx pages, not %u %lx %lx\n", i,
			       got[i].type, got[i].phys, got[i].pages, want[i].type, want[i].phys,
			       want[i].pages);
			exit(1);
		}
}

void start_kernel(u64 entry, u64 at)
{
	const struct ia64_boot_param *param = (void *)at;
	u64 delta = kernel_at - (BASE + 0x1000);
	const u8 *data = (u8 *)(BASE + 0x10000 + delta);
	size_t line = strlen(cmdline) < COMMAND_LINE_SIZE ? strlen(cmdline) : COMMAND_LINE_SIZE - 1;
	unsigned int i;

	CHECK(left);
	CHECK(delta % 0x4000000 == 0);
	CHECK(is("taken") == (delta != 0));
	CHECK(entry == ENTRY + delta);
	CHECK(!memcmp((void *)(BASE + 0x1000 + delta), kernel.text, sizeof(kernel.text)));
	CHECK(!memcmp(data, kernel.data, sizeof(kernel.data)));
	for (i = sizeof(kernel.data); i < 0x20007; i++)
		CHECK(!data[i]);
	CHECK(data[i] == 0xaa);
	CHECK(flushed <= BASE + 0x1000 + delta);
	CHECK(flushed + flushed_size >= BASE + 0x10000 + delta + 0x20007);

	CHECK(param->efi_systab == (u64)&systab);
	CHECK(param->fpswa == (u64)fpswa);
	CHECK(strlen((char *)param->command_line) == line);
	CHECK(!memcmp((char *)param->command_line, cmdline, line));
	CHECK(param->initrd_size == sizeof(initrd) && param->initrd_start % 4096 == 0);
	CHECK(!memcmp((void *)param->initrd_start, initrd, sizeof(initrd)));
	CHECK(!param->console_info.num_cols && !param->console_info.orig_y);
	check_map(param);
	if (is("exit-retried"))
		CHECK(exits == 2);
	CHECK(strstr(said, "loader: starting the kernel"));
	printf("started\n");
	exit(0);
}

/* The kernel must not start, and the reason is said and returned. */
static void refused(u64 got, u64 status, const char *text)
{
	CHECK(got == status);
	if (!strstr(said, text)) {
		printf("should have said: %s\nsaid: %s\n", text, said);
		exit(1);
	}
	printf("refused\n");
	exit(0);
}

int main(int argc, char **argv)
{
	u64 status;

	setvbuf(stdout, NULL, _IOLBF, 0);
	scenario = argc > 1 ? argv[1] : "good";
	files();
	if (is("exit-retried"))
		exit_failures = 1;
	if (is("exit-refused"))
		exit_failures = 1000;
	if (is("page-0-allocated"))
		any_zeroes = 1;
	if (is("no-page-0"))
		map[0].type = 6;
	if (is("small-page-0")) {
		memmove(&map[2], &map[0], maps * sizeof(map[0]));
		maps += 2;
		map[0] = (struct efi_md) { EFI_CONVENTIONAL, 0, 0, 0, 1, WB };
		map[1] = (struct efi_md) { EFI_LOADER_CODE, 0, 0x1000, 0x1000, 2, WB };
		map[2].phys = map[2].virt = 0x3000;
		map[2].pages -= 3;
	}
	if (is("long-cmdline"))
		memset(cmdline, 'x', sizeof(cmdline) - 1);
	if (is("not-elf"))
		kernel.e.magic++;
	if (is("not-ia64"))
		kernel.e.machine = 62;
	if (is("cut-off"))
		kernel_bytes -= 8;
	if (is("headers-cut-off"))
		kernel.e.phoff = kernel_bytes - 10;
	if (is("offset-wraps"))
		kernel.p[0].offset = ~0UL;
	if (is("too-large"))
		kernel.p[1].memsz = 0x4000000;
	if (is("entry-elsewhere"))
		kernel.e.entry = BASE * 2;

	status = loader_main((void *)42, &systab);
	CHECK(!left);
	if (is("no-fpswa"))
		refused(status, EFI_NOT_FOUND, "no FPSWA protocol");
	if (is("no-kernel-room"))
		refused(status, EFI_OUT_OF_RESOURCES, "too little memory for the kernel");
	if (is("no-initrd-room") || is("no-room"))
		refused(status, EFI_OUT_OF_RESOURCES, "too little memory for the initramfs");
	if (is("exit-refused"))
		refused(status, EFI_INVALID_PARAMETER, "does not let go");
	if (is("not-elf") || is("not-ia64") || is("cut-off") || is("headers-cut-off") ||
	    is("offset-wraps"))
		refused(status, EFI_LOAD_ERROR, "not an ELF executable for ia64");
	if (is("too-large") || is("entry-elsewhere"))
		refused(status, EFI_LOAD_ERROR, "does not fit in one 64 MiB page");
	printf("came back with %lx: %s\n", status, said);
	return 1;
}
