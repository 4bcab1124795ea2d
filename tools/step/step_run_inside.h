/* What the parts of clarke step RUN/ share. */
#ifndef CLARKE_TOOLS_STEP_RUN_INSIDE_H
#define CLARKE_TOOLS_STEP_RUN_INSIDE_H

#include "step_run.h"

#include <jansson.h>

typedef struct {
  const char *name;
  size_t group, k;       /* k: steps that were made before */
  const char *miscounted; /* what does not go on as it should, NULL: "step", whose count after is not one more; "mu_product", "eta", "mu": */
  double counted[2];
  const char *stray; /* which of the latter is not that of k steps before the step, NULL */
  const clarke_tensor *theta;
  clarke_step_tensor tensor;
  clarke_step_finding finding;
} clarke_step_parameter;

typedef enum {
  CLARKE_STEP_BITS, CLARKE_STEP_WITHIN, CLARKE_STEP_WRONG,
  CLARKE_STEP_OPEN,    /* a bound is infinite */
  CLARKE_STEP_WIDE,    /* the bound is not small beside the step */
  CLARKE_STEP_STRAY,   /* the state before is not one of these settings */
  CLARKE_STEP_SKIPPED, /* the optimizer found infinite gradients, and changed nothing */
  CLARKE_STEP_NONE,    /* none was made */
  CLARKE_STEP_ABSENT,  /* of several optimizers the first has not stepped yet: nothing is said */
  CLARKE_STEP_MISSING, /* it was not kept */
  CLARKE_STEP_UNKNOWN, /* no rule */
} clarke_step_answer;

typedef struct {
  clarke_record record;
  const clarke_rule *rule;
  size_t n;
  clarke_step_parameter *parameter;
  clarke_given_finding given;
  clarke_step_answer answer;
  clarke_step_finding sum;          /* of all parameters; slot, entry, recorded and by_rule are not used */
  uint64_t ways;                    /* of all entries that are bit for bit */
  const clarke_step_parameter *first; /* with the first entry that is wrong, or open */
  const clarke_step_parameter *miscounted, *stray;
  const clarke_step_parameter *wide; /* the first whose bound is not small beside its own step: */
  int wide_slot;                    /* on theta, -1, or on a slot */
  const char *unknown;              /* a setting without a rule */
  const char *coarse;               /* a setting that is kept in a tensor, in which what all entries share is rounded */
  char instead[96];                 /* what explains all entries; empty */
  char why[512];                    /* of a step that evaluates where it goes; empty */
  const char *first_slot;           /* of such a step: the part of the first entry; NULL */
} clarke_run;

/* A rule, or a change of one, that may have been followed instead. */
typedef struct {
  const clarke_rule *rule;
  bool eps, decay, undecayed, nesterov, ascends;
  int later;
  char says[96];
} clarke_other;

/* step_run.c */
clarke_status clarke_run_settings(clarke_step_settings *s, const clarke_rule *rule, const clarke_run *r, const clarke_step_parameter *p,
                                  clarke_error *err);
bool clarke_run_question(clarke_step_question *q, clarke_single *single, clarke_step_settings *s, const clarke_run *r,
                         const clarke_step_parameter *p);

/* The type of the first parameter of a group. */
clarke_dtype clarke_run_first_type(const clarke_run *r, size_t group);

/* Adagrad's step size is lr / (1 + k lr_decay). */
void clarke_run_decay_step(clarke_step_settings *s, size_t k);

/* What programs of such tensors may round. */
clarke_step_rounding clarke_run_rounding(clarke_dtype dtype, bool capturable);

/* step_run_lbfgs.c: its parameters are taken, and the group's settings read */
clarke_status clarke_run_judge_lbfgs(clarke_run *r, clarke_step_settings *s, clarke_error *err);

/* step_run_proof.c: of a step that is the rule's */
clarke_status clarke_run_prove(const clarke_run *r, const char *path, clarke_error *err);

/* step_other.c: number i; false past the last. */
bool clarke_other_at(clarke_other *o, const clarke_rule *rule, size_t i);
/* The settings as they are then, and what that is called; false: the change makes no difference. */
bool clarke_other_change(clarke_step_settings *s, clarke_other *o);

/* step_answer.c */
void clarke_run_add(clarke_run *r, const clarke_step_parameter *p);
/* In words at once; as JSON at the end of the list. proof: where one was written, or NULL. */
clarke_status clarke_run_print(json_t **list, const clarke_run *r, bool json, const char *proof, clarke_error *err);
/* The list: its only answer, or what all of them come to. */
clarke_status clarke_run_print_all(json_t *list, size_t step, int status, clarke_error *err);
int clarke_run_status(const clarke_run *r);

#endif
