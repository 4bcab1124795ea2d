/* The checker: all that `clarke-check` does, in C and GMP alone. It includes nothing from the rest
 * of the library and never searches: it reads a proof (docs/proof-format.md) line by line, reads
 * the files the statement names, evaluates the network (docs/operators.md), and checks each claim
 * where it stands. Values are rationals or, behind a transcendental operator, intervals of rationals,
 * computed when they are asked for; most of the pieces on which they lie are decided without, by
 * integers near them (near values, in convolution.c).
 * Convolutional networks add convolution.* and window.*, normalizations normalization.*. A proof may speak of a program
 * (docs/programs.md) instead; the files about programs, program*, come last.
 */
#ifndef CLARKE_KERNEL_H
#define CLARKE_KERNEL_H

#include "allocate.h"
#include "bytes.h"
#include "cell.h"
#include "elementary.h"
#include "gradient.h"
#include "limit.h"
#include "near.h"
#include "network.h"
#include "parallel.h"
#include "sha256.h"

/* ---- proof.c: checks the proof with its inputs in folder data (NULL: the proof's own), and
 * writes the statement when it holds. */
void clarke_check_proof(const char *path, const char *data);

/* ---- show.c: prints what was read of the model and the batch (NULL: none), which must fit it. */
void clarke_show(const char *model_path, const char *batch_path);

/* Reading lines: a word, a rational, a number, a decoded name; a line of that keyword, if it is the
 * next, or else a failure; a file by `NAME HASH`. */
extern char *words, *words_end; /* what is left of the line */
extern FILE *account;           /* the statement in words */
const char *next_word(void);
const char *kink(size_t k); /* for messages; valid until the next call */
void next_rational(rational *q);
size_t next_number(void);
char *next_name(void);
bytes next_file(const char *folder, const char *what);
bool line_is(const char *keyword);
void next_line(const char *keyword);
void last_line(void);

/* ---- program_proof.c: the lines of the statement from `program` on; the evidence (verdict is
 * a word of the three), and the statement written. */
void check_program(const char *folder, const char *verdict);

#endif
