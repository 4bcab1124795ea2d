/* The kernel's answer about evidence on a drawn tape, in this process: a failure does not end it, and all memory is given back. */
#ifndef CLARKE_TESTS_CHECK_FORGE_TAPE_JUDGE_H
#define CLARKE_TESTS_CHECK_FORGE_TAPE_JUDGE_H

#include "check/kernel/evidence.h"

/* Does the work, with intervals of more bits as long as it is undecided; how it ends, and why. What it allocates is gone then. */
outcome judge(void (*work)(void *of), void *of, const char **why);
/* The lines, sealed; to be called from work. */
void judge_lines(const char *lines);

#endif
