/* From a model's nodes to steps. */
#ifndef CLARKE_KERNEL_BUILD_H
#define CLARKE_KERNEL_BUILD_H

#include "check/files/onnx.h"
#include "check/files/arrays.h"
#include "check/kernel/steps.h"

struct builder;

/* What knows operators, and formats of parameters. It is handed down from the top, so that what reads a network links none of them:
 * they are network.c's. */
typedef struct {
  void (*node)(struct builder *b);   /* makes b->node, its inputs being found by their names */
  void (*within)(struct builder *b); /* the same, b->in being its inputs */
  const kinked_operator *(*kinked)(size_t *n);
  /* Constants that nodes compute when the model is read become its initializers. */
  void (*fold)(model *m);
  tensor *(*parameters)(bytes file, size_t *n, name_index *names); /* reads files of parameters */
  const struct smooth_rules *smooth;                               /* of steps that they make */
  void (*near)(struct point *p);                                   /* what is near its values (near.h) */
  void (*rough)(struct point *p, bool *open);                      /* of such steps what doubles tell (near_rough.h) */
} operator_set;

/* Makes the steps of a model with these parameters given beside it; what it does not take is refused. */
void network_build(network *net, const model *m, const arrays *given, const operator_set *of);
extern const char *const readings[N_READINGS]; /* in words */

#endif
