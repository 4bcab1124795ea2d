/* The text of a program: its tokens, one after another. */
#ifndef CLARKE_KERNEL_PROGRAM_TEXT_H
#define CLARKE_KERNEL_PROGRAM_TEXT_H

#include "check/base/bytes.h"
#include "check/base/value.h"

/* The token at hand, and its line. */
extern size_t text_line;
extern char token, *token_text; /* 'a': a name, '0': a number, 'r': a relation, or itself; what it says */

#define want(condition, what) expect(condition, "program, line %zu: %s", text_line, what)

void text_begin(bytes b);    /* the first token */
void advance(void);          /* to the next */
bool is(const char *what);   /* is it this one? Then the next is read */
void must(const char *what); /* it must be this one */
void literal(rational *q);   /* it is a number, exact or rounded as it says; q = 0 becomes that number */

#endif
