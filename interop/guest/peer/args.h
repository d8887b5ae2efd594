/* The arguments key=value of the present order, and its failure. */
#ifndef ROCEPEER_ARGS_H
#define ROCEPEER_ARGS_H
#include <setjmp.h>
#include <stdint.h>

extern jmp_buf order_failed;

/* Splits a line in place into the order's name, which is returned, and its
 * arguments, which the functions below then find. */
const char *args_parse(char *line);

/* The text of an argument, or NULL. */
const char *arg(const char *key);
/* The text of an argument that must be there. */
const char *arg_need(const char *key);
/* A number (decimal, 0x hexadecimal), or dflt. */
uint64_t arg_u64(const char *key, uint64_t dflt);
/* A number that must be there. */
uint64_t arg_need_u64(const char *key);
/* Whether a comma-separated list has a word. */
int list_has(const char *list, const char *word);

/* Sends an error reply and ends the order. Call it before any part of a good
 * reply is written. fail_errno adds what errno says. */
_Noreturn void fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void fail_errno(const char *what, int err);

#endif
