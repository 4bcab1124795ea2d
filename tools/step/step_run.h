/* clarke step RUN/: did a recorded optimizer's step what its rule says? */
#ifndef CLARKE_TOOLS_STEP_RUN_H
#define CLARKE_TOOLS_STEP_RUN_H

#include "session/record.h"
#include "step/judge.h"

typedef struct {
  const char *folder, *rule; /* rule NULL: the optimizer's own */
  const char *proof;         /* where to; NULL: none is asked for. One is written where the step is the rule's */
  size_t step, which; /* which: of several optimizers' steps, CLARKE_NONE: all of them */
  bool json;
} clarke_step_request;

/* Prints it. answer: an exit status. */
clarke_status clarke_step_run(int *answer, const clarke_step_request *q, clarke_error *err);

/* --- step_settings.c: a group's settings as a rule's hyperparameters --- */

/* What a group of parameters was made to step by. */
typedef struct {
  const clarke_rule *rule;
  clarke_hypers hypers;
  mpq_t lr_decay;
  bool maximize, capturable;
  bool whole;          /* the group has a number for each that the rule has */
  const char *unknown; /* a setting that no rule here has: "amsgrad"; NULL */
  long bits;           /* those of a tensor that keeps the step size; 53: of none */
  const char *coarse;  /* another setting that is kept in a tensor of fewer than 53 bits; NULL */
} clarke_step_settings;

void clarke_step_settings_init(clarke_step_settings *s);
void clarke_step_settings_clear(clarke_step_settings *s);
/* The rule of an optimizer; NULL: none is known. */
const clarke_rule *clarke_step_rule_of(const clarke_run_update *u);
/* Reads what the group sets of a rule; what is wrong is an error. first: the type of its first parameter, by which Adafactor's epsilon is, if none is set. */
clarke_status clarke_step_settings_read(clarke_step_settings *s, const clarke_rule *rule, const clarke_run_group *g, clarke_dtype first,
                                        clarke_error *err);

/* --- step_gradient.c: the gradients that the optimizer was given, beside those that were recorded --- */

typedef enum {
  CLARKE_GIVEN_RECORDED, /* the very numbers */
  CLARKE_GIVEN_MULTIPLE, /* one factor times them, but for rounding: unscaled, clipped by their norm */
  CLARKE_GIVEN_CLAMPED,  /* cut at one value */
  CLARKE_GIVEN_OTHER,    /* neither: of backward passes that were not recorded, or changed */
} clarke_given;

typedef struct {
  clarke_given is;
  double low, high;      /* the factor lies between; or `high` is the value */
  size_t parameters, unrecorded; /* of those that were stepped, how many have no recorded gradient; */
  size_t unstepped;              /* and how many have one, and were not stepped */
  const char *first;     /* of other ones the first parameter; where theta did not begin as recorded, that one's name */
  size_t summed, from;   /* not 0: the recorded one is the sum of those of so many steps, each behind the other, from the one with that number on */
  bool moved;            /* a parameter was changed between the backward pass and the step */
} clarke_given_finding;

/* Tensors gradient/NAME and before/theta/NAME of the update, gradients and parameters of the record. Of an average: are the parameters those that the
 * step's optimizers left behind? */
clarke_status clarke_given_find(clarke_given_finding *f, const clarke_record *r, clarke_error *err);

/* A tensor named PART/NAME, or PART/SLOT/NAME (slot not NULL); NULL: there is none. */
const clarke_tensor *clarke_update_tensor(const clarke_tensors *ts, const char *part, const char *slot, const char *name);

#endif
