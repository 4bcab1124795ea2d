/* The state of a search for regions; private to lib/region. */
#ifndef CLARKE_REGION_REGIONS_INSIDE_H
#define CLARKE_REGION_REGIONS_INSIDE_H

#include "region/rays.h"
#include "region/regions.h"

typedef struct {
  size_t instruction, kink;
} clarke_region_question;

typedef struct {
  clarke_regions *result;
  clarke_forms *forms;
  bool local;           /* around a point: rows have no last entry */
  size_t width;         /* of rows */
  clarke_region_visitor visit;
  void *context;
  const clarke_region_listener *listener; /* or NULL */
  bool *known, *asked;  /* by instruction: its form; its kinks stand in an arrangement above */
  bool *joined;         /* by instruction: needed, but part of a sum, so that it has no form */
  signed char *side;    /* by instruction and kink: the sign of argument - kink; 0: none */
  unsigned char *choice;
  size_t *done, n_done; /* what is known or asked, as it came: to be taken back */
  fmpz *row;            /* dim + 1 */
  double *unit;         /* dim + 1 */
  const clarke_rays *rays; /* of the cone; none of more than two variables */
  size_t threads;       /* at most, from the first arrangement of kinks on */
  size_t layers;        /* arrangements in each other, at this place */
  bool ended;
} clarke_region_search;

/* An arrangement inside the cone above it. */
typedef struct {
  clarke_region_search *s;
  const clarke_rays *rays; /* of the cone above */
  size_t above;            /* rows of that cone */
  size_t fixed;            /* rows that are positive: the cone's, and what lets an entry be the largest */
  const clarke_rows *rows; /* those, then a row a question */
  size_t n;
  clarke_region_question *question;
  size_t winner;           /* the entry that is to be the largest, or CLARKE_NONE */
  size_t threads;          /* more than 1: workers follow its sign vectors */
} clarke_region_level;

/* s->result, s->forms, s->local, s->visit and the rest of its kind are set; the arrays are made. */
clarke_status clarke_region_search_init(clarke_region_search *s, clarke_error *err);
void clarke_region_search_clear(clarke_region_search *s); /* of one that is zeroed, too */

/* All that lies in one sign vector of a level's rows; context: the level. As of clarke_sign_visitor. */
clarke_status clarke_region_search_follow(void *context, bool *go_on, const signed char *sign, const clarke_witness *w, clarke_error *err);

/* A region is told, and counted. */
clarke_status clarke_region_search_tell(clarke_region_search *s, const clarke_region *region, clarke_error *err);

#endif
