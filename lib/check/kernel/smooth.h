/* What the kernel asks of smooth steps: functions, softmax, normalizations; and of cross entropy. It is handed in with a network that has
 * them. One of sums, pieces and windows alone rests on nothing of it. */
#ifndef CLARKE_KERNEL_SMOOTH_H
#define CLARKE_KERNEL_SMOOTH_H

#include "check/kernel/point.h"

struct motion;
struct jacobian;
struct near;
struct origins;

typedef struct smooth_rules {
  /* A FUNCTION step. Does x lie in the domain? UNDECIDED when it does not say. Of one that jumps x may be there, if nothing moves
   * it: `still`. Is it sure that all of x does? Encloses f(x), or its derivative, for an x in the domain. */
  bool (*inside)(function f, const interval *x, bool still);
  bool (*holds)(function f, const interval *x, bool still);
  void (*value)(interval *y, function f, const interval *x);
  void (*slope)(interval *y, function f, const interval *x);
  bool (*rational_slope)(function f, const interval *x); /* may that of an exact x be rational? */
  /* Near values of the functions of a sample, to as many bits as others have: are they known? */
  bool (*function_near)(const point *p, struct near *v, size_t s, size_t sample);
  /* The line that has entry e in a SOFTMAX or NORMALIZE step: all values, and all tangents; the derivatives of entry e; near values
   * of all lines of a sample, if they are known. */
  void (*line_values)(const point *p, size_t s, size_t e);
  void (*line_tangents)(const struct motion *d, size_t s, size_t e);
  void (*line_row)(const struct jacobian *j, size_t s, size_t e, bool rootless);
  /* Takes back as a whole those lines whose adjoints, by entry / apart, are all known, and makes these 0. c: or NULL. */
  void (*lines_back)(const struct jacobian *j, size_t s, size_t sample, rational *adjoint, const bool *unknown,
                     const cell *c);
  bool (*line_near)(const point *p, struct near *v, size_t s, size_t sample);
  /* The sign of entry e of step s by what it is made of, where its interval does not tell: -1 or 1; 0: it is not told. */
  int (*sign_by_size)(const point *p, size_t s, size_t e);
  /* Is entry a of step s, less entry b where that is another, certainly 0, for it cancels but for a root (factor.h)? */
  bool (*cancels)(const point *p, size_t s, size_t a, size_t b);
  void (*root_prepare)(step *st); /* of an OVER_ROOT step what multiplies x, to the session's bits */
  /* What multiplies entry e of an OVER_ROOT or NORMALIZE step, being 1 over a root. */
  void (*inverse_root)(const point *p, const step *st, size_t e, interval *r);
  /* Cross entropy. d, the n outputs of a sample, become its derivative by them. */
  void (*entropy_slopes)(const point *p, interval *d, size_t n, size_t sample);
  /* As loss_origins (gradient.h), and each derivative of the loss that is 0 is known to be; false where the loss is no cross entropy,
   * samples depend on one another, or an output is not rational of one in which a kink is touched. Then nothing is found. */
  bool (*entropy_origins)(const point *p, const cell *c, struct origins *of);
} smooth_rules;

#endif
