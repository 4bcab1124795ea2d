/* A program as it is followed near the point, instruction by instruction; and polynomials of the displacement from the
 * point. */
#ifndef CLARKE_KERNEL_PROGRAM_WALK_H
#define CLARKE_KERNEL_PROGRAM_WALK_H

#include "check/program/program.h"

/* c[k] times its entries to the powers at e + k n_wrt. One of more
 * than 32 entries, or over 300 terms, or of a degree over 32 is not known. */
typedef struct {
  bool known;
  size_t n;
  rational *c;
  unsigned char *e;
} polynomial;

/* An instruction as it was followed. */
typedef struct {
  bool done, same; /* same: AD's derivative of it is surely g (at the point: is known) */
  bool masked;     /* AD passes nothing on to wrt from here, be what comes in infinite or NaN */
  int8_t arm;      /* BRANCH: 1 then, -1 else, 0 not chosen, BOTH_ARMS */
  uint8_t degree;  /* near the point: 0 constant, 1 affine, 2 anything */
  size_t
      part; /* POINTWISE: its piece; ORDER: the instruction it is; NONE: at the point, where it is at a kink or tied */
  interval *s, *g; /* its series in t, from the value; its gradient in wrt */
  polynomial p;    /* of degree 2: known, or not */
  bool open;       /* by choices: its side is open, g encloses the gradients of all; no polynomial */
} state;

/* How the program is followed: at the point itself with AD's derivatives; or, with those of a pattern,
 * along an arc point + t arc[0] + t^2 arc[1] + ..., or by choices, in a dead branch no further; or along lines. */
typedef enum { AT_POINT, ALONG_ARC, BY_CHOICES, ALONG_LINES } way;

struct walk;

/* That a difference of two numbers, zero at the point, is positive near it. */
typedef struct {
  interval *gradient;
  uint8_t degree;
  polynomial q;
} decision;

/* Where touched instructions part the ways of the program near the point (program_fork.h). */
typedef struct {
  size_t n_used;       /* forks by choices so far, or along an arc */
  size_t *arc_choices; /* along an arc: the choice at each of them */
  size_t n_decisions;  /* what the choices so far decided */
  decision *decisions;
  bool stopped; /* by choices, in a dead branch: at its end */
  const size_t *choices, *among;
  size_t n_choices;
  bool dead;
  /* Not along an arc: which of n numbers is the largest near the point (up: the least), NONE: it is left open; and along lines
   * the sign of a less b, 0 when it is 0 along all. */
  size_t (*largest)(struct walk *w, size_t at, size_t n, const size_t *y, bool up);
  int (*sign)(struct walk *w, size_t at, size_t a, size_t b);
} forks;

/* A program that is followed. */
typedef struct walk {
  program prog;
  state *states; /* of its instructions */
  size_t n_wrt;  /* entries of wrt */
  way mode;
  size_t n_terms; /* of series */
  forks fork;
  size_t n_touched, n_followed, *waiting, *next;
  bool every_arm; /* at the point: with both arms of branches whose comparands are equal */
  size_t n_steps;
  const rational *arc;
  rational *steps; /* of the arc that was read last: so many numbers */
  size_t n_numbers;
  bool moved; /* a branch takes not the arm that it takes at the point */
  /* Instead of the entries of wrt, of which there are n_entries, so many numbers t vary: the entries are at the point plus
   * t_1 lines[0] + t_2 lines[1] + ... ALONG_LINES these are above 0, and each far less than the one before. */
  const rational *lines;
  size_t n_entries;
  bool vague; /* ALONG_LINES: numbers came first that are one along all lines, but not known to be one function */
} walk;

void walk_program(walk *w, const program *p);    /* a program that was read, whose instructions are kept */
void walk_vary(walk *w, size_t at);              /* an input's entry is the next in wrt */
void walk_clear(walk *w, way how, size_t terms); /* nothing is followed yet */
typedef struct {
  char text[64];
} place_name;
place_name place(walk *w, size_t at); /* of an instruction, for messages */

void add_gradient(walk *w, state *y, const interval *c,
                  const state *x); /* y's += c times x's, in AD's way where y is AD's */

void limit_interval(const interval *x); /* fails where an end is longer than numbers may be */
void add_limited(interval *y, const interval *x, const rational *c); /* y += c x, the size being looked at */

void polynomial_clear(polynomial *y);
void add_term(walk *w, polynomial *y, const rational *c, const unsigned char *e); /* y += c times that monomial */
void add_polynomial(walk *w, polynomial *y, const rational *q, size_t at);        /* y += q times an instruction */
void refine(walk *w, size_t at); /* what an instruction of degree 2 is as a polynomial, which may tell a lower degree */

#endif
