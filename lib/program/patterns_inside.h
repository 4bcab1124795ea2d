/* What the files of the tree of patterns share: the search, its path of decisions, what refutes a branch and what realizes
 * a pattern. Private to the files patterns*.c. */
#ifndef CLARKE_PROGRAM_PATTERNS_INSIDE_H
#define CLARKE_PROGRAM_PATTERNS_INSIDE_H

#include "program/patterns.h"
#include "exact/cone.h"

/* A decision on the path: it must be positive. */
typedef struct {
  clarke_number *gradient;
  bool affine;          /* of degree 1 and rational */
  bool linear;          /* so, or but for a factor that is 1 at the point: its sign is that of the gradient's linear form */
  clarke_polynomial *q; /* when not affine, but a polynomial */
} clarke_decision;

/* A branch yet to be followed, or refuted. */
typedef struct {
  size_t n_choices;
  size_t *choice;
  size_t depth;
  bool refuted;
  clarke_gordan gordan; /* of decisions */
  mpq_t *witness; /* a direction along which all linear decisions are positive; NULL: not known */
} clarke_search_branch;

typedef struct {
  clarke_patterns *t;
  const clarke_execution *e;
  size_t width;
  clarke_walk walk;
  size_t n_path, n_rows, capacity_rows;
  size_t *path;       /* choices */
  size_t capacity_path;
  clarke_decision *row;
  mpq_t *witness;     /* of the path; NULL: not known */
  size_t n_waiting, capacity_waiting;
  clarke_search_branch *waiting;
  size_t work;        /* entries of the linear systems so far */
} clarke_pattern_search;

/* --- patterns.c --- */

/* Frees what it holds. */
void clarke_pattern_clear(clarke_pattern *p, const clarke_patterns *t);

/* The path has one more choice; its decisions are appended apart. */
clarke_status clarke_search_path_append(clarke_pattern_search *s, size_t choice, clarke_error *err);

/* The walk follows the arc, and the path is its choices. *ended: as far as it goes; else some fork's choice is not known. */
clarke_status clarke_search_along(bool *ended, clarke_pattern_search *s, clarke_walk *w, mpq_t **arc, clarke_error *err);

/* p's gradient is that of the outputs of a walk at its end; are their values those at the point? Else t jumps. */
clarke_status clarke_search_outputs(clarke_pattern *p, const clarke_walk *w, clarke_patterns *t, clarke_error *err);

/* --- patterns_decision.c --- */

/* Appends the decisions of a choice at the fork the walk is at. */
clarke_status clarke_search_decide(clarke_pattern_search *s, size_t choice, clarke_error *err);

/* Drops the decisions from that number on. */
void clarke_search_drop(clarke_pattern_search *s, size_t from);

/* Is the derivative along d of every decision from that number on certainly positive? linear_only: others are not asked. */
bool clarke_search_positive(const clarke_pattern_search *s, mpq_t *d, size_t from, bool linear_only);

/* --- patterns_gordan.c --- */

/* What the cone of the path's decisions says; the caller frees d and clears what refutes. */
typedef struct {
  clarke_cone_answer answer;
  mpq_t *d;             /* FEASIBLE */
  clarke_gordan gordan; /* EMPTY: of decisions */
} clarke_search_cone;

/* The strict system of the path's decisions' gradients, or of the linear ones: of balls the midpoints, so that a direction
 * must be tried, and EMPTY refutes only linear ones. r is set whatever it returns, and the work is counted. */
clarke_status clarke_search_solve(clarke_search_cone *r, clarke_pattern_search *s, bool linear_only,
                                  clarke_error *err);

/* Can the path go on with this choice, at the fork the walk is at? b, zero but for its choices, gets its depth, and its
 * refutation or its witness. The path is as before. */
clarke_status clarke_search_judge(clarke_search_branch *b, clarke_pattern_search *s, size_t choice,
                                  clarke_error *err);

/* --- patterns_realize.c --- */

/* p, the pattern of the path, is realized if there is one direction along which every decision is positive to first order. */
clarke_status clarke_search_realize(clarke_pattern *p, clarke_pattern_search *s, clarke_error *err);

int clarke_search_small(uint64_t *state); /* from -3 to 3, in a fixed pseudorandom order */

/* Arcs of small integers until all patterns of the tree are realized, or enough were tried. The path is spoiled. */
clarke_status clarke_search_arcs(clarke_pattern_search *s, clarke_error *err);

bool clarke_patterns_all_realized(const clarke_patterns *t); /* is a direction or an arc known for each? */

/* p is realized by n steps of an arc, which are copied. */
clarke_status clarke_search_give(clarke_pattern *p, mpq_t **steps, size_t n, size_t width, clarke_error *err);

/* --- patterns_cells.c --- */

/* Along arcs that give norms of zeros a rational direction, gradients are appended as cells. */
clarke_status clarke_search_cells(clarke_pattern_search *s, clarke_error *err);

#endif
