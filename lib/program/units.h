/* The free choices of a program at a point, and how derivatives pass from one to another (thesis,
 * Propositions 3 and 4).
 *
 * Over every choice at touched kinks, AD's output is a polynomial: a base choice at each touched
 * instruction, plus one variable for each further choice there, a *unit*. A unit multiplies a form
 *   scale (in[plus] - in[minus])
 * in the tangents of its instruction's arguments and adds it to the instruction's. The units of one
 * instruction exclude each other; the polynomial is of degree one in each instruction's. Its
 * monomials are the chains u1 < u2 < ... of units with all of their links nonzero: from the inputs
 * to u1's form, from u1's instruction to u2's form, ..., from the last one's to an output, each
 * with the base choice in between. */
#ifndef CLARKE_PROGRAM_UNITS_H
#define CLARKE_PROGRAM_UNITS_H

#include "program/execute.h"

typedef struct {
  size_t site;        /* whose choice it is */
  size_t plus, minus; /* arguments; minus may be CLARKE_NONE */
  mpq_t scale;
} clarke_unit;

/* A touched instruction with units first_unit .. first_unit + n_units - 1. */
typedef struct {
  size_t instruction, first_unit, n_units;
} clarke_site;

typedef struct {
  const clarke_execution *e; /* all arms of touched branches executed */
  clarke_execution own;
  clarke_code p;          /* the program, its outputs lengthened by arms */
  size_t *output;
  size_t n_outputs, n_wrt;   /* of the program itself */
  bool known;                /* false: an arm cannot be executed, arms differ in value, a touched
                              * NORM, a comparison left open, or */
  bool rooted;               /* a root at 0, which has no Clarke set there, of what depends on wrt */
  bool *depends;             /* by instruction: executed, and depends on wrt */
  size_t *first;             /* by instruction: of its partials */
  clarke_number *partial;    /* under the base choice */
  size_t n_sites;            /* in order of instruction */
  clarke_site *site;
  size_t n, capacity;
  clarke_unit *unit;
  size_t *input;             /* instruction of each entry of wrt */
  clarke_number *adjoint;    /* by instruction: what a sweep leaves */
} clarke_units;

void clarke_units_init(clarke_units *u);
void clarke_units_clear(clarke_units *u);
/* Fills *u, initialized, at the execution's point; e must outlive it. u->known false is no error. */
clarke_status clarke_units_find(clarke_units *u, const clarke_execution *e, clarke_error *err);

/* Leaves in adjoint the derivatives of output number `output`, of a unit's form. */
void clarke_units_sweep_output(clarke_units *u, size_t output);
void clarke_units_sweep_unit(clarke_units *u, size_t unit);

/* Takes the unit's choice (on) in place of the base choice, or goes back. */
void clarke_units_choose(clarke_units *u, size_t unit, bool on);

/* AD's output under the choices taken: n_outputs x n_wrt. False when an entry is not rational. */
bool clarke_units_gradient(mpq_t *gradient, clarke_units *u);

#endif
