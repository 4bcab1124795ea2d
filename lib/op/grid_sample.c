/* GridSample, in full with a constant grid: each place takes shares of entries around it. They are binary fractions, since the grid's numbers
 * are: one of over 53 bits is a sum of several doubles, each a term of its own. */
#include "op/axes.h"
#include "op/grid_moved.h"
#include "op/lower.h"
#include "op/resample.h"

#include <stdlib.h>
#include <string.h>

#define MOST_AXES 3   /* of space */
#define FARTHEST 4096 /* entries outside of an axis: beyond, floats have another place */

typedef enum { NEAREST, LINEAR, CUBIC } sampling_mode;
typedef enum { ZEROS, BORDER, REFLECTION } outside_rule;

typedef struct {
  sampling_mode mode;
  outside_rule outside;
  bool corners;
  size_t lead, rank, dims[CLARKE_MAX_WHOLE], axes, space[MOST_AXES]; /* of the input; its axes of space */
  size_t samples, grids, places, out[CLARKE_MAX_WHOLE];              /* of the grid: one for all samples, or one for each */
  size_t room, terms, *entry; /* of each place there is room for so many, and so many are used; entries of an image */
  double *share;
} sampling;

/* Along one axis: the entries that a place takes, by their numbers, and their shares. */
typedef struct {
  size_t n, entry[CLARKE_MOST_SHARES];
  mpq_t share[CLARKE_MOST_SHARES];
} taken;

/* The number of the attribute's word among three, which are `names`; 3: none. */
static size_t
word_among(const clarke_lowering *low, const char *name, const char *const names[3], size_t absent)
{
  const clarke_attr *a = clarke_model_attr(low->node, name);
  size_t k = 0;

  while (a != NULL && k < 3 && strcmp(a->s, names[k]) != 0)
    k++;
  return a != NULL ? k : absent;
}

static clarke_status
read_modes(sampling *s, const clarke_lowering *low, clarke_error *err)
{
  static const char *const modes[2][3] = {{"nearest", "bilinear", "bicubic"}, {"nearest", "linear", "cubic"}};
  static const char *const rules[3] = {"zeros", "border", "reflection"};
  const bool new_names = low->opset >= 20;
  const size_t mode = word_among(low, "mode", modes[new_names], LINEAR), rule = word_among(low, "padding_mode", rules, ZEROS);

  if (mode == 3 || rule == 3)
    return clarke_lower_fail(low, err, "mode is not among nearest, %s and %s, or padding_mode not among zeros, border and reflection",
                             modes[new_names][1], modes[new_names][2]);
  s->mode = (sampling_mode)mode;
  s->outside = (outside_rule)rule;
  s->corners = clarke_lower_int(low, "align_corners", 0) != 0;
  return CLARKE_OK;
}

/* Do all samples of a run have the same grid? */
static bool
is_repeated(const clarke_value *grid, size_t times)
{
  const size_t each = grid->count / times;

  for (size_t i = each; i < grid->count; i++)
    if (grid->real[i] != grid->real[i % each])
      return false;
  return true;
}

