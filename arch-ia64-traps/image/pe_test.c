// SPDX-License-Identifier: GPL-2.0
/*
 * Loads the loader as EFI would, at two addresses, and looks whether it could run at either: the PE
 * headers, sections that do not overlap, the entry's function descriptor, and that nothing else in
 * the image depends on the address.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "check.h"
#include "loader.h"

#define MACHINE_IA64	0x200
#define MAGIC_PE32_PLUS	0x20b
#define SUBSYSTEM_EFI	10
#define NO_RELOCATIONS	1
#define RELOC_DIR64	10

static u8 *file;
static u64 file_size, text_at, text_end, files_at;

static u64 get(const u8 *p, int bytes)
{
	u64 value = 0;

	while (bytes--)
		value = value << 8 | p[bytes];
	return value;
}

static void put64(u8 *p, u64 value)
{
	int i;

	for (i = 0; i < 8; i++, value >>= 8)
		p[i] = value;
}

static u8 *load(u64 base, u64 *size, u64 *entry)
{
	u8 *pe, *optional, *section, *image;
	u64 headers, end, reloc, reloc_end, page, block, at;
	int i, sections;

	CHECK(file_size > 0x40 && file[0] == 'M' && file[1] == 'Z');
	CHECK(get(file + 0x3c, 4) + 264 < file_size);
	pe = file + get(file + 0x3c, 4);
	CHECK(!memcmp(pe, "PE\0\0", 4));
	CHECK(get(pe + 4, 2) == MACHINE_IA64);
	CHECK(!(get(pe + 22, 2) & NO_RELOCATIONS));
	sections = get(pe + 6, 2);
	optional = pe + 24;
	CHECK(get(optional, 2) == MAGIC_PE32_PLUS);
	CHECK(get(optional + 68, 2) == SUBSYSTEM_EFI);
	*entry = get(optional + 16, 4);
	*size = get(optional + 56, 4);
	headers = get(optional + 60, 4);
	CHECK(*size % get(optional + 32, 4) == 0 && headers <= file_size);
	image = calloc(1, *size);
	CHECK(image);
	memcpy(image, file, headers);

	end = headers;
	section = optional + get(pe + 20, 2);
	for (i = 0; i < sections; i++, section += 40) {
		u64 virtual = get(section + 8, 4), raw = get(section + 16, 4);
		u64 from = get(section + 20, 4);

		at = get(section + 12, 4);
		CHECK(at >= end && at % 4096 == 0);
		end = at + (virtual ? virtual : raw);
		CHECK(end <= *size && from + raw <= file_size);
		/* What is in the file beyond the section's size is filling. */
		memcpy(image + at, file + from, raw < end - at ? raw : end - at);
		if (!strncmp((char *)section, ".text", 8)) {
			text_at = at;
			text_end = end;
		}
		if (!strncmp((char *)section, ".files", 8))
			files_at = at;
	}

	CHECK(get(optional + 108, 4) > 5);
	reloc = get(optional + 112 + 5 * 8, 4);
	reloc_end = reloc + get(optional + 112 + 5 * 8 + 4, 4);
	CHECK(reloc && reloc_end <= *size);
	while (reloc < reloc_end) {
		page = get(image + reloc, 4);
		block = get(image + reloc + 4, 4);
		CHECK(page % 4096 == 0 && block > 8 && block % 4 == 0);
		CHECK(reloc + block <= reloc_end);
		for (at = reloc + 8; at < reloc + block; at += 2) {
			u64 word = get(image + at, 2);
			u8 *where = image + page + (word & 0xfff);

			if (word >> 12 == 0)
				continue;
			CHECK(word >> 12 == RELOC_DIR64);
			CHECK(where + 8 <= image + *size);
			put64(where, get(where, 8) + base - get(optional + 24, 8));
		}
		reloc += block;
	}
	return image;
}

int main(int argc, char **argv)
{
	const u64 base[2] = { 0x10000000, 0x1fedcba9000 };
	u64 size, entry, i, descriptor[2][2];
	const struct elf_ehdr *e;
	u8 *image[2];
	FILE *f;

	CHECK(argc == 2);
	f = fopen(argv[1], "rb");
	CHECK(f);
	file = calloc(1, 256 << 20);
	CHECK(file);
	file_size = fread(file, 1, 256 << 20, f);
	fclose(f);

	for (i = 0; i < 2; i++) {
		image[i] = load(base[i], &size, &entry);
		CHECK(entry % 8 == 0 && entry + 16 <= size);
		descriptor[i][0] = get(image[i] + entry, 8);
		descriptor[i][1] = get(image[i] + entry + 8, 8);
		/* The first instruction, and a gp from which the whole image is in reach. */
		CHECK(descriptor[i][0] % 16 == 0);
		CHECK(descriptor[i][0] >= base[i] + text_at);
		CHECK(descriptor[i][0] < base[i] + text_end);
		CHECK(descriptor[i][1] >= base[i] && descriptor[i][1] < base[i] + size);
	}
	CHECK(descriptor[1][0] - descriptor[0][0] == base[1] - base[0]);
	CHECK(descriptor[1][1] - descriptor[0][1] == base[1] - base[0]);
	for (i = 0; i < size; i++)
		if (image[0][i] != image[1][i])
			CHECK(i >= entry && i < entry + 16);

	CHECK(files_at && files_at + sizeof(*e) < size);
	e = (void *)(image[0] + files_at);
	CHECK(e->magic == ELF_MAGIC && e->class_data == ELF_CLASS64_LSB);
	CHECK(e->type == ELF_ET_EXEC && e->machine == ELF_EM_IA_64);
	printf("entry %lx, gp %lx, image %lx\n", descriptor[0][0] - base[0],
	       descriptor[0][1] - base[0], size);
	return 0;
}
