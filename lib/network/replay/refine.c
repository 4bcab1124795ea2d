/* Between filter and exact pass: open places in pairs, then in rounded enclosures, group by group of samples. */
#include "network/replay/replay_inside.h"

#include "base/stop.h"
#include "network/pass/pairs/pass.h"
#include "network/pass/slices/plan.h"

#include <stdlib.h>

/* Bits of the enclosures between filter and exact pass: a word an entry, two, then three. */
#define TWO_WORDS 127
#define REFINE_LAST 191
/* Samples at a time: first a few. */
#define REFINE_BEGIN 16
#define REFINE_GROUP 32

/* Instead of bits: pairs of doubles. */
#define PAIRS 0

/* A group in enclosures of that many bits; as soon as pairs do as well, in these. *vague grows by what pairs leave open, and more bits may
 * tell. rest: whether it may be left to pairs. */
static clarke_status
refine_in_words(clarke_open_group *group, bool *inside, size_t *vague, clarke_replay *r, size_t bits, bool rest, clarke_error *err)
{
  clarke_forward_rest left = {.step = r->g->n_steps};
  clarke_matrix input;
  size_t more = 0;
  double needs;
  clarke_status status;

  clarke_matrix_init(&input);
  status = clarke_samples_matrix(&input, r->x, group->sample, group->n, err);
  if (status == CLARKE_OK)
    status = clarke_forward_refine(group->piece, group->ties, group->margin, inside, rest ? &left : NULL, &r->constants, &input, &group->x, bits, err);
  if (status == CLARKE_OK && left.value != NULL)
    status = clarke_pairs_run(group->piece, group->ties, group->margin, inside, &more, &needs, r->g, &group->x, &left, NULL, err);
  *vague += more;
  clarke_forward_rest_clear(&left, r->g);
  clarke_matrix_clear(&input);
  return status;
}

/* Open places of a group in enclosures of so many bits, or in pairs. *worth: half of them are decided. *inside, if it is set: as
 * clarke_forward_refine has it. *needs: of pairs, as clarke_pairs_run has it. */
static clarke_status
refine_group(bool *worth, bool *inside, size_t *vague, double *needs, clarke_replay *r, const size_t *sample, size_t n, size_t bits, bool rest,
             clarke_error *err)
{
  clarke_open_group group;
  size_t left = 0;
  clarke_status status = clarke_open_group_take(&group, r, sample, n, err);

  if (status == CLARKE_OK && bits == PAIRS)
    status = clarke_pairs_run(group.piece, group.ties, group.margin, inside, &left, needs, r->g, &group.x, NULL, NULL, err);
  else if (status == CLARKE_OK)
    status = refine_in_words(&group, inside, &left, r, bits, rest, err);
  if (status == CLARKE_OK)
    *worth = clarke_open_group_give(&group, r) <= group.open / 2;
  *vague += left;
  clarke_open_group_clear(&group, r);
  return status;
}

/* What doubles have behind one product, a sum of some hundreds, and what an enclosure is to have left at the last kink. */
#define DOUBLE_BITS 45.0
#define LEFT_BITS 12.0
/* Products in a row whose errors have grown by many bits. */
#define DEEP 8

/* Products up to step i. */
static size_t
products_before(const clarke_graph *g, size_t i)
{
  size_t n = 0;

  for (size_t k = 0; k < i; k++)
    n += g->steps[k].kind == CLARKE_DENSE || g->steps[k].kind == CLARKE_PRODUCT;
  return n;
}

/* Products from which on the filter loses what is behind them, as a rule. */
#define LOST_IN_DOUBLES 16

bool
clarke_replay_wants_pairs(const clarke_replay *r)
{
  for (size_t i = 0; i < r->g->n_steps; i++)
    if (!clarke_pairs_has(&r->g->steps[i]))
      return false;
  return products_before(r->g, r->g->n_steps) >= LOST_IN_DOUBLES && !clarke_slices_serve(r->g, r->piece, r->samples);
}

/* Does the filter follow all steps up to i? Behind others everything is open, and says nothing of errors. */
static bool
followed_before(const clarke_graph *g, size_t i)
{
  for (size_t k = 0; k < i; k++)
    if (clarke_step_has_domain(&g->steps[k]) || g->steps[k].kind == CLARKE_SOFTMAX)
      return false;
  return true;
}

/* *lost: the step from which on nearly everything is open; *last: the last one with an open place. CLARKE_NONE where there is none. */
static void
find_lost(size_t *lost, size_t *last, const clarke_replay *r)
{
  *lost = *last = CLARKE_NONE;
  for (size_t i = 0; i < r->g->n_steps; i++) {
    const size_t entries = r->piece[i] != NULL ? r->g->values[r->g->steps[i].out].count * r->samples : 0;
    size_t open = 0;

    for (size_t e = 0; e < entries; e++)
      open += r->piece[i][e] == CLARKE_OPEN;
    if (open == 0)
      continue;
    *last = i;
    *lost = 10 * open < 9 * entries ? CLARKE_NONE : *lost == CLARKE_NONE ? i : *lost;
  }
}

bool
clarke_replay_touches_early(const clarke_replay *r)
{
  size_t lost, last, within;

  find_lost(&lost, &last, r);
  within = lost != CLARKE_NONE ? products_before(r->g, lost) / 2 : 0;
  for (size_t i = 0; i < r->g->n_steps && products_before(r->g, i) < within; i++)
    if (r->piece[i] != NULL && clarke_branches_open(r->piece[i], r->g->values[r->g->steps[i].out].count * r->samples))
      return true;
  return false;
}