static clarke_status
read_shapes(sampling *s, clarke_lowering *low, clarke_error *err)
{
  const clarke_value *grid = clarke_lower_value(low, 1);
  const size_t whole = clarke_axes_lead(low, 0) > 0 ? low->graph->together : 1;

  s->lead = clarke_axes_lead(low, 0);
  s->rank = clarke_axes_whole(low, 0, s->dims);
  s->axes = s->rank - 2;
  if (s->rank < 4 || s->rank > 2 + MOST_AXES || (s->mode == CUBIC && s->rank > 4) || grid->rank != s->rank)
    return clarke_lower_fail(low, err, "an input of %zu axes and a grid of %zu; expected 4 axes both, or 5 (not in mode cubic)", s->rank,
                             grid->rank);
  s->samples = s->dims[0];
  if (grid->dims[0] != s->dims[0] * whole || grid->dims[s->rank - 1] != s->axes || grid->count == 0)
    return clarke_lower_fail(low, err, "a grid for %zu samples with %zu numbers each; expected %zu samples and %zu numbers",
                             grid->dims[0], grid->dims[s->rank - 1], s->dims[0] * whole, s->axes);
  if (!is_repeated(grid, whole))
    return clarke_lower_fail(low, err, "the samples have different grids: read the batch whole (--batch-axis none)");
  memcpy(s->space, s->dims + 2, s->axes * sizeof *s->space);
  for (size_t a = 0; a < s->axes; a++)
    if (s->space[a] == 1 && s->corners && s->outside == REFLECTION)
      return clarke_lower_fail(low, err, "axis %zu has one entry, in which align_corners finds nothing to be reflected", a + 2);
  memcpy(s->out, s->dims, 2 * sizeof *s->out);
  memcpy(s->out + 2, grid->dims + 1, s->axes * sizeof *s->out);
  s->grids = s->samples;
  s->places = grid->count / grid->dims[0] / s->axes;
  return CLARKE_OK;
}

/* Where the grid's number lies among n entries: ((g + 1) n - 1) / 2, or (g + 1) (n - 1) / 2. */
static void
place_of(mpq_t at, double g, size_t n, bool corners)
{
  mpq_t term;

  mpq_init(term);
  mpq_set_d(at, g);
  mpq_set_ui(term, 1, 1);
  mpq_add(at, at, term);
  mpq_set_ui(term, corners ? n - 1 : n, 1);
  mpq_mul(at, at, term);
  mpq_set_ui(term, corners ? 0 : 1, 1);
  mpq_sub(at, at, term);
  mpq_div_2exp(at, at, 1);
  mpq_clear(term);
}

/* at becomes what lies there when the axis from `least` to `least` + length is reflected at its ends, again and again. */
static void
reflect(mpq_t at, mpq_srcptr least, size_t length)
{
  mpq_t period, times;

  mpq_inits(period, times, NULL);
  mpq_sub(at, at, least);
  mpq_set_ui(period, 2 * length, 1);
  mpq_div(times, at, period);
  mpz_fdiv_q(mpq_numref(times), mpq_numref(times), mpq_denref(times));
  mpz_set_ui(mpq_denref(times), 1);
  mpq_mul(times, times, period);
  mpq_sub(at, at, times);
  mpq_set_ui(times, length, 1);
  if (mpq_cmp(at, times) > 0)
    mpq_sub(at, period, at);
  mpq_add(at, at, least);
  mpq_clears(period, times, NULL);
}

/* Does floats' rounding leave no doubt about the whole number that is nearest? Exactly halfway it does: then all is exact. */
static bool
is_told(mpq_srcptr at, size_t n)
{
  bool told;
  mpq_t off, bound;

  mpq_inits(off, bound, NULL);
  mpq_set_ui(off, 1, 2);
  mpq_sub(off, at, off);
  mpz_fdiv_r(mpq_numref(off), mpq_numref(off), mpq_denref(off));
  mpq_canonicalize(off); /* behind the last half */
  mpq_set_ui(bound, 1, 1);
  told = mpq_sgn(off) == 0;
  if (mpq_cmp_ui(off, 1, 2) > 0)
    mpq_sub(off, bound, off);
  mpq_abs(bound, at);
  mpz_addmul_ui(mpq_numref(bound), mpq_denref(bound), n);
  mpq_div_2exp(bound, bound, 20);
  told = told || mpq_cmp(off, bound) > 0;
  mpq_clears(off, bound, NULL);
  return told;
}

/* at becomes the whole number that is nearest; of two the even one. */
static void
round_even(mpq_t at)
{
  mpz_t twice, below;

  mpz_inits(twice, below, NULL);
  mpz_mul_2exp(twice, mpq_numref(at), 1);
  mpz_add(twice, twice, mpq_denref(at));
  mpz_mul_2exp(below, mpq_denref(at), 1);
  mpz_fdiv_qr(twice, below, twice, below);
  if (mpz_sgn(below) == 0 && mpz_odd_p(twice))
    mpz_sub_ui(twice, twice, 1);
  mpq_set_z(at, twice);
  mpz_clears(twice, below, NULL);
}

