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
#include "elementary.h"
#include "limit.h"
#include "network.h"
#include "parallel.h"
#include "sha256.h"

#define GUARD 128 /* bits of near values beyond those of intervals */

/* ---- evaluate.c: values, tangents, gradients; [step][feature * batch + sample] in all arrays. Values and
 * tangents are computed when they are asked for, and what they need with them. */

/* An entry of a step that is at a kink, or a window with n > 1 options. at: of a kink, its
 * argument's entry in step `from`; of a window, the first entry of each option; tied: how many entries
 * each option has; last: the option of the last. An array of slopes has for a kink its slope, for a
 * window what multiplies each option's derivative, from [slope]. */
typedef struct {
  size_t step, entry, kink, from, n, *at, *tied, last, slope;
  rational left, right; /* of a kink: the slopes on its sides */
} touch;

#define TOUCHED ((size_t)1 << 32)

/* The network at the stored weights. */
typedef struct {
  network *net;
  enum { LOSS_SUM, LOSS_MSE, LOSS_CE } loss;
  const tensor *x, *target;
  const interval ***y; /* outputs; NULL: not computed. Read by value_at */
  size_t **place;      /* of a PIECEWISE argument: its piece; of a window: the place of its first tied
                          entry; or TOUCHED + the touched kink's number (until all are known, + the piece left
                          of the kink, or that place) */
  size_t n_touched, n_slopes;
  touch *touched;
  size_t last_window;     /* of the WINDOW steps; 0: none, and these are not computed */
  uint8_t **degree;       /* with no sides given, as in cell */
  size_t **same, *n_same; /* read by same_as; how many numbers each sample (or all, coupled) has */
  bool **identified;      /* is same known, of the step and sample? */
} point;

void point_evaluate(point *p); /* finds the touched kinks */
const interval *value_at(const point *p, size_t s, size_t e);

/* A choice of sides and what follows from it. */
typedef struct {
  int *side;        /* of each touched kink: -1, 1, or 0 when none is given; an option + 1 */
  bool *flat;       /* its argument is constant: the side does not matter */
  rational *slope;  /* of all touched kinks and windows */
  uint8_t **degree; /* of each output in the parameters: 0 constant, 1 affine, 2 anything */
  size_t open;      /* the first touched kink with neither a side nor flat; or NONE */
} cell;

cell cell_new(const point *p);
/* Fills flat, slope, degree and open from side. In a tree an affine argument with derivative zero
 * is constant too. */
void cell_settle(cell *c, const point *p, bool tree);

/* Tangents of all outputs along the tensors' moves, under the slopes; both must stay as they are. */
typedef struct {
  const point *p;
  const rational *slope;
  interval ***x; /* as y; read by tangent_at */
} motion;

motion tangents(const point *p, const rational *slope);
const interval *tangent_at(const motion *d, size_t s, size_t e);
void tangents_free(motion *d);
void tangent_loss(interval *sum, const motion *d);
/* The gradient of the loss (k == NONE; when a is not 0 without that of samples in which no kink is touched), of the argument
 * of touched kink k, or of the difference of options a and b of touched window k, into the network's; one that is not
 * rational is a failure. Under a cell (or NULL), settled, of those slopes, nothing comes from what is constant. */
void gradient(const point *p, const rational *slope, const cell *c, size_t k, size_t a, size_t b);

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
