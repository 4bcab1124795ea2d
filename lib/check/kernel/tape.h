/* A network's tape, as text: what it computes of that batch, whatever its file looks like. */
#ifndef CLARKE_KERNEL_TAPE_H
#define CLARKE_KERNEL_TAPE_H

#include "check/kernel/steps.h"

#include <stdio.h>

typedef char tape_hash[65];

/* Two networks have one text when their steps are the same, with the same parameters by name, of the same batch; nodes' names, rows
 * that are shared or not, the order of parameters, and where a constant comes from do not matter. docs/tape.md has the lines. y: the
 * batch's, or NULL. whole: behind each line the blocks that its hashes are of, each of their lines after a space. */
void tape_write(FILE *to, const network *net, const tensor *x, const tensor *y, bool whole);
void tape_digest(const network *net, const tensor *x, const tensor *y,
                 tape_hash hex); /* the hash of that text, not whole */
/* The line `tape`, if it is next: it must have that hash. */
void check_tape(const network *net, const tensor *x, const tensor *y);

#endif
