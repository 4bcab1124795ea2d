/* The description of a recorded training step: run.json of a run folder (docs/run-format.md). The files that it names are
 * in the same folder, by plain names. */
#ifndef CLARKE_FORMAT_RUN_H
#define CLARKE_FORMAT_RUN_H

#include "format/run_update.h"

#include <gmp.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct {
  char *name; /* NULL: there is none */
  char sha256[65]; /* empty: none is given, which only the trace's may be */
} clarke_run_file;

/* An update of a BatchNormalization's running statistics: the names of the buffers, and what share of the batch's own they took. Of several
 * `samples`, normalized by themselves, it is the share of the mean of their own. */
typedef struct {
  char *node, *mean, *variance;
  char *count; /* the buffer that counts updates; NULL: none */
  size_t samples;
  mpq_t momentum;
} clarke_run_statistics;

/* What the recorder ran once more, at moved parameters, to see that nothing had escaped it. */
typedef enum {
  CLARKE_AGAIN_NOT_SAID,
  CLARKE_AGAIN_NOTHING,
  CLARKE_AGAIN_CALLS,  /* the modules' */
  CLARKE_AGAIN_LOSS,   /* all that computes it */
  CLARKE_AGAIN_PROGRAM /* the modules' calls of earlier steps that ran the same program */
} clarke_run_again;

/* What another optimizer made of the step, or an average of the parameters. */
typedef struct {
  clarke_run_file file; /* name NULL: none */
  clarke_run_update update;
} clarke_run_more;

typedef struct {
  size_t step;
  mpq_t scale; /* what the loss was multiplied by, not 0 */
  bool has_loss; /* is the loss told, */
  double loss;   /* as a finite number? */
  clarke_run_again again;
  clarke_run_file batch, parameters, gradients, trace, trees, optimizer; /* the last three may be missing */
  clarke_run_update update; /* what the optimizer made of it; */
  size_t n_more;
  clarke_run_more *more;    /* and others, which have the numbers from 1 on, not in order */
  size_t n_statistics;
  clarke_run_statistics *statistics;
} clarke_run_step;

/* To what factors may have been rounded: none of these, or some. */
typedef enum { CLARKE_TO_TF32 = 1, CLARKE_TO_BF16 = 2, CLARKE_TO_F16 = 4 } clarke_factors;

typedef struct {
  char *framework, *version, *device, *profile, *loss;
  unsigned matmul, conv; /* to what float32 factors of matrix products and of convolutions may have been rounded */
  bool by_operator;      /* was it told by backend and operator? */
  bool cpu;              /* then their products were added up in float32 */
  clarke_run_file graph;
  size_t n_dtypes, n_parameters, n_steps;
  char **dtype, **parameter; /* those that are trained */
  bool says_branches; /* is there such a list? */
  size_t n_branches;
  char **branch; /* lines where Python read what depends on them: only the side that was taken is in the graph */
  size_t n_surrogates, n_constants;
  char **surrogate; /* where AD differentiates another function than the one that was computed, on purpose: the graph is of that */
  char **constant;  /* what of the parameters was no variable, each a phrase */
  /* A step that left the reals has what did so, in lines, and as JSON. There are no other keys then, and no step. */
  size_t n_outside;
  char **outside, *outside_json;
  clarke_run_step *step;     /* at least one */
} clarke_run_description;

void clarke_run_description_init(clarke_run_description *r);
void clarke_run_description_clear(clarke_run_description *r);

/* From the bytes of a run.json; `file` is its name in messages. Keys that are not known are passed over. */
clarke_status clarke_run_description_parse(clarke_run_description *r, const void *data, size_t size, const char *file,
                                           clarke_error *err);

#endif
