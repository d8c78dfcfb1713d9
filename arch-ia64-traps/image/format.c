// SPDX-License-Identifier: GPL-2.0
/*
 * Text and numbers of libc.h that ask the kernel for nothing. A file of its own, because it is
 * compiled for the host as well and compared with the host's C library there (FORMAT_TEST).
 */
#ifdef FORMAT_TEST
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#define vsnprintf	our_vsnprintf
#define strtoul		our_strtoul
#define strstr		our_strstr
#define strchr		our_strchr
#define strcmp		our_strcmp
#define strlen		our_strlen
int vsnprintf(char *buf, size_t size, const char *fmt, va_list args);
unsigned long strtoul(const char *s, char **end, int base);
char *strstr(const char *s, const char *what);
char *strchr(const char *s, int c);
int strcmp(const char *a, const char *b);
size_t strlen(const char *s);
#else
#include "libc.h"
#endif

size_t strlen(const char *s)
{
	size_t n = 0;

	while (s[n])
		n++;
	return n;
}

int strcmp(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return (unsigned char)*a - (unsigned char)*b;
}

char *strchr(const char *s, int c)
{
	for (;; s++) {
		if (*s == (char)c)
			return (char *)s;
		if (!*s)
			return NULL;
	}
}

char *strstr(const char *s, const char *what)
{
	size_t i;

	for (;; s++) {
		for (i = 0; what[i] && s[i] == what[i]; i++)
			;
		if (!what[i])
			return (char *)s;
		if (!*s)
			return NULL;
	}
}

/* Decimal numbers only, which is all that is asked for. */
unsigned long strtoul(const char *s, char **end, int base)
{
	unsigned long value = 0;
	const char *at = s;

	(void)base;
	while (*at >= '0' && *at <= '9')
		value = value * 10 + (*at++ - '0');
	if (end)
		*end = (char *)at;
	return value;
}

struct out {
	char *buf;
	size_t size, n;
};

static void put(struct out *o, char c)
{
	if (o->n + 1 < o->size)
		o->buf[o->n] = c;
	o->n++;
}

static void put_number(struct out *o, unsigned long value, unsigned int base)
{
	char digits[24];
	int n = 0;

	do {
		digits[n++] = "0123456789abcdef"[value % base];
		value /= base;
	} while (value);
	while (n)
		put(o, digits[--n]);
}

/*
 * %s %c %d %i %u %x %%, with l, ll or z, and no flags or widths. Anything else is printed as it
 * stands, so that it is seen.
 */
int vsnprintf(char *buf, size_t size, const char *fmt, va_list args)
{
	struct out o = { .buf = buf, .size = size };
	const char *s, *spec;
	bool wide;
	long value;

	for (; *fmt; fmt++) {
		if (*fmt != '%') {
			put(&o, *fmt);
			continue;
		}
		spec = fmt++;
		wide = *fmt == 'l' || *fmt == 'z';
		while (*fmt == 'l' || *fmt == 'z')
			fmt++;
		switch (*fmt) {
		case '%':
			put(&o, '%');
			break;
		case 'c':
			put(&o, va_arg(args, int));
			break;
		case 's':
			s = va_arg(args, const char *);
			for (s = s ? s : "(null)"; *s; s++)
				put(&o, *s);
			break;
		case 'd':
		case 'i':
			value = wide ? va_arg(args, long) : va_arg(args, int);
			if (value < 0)
				put(&o, '-');
			put_number(&o, value < 0 ? 0UL - value : 0UL + value, 10);
			break;
		case 'u':
		case 'x':
			put_number(&o, wide ? va_arg(args, unsigned long) :
				   va_arg(args, unsigned int), *fmt == 'u' ? 10 : 16);
			break;
		default:
			for (; spec < fmt; spec++)
				put(&o, *spec);
			fmt--;
			break;
		}
	}
	if (size)
		buf[o.n < size ? o.n : size - 1] = '\0';
	return o.n;
}
