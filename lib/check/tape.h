/* A network's tape, as text: what it computes, whatever its file looks like. */
#ifndef CLARKE_KERNEL_TAPE_H
#define CLARKE_KERNEL_TAPE_H

#include "check/kernel/steps.h"

#include <stdio.h>

/* Two networks have one text when their steps are the same, with the same parameters by name; nodes' names, rows that are shared or
 * not, and where a constant comes from do not matter. docs/checker.md has the lines. */
void tape_write(FILE *to, const network *net);

/* Prints the tape of that model with that batch, and the hash of its lines. */
void clarke_show_tape(const char *model_path, const char *batch_path);

#endif
