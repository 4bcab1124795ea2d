/* What run.json has of an optimizer's recorded step: its rule, and the settings of each group of parameters. */
#ifndef CLARKE_KERNEL_UPDATE_SETTINGS_H
#define CLARKE_KERNEL_UPDATE_SETTINGS_H

#include "check/base/bytes.h"
#include "check/base/name_index.h"
#include "check/update/update_rule.h"

typedef struct update_class update_class;
typedef struct {
  const update_class *of; /* the optimizer's; NULL: nothing was read */
  bytes entry;            /* the step's `update` */
  name_index names;       /* of the parameters in its groups; */
  bytes *group;           /* and, by their numbers, the group of each */
} update_settings;

/* Reads the one step in the folder's run.json whose optimizer's file has that name and hash. */
void update_settings_read(update_settings *s, const char *folder, const char *file, const char *hash);
void update_settings_state(const update_settings *s); /* the class, in words */

/* ---- What a proof says is the same, or a failure */

/* What the gradients were multiplied by; 1 where run.json says nothing. */
void update_settings_check_scale(const update_settings *s, const rational *scale);
/* The rule with its numbers and choices, and its direction; of a parameter behind k steps. An epsilon that is null is 2^-finfo. */
void update_settings_check(const update_settings *s, const char *parameter, const update *rule, bool up, size_t k,
                           size_t finfo);
/* The first parameter of the group that this one is in; to be freed. */
char *update_settings_first(const update_settings *s, const char *parameter);

#endif
