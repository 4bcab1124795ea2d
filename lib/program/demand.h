/* Demand order (program/code.h): which instruction is next to be executed. */
#ifndef CLARKE_PROGRAM_DEMAND_H
#define CLARKE_PROGRAM_DEMAND_H

#include "program/code.h"

typedef struct {
  size_t instruction;
  size_t next; /* argument to ask for */
} clarke_waiting;

typedef struct {
  const clarke_code *p;
  bool *done;             /* by instruction */
  int8_t *arm;            /* of a BRANCH: 0 not chosen, 1 then, -1 else */
  size_t output;          /* the next output to ask for */
  size_t n;               /* those waiting for an argument */
  clarke_waiting *waiting;
} clarke_demand;

clarke_status clarke_demand_init(clarke_demand *d, const clarke_code *p, clarke_error *err);
void clarke_demand_clear(clarke_demand *d);
/* From the beginning again. */
void clarke_demand_restart(clarke_demand *d);

/* The next instruction, all that it needs being done; CLARKE_NONE at the end. A BRANCH comes twice:
 * when its comparands are done (arm[i] is 0: the caller sets it), and when its arm is. The caller
 * executes it and sets done[i], save at a BRANCH's first coming. */
size_t clarke_demand_next(clarke_demand *d);

#endif