/* Entry `at` of n, which may be outside; CLARKE_NONE: none. */
static size_t
entry_at(const sampling *s, mpz_srcptr at, size_t n)
{
  size_t found = mpz_sgn(at) < 0 ? 0 : mpz_cmp_ui(at, n - 1) > 0 ? n - 1 : mpz_get_ui(at);
  mpq_t place, least;

  if (s->outside == BORDER || mpz_cmp_ui(at, found) == 0)
    return found;
  if (s->outside == ZEROS)
    return CLARKE_NONE;
  mpq_inits(place, least, NULL);
  mpq_set_z(place, at);
  if (!s->corners)
    mpq_set_si(least, -1, 2);
  reflect(place, least, s->corners ? n - 1 : n);
  found = mpz_get_ui(mpq_numref(place)); /* a whole number again: the axis's ends are whole, or halves */
  mpq_clears(place, least, NULL);
  return found < n ? found : n - 1;
}

/* Is the place, of n entries, so far outside that floats of it may be entries away? Mirrors bring it back, and a border has shares by it. */
static bool
is_far(mpq_srcptr at, size_t n)
{
  return mpq_cmp_si(at, -FARTHEST, 1) < 0 || mpq_cmp_ui(at, n - 1 + FARTHEST, 1) > 0;
}

/* What a place takes along axis a, where the grid has the number g. */
static clarke_status
take_along(taken *t, const sampling *s, size_t a, double g, const clarke_lowering *low, clarke_error *err)
{
  const size_t n = s->space[a], first = s->mode == CUBIC ? 1 : 0;
  const clarke_dtype dtype = clarke_lower_value(low, 1)->dtype;
  clarke_status status = CLARKE_OK;
  mpq_t at, least, most;
  mpz_t e;

  mpq_inits(at, least, most, NULL);
  mpz_init(e);
  place_of(at, g, n, s->corners);
  mpq_set_si(least, s->corners ? 0 : -1, 2);
  mpq_canonicalize(least);
  mpq_set_ui(most, n - 1, 1);
  mpq_sub(most, most, least);
  if (s->mode == NEAREST && dtype != CLARKE_F32 && dtype != CLARKE_F64)
    status = clarke_lower_fail(low, err, "mode nearest takes a grid of float32 or float64: rounding others decides which is nearest");
  else if (s->mode == NEAREST && !is_told(at, n))
    status = clarke_lower_fail(low, err, "%.17g of the grid lies, along axis %zu, so near to the middle of two entries that rounding floats "
                                         "decides which is nearest", g, a + 2);
  if (s->mode == CUBIC && s->outside == BORDER && (mpq_cmp(at, least) < 0 || mpq_cmp(at, most) > 0))
    status = clarke_lower_fail(low, err, "%.17g of the grid lies outside of axis %zu: in mode cubic readers differ on the border there", g,
                               a + 2);
  if (is_far(at, n))
    status = clarke_lower_fail(low, err, "%.17g of the grid lies over %d entries outside of axis %zu: rounding floats decides what is there", g,
                               FARTHEST, a + 2);
  if (s->mode == NEAREST)
    round_even(at);
  mpz_fdiv_q(e, mpq_numref(at), mpq_denref(at));
  mpq_set_z(most, e);
  mpq_sub(at, at, most);
  t->n = s->mode == NEAREST ? 1 : s->mode == LINEAR ? 2 : CLARKE_MOST_SHARES;
  if (s->mode == CUBIC) {
    mpq_set_si(most, -3, 4);
    clarke_cubic_shares(t->share, at, most);
  } else {
    mpq_set_ui(most, 1, 1);
    mpq_sub(t->share[0], most, at);
    mpq_set(t->share[1], at);
  }
  mpz_sub_ui(e, e, first);
  for (size_t k = 0; k < t->n; k++, mpz_add_ui(e, e, 1))
    t->entry[k] = entry_at(s, e, n);
  mpq_clears(at, least, most, NULL);
  mpz_clear(e);
  return status;
}

