/* Names bound and looked up. */
#ifndef CLARKE_PROGRAM_PROG_NAME_H
#define CLARKE_PROGRAM_PROG_NAME_H

#include "program/prog_lower.h"

/* Numbers all names of the program; no value is bound to them yet. clear frees what it made, on errors too. */
clarke_status clarke_prog_names_find(prog_lowering *low);
void clarke_prog_names_clear(prog_lowering *low);
/* Binds the NAME node's name; *v goes over to it. */
clarke_status clarke_prog_bind(prog_lowering *low, uint32_t node, prog_value *v);
clarke_status clarke_prog_lookup(const prog_value **v, prog_lowering *low, uint32_t node);
/* "unknown name" or "unknown function", with those near it or those there are. */
clarke_status clarke_prog_unknown(prog_lowering *low, uint32_t node, bool function);

#endif
