/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the loader and its test know of EFI (the tables of the UEFI specification, as far as they
 * are used), of ELF and of the block that Linux for ia64 finds in r28.
 */
#ifndef LOADER_H
#define LOADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
/* As it is in the kernel on ia64, so that an address converts to it. */
typedef unsigned long u64;

#define __noreturn		__attribute__((noreturn))

/* ---- EFI ---- */

#define EFI_PAGE_SHIFT		12
#define EFI_PAGE_SIZE		(1UL << EFI_PAGE_SHIFT)

#define EFI_ERROR(n)		((1UL << 63) | (n))
#define EFI_SUCCESS		0UL
#define EFI_LOAD_ERROR		EFI_ERROR(1)
#define EFI_INVALID_PARAMETER	EFI_ERROR(2)
#define EFI_BUFFER_TOO_SMALL	EFI_ERROR(5)
#define EFI_OUT_OF_RESOURCES	EFI_ERROR(9)
#define EFI_NOT_FOUND		EFI_ERROR(14)

/* kinds of allocation */
#define EFI_ANY_PAGES		0
#define EFI_AT_ADDRESS		2

/* types of memory */
#define EFI_RESERVED		0
#define EFI_LOADER_CODE		1
#define EFI_LOADER_DATA		2
#define EFI_BOOT_CODE		3
#define EFI_BOOT_DATA		4
#define EFI_CONVENTIONAL	7

#define EFI_BY_PROTOCOL		2

/* A descriptor in the map; the map says how far it is to the next. */
struct efi_md {
	u32 type;
	u32 pad;
	u64 phys;
	u64 virt;
	u64 pages;
	u64 attribute;
};

struct efi_header {
	u64 signature;
	u32 revision, size, crc32, reserved;
};

/* A function is a pointer to its descriptor: two words, entry and gp. */
struct efi_boot_services {
	struct efi_header header;
	void *raise_tpl, *restore_tpl;
	void *allocate_pages, *free_pages;
	void *get_memory_map;
	void *allocate_pool, *free_pool;
	void *events[6];
	void *interfaces[3];
	void *handle_protocol;
	void *reserved;
	void *notify;
	void *locate_handle;
	void *locate_path, *install_table;
	void *load_image, *start_image, *exit, *unload_image;
	void *exit_boot_services;
};

struct efi_console {
	void *reset;
	void *output_string;
};

struct efi_system_table {
	struct efi_header header;
	u16 *vendor;
	u32 revision;
	void *con_in_handle, *con_in;
	void *con_out_handle;
	struct efi_console *con_out;
	void *std_err_handle, *std_err;
	void *runtime;
	struct efi_boot_services *boot;
	u64 tables;
	void *table;
};

/* ---- ELF ---- */

#define ELF_MAGIC		0x464c457fU	/* \177ELF */
#define ELF_CLASS64_LSB		0x0102
#define ELF_ET_EXEC		2
#define ELF_EM_IA_64		50
#define ELF_PT_LOAD		1

struct elf_ehdr {
	u32 magic;
	u16 class_data;
	u8 ident[10];
	u16 type, machine;
	u32 version;
	u64 entry, phoff, shoff;
	u32 flags;
	u16 ehsize, phentsize, phnum, shentsize, shnum, shstrndx;
};

struct elf_phdr {
	u32 type, flags;
	u64 offset, vaddr, paddr, filesz, memsz, align;
};

/* ---- Linux, arch/ia64/include/uapi/asm/setup.h; the build compares the two ---- */

#define COMMAND_LINE_SIZE	2048

struct ia64_boot_param {
	u64 command_line;
	u64 efi_systab;
	u64 efi_memmap;
	u64 efi_memmap_size;
	u64 efi_memdesc_size;
	u32 efi_memdesc_version;
	struct {
		u16 num_cols, num_rows, orig_x, orig_y;
	} console_info;		/* zeroes: Linux takes 80 by 25 */
	u64 fpswa;
	u64 initrd_start;
	u64 initrd_size;
};

/* ---- the processor and what is inside of us: entry.S, or the test ---- */

u64 loader_main(void *image, struct efi_system_table *systab);

/* Calls a function of the firmware. */
u64 efi_call(void *function, u64 a, u64 b, u64 c, u64 d, u64 e);
void flush_icache(u64 at, u64 size);
void start_kernel(u64 entry, u64 param) __noreturn;

/* Functions, because the address of a symbol far away is the assembler's business. */
const u8 *kernel_start(void);
u64 kernel_size(void);
const u8 *initrd_start(void);
u64 initrd_size(void);
const u8 *cmdline_start(void);
u64 cmdline_size(void);

#endif
