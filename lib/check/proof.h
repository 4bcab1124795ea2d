/* Proofs, and the lines they are made of. */
#ifndef CLARKE_KERNEL_PROOF_H
#define CLARKE_KERNEL_PROOF_H

#include "network.h"

/* Checks the proof with its inputs in folder data (NULL: the proof's own), and writes the statement when it holds. */
void clarke_check_proof(const char *path, const char *data);

/* ---- Lines: a word, a rational, a number, a decoded name; a line of that keyword, if it is the next, or else a
 * failure; a file by `NAME HASH` */

extern char *words, *words_end; /* what is left of the line */
extern FILE *account;           /* the statement in words */
const char *next_word(void);
void next_rational(rational *q);
size_t next_number(void);
char *next_name(void);
bytes next_file(const char *folder, const char *what);
bool line_is(const char *keyword);
void next_line(const char *keyword);
void last_line(void);

/* ---- The network that a proof is about */

const char *kink(size_t k); /* touched kink k, for messages; valid until the next call */
void read_direction(void);  /* `direction` and its moves, into the network's */

#endif
