/* Calls being lowered, and proxies in braces after their name. */
#ifndef CLARKE_PROGRAM_PROG_PROXY_H
#define CLARKE_PROGRAM_PROG_PROXY_H

#include "program/prog_lower.h"

/* A call being lowered. */
typedef struct {
  const char *name; /* NUL-terminated */
  uint32_t node, proxy, first; /* the call, its braces or 0, its first argument or 0 */
  size_t n, at;     /* arguments; the place */
} prog_call;

/* Fails when the call has braces. */
clarke_status clarke_prog_no_braces(prog_lowering *low, const prog_call *c);
/* What is in them, if there are any: a number, left or right; first, last, stable, mean or hybrid B. o: initialized. */
clarke_status clarke_prog_kink_proxy(clarke_override *o, prog_lowering *low, const prog_call *c);
clarke_status clarke_prog_tie_proxy(clarke_override *o, prog_lowering *low, const prog_call *c);
/* What was given becomes the proxy of the instruction added last. */
clarke_status clarke_prog_put_proxy(prog_lowering *low, const clarke_override *o, size_t at);

#endif
