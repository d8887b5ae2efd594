#include "args.h"

#include "peer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ARGS 32

jmp_buf order_failed;

static struct {
	const char *key, *value;
} args[MAX_ARGS];
static int count;

const char *args_parse(char *line)
{
	char *save, *name = strtok_r(line, " \t\r\n", &save), *word;

	count = 0;
	while ((word = strtok_r(NULL, " \t\r\n", &save))) {
		char *eq = strchr(word, '=');

		if (!eq)
			fail("argument %s is not key=value", word);
		if (count == MAX_ARGS)
			fail("more than %d arguments", MAX_ARGS);
		*eq = 0;
		args[count].key = word;
		args[count++].value = eq + 1;
	}
	return name ? name : "";
}

const char *arg(const char *key)
{
	for (int i = 0; i < count; i++)
		if (!strcmp(args[i].key, key))
			return args[i].value;
	return NULL;
}

const char *arg_need(const char *key)
{
	const char *v = arg(key);

	if (!v)
		fail("argument %s is missing", key);
	return v;
}

uint64_t arg_u64(const char *key, uint64_t dflt)
{
	const char *v = arg(key);
	char *end;
	uint64_t n;

	if (!v)
		return dflt;
	errno = 0;
	n = strtoull(v, &end, 0);
	if (errno || *end || !*v)
		fail("argument %s=%s is not a number", key, v);
	return n;
}

uint64_t arg_need_u64(const char *key)
{
	arg_need(key);
	return arg_u64(key, 0);
}

int list_has(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = list; p; p = strchr(p, ',')) {
		p += *p == ',';
		if (!strncmp(p, word, n) && (!p[n] || p[n] == ','))
			return 1;
	}
	return 0;
}

_Noreturn void fail(const char *fmt, ...)
{
	char msg[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(msg, sizeof msg, fmt, ap);
	va_end(ap);
	fputs("{\"ok\":false,\"error\":\"", out);
	for (const char *p = msg; *p; p++) {
		if (*p == '"' || *p == '\\')
			fputc('\\', out);
		fputc((unsigned char)*p < ' ' ? ' ' : *p, out);
	}
	fputs("\"}\n", out);
	longjmp(order_failed, 1);
}

_Noreturn void fail_errno(const char *what, int err)
{
	fail("%s: %s", what, strerror(err));
}
