/* Instructions as affine forms of the inputs in wrt on a face of an arrangement (face.h), the face
 * being cut where a kink, a tie or a comparison asks for it. */
#ifndef CLARKE_PROGRAM_AFFINE_H
#define CLARKE_PROGRAM_AFFINE_H

#include "program/code.h"
#include "program/demand.h"
#include "exact/face.h"

/* Entries of the forms of all instructions. */
#define CLARKE_AFFINE_ENTRIES ((size_t)1 << 21)

typedef enum {
  CLARKE_AFFINE,
  CLARKE_AFFINE_NOT,       /* not affine on the face, or not rational */
  CLARKE_AFFINE_UNDEFINED, /* division by zero, log or sqrt out of their domains */
  CLARKE_AFFINE_OPEN,      /* a limit was reached */
} clarke_affine_kind;

typedef struct {
  clarke_code p;  /* the program with one output, target */
  size_t target;
  mpq_t *at;         /* of all entries; those outside wrt are constants */
  size_t dim;        /* entries of wrt */
  clarke_demand demand;
  mpq_t *form;       /* by instruction, dim + 1 */
  mpq_t *first, *second; /* dim + 1: a difference, reductions */
  size_t failed_at;  /* when the kind is not CLARKE_AFFINE: the instruction */
} clarke_affine;

void clarke_affine_init(clarke_affine *a);
void clarke_affine_clear(clarke_affine *a);
/* *small is false, and nothing done, when there would be over CLARKE_AFFINE_ENTRIES. */
clarke_status clarke_affine_begin(clarke_affine *a, bool *small, const clarke_code *p, mpq_t *at,
                                  clarke_error *err);

/* A new face is visited. */
void clarke_affine_restart(clarke_affine *a);
/* Computes a->form of the instruction, which is a's row of it. */
clarke_status clarke_affine_of(clarke_affine_kind *kind, clarke_affine *a, size_t instruction,
                               clarke_face *f, clarke_faces *s, clarke_error *err);
mpq_t *clarke_affine_form(const clarke_affine *a, size_t instruction);
/* The sign of the difference of two instructions, both computed. */
clarke_status clarke_affine_compare(int *sign, clarke_affine *a, size_t left, size_t right,
                                    clarke_face *f, clarke_faces *s, clarke_error *err);

#endif