/* Adds to a place's terms the doubles whose sum is the share; *n of them are there. */
static clarke_status
add_terms(sampling *s, size_t place, size_t *n, size_t entry, mpq_t share, const clarke_lowering *low, clarke_error *err)
{
  mpq_t part;
  clarke_status status = CLARKE_OK;

  mpq_init(part);
  while (mpq_sgn(share) != 0 && status == CLARKE_OK) {
    const double d = mpq_get_d(share); /* cut off, towards 0 */

    if (*n == s->room || d == 0)
      status = clarke_lower_fail(low, err, "a place's shares are over %zu doubles: the grid's numbers are too near to 0", s->room);
    else {
      s->entry[place * s->room + *n] = entry;
      s->share[place * s->room + (*n)++] = d;
    }
    mpq_set_d(part, d);
    mpq_sub(share, share, part);
  }
  mpq_clear(part);
  return status;
}

/* The terms of place p: the shares along all axes, multiplied. */
static clarke_status
find_terms(sampling *s, size_t p, taken along[], const clarke_lowering *low, clarke_error *err)
{
  const double *g = clarke_lower_value(low, 1)->real + p * s->axes;
  clarke_status status = CLARKE_OK;
  size_t n = 0, ways = 1;
  mpq_t share;

  for (size_t a = 0; a < s->axes && status == CLARKE_OK; a++) { /* the grid has the last axis first */
    status = take_along(&along[a], s, a, g[s->axes - 1 - a], low, err);
    ways *= along[a].n;
  }
  mpq_init(share);
  for (size_t way = 0; way < ways && status == CLARKE_OK; way++) {
    size_t entry = 0, rest = way;

    mpq_set_ui(share, 1, 1);
    for (size_t a = 0; a < s->axes; a++) {
      const size_t k = rest % along[a].n;

      rest /= along[a].n;
      if (along[a].entry[k] == CLARKE_NONE)
        mpq_set_ui(share, 0, 1);
      mpq_mul(share, share, along[a].share[k]);
      entry = entry * s->space[a] + along[a].entry[k];
    }
    status = add_terms(s, p, &n, entry, share, low, err);
  }
  s->terms = n > s->terms ? n : s->terms;
  mpq_clear(share);
  return status;
}

static clarke_status
find_all(sampling *s, const clarke_lowering *low, clarke_error *err)
{
  const size_t places = s->grids * s->places;
  taken along[MOST_AXES];
  clarke_status status = CLARKE_OK;

  s->room = s->mode == NEAREST ? 1 : s->mode == LINEAR ? 48 : 160;
  if (!clarke_lower_affordable(low->graph, places * s->room) || places > CLARKE_MAX_MAP / s->room)
    return clarke_lower_too_large(low, err);
  s->entry = calloc(places * s->room + 1, sizeof *s->entry);
  s->share = calloc(places * s->room + 1, sizeof *s->share);
  if (s->entry == NULL || s->share == NULL)
    return clarke_lower_no_memory(low, err);
  for (size_t a = 0; a < MOST_AXES; a++)
    for (size_t k = 0; k < CLARKE_MOST_SHARES; k++)
      mpq_init(along[a].share[k]);
  s->terms = 1; /* of an image none of whose entries is taken, 0 of the first */
  for (size_t p = 0; p < places && status == CLARKE_OK; p++)
    status = find_terms(s, p, along, low, err);
  for (size_t a = 0; a < MOST_AXES; a++)
    for (size_t k = 0; k < CLARKE_MOST_SHARES; k++)
      mpq_clear(along[a].share[k]);
  return status;
}

