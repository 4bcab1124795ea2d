/* Faces of an arrangement of affine hyperplanes: nonempty, relatively open, convex sets
 *   { x : equalities, strict inequalities },
 * each with a rational point in it. A form is dim + 1 rationals, the constant last. */
#ifndef CLARKE_EXACT_FACE_H
#define CLARKE_EXACT_FACE_H

#include "base/status.h"

#include <gmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Entries of all faces that wait together; steps of arithmetic in a search. */
#define CLARKE_FACE_ENTRIES ((size_t)1 << 22)
#define CLARKE_FACE_WORK ((double)((size_t)1 << 30))

typedef struct {
  size_t dim;
  size_t n_equal;
  mpq_t *equal;  /* forms that are 0, in reduced echelon form: 1 at their own pivot, 0 at others' */
  size_t *pivot;
  size_t n_strict;
  mpq_t *strict; /* forms that are positive, 0 at all pivots */
  mpq_t *point;  /* dim */
  size_t n_signs, capacity;
  int8_t *sign;  /* of the forms decided so far, in order */
  size_t next;   /* of these signs, the next to be asked for by whoever visits the face again */
} clarke_face;

/* Faces still to be visited. */
typedef struct {
  size_t n, capacity, entries;
  clarke_face *face;
  double work;
  bool open; /* some question stayed open: a limit was reached */
} clarke_faces;

void clarke_faces_init(clarke_faces *s);
void clarke_faces_clear(clarke_faces *s);

/* A stack with the whole space on it. */
clarke_status clarke_faces_begin(clarke_faces *s, size_t dim, mpq_t *point, clarke_error *err);
void clarke_face_clear(clarke_face *f);
/* Takes a face off the stack: false when there is none. */
bool clarke_faces_pop(clarke_face *f, clarke_faces *s);

/* The form's sign all over f: the next one recorded, if there is one (a visitor asks for the same
 * forms in the same order as long as the signs are the same), else it is found out. Where the form
 * has several (then it has all three, f being relatively open and convex), f becomes the part with
 * the sign at its point, and the other two parts go onto the stack. When s->open is set the sign
 * means nothing. */
clarke_status clarke_face_decide(int *sign, clarke_face *f, clarke_faces *s, mpq_t *form,
                                 clarke_error *err);

/* The form less what is 0 on f; is it constant there? Its value at a point. */
void clarke_face_reduce(mpq_t *reduced, const clarke_face *f, mpq_t *form);
bool clarke_form_constant(mpq_t *reduced, size_t dim);
void clarke_form_value(mpq_t value, mpq_t *form, mpq_t *point, size_t dim);
/* A point of f where a reduced form that is 0 at f's own point, but not constant, is not 0. */
clarke_status clarke_face_leave(mpq_t *point, const clarke_face *f, mpq_t *reduced, int side,
                                clarke_error *err);

/* What the equalities say about the pivots' entries, the others given. */
void clarke_face_complete(mpq_t *point, const clarke_face *f);

#endif