/* Errors grow by some factor a product, as a rule. Where from one step on nearly everything is open they have grown by what doubles
 * had: what the steps behind need is in proportion. A step before the others, and kinks that are touched, say nothing. */
size_t
clarke_replay_bits(const clarke_replay *r)
{
  size_t lost, last, before, all;
  double bits;

  find_lost(&lost, &last, r);
  before = lost != CLARKE_NONE ? products_before(r->g, lost) : 0;
  all = last != CLARKE_NONE ? products_before(r->g, last) : 0;
  if (before < 2)
    return CLARKE_BITS_FIRST;
  if (!followed_before(r->g, lost)) /* as many as an exact pass has at first */
    return all < DEEP ? CLARKE_BITS_FIRST : 127;
  if (all <= before) /* how soon is not known: a few bits more hardly tell what doubles did not */
    return before < DEEP ? CLARKE_BITS_FIRST : 127;
  bits = DOUBLE_BITS * (double)all / (double)before + LEFT_BITS;
  return bits <= 63 ? 63 : bits <= 127 ? 127 : REFINE_LAST;
}

/* All samples with open places, in enclosures of that many bits, as long as that is worth while; and by pairs whatever that is worth, but where
 * they would lose the first samples. */
static clarke_status
refine_all(bool *worth, size_t *vague, double *needs, clarke_replay *r, const size_t *sample, size_t n, size_t bits, bool rest, clarke_error *err)
{
  bool inside = clarke_graph_has_domain(r->g) && !r->inside;
  clarke_status status = CLARKE_OK;

  *worth = true;
  *needs = 0;
  for (size_t first = 0, size; first < n && (*worth || bits == PAIRS) && *needs == 0 && status == CLARKE_OK; first += size) {
    size = clarke_graph_couples(r->g) ? n : first == 0 ? REFINE_BEGIN : REFINE_GROUP;
    if (size > n - first)
      size = n - first;
    status = refine_group(worth, &inside, vague, needs, r, sample + first, size, bits, rest, err);
  }
  r->inside = r->inside || (inside && *worth && *needs == 0);
  return status;
}

/* Is an exact pass in enclosures itself? */
static bool
has_functions(const clarke_graph *g)
{
  for (size_t i = 0; i < g->n_steps; i++)
    if (g->steps[i].kind == CLARKE_ANALYTIC || g->steps[i].kind == CLARKE_SOFTMAX)
      return true;
  return false;
}

/* A part of what was open: where pairs lose more, two words would lose as much again. */
#define MUCH 16

/* Bits that two words have more than pairs, and those by which errors grow less than they did at first, as a rule. */
#define MORE_BITS (TWO_WORDS - CLARKE_PAIRS_BITS)
#define SLOWER 12
/* Bits beside those that all of it seems to need: of fewer than three whole words products take fewer planes. */
#define SPARE_BITS 12

/* Behind pairs, of `opened` places before them: how many bits enclosures are to have. *worth: these may tell more. Not of places that are
 * all at kinks; nor where some are, and the exact pass, which these ask for, is no dearer. needs: pairs ended early. */
static void
look_behind_pairs(bool *worth, clarke_replay *r, size_t opened, size_t vague, double needs)
{
  const size_t left = clarke_places_open(r->g, r->piece, r->samples);

  if (needs > 0) {
    r->bits = needs <= CLARKE_PAIRS_BITS + MORE_BITS + SLOWER ? TWO_WORDS : needs + SPARE_BITS < REFINE_LAST ? (size_t)needs + SPARE_BITS : REFINE_LAST;
    return;
  }

  if (left > opened / MUCH && left < opened)
    r->bits = REFINE_LAST;
  else if (left < opened && r->bits < TWO_WORDS)
    r->bits = TWO_WORDS;
  *worth = vague > 0 || (clarke_graph_has_domain(r->g) && !r->inside);
  if (left > vague && left < opened && has_functions(r->g))
    *worth = false;
}

/* The passes after one another, each while the one before was worth its price: pairs, words as many as are asked for, three. What pairs do not
 * follow is left to words, whatever they were worth. The words that are asked for end where pairs do as well; where that loses something, three
 * words go through all of it. */
clarke_status
clarke_replay_refine(clarke_replay *r, size_t *left, clarke_error *err)
{
  const size_t opened = clarke_places_open(r->g, r->piece, r->samples);
  size_t *sample = NULL, n, vague = 0, bits = PAIRS;
  double needs;
  bool worth = true;
  clarke_status status = clarke_samples_open(&sample, &n, r, err);

  clarke_work_begin("replay in enclosures", 0);
  for (size_t k = 0; k < 3 && n > 0 && worth && status == CLARKE_OK; k++) {
    const size_t before = vague;

    status = refine_all(&worth, &vague, &needs, r, sample, n, bits, k == 1, err);
    worth = worth || needs > 0;
    if (k == 0)
      look_behind_pairs(&worth, r, opened, vague, needs);
    else if (bits >= REFINE_LAST)
      worth = worth && k == 1 && vague > before;
    bits = k == 0 ? r->bits : REFINE_LAST;
    free(sample);
    sample = NULL;
    if (status == CLARKE_OK)
      status = clarke_samples_open(&sample, &n, r, err);
  }
  free(sample);
  *left = n;
  return status;
}
