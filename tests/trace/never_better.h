/* What the sieve says beside what the exact pass says of the same record: never a better answer, never a smaller error. */
#ifndef CLARKE_TESTS_TRACE_NEVER_BETTER_H
#define CLARKE_TESTS_TRACE_NEVER_BETTER_H

#include "../suite.h"
#include "trace/certify/certify.h"

#include <string.h>

static inline const clarke_certificate *
same_certificate(const clarke_certify *c, const clarke_certificate *as)
{
  for (size_t i = 0; i < c->n; i++)
    if (c->certificate[i].part == as->part && strcmp(c->certificate[i].name, as->name) == 0)
      return &c->certificate[i];
  ck_abort_msg("%s %s: one pass speaks of it, the other does not", clarke_part_name(as->part), as->name);
  return NULL;
}

/* The branches that the record took (clarke_sieve_place) are those of the exact pass, and so are winners. */
static inline void
expect_same_branches(const clarke_certify *exact, const clarke_certify *sieved)
{
  const clarke_graph *g = exact->g;

  for (size_t i = 0; i < g->n_steps; i++) {
    const clarke_step *s = &g->steps[i];
    const size_t entries = clarke_step_has_kinks(s) ? g->values[s->out].count * exact->pass.n : 0;

    for (size_t e = 0; e < entries; e++) {
      ck_assert_msg(exact->pass.piece[i][e] == sieved->pass.piece[i][e], "%s, entry %zu: %d, which is %d", s->name, e,
                    sieved->pass.piece[i][e], exact->pass.piece[i][e]);
      if (s->kind == CLARKE_MAX && exact->slopes.route[i].n > 0)
        ck_assert_uint_eq(exact->slopes.route[i].from[0][e], sieved->winner[i][e]);
    }
  }
}

/* True: doubles decided. False: they left it open, and the answers are the exact pass's, to the entry. */
static inline bool
expect_never_better(const clarke_certify *exact, const clarke_certify *sieved)
{
  bool by_doubles = false;

  ck_assert_uint_eq(exact->n, sieved->n);
  for (size_t i = 0; i < sieved->n; i++)
    by_doubles = by_doubles || sieved->certificate[i].at_most;
  if (sieved->by_doubles && sieved->branched)
    expect_same_branches(exact, sieved);
  for (size_t i = 0; i < sieved->n; i++) {
    const clarke_certificate *said = &sieved->certificate[i], *is = same_certificate(exact, said);

    ck_assert_msg(said->certainty >= is->certainty, "%s %s: %s, which is %s", clarke_part_name(is->part), is->name,
                  clarke_certainty_name(said->certainty), clarke_certainty_name(is->certainty));
    ck_assert_uint_eq(said->entries, is->entries);
    ck_assert_msg(said->exact <= is->exact, "%s %s: %zu entries bit-exact, which are %zu", clarke_part_name(is->part), is->name,
                  said->exact, is->exact);
    ck_assert_msg(said->worst >= is->worst, "%s %s: %a of its bound, which is %a", clarke_part_name(is->part), is->name,
                  said->worst, is->worst);
    if (said->certainty == CLARKE_WITHIN_BOUND && is->certainty == CLARKE_WITHIN_BOUND)
      ck_assert_msg(said->slack_least <= is->slack * (1 + 0x1p-9), "%s %s: a slack of %a at least, which is %a", clarke_part_name(is->part),
                    is->name, said->slack_least, is->slack);
    if (by_doubles && is->part == CLARKE_PARAMETER)
      ck_assert_msg(said->slack_least <= said->slack, "%s: a slack of %a at least, and %a at most", is->name, said->slack_least, said->slack);
    if (by_doubles)
      ck_assert_uint_eq(is->beyond + is->open, 0);
    else
      ck_assert(said->certainty == is->certainty && said->exact == is->exact && said->worst == is->worst
                && said->beyond == is->beyond && said->open == is->open);
  }
  return by_doubles;
}

#endif
