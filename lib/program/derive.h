/* Everything that is asked about a program at a point: value, AD's output, the generalized
 * derivatives, and where AD's output lies. */
#ifndef CLARKE_PROGRAM_DERIVE_H
#define CLARKE_PROGRAM_DERIVE_H

#include "base/verdict.h"
#include "program/conservative.h"
#include "program/lipschitz.h"
#include "program/patterns.h"
#include "program/representation.h"
#include "program/unbounded.h"

typedef struct {
  const clarke_code *p;
  const clarke_profile *profile;
  clarke_execution execution;
  size_t dim;            /* n_outputs x wrt_count */
  clarke_number *ad;     /* dim */
  bool ad_exact;
  clarke_magnitude *magnitude; /* dim: which of AD's entries are finite; NULL: all */
  char unbounded[192];         /* where not all are: why */
  clarke_patterns patterns;
  bool lipschitz;        /* the outputs are known to be, near the point; else, why they may not be */
  char not_lipschitz[CLARKE_LIPSCHITZ_WHY];
  size_t far;            /* an instruction that clarke-check cannot execute near the point (lipschitz.h), or CLARKE_NONE */
  bool sets_known;       /* bouligand and clarke below are the whole sets */
  clarke_points bouligand; /* gradients of the realized patterns that are rational */
  clarke_points clarke;    /* the vertices of their hull */
  bool least_known;
  mpq_t *least;          /* the least element of the Clarke set (dim) */
  clarke_conservative conservative;
  clarke_representation representation;
  clarke_truth differentiable;
  bool convex;           /* the output is proved to be, in all entries of wrt, everywhere (convex.h) */
  clarke_zone zone;
  clarke_verdict verdict;
  char why[512];
  /* Evidence, for the proof. AD: at every touched kink AD follows pattern ad_pattern. HULL: weights
   * of patterns, all rational. SEPARATOR: <separator, ad - gradient> > 0 for every pattern of the
   * complete tree. UNANIMOUS: the tree is complete and every pattern's gradient is AD's output. */
  clarke_evidence evidence;
  bool opened;           /* UNANIMOUS: no tree, but one leaf behind n_open forks that are all left open */
  size_t n_open;
  size_t ad_pattern;
  mpq_t *weight;         /* by pattern */
  mpq_t *opposite;       /* HULL: no weights, but a direction: the limits along it and against it have AD's output for their mean */
  mpq_t *separator;      /* dim */
} clarke_derivation;

/* Evidence that can be one of its verdict, of patterns that there are. */
bool clarke_derivation_is_valid(const clarke_derivation *d);

void clarke_derivation_init(clarke_derivation *d);
void clarke_derivation_clear(clarke_derivation *d);
/* Where patterns may come from, before the tree is asked: *found, and then all of them; else t is empty again. */
typedef struct {
  void *context;
  clarke_status (*find)(void *context, bool *found, clarke_patterns *t, clarke_error *err);
} clarke_pattern_source;

/* at is kept by reference; p has wrt marked. */
clarke_status clarke_derive(clarke_derivation *d, const clarke_code *p, mpq_t *at,
                            const clarke_profile *profile, clarke_error *err);

/* The same, with patterns from a source, if it finds them. source: or NULL. */
clarke_status clarke_derive_by(clarke_derivation *d, const clarke_code *p, mpq_t *at, const clarke_profile *profile,
                               const clarke_pattern_source *source, clarke_error *err);

#endif
