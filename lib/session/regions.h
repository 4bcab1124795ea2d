/* What regions are asked of: a function read from a file, and where. */
#ifndef CLARKE_SESSION_REGIONS_H
#define CLARKE_SESSION_REGIONS_H

#include "network/graph/graph.h"
#include "program/prog.h"
#include "region/regions.h"

/* A program (.prog), or a network (.onnx) unrolled for one sample. */
typedef struct {
  const char *wrt; /* set before opening: names of what varies, with commas between, or params (all parameters); NULL: the inputs */
  const char *output; /* the same: of a network the one that is asked about; NULL: it has one */
  clarke_prog prog;
  clarke_graph graph;
  clarke_code program;
  size_t n;       /* entries of the program's inputs, which are the network's input and then the parameters in wrt */
  size_t n_given; /* those of the first so many that a point gives; stored values follow */
  size_t n_stored;
  mpq_t *stored;
  bool network, provable; /* provable: a proof that holds some of its entries can be about it (proof/write.h) */
  char sha256[65]; /* of the file */
} clarke_region_function;

void clarke_region_function_init(clarke_region_function *f);
void clarke_region_function_clear(clarke_region_function *f);
/* Reads a program or a network as a function; f->output, set before, chooses a network's output. */
clarke_status clarke_region_function_open(clarke_region_function *f, const char *path, clarke_error *err);

/* With wrt set: *point (n_given rationals) gets the stored values too, n in all; and what does not vary is held there (program/hold.h).
 * Without, nothing is done. */
clarke_status clarke_region_function_hold(clarke_region_function *f, mpq_t **point, clarke_error *err);

/* A point for the n entries (malloc, n initialized rationals): numbers with commas between, or a file, .npy, .npz (the array
 * `x` or the only one) or a table of n numbers. `what`: what messages call it. */
clarke_status clarke_region_point(mpq_t **point, const char *text, size_t n, const char *what, clarke_error *err);

/* An error, when some of its entries are held and no proof can be about it. */
clarke_status clarke_region_function_may_prove(const clarke_region_function *f, const char *path, clarke_error *err);

/* The n entries of all inputs (malloc, n initialized rationals): those in wrt are the given ones, in their order, the others those of
 * the point. */
clarke_status clarke_region_function_spread(mpq_t **whole, const clarke_region_function *f, mpq_t *point, mpq_t *given, clarke_error *err);

/* A box: 2 n rationals, lower and upper bound of each entry in turn (malloc). A table of n rows of two, or a VNNLIB query
 * (.vnnlib). An empty one is an error, and so is a flat one; of a slice, one with no entry whose bounds differ. */
clarke_status clarke_region_box(mpq_t **bounds, const char *path, size_t n, bool slice, clarke_error *err);

#endif
