/* What run.json says of an optimizer's step: the entry `update` of a step (docs/run-format.md). */
#ifndef CLARKE_FORMAT_RUN_UPDATE_H
#define CLARKE_FORMAT_RUN_UPDATE_H

#include "base/status.h"

#include <gmp.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* A setting of a group: a flag, a text, one exact number or several; null; or something else. */
typedef struct {
  char *name, *text;
  bool is_flag, flag, is_null;
  bool lacks_first; /* a list of numbers whose first is null, which is 0 here */
  long bits;        /* of the significand of a tensor that PyTorch kept a number in, the least; of others 53 */
  size_t n;
  mpq_t *number;
} clarke_run_setting;

typedef struct {
  char *path; /* "single", "foreach", "fused" */
  size_t n_parameters, n_settings;
  char **parameter;
  clarke_run_setting *setting;
} clarke_run_group;

typedef struct {
  bool there;
  bool averages; /* no optimizer's: the averaged parameters are in theta's place, those that are averaged in the gradient's */
  char *optimizer, *module;
  char *skipped, *missing; /* why no step was made; why what it made is not kept; or NULL */
  bool scaled, found_inf;  /* a GradScaler's: the step divided the gradients by `scale` itself; or made no step, as it found infinite ones */
  mpq_t scale;
  size_t n_groups;
  clarke_run_group *group;
} clarke_run_update;

void clarke_run_update_init(clarke_run_update *u);
/* Initialize it again before it is read into. */
void clarke_run_update_clear(clarke_run_update *u);
/* j NULL: there is none. */
clarke_status clarke_run_update_read(clarke_run_update *u, const json_t *j, clarke_error *err);

/* NULL: the group has no such setting. */
const clarke_run_setting *clarke_run_setting_find(const clarke_run_group *g, const char *name);

#endif