/* Each term's entry times its share: (samples, channels, places, terms). */
static clarke_status
scale_terms(const sampling *s, clarke_lowering *low, size_t *value, clarke_error *err)
{
  const size_t given[2] = {s->grids * s->places, s->terms}, dims[4] = {s->samples, s->dims[1], s->places, s->terms};
  const size_t images = s->samples * s->dims[1], count = images * s->places * s->terms, image = low->graph->values[low->in[0]].count / images;
  size_t weight, *from, *by;
  clarke_step *step;
  const clarke_status status = clarke_lower_made(low, 2, given, &weight, err);

  if (status != CLARKE_OK)
    return status;
  for (size_t p = 0; p < given[0]; p++)
    memcpy(low->graph->values[weight].real + p * s->terms, s->share + p * s->room, s->terms * sizeof *s->share);
  step = clarke_lower_step(low, CLARKE_SCALE, 2, 4 - s->lead, dims + s->lead, err);
  from = step != NULL ? clarke_lower_map(low, step, 0, count, err) : NULL;
  by = from != NULL ? clarke_lower_map(low, step, 1, count, err) : NULL;
  if (by == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  step->in[1].value = weight;
  *value = step->out;
  for (size_t f = 0; f < count; f++) {
    const size_t term = f % s->terms, channel = f / s->terms / s->places;
    const size_t place = channel / s->dims[1] * s->places + f / s->terms % s->places;

    from[f] = channel * image + s->entry[place * s->room + term];
    by[f] = place * s->terms + term;
  }
  return CLARKE_OK;
}

/* The sums of each place's terms. */
static clarke_status
add_up(const sampling *s, clarke_lowering *low, size_t *value, clarke_error *err)
{
  const size_t dims[2] = {1, s->terms};
  size_t ones;
  clarke_step *step;
  const clarke_status status = clarke_lower_made(low, 2, dims, &ones, err);

  if (status != CLARKE_OK)
    return status;
  for (size_t k = 0; k < s->terms; k++)
    low->graph->values[ones].real[k] = 1;
  step = clarke_lower_step(low, CLARKE_DENSE, 1, s->rank - s->lead, s->out + s->lead, err);
  if (step == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  step->in[0].value = *value;
  step->dense = (clarke_dense){.weight = ones, .blocks = s->samples * s->dims[1] * s->places, .inner = s->terms, .outer = 1, .repeat = 1};
  *value = step->out;
  return CLARKE_OK;
}

/* The grid is computed. */
static clarke_status
lower_moved(const sampling *s, clarke_lowering *low, clarke_error *err)
{
  const clarke_grid_rules rules = {s->mode == NEAREST, s->outside == BORDER, s->corners};

  if (s->mode == CUBIC || s->outside == REFLECTION)
    return clarke_lower_fail(low, err, "the grid is an activation: then mode is nearest or linear, and padding_mode zeros or border");
  return clarke_lower_moved_grid(low, &rules, err);
}

static clarke_status
lower_grid_sample(clarke_lowering *low, clarke_error *err)
{
  sampling s = {0};
  size_t value = CLARKE_NONE;
  clarke_status status = clarke_lower_first(low, err);

  if (status == CLARKE_OK)
    status = read_modes(&s, low, err);
  if (status == CLARKE_OK && clarke_lower_has(low, 1) && !clarke_lower_value(low, 1)->constant)
    return lower_moved(&s, low, err);
  if (status == CLARKE_OK)
    status = clarke_lower_constant(low, 1, err);
  if (status == CLARKE_OK)
    status = read_shapes(&s, low, err);
  if (status == CLARKE_OK) {
    low->graph->values[low->in[1]].bound = true;
    status = find_all(&s, low, err);
  }
  if (status == CLARKE_OK)
    status = scale_terms(&s, low, &value, err);
  if (status == CLARKE_OK)
    status = add_up(&s, low, &value, err);
  free(s.entry);
  free(s.share);
  return status == CLARKE_OK ? clarke_lower_done(low, value, err) : status;
}

const clarke_op clarke_ops_grid_sample[] = {
  {.name = "GridSample", .forms = {{16, 2, 2, 1, "align_corners:b mode:s padding_mode:s"}}, .lower = lower_grid_sample, .n_kinks = 1,
   .proxy = {[CLARKE_PYTORCH_2_13] = {"1"}}},
  {.name = NULL},
};
