/* The programs of torch.optim, and of clarke's own optimizers, that make a step tensor by tensor, operation by operation: which numbers they give, bit for bit. Those of
 * float16 and bfloat16 compute an operation in float32, and round its result.
 *
 * Compilers and processors choose whether a product and a sum are one operation (fused); and the C library's pow is off by less than a unit in
 * the last place. So there are several ways; a number is the program's in each of a set of them. Roots of tensors are off by less than a
 * unit, too (MKL's are not always the nearest): either neighbour of an entry's root will do. */
#ifndef CLARKE_STEP_SINGLE_H
#define CLARKE_STEP_SINGLE_H

#include "exact/tensor.h"
#include "step/rule.h"

#include <stdint.h>

/* Bits of a way's number: is lerp fused, addcmul, add with a factor; and which neighbour is each of three powers? (RAdam has four: of its sixteen
 * choices the eight that are likeliest, where two at most are not the nearest.) */
enum { CLARKE_WAY_LERP = 1, CLARKE_WAY_ADDCMUL = 2, CLARKE_WAY_ADD = 4, CLARKE_WAY_POWERS = 8, CLARKE_N_WAYS = 64 };

typedef struct {
  double theta, slot[CLARKE_N_SLOTS];
} clarke_single_state;

/* What all entries of a tensor share, in one choice of the powers. */
typedef struct {
  double step, root, of_m, of_g; /* the factor of the step; what the root is divided by; NAdam's factors */
  double rest, rect;             /* RAdam's 1 - momentum^k, and its factor; 0: rho_t is not above 5 */
  bool possible;
} clarke_single_scalars;

typedef struct clarke_single clarke_single;
struct clarke_single {
  clarke_dtype dtype;
  bool begins; /* SGD has no m yet, INNAprop no psi */
  bool maximize, decoupled, nesterov, sparse; /* sparse: by a sparse gradient */
  unsigned far; /* bits: is the first root of an entry rounded away from the nearest; the second one, which Adadelta has? */
  double lr, alpha, beta, momentum, sigma, eps, decay, dampening, lambd, eta_minus, eta_plus, size_min, size_max;
  double eta, mu; /* of ASGD, as its state has them */
  double start[CLARKE_N_SLOTS]; /* of a slot that is not there before the step */
  clarke_single_scalars scalars[CLARKE_WAY_POWERS];
  void (*entry)(const clarke_single *s, clarke_single_state *e, double g, unsigned way);
};

/* lr_decay of Adagrad, the products of mu of NAdam before and after the step (kept in float32 or float64), ASGD's eta and mu before. */
typedef struct {
  double lr, lr_decay, product[2], eta, mu;
  bool product_float32, maximize, sparse;
} clarke_single_more;

/* A double as a tensor of the type stores it. A sum of two of the type's numbers, made in doubles, is that of PyTorch's then. */
double clarke_single_round(clarke_dtype dtype, double x);

/* False: there is no such program here. The hyperparameters are checked; those that are no doubles are none of torch's. */
bool clarke_single_make(clarke_single *s, const clarke_rule *r, const clarke_hypers *h, size_t k, clarke_dtype dtype,
                        const clarke_single_more *more);

/* In which of these ways is `after` what the program makes of an entry? Slots that are not compared may be anything. Where no way gives it with
 * roots that are the nearest, they are asked with the other neighbours. */
uint64_t clarke_single_ways(const clarke_single *s, uint64_t ways, const clarke_single_state *before, double g,
                            const clarke_single_state *after, const bool compared[CLARKE_N_SLOTS]);

#endif
