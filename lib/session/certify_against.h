/* Two records of one step, of one graph, batch and parameters: what makes them differ? */
#ifndef CLARKE_SESSION_CERTIFY_AGAINST_H
#define CLARKE_SESSION_CERTIFY_AGAINST_H

#include "session/certify.h"

typedef enum {
  CLARKE_NO_DIFFERENCE,  /* all recorded numbers are equal */
  CLARKE_BY_ROUNDING,    /* compensation: one pattern, and each node of both follows from its own inputs within rounding */
  CLARKE_BY_BRANCHES,    /* bifurcation: at some kink or window the two took different branches */
  CLARKE_BY_NUMBERS,     /* one pattern, and at a kink or tie of both AD's number is another, by the profiles */
  CLARKE_NOT_EXPLAINED,  /* one pattern, and a node of one record is not certified; or a pattern that is not known */
} clarke_difference_kind;

typedef struct {
  clarke_difference_kind kind;
  bool forked;
  clarke_bifurcation at;   /* the first, in the graph's order */
  double argument[2];      /* of a kink what was recorded there */
  clarke_truth exactly;    /* does its exact argument lie on the kink, or do the exact entries of its window tie? A real bifurcation does;
                            * else the branch is of floats alone. Not known without the first's exact replay,
                            * and where of an exact tie the record took a loser */
  bool numbered;           /* does some recorded output differ? */
  clarke_bifurcation number; /* the first, in the graph's order, */
  double recorded[2];      /* and what was recorded */
  size_t entries, differing; /* of the gradient in all parameters */
  const char *parameter;   /* where it differs most, in absolute value; NULL: nowhere */
  char index[256];
  double value[2];         /* what was recorded, divided by the loss scales where they differ */
} clarke_difference;

/* Both were run. Another graph, batch or other parameters are an error. */
clarke_status clarke_certified_against(clarke_difference *d, const clarke_certified *a, const clarke_certified *b, clarke_error *err);

/* One object; NULL when out of memory. */
json_t *clarke_difference_json(const clarke_difference *d, const clarke_certified *a, const clarke_certified *b);

#endif
