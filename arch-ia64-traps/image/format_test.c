// SPDX-License-Identifier: GPL-2.0
/* format.c against the C library of the host. */
#define FORMAT_TEST
#include "format.c"
#undef vsnprintf
#undef strtoul
#undef strstr
#undef strchr
#undef strcmp
#undef strlen
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int bad;

static void __attribute__((format(printf, 2, 3))) same(size_t size, const char *fmt, ...)
{
	char want[256 + 1], got[256 + 1];
	va_list args;
	int w, g;

	memset(want, 0x55, sizeof(want));
	memset(got, 0x55, sizeof(got));
	va_start(args, fmt);
	w = vsnprintf(want, size, fmt, args);
	va_end(args);
	va_start(args, fmt);
	g = our_vsnprintf(got, size, fmt, args);
	va_end(args);
	/* What stands after the end is nobody's business, as long as it is within the size. */
	if (w == g && (!size || !strcmp(want, got)) && got[size] == 0x55)
		return;
	printf("'%s' in %zu: should be %d '%s', is %d '%s'\n", fmt, size, w, want, g, got);
	bad = 1;
}

static void number(const char *text)
{
	char *want_end, *got_end;
	unsigned long want = strtoul(text, &want_end, 10), got = our_strtoul(text, &got_end, 10);

	if (want == got && want_end == got_end)
		return;
	printf("strtoul of '%s' is %lu\n", text, got);
	bad = 1;
}

static void find(const char *in, const char *what)
{
	if (our_strstr(in, what) == strstr(in, what) &&
	    our_strchr(in, what[0]) == strchr(in, what[0]) &&
	    !our_strcmp(in, what) == !strcmp(in, what) && our_strlen(in) == strlen(in))
		return;
	printf("'%s' in '%s'\n", what, in);
	bad = 1;
}

int main(void)
{
	static const char * const words[] = { "", "a", "ab", "abc", "aab", "aaab", "b", "x" };
	size_t i, j;

	for (i = 0; i < 30; i++)
		same(i, "# figure: %s %llu %s\n", "name", 123456ULL, "faults/s");
	same(256, "no conversion");
	same(256, "%d %d %d %i", 0, -1, INT_MIN, INT_MAX);
	same(256, "%u %x %x", UINT_MAX, 0u, 0xdeadbeefu);
	same(256, "%ld %ld %lu %lx", LONG_MIN, LONG_MAX, ULONG_MAX, ULONG_MAX);
	same(256, "%lld %llu %zu", LLONG_MIN, ULLONG_MAX, (size_t)7);
	same(256, "%c%c %s%%", 'a', 'b', "");
	number("0");
	number("18446744073709551615");
	number("12;");
	number("007 8");
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		for (j = 0; j < sizeof(words) / sizeof(words[0]); j++)
			find(words[i], words[j]);
	return bad;
}
