/* The regions of a piecewise linear function: in a polytope, or around a point. (Of a minimum all is as of the maximum of what is
 * negated.)
 *
 * A *pattern* is a piece for each kink and an entry for each maximum: its winner. Its region is the open set of points that
 * follow it strictly. Found are all patterns with a region that is not empty. Kinks whose arguments are known as affine forms
 * are one arrangement, whose sign vectors are enumerated (sign_vectors.h) inside the cone of the choices so far; each of them
 * leads on to the kinks behind. Where an argument is constant at its kink within a region, no side is chosen: both pieces have
 * one value there, and the function does not depend on it. Of entries of a maximum that are one form the first stands for
 * all. */
#ifndef CLARKE_REGION_REGIONS_H
#define CLARKE_REGION_REGIONS_H

#include "region/forms.h"
#include "region/sign_vectors.h"

/* A region, while it is told. */
typedef struct {
  const clarke_forms *forms; /* those of needed instructions are the region's */
  const fmpz_mat_struct *cone; /* the region: where all rows are positive on (z, 1), or on z around a point */
  const clarke_witness *point; /* a point of it: (z, 1) times some number above 0, or z around a point */
  const unsigned char *choice; /* by instruction: of needed kinks the piece, or CLARKE_NO_SIDE; the winner */
} clarke_region;

#define CLARKE_NO_SIDE 255

typedef clarke_status (*clarke_region_visitor)(void *context, bool *go_on, const clarke_region *region, clarke_error *err);

/* Each takes a few KB of the stack. */
#define CLARKE_MOST_LAYERS 1024

typedef struct {
  size_t regions;
  size_t programs, circuits; /* of all arrangements */
  bool complete;  /* all regions were told */
  bool undecided; /* ended, for integers could not decide a system */
  bool stopped;   /* ended, for the work was told to stop (base/stop.h) */
  bool deep;      /* ended, for more than CLARKE_MOST_LAYERS arrangements lie in each other */
} clarke_regions;

/* What a proof hears of the search, in preorder. Arrangements lie inside one another, each inside a sign vector of the one
 * around it. The first `above` rows of one are all rows of that, each turned to its sign; the others are new. The first `fixed` are
 * positive: those above, and where entry `winner` of a maximum is to be the largest (else CLARKE_NONE) its difference to each
 * other entry that may win. The rows stay until `end`. An arrangement in which nothing is positive has a circuit alone. */
typedef struct {
  void *context;
  clarke_status (*begin)(void *context, const clarke_rows *rows, size_t above, size_t fixed, size_t winner, clarke_error *err);
  clarke_status (*enter)(void *context, const signed char *sign, clarke_error *err); /* a sign vector: what follows is inside */
  void (*end)(void *context);
  clarke_status (*circuit)(void *context, const clarke_circuit *c, clarke_error *err); /* as of clarke_sign_visitor */
  clarke_status (*split)(void *context, size_t row, clarke_error *err);
  clarke_status (*forced)(void *context, size_t row, int sign, size_t circuit, clarke_error *err);
} clarke_region_listener;

/* Regions that meet the inside of {z : cone (z, 1) > 0}; cone: rows of dim + 1 integers, which bound z. */
clarke_status clarke_regions_inside(clarke_regions *r, clarke_forms *f, const fmpz_mat_t cone, clarke_region_visitor visit,
                                    void *context, clarke_error *err);

/* The same; cone NULL: regions whose closure holds z = 0, of each the cone of directions that lead into it. By so many threads:
 * the visitor is called by the caller's alone, in the same order whatever their number; but of the region's forms it may then
 * see those of outputs only. */
clarke_status clarke_regions_find(clarke_regions *r, clarke_forms *f, const fmpz_mat_struct *cone, size_t threads,
                                  clarke_region_visitor visit, void *context, clarke_error *err);
/* Either (cone NULL: around z = 0), with all that a proof needs: every branch left out is refuted by a circuit that is told. */
clarke_status clarke_regions_tell(clarke_regions *r, clarke_forms *f, const fmpz_mat_struct *cone, clarke_region_visitor visit,
                                  void *context, const clarke_region_listener *listener, clarke_error *err);

#endif
