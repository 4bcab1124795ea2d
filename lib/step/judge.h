/* Does what an optimizer made of a parameter follow from its gradient by a rule? Bit for bit, where the program is known; else within what
 * floats may make of the rule. */
#ifndef CLARKE_STEP_JUDGE_H
#define CLARKE_STEP_JUDGE_H

#include "step/single.h"
#include "step/whole.h"

/* A parameter before the step and after it, entry by entry. A slot that is not there before (NULL) begins as the rule says; one that is
 * not there after is not asked about. */
typedef struct {
  size_t n;
  clarke_step_shape shape; /* a rule of whole tensors asks for it; slots have as many numbers as it says */
  const double *gradient, *theta[2], *slot[2][CLARKE_N_SLOTS];
  const int64_t *times; /* how often a sparse gradient has the entry, whose numbers are added up; NULL: it is a dense one */
  const double *sizes;  /* the sum of their absolute values; NULL where none is there twice */
} clarke_step_tensor;

typedef struct {
  const clarke_rule *rule;
  const clarke_hypers *hypers; /* with the rounding of the tensor's type */
  size_t k;
  const clarke_single *single; /* NULL: no program is known */
  bool maximize;
  clarke_dtype dtype;
  bool elsewhere;   /* it was not made on a CPU: how products of matrices are rounded is not known */
  bool short_factors; /* products of float32 matrices may have been made of shorter factors, as torch.set_float32_matmul_precision allows */
  mpq_srcptr scale; /* by which the step divided the gradient itself; NULL: it did not */
} clarke_step_question;

typedef struct {
  size_t bits, within, wrong, open; /* entries: bit for bit; within the bound; outside; the bound is infinite */
  uint64_t ways;           /* in each of these all that are bit for bit are the program's */
  /* For theta, then each slot. At most: the bound on entries that are not bit for bit, or move by nothing; at least: how far
   * one moves, from where it was recorded or the rule begins it. */
  double bound[1 + CLARKE_N_SLOTS], moved[1 + CLARKE_N_SLOTS];
  int slot;                /* of the first entry that is wrong, or else open: -1 theta; */
  size_t entry;
  double recorded;
  char *by_rule;           /* what it must be (malloc) */
} clarke_step_finding;

void clarke_step_finding_clear(clarke_step_finding *f);

/* Is a bound above a quarter of how far an entry moves, of theta or of a slot? Then a wrong step could be within it. slot (may be NULL): of which, -1
 * theta. Each tensor is asked by itself: what others move by says nothing of it. */
bool clarke_step_is_wide(const clarke_step_finding *f, int *slot);

/* stop: at the first entry that is not the rule's. */
clarke_status clarke_step_judge(clarke_step_finding *f, const clarke_step_question *q, const clarke_step_tensor *t, bool stop, clarke_error *err);

/* How far the recorded numbers of theta, then of each slot, are from the exact rule's, at most; infinite where that is
 * not known, 0 for a slot that is not asked about. */
clarke_status clarke_step_distances(double far[1 + CLARKE_N_SLOTS], const clarke_step_question *q, const clarke_step_tensor *t, clarke_error *err);

/* Is torch-nadam's product of all mu, before the step and after it, the next one, as far as floats may tell? */
bool clarke_step_product_follows(const double product[2], const clarke_hypers *h, size_t k);
/* And is it that of k steps with these settings? */
bool clarke_step_product_is(double product, const clarke_hypers *h, size_t k);
/* Is it torch-asgd's eta behind k steps, or its mu? */
bool clarke_step_average_is(double number, bool eta, const clarke_hypers *h, size_t k);

#endif
