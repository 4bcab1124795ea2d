/* Each rule's evidence. What the rule asks is told in plain numbers where it can be, beside what is written. */
#include "forge_tape_evidence.h"
#include "../draw.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static bool
one_in(const scene *s, size_t n)
{
  return draw_below(s->state, n) == 0;
}

void
say(scene *s, const char *format, ...)
{
  va_list args;

  va_start(args, format);
  s->length += (size_t)vsnprintf(s->text + s->length, MOST_TEXT - s->length, format, args);
  va_end(args);
}

void
say_number(scene *s, double x)
{
  mpq_t q;

  mpq_init(q);
  mpq_set_d(q, x);
  s->length += (size_t)gmp_snprintf(s->text + s->length, MOST_TEXT - s->length, "%Qd", q);
  mpq_clear(q);
}

/* a / b */
static void
say_quotient(scene *s, double a, double b)
{
  mpq_t p, q;

  mpq_inits(p, q, NULL);
  mpq_set_d(p, a);
  mpq_set_d(q, b);
  mpq_div(p, p, q);
  s->length += (size_t)gmp_snprintf(s->text + s->length, MOST_TEXT - s->length, "%Qd", p);
  mpq_clears(p, q, NULL);
}

/* ---- Directions */

typedef double move[TAPE_WEIGHTS];

static double
along(const double *row, const double *d)
{
  return row[0] * d[0] + row[1] * d[1] + row[2] * d[2];
}

static void
draw_move(const scene *s, double *d)
{
  static const double all[] = {0, 0, 1, -1, 1, -1, 2, -2, 3, -3, 0.5};

  memset(d, 0, sizeof(move));
  for (bool any = false; !any;)
    for (size_t i = 0; i < s->tape.n_moving; i++) {
      d[i] = all[draw_below(s->state, 11)];
      any = any || d[i] != 0;
    }
}

static void
say_move(scene *s, const double *d)
{
  const size_t n = s->tape.n_moving;
  bool alike = n > 0;

  for (size_t i = 1; i < n; i++)
    alike = alike && d[i] == d[0];
  say(s, "direction\n");
  for (size_t i = 0; i < n && !alike; i++)
    if (d[i] != 0) {
      say(s, "move w at %zu ", i);
      say_number(s, d[i]);
      say(s, "\n");
    }
  if (alike) {
    say(s, "move w add ");
    say_number(s, d[0]);
    say(s, "\n");
  }
}

/* The first of the numbers along moves that is not 0 is positive. */
static bool
moved(const double *row, move *d, size_t n)
{
  for (size_t i = 0; i < n; i++)
    if (along(row, d[i]) != 0)
      return along(row, d[i]) > 0;
  return false;
}

/* Do moves bring all to their sides? sided: of each spot, has it a side? One without must have no rows. */
static bool
realized(const scene *s, const int *side, const bool *has_side, move *d, size_t n)
{
  double row[TAPE_WIDTH][TAPE_WEIGHTS];

  for (size_t k = 0; k < s->truth.n_spots; k++) {
    const size_t rows = truth_rows(&s->truth, side, k, row);

    for (size_t r = 0; r < rows; r++)
      if (!has_side[k] || !moved(row[r], d, n))
        return false;
  }
  return true;
}

/* Draws moves until they are right, for some time; one or two. How many? */
static size_t
draw_moves(const scene *s, const int *side, const bool *has_side, move *d)
{
  const size_t n = one_in(s, 4) ? 2 : 1;

  for (size_t i = 0; i < 60; i++) {
    for (size_t j = 0; j < n; j++)
      draw_move(s, d[j]);
    if (realized(s, side, has_side, d, n))
      break;
  }
  if (one_in(s, 12))
    draw_move(s, d[draw_below(s->state, n)]);
  if (one_in(s, 20)) /* none */
    return 0;
  return n;
}

static void
say_moves(scene *s, move *d, size_t n)
{
  say(s, "directions %zu\n", n);
  for (size_t i = 0; i < n; i++)
    say_move(s, d[i]);
}

static const bool all_sided[MOST_SPOTS] = {true, true, true, true, true, true, true, true};

/* ---- Sides */

static void
draw_sides(const scene *s, int *side)
{
  const truth *of = &s->truth;

  memcpy(side, of->cell[draw_below(s->state, of->n_cells)].side, sizeof of->cell->side);
  if (of->n_spots == 0 || !one_in(s, 6))
    return;
  const size_t k = draw_below(s->state, of->n_spots);
  do
    side[k] = draw_int(s->state, of->spot[k].window ? (int)TAPE_WIDTH : 2);
  while (of->spot[k].window && !of->spot[k].tied[side[k]]);
}

static char
letter_of(const scene *s, const int *side, size_t k)
{
  const site *at = &s->site[k];
  const int own = side[at->spot];

  return s->truth.spot[at->spot].window ? (char)('a' + at->option[own]) : "-+"[own];
}

static void
say_sides(scene *s, const int *side)
{
  for (size_t k = 0; k < s->n; k++)
    say(s, "%c", letter_of(s, side, k));
  if (s->n == 0)
    say(s, ".");
}

/* ---- Realize */

static answer
forge_realize(scene *s)
{
  int side[MOST_SPOTS];
  move d[2];

  draw_sides(s, side);
  const size_t n = draw_moves(s, side, all_sided, d);
  say(s, "sides ");
  say_sides(s, side);
  say(s, "\n");
  say_moves(s, d, n);
  return realized(s, side, all_sided, d, n) ? YES : NO;
}

/* ---- AD's own cell, and mixed ones */

/* The side of a kink that has AD's slope, or of `mixed` ones the side given where AD's slope is lambda of the left one; of a tie what AD
 * takes alone. */
static bool
own_side(const scene *s, size_t k, const bool *mixed, double lambda, int given, int *side)
{
  const spot *at = &s->truth.spot[k];
  const plain_step *st = &s->tape.step[at->step];
  int first = TAPE_WIDTH, last = 0;

  *side = 0;
  for (int i = 0; i < TAPE_WIDTH && at->window; i++)
    if (at->tied[i]) {
      first = i < first ? i : first;
      last = i;
    }
  if (at->window) {
    *side = s->tape.ties[st->op] == TIE_LAST ? last : first;
    return s->tape.shared[st->op] == 0;
  }
  const double left = truth_slope(&s->truth, k, 0), right = truth_slope(&s->truth, k, 1), ad = truth_slope(&s->truth, k, -1);
  if (mixed != NULL && mixed[at->step]) {
    *side = given;
    return ad == lambda * left + (1 - lambda) * right;
  }
  *side = ad == right && ad != left;
  return ad == left || ad == right;
}

static answer
forge_ad(scene *s)
{
  int side[MOST_SPOTS];
  bool has_side[MOST_SPOTS];
  move d[2];

  for (size_t k = 0; k < s->truth.n_spots; k++)
    has_side[k] = own_side(s, k, NULL, 0, 0, &side[k]);
  const size_t n = draw_moves(s, side, has_side, d);
  say(s, "evidence ad\ncell ad\n");
  say_moves(s, d, n);
  return realized(s, side, has_side, d, n) ? YES : NO;
}

enum { MOST_MIXED = 2 };

/* One cell of a mix. */
static bool
say_mixed(scene *s, const bool *mixed, const double *lambda, const size_t *node, size_t n, size_t mask)
{
  int side[MOST_SPOTS];
  bool has_side[MOST_SPOTS];
  move d[2];

  for (size_t k = 0; k < s->truth.n_spots; k++) {
    size_t i = 0;

    while (i + 1 < n && node[i] != s->truth.spot[k].step)
      i++;
    has_side[k] = own_side(s, k, mixed, lambda[i], (int)(mask >> (n - 1 - i) & 1), &side[k]);
  }
  const size_t m = draw_moves(s, side, has_side, d);
  say(s, "cell mix ");
  for (size_t i = 0; i < n; i++)
    say(s, "%c", "-+"[mask >> (n - 1 - i) & 1]);
  say(s, "\n");
  say_moves(s, d, m);
  return realized(s, side, has_side, d, m);
}

static answer
forge_mix(scene *s)
{
  bool mixed[TAPE_STEPS] = {false}, right = true;
  double lambda[MOST_MIXED] = {0.5, 0.5};
  size_t node[MOST_MIXED], n = 0;

  for (size_t k = 0; k < s->truth.n_spots && n < MOST_MIXED; k++) {
    const spot *at = &s->truth.spot[k];
    const double left = truth_slope(&s->truth, k, 0), right_slope = truth_slope(&s->truth, k, 1);
    const double of = at->window ? 0 : (truth_slope(&s->truth, k, -1) - right_slope) / (left - right_slope);

    if (at->window || mixed[at->step] || (!(of > 0 && of < 1) && !one_in(s, 10)))
      continue;
    mixed[at->step] = true;
    lambda[n] = (of > 0 && of < 1 && of == floor(of * 64) / 64) && !one_in(s, 10) ? of : 0.5;
    node[n++] = at->step;
  }
  if (n == 0)
    return UNKNOWN;
  say(s, "evidence mix %zu\n", n);
  for (size_t i = 0; i < n; i++) {
    say(s, "mix %s_%zu ", kinked_names[s->tape.step[node[i]].op], node[i]);
    say_number(s, lambda[i]);
    say(s, "\n");
  }
  for (size_t mask = 0; mask < (size_t)1 << n; mask++)
    right = say_mixed(s, mixed, lambda, node, n, mask) && right;
  return right ? YES : NO;
}

/* ---- A combination of cells */

static double
cross(const double *a, const double *b)
{
  return a[0] * b[1] - a[1] * b[0];
}

static void
less(const double *a, const double *b, double *to)
{
  for (size_t i = 0; i < TAPE_WEIGHTS; i++)
    to[i] = a[i] - b[i];
}

/* Any. */
static size_t
draw_weights(const scene *s, size_t *chosen, double *weight)
{
  const size_t n = 1 + draw_below(s->state, 3);
  const bool alike = one_in(s, 2);

  for (size_t j = 0; j < n; j++) {
    chosen[j] = draw_below(s->state, s->truth.n_cells);
    weight[j] = alike ? 1 : 1 + (double)draw_below(s->state, 3);
  }
  return n;
}

/* Have the sides, so weighed, the mean that AD takes at each spot whose argument may move, with none of those that differ behind another?
 * Then the gradients have, whatever they are. */
static bool
slopes_suffice(const scene *s, int (*side)[MOST_SPOTS], const double *weight, size_t n, double whole)
{
  const truth *of = &s->truth;
  bool split[MOST_SPOTS] = {false};

  for (size_t k = 0; k < of->n_spots; k++)
    for (size_t i = 0; i < (of->spot[k].window ? s->tape.step[of->spot[k].step].width : 1) && !truth_constant(of, k); i++) {
      const double ad = truth_share(of, k, -1, i);
      double mean = 0;

      for (size_t j = 0; j < n; j++) {
        mean += weight[j] * truth_share(of, k, side[j][k], i);
        split[k] = split[k] || truth_share(of, k, side[j][k], i) != ad;
      }
      if (mean != whole * ad)
        return false;
    }
  for (size_t k = 0; k < of->n_spots; k++)
    for (size_t j = 0; j < of->n_spots; j++)
      if (split[k] && split[j] && truth_behind(of, k, j))
        return false;
  return true;
}

/* Weights of up to three cells whose combination is AD's, if the drawn cells have some: weight[i] over their sum. */
static size_t
draw_combination(const scene *s, size_t *chosen, double *weight)
{
  const truth *of = &s->truth;
  double r[3][TAPE_WEIGHTS];

  for (size_t i = of->rounded || one_in(s, 3) ? 80 : 0; i < 80; i++) { /* of rounded gradients no weights are sure to sum to 1 */
    const size_t n = 1 + draw_below(s->state, 3);

    for (size_t j = 0; j < n; j++) {
      chosen[j] = draw_below(s->state, of->n_cells);
      less(of->cell[chosen[j]].gradient, of->ad, r[j]);
      weight[j] = 1;
    }
    if (n == 2) {
      size_t axis = 0;

      while (axis + 1 < TAPE_WEIGHTS && r[0][axis] == r[1][axis])
        axis++;
      weight[0] = r[1][axis];
      weight[1] = -r[0][axis];
    } else if (n == 3)
      for (size_t j = 0; j < 3; j++)
        weight[j] = cross(r[(j + 1) % 3], r[(j + 2) % 3]);
    double sum = 0, all[TAPE_WEIGHTS] = {0};
    bool good = true;
    for (size_t j = 0; j < n; j++) {
      sum += weight[j];
      for (size_t c = 0; c < TAPE_WEIGHTS; c++)
        all[c] += weight[j] * r[j][c];
    }
    for (size_t c = 0; c < TAPE_WEIGHTS; c++)
      good = good && all[c] == 0;
    for (size_t j = 0; j < n; j++)
      good = good && weight[j] * sum >= 0;
    if (good && sum != 0)
      return n;
  }
  return draw_weights(s, chosen, weight);
}

static answer
forge_hull(scene *s)
{
  size_t chosen[3];
  double weight[3], whole = 0, sum = 0, all[TAPE_WEIGHTS] = {0}, g[TAPE_WEIGHTS];
  const size_t n = draw_combination(s, chosen, weight);
  int side[3][MOST_SPOTS];
  bool right = true;

  for (size_t j = 0; j < n; j++)
    whole += weight[j];
  if (one_in(s, 16))
    weight[draw_below(s->state, n)] += one_in(s, 2) ? whole : -whole;
  if (one_in(s, 30))
    whole = -whole;
  say(s, "evidence hull %zu\n", n);
  for (size_t j = 0; j < n; j++) {
    move d[2];

    if (one_in(s, 10))
      draw_sides(s, side[j]);
    else
      memcpy(side[j], s->truth.cell[chosen[j]].side, sizeof *side);
    const size_t m = draw_moves(s, side[j], all_sided, d);
    say(s, "cell ");
    say_quotient(s, weight[j], whole);
    say(s, " ");
    say_sides(s, side[j]);
    say(s, "\n");
    say_moves(s, d, m);
    right = right && weight[j] * whole >= 0 && realized(s, side[j], all_sided, d, m);
    truth_gradient(&s->truth, side[j], g);
    sum += weight[j];
    for (size_t c = 0; c < TAPE_WEIGHTS; c++)
      all[c] += weight[j] * g[c];
  }
  right = right && sum == whole;
  if (right && slopes_suffice(s, side, weight, n, whole))
    return YES;
  for (size_t c = 0; c < TAPE_WEIGHTS; c++)
    right = right && all[c] == whole * s->truth.ad[c];
  return s->truth.rounded ? UNKNOWN : right ? YES : NO;
}

/* ---- Compensation */

static answer
forge_compensation(scene *s)
{
  const size_t how = draw_below(s->state, 4);

  say(s, "evidence compensation\n");
  for (size_t k = 0; k < s->n; k++)
    if (how == 0 || (how > 1 && one_in(s, 2)))
      say(s, "cut %zu\n", k);
  return UNKNOWN;
}

/* ---- Simplices */

enum { MOST_BLOCKS = 2, NO_BLOCK = 2, MOST_SIMPLEX = 4 };

typedef struct {
  size_t n, cells[MOST_BLOCKS], of[MOST_SPOTS]; /* of: the block of each spot, or none */
  move d[MOST_BLOCKS][MOST_SIMPLEX];
} blocks;

/* AD's slopes up to spot k's step, but for that spot's side; behind it those of a cell. */
static void
switched(const scene *s, const int *behind, size_t k, int to, double *gradient)
{
  int side[MOST_SPOTS];

  for (size_t i = 0; i < MOST_SPOTS; i++)
    side[i] = i < s->truth.n_spots && s->truth.spot[i].step > s->truth.spot[k].step ? behind[i] : -1;
  side[k] = to;
  truth_gradient(&s->truth, side, gradient);
}

/* What one side of spot k has over another, in the loss's gradient. Does it count in any of the cells? */
static bool
switched_row(const scene *s, int (*sides)[MOST_SPOTS], size_t cells, size_t k, int to, int from, double *row)
{
  double one[TAPE_WEIGHTS], other[TAPE_WEIGHTS];

  for (size_t c = 0; c < cells; c++) {
    switched(s, sides[c], k, to, one);
    switched(s, sides[c], k, from, other);
    less(one, other, row);
    if (row[0] != 0 || row[1] != 0 || row[2] != 0)
      return true;
  }
  return false;
}

/* The side to which a move brings spot k; -1: it is on none. No spot is behind another. */
static int
side_of(const scene *s, size_t k, const double *d)
{
  const spot *at = &s->truth.spot[k];
  double row[TAPE_WIDTH][TAPE_WEIGHTS];
  int side[MOST_SPOTS] = {0};

  for (int i = 0; i < (at->window ? (int)TAPE_WIDTH : 2); i++) {
    bool all = !at->window || at->tied[i];
    double zero_row[TAPE_WEIGHTS];

    side[k] = i;
    const size_t n = all ? truth_rows(&s->truth, side, k, row) : 0;
    for (size_t r = 0; r < n; r++)
      all = all && along(row[r], d) > 0;
    for (int o = 0; o < (int)TAPE_WIDTH && at->window && all; o++) /* another option of the same derivative is no less */
      all = !at->tied[o] || o == i || truth_row(&s->truth, side, k, o, zero_row);
    if (all && n > 0)
      return i;
  }
  return -1;
}

/* Does the move leave spot k where it is? */
static bool
is_still(const scene *s, size_t k, const double *d)
{
  const spot *at = &s->truth.spot[k];
  double row[TAPE_WIDTH][TAPE_WEIGHTS];
  int side[MOST_SPOTS] = {0};

  while (at->window && !at->tied[side[k]])
    side[k]++;
  const size_t n = truth_rows(&s->truth, side, k, row);
  for (size_t r = 0; r < n; r++)
    if (along(row[r], d) != 0)
      return false;
  return true;
}

static double
determinant(const double *a, const double *b, const double *c)
{
  return a[0] * (b[1] * c[2] - b[2] * c[1]) - a[1] * (b[0] * c[2] - b[2] * c[0]) + a[2] * (b[0] * c[1] - b[1] * c[0]);
}

/* The dimension of what n rows span; and axes which tell it apart. */
static size_t
dimension_of(double row[][TAPE_WEIGHTS], size_t n, size_t *axis)
{
  size_t found = 0;

  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++)
      for (size_t k = 0; k < n; k++)
        for (size_t a = 0; a < 3; a++) {
          const size_t b = (a + 1) % 3;

          if (determinant(row[i], row[j], row[k]) != 0)
            found = 3;
          else if (found < 2 && row[i][a] * row[j][b] != row[i][b] * row[j][a]) {
            found = 2;
            axis[0] = a;
            axis[1] = b;
          } else if (found < 1 && row[i][a] != 0) {
            found = 1;
            axis[0] = a;
          }
        }
  return found;
}

/* Do positive weights of the changes, and but for a factor no others, make them cancel? */
static bool
is_simplex(double change[][TAPE_WEIGHTS], size_t d, const size_t *axis)
{
  double weight[MOST_SIMPLEX] = {1, 1, 1, 1};

  for (size_t i = 0; i <= d; i++) {
    const double *a = change[(i + 1) % (d + 1)], *b = change[(i + 2) % (d + 1)], *c = change[(i + 3) % (d + 1)];

    if (d == 1)
      weight[i] = (i == 0 ? 1 : -1) * a[axis[0]];
    if (d == 2)
      weight[i] = a[axis[0]] * b[axis[1]] - a[axis[1]] * b[axis[0]];
    if (d == 3)
      weight[i] = (i % 2 == 0 ? 1 : -1) * determinant(a, b, c);
  }
  for (size_t i = 0; i <= d; i++)
    if (!(weight[i] * weight[0] > 0))
      return false;
  return true;
}

/* Of a block, or a group: do its cells surround AD's output in what its kinks span? side -1: AD's. */
static bool
surround(const scene *s, const blocks *of, size_t b, int (*side)[MOST_SPOTS])
{
  double row[MOST_ROWS + TAPE_WIDTH][TAPE_WEIGHTS], change[MOST_SIMPLEX][TAPE_WEIGHTS];
  size_t n = 0, axis[2] = {0, 1};

  for (size_t c = 0; c < of->cells[b]; c++) {
    truth_gradient(&s->truth, side[c], change[c]);
    less(change[c], s->truth.ad, change[c]);
  }
  for (size_t k = 0; k < s->truth.n_spots; k++) {
    const bool window = s->truth.spot[k].window;
    int first = -1;

    for (int o = 0; o < (window ? (int)TAPE_WIDTH : 2) && of->of[k] == b; o++) {
      bool plays = window && truth_share(&s->truth, k, -1, (size_t)o) != 0;

      for (size_t c = 0; c < of->cells[b]; c++)
        plays = plays || (side[c][k] == o && (window || truth_slope(&s->truth, k, o) != truth_slope(&s->truth, k, -1)));
      if (!plays)
        continue;
      if (!window || first >= 0)
        n += switched_row(s, side, of->cells[b], k, o, first, row[n]);
      else
        first = o;
    }
  }
  const size_t d = dimension_of(row, n, axis);
  return of->cells[b] == d + 1 && is_simplex(change, d, axis);
}

/* Those of a block. */
static bool
surrounds(const scene *s, const blocks *of, size_t b)
{
  int side[MOST_SIMPLEX][MOST_SPOTS];

  for (size_t c = 0; c < of->cells[b]; c++)
    for (size_t k = 0; k < MOST_SPOTS; k++)
      side[c][k] = k < s->truth.n_spots && of->of[k] == b ? side_of(s, k, of->d[b][c]) : -1;
  return surround(s, of, b, side);
}

/* All that the rule asks, where no kink is behind another. The spots that are not touched are of no consequence. */
static bool
are_simplices(const scene *s, const blocks *of, move *d, size_t n)
{
  int side[MOST_SPOTS];
  bool has_side[MOST_SPOTS];
  double row[TAPE_WIDTH][TAPE_WEIGHTS];

  for (size_t k = 0; k < s->truth.n_spots; k++) {
    has_side[k] = own_side(s, k, NULL, 0, 0, &side[k]);
    const size_t rows = truth_rows(&s->truth, side, k, row);
    const bool flat = truth_constant(&s->truth, k);
    for (size_t r = 0; r < rows && of->of[k] == NO_BLOCK; r++)
      if (!has_side[k] || !moved(row[r], d, n))
        return false;
    if (of->of[k] == NO_BLOCK && !flat && (!has_side[k] || rows == 0))
      return false; /* here nothing may rest */
    for (size_t i = 0; i < n; i++)
      if (of->of[k] != NO_BLOCK && !is_still(s, k, d[i]))
        return false;
    for (size_t b = 0; b < of->n; b++)
      for (size_t c = 0; c < of->cells[b]; c++)
        if (of->of[k] == b ? side_of(s, k, of->d[b][c]) < 0 : of->of[k] != NO_BLOCK && !is_still(s, k, of->d[b][c]))
          return false;
  }
  for (size_t b = 0; b < of->n; b++)
    if (!surrounds(s, of, b))
      return false;
  return true;
}

/* Moves of a block: any, or minus the one before. */
static void
draw_cells(const scene *s, blocks *of, size_t b)
{
  for (size_t c = 0; c < of->cells[b]; c++) {
    draw_move(s, of->d[b][c]);
    for (size_t i = 0; i < TAPE_WEIGHTS && c > 0 && of->cells[b] == 2 && c == 1; i++)
      of->d[b][c][i] = one_in(s, 8) ? of->d[b][c][i] : -of->d[b][0][i];
  }
  for (size_t c = 0; c < of->cells[b]; c++) {
    bool any = false;

    for (size_t i = 0; i < s->tape.n_moving; i++)
      any = any || of->d[b][c][i] != 0;
    if (!any)
      draw_move(s, of->d[b][c]);
  }
}

static void
say_blocks(scene *s, const blocks *of)
{
  say(s, "evidence simplices %zu\n", of->n);
  for (size_t b = 0; b < of->n; b++) {
    say(s, "block %zu", of->cells[b]);
    for (size_t k = 0; k < s->n; k++)
      if (of->of[s->site[k].spot] == b)
        say(s, " %zu", k);
    say(s, "\n");
  }
  for (size_t b = 0; b < of->n; b++)
    for (size_t c = 0; c < of->cells[b]; c++)
      say_move(s, of->d[b][c]);
}

/* Are the options of windows told, and is each kink that may be touched? */
static bool
sites_are_told(const scene *s)
{
  for (size_t k = 0; k < s->truth.n_spots; k++) {
    size_t tied = 0;

    for (size_t i = 0; i < TAPE_WIDTH; i++)
      tied += s->truth.spot[k].window && s->truth.spot[k].tied[i];
    if (tied > 2)
      return false; /* some may be one option */
  }
  return s->n == s->truth.n_spots && !s->truth.rounded;
}

/* Is the rule told in plain numbers? */
static bool
is_plain(const scene *s)
{
  double row[TAPE_WIDTH][TAPE_WEIGHTS];
  int side[MOST_SPOTS] = {0};

  for (size_t k = 0; k < s->truth.n_spots; k++) {
    const spot *at = &s->truth.spot[k];

    while (at->window && !at->tied[side[k]])
      side[k]++;
    if (truth_rows(&s->truth, side, k, row) == 0 && !truth_constant(&s->truth, k))
      return false; /* it may be constant, as w times 0 is */
    for (size_t j = 0; j < s->truth.n_spots; j++)
      if (truth_behind(&s->truth, k, j))
        return false;
  }
  return sites_are_told(s) && !s->truth.curved;
}

/* Blocks of the touched kinks, in one or two; those that have AD's sides may be in none. */
static answer
forge_simplices(scene *s)
{
  blocks of = {.n = 1};
  int side[MOST_SPOTS];
  bool has_side[MOST_SPOTS], outer = false, first = false;
  move d[2];
  size_t n = 0;

  if (s->n == 0)
    return UNKNOWN;
  for (size_t k = 0; k < MOST_SPOTS; k++)
    of.of[k] = NO_BLOCK;
  for (size_t k = 0; k < s->n; k++) {
    const size_t spot_of = s->site[k].spot;

    of.of[spot_of] = own_side(s, spot_of, NULL, 0, 0, &side[spot_of]) && one_in(s, 2) ? NO_BLOCK : draw_below(s->state, MOST_BLOCKS);
    of.of[spot_of] = of.of[spot_of] == 1 && !first ? 0 : of.of[spot_of];
    first = first || of.of[spot_of] == 0;
    of.n = of.of[spot_of] == 1 ? 2 : of.n;
  }
  if (!first)
    of.of[s->site[0].spot] = 0;
  for (size_t k = 0; k < s->truth.n_spots; k++) {
    has_side[k] = own_side(s, k, NULL, 0, 0, &side[k]);
    outer = outer || of.of[k] == NO_BLOCK;
  }
  const bool plain = is_plain(s);
  for (size_t i = plain && !one_in(s, 4) ? 0 : 24; i < 25; i++) { /* until it is right */
    for (size_t b = 0; b < of.n; b++) {
      of.cells[b] = 1 + draw_below(s->state, s->tape.n_moving + 1);
      draw_cells(s, &of, b);
    }
    n = outer ? draw_moves(s, side, has_side, d) : 0;
    if (plain && are_simplices(s, &of, d, n))
      break;
  }
  say_blocks(s, &of);
  say_moves(s, d, n);
  return !plain ? UNKNOWN : are_simplices(s, &of, d, n) ? YES : NO;
}

/* ---- Balance */

typedef int choices[MOST_BLOCKS][MOST_SIMPLEX][MOST_SPOTS]; /* of each group, each of its cells' sides */

static size_t
cells_of(const blocks *of)
{
  return of->n == 2 ? of->cells[0] * of->cells[1] : of->cells[0];
}

/* The sides of cell i, one for each choice of the groups' cells: the last group's change first. What is in no group has its own. */
static void
sides_of(const scene *s, const blocks *of, choices choice, size_t i, int *side)
{
  const size_t last = of->n == 2 ? of->cells[1] : 1, chosen[MOST_BLOCKS] = {i / last, i % last};

  for (size_t k = 0; k < s->truth.n_spots; k++)
    if (of->of[k] == NO_BLOCK)
      own_side(s, k, NULL, 0, 0, &side[k]);
    else
      memcpy(&side[k], &choice[of->of[k]][chosen[of->of[k]]][k], sizeof *side);
}

static bool
differs(const scene *s, size_t k, int side)
{
  for (size_t i = 0; i < (s->truth.spot[k].window ? s->tape.step[s->truth.spot[k].step].width : 1); i++)
    if (truth_share(&s->truth, k, side, i) != truth_share(&s->truth, k, -1, i))
      return true;
  return false;
}

/* Has each kink whose slope is not AD's an argument that moves, and is it in a group? Of two groups, is none behind another? What these
 * numbers do not tell is unknown: a slope that counts for nothing, or a kink that may be constant in a cell. */
static answer
groups_hold(const scene *s, const blocks *of, int (*side)[MOST_SPOTS], size_t n)
{
  bool split[MOST_SPOTS] = {false}, counts[MOST_SPOTS];
  double row[TAPE_WIDTH][TAPE_WEIGHTS];
  answer held = YES;

  for (size_t k = 0; k < s->truth.n_spots; k++) {
    counts[k] = false;
    for (size_t c = 0; c < n; c++) {
      if (truth_constant(&s->truth, k) || !differs(s, k, side[c][k]))
        continue;
      if (truth_rows(&s->truth, side[c], k, row) == 0)
        return UNKNOWN;
      split[k] = true;
      counts[k] = counts[k] || switched_row(s, side, n, k, side[c][k], -1, row[0]);
    }
    if (split[k] && of->of[k] == NO_BLOCK)
      return counts[k] ? NO : UNKNOWN;
  }
  for (size_t k = 0; k < s->truth.n_spots && of->n == 2; k++)
    for (size_t j = 0; j < s->truth.n_spots; j++)
      if (split[k] && split[j] && truth_behind(&s->truth, k, j))
        held = counts[k] && counts[j] ? NO : UNKNOWN;
  return held;
}

/* All that the rule asks of the groups; where it is told. */
static answer
groups_balance(const scene *s, const blocks *of, choices choice)
{
  int side[MOST_SIMPLEX * MOST_SIMPLEX][MOST_SPOTS];
  answer held;

  for (size_t i = 0; i < cells_of(of); i++)
    sides_of(s, of, choice, i, side[i]);
  held = groups_hold(s, of, side, cells_of(of));
  for (size_t b = 0; b < of->n && held == YES; b++) {
    int own[MOST_SIMPLEX][MOST_SPOTS];

    for (size_t c = 0; c < of->cells[b]; c++)
      for (size_t k = 0; k < MOST_SPOTS; k++)
        own[c][k] = k < s->truth.n_spots && of->of[k] == b && !truth_constant(&s->truth, k) ? choice[b][c][k] : -1;
    held = surround(s, of, b, own) ? YES : NO;
  }
  return held;
}

/* Is a cell that is sure to be there for each choice? */
static bool
cells_are_there(const scene *s, const blocks *of, choices choice)
{
  for (size_t i = 0; i < cells_of(of); i++) {
    int side[MOST_SPOTS];
    size_t c = 0;

    sides_of(s, of, choice, i, side);
    while (c < s->truth.n_cells && (!s->truth.cell[c].certain || memcmp(s->truth.cell[c].side, side, s->truth.n_spots * sizeof *side) != 0))
      c++;
    if (c == s->truth.n_cells)
      return false;
  }
  return true;
}

/* The touched kinks, in one group or two; those that have AD's sides may be in none. */
static void
draw_groups(const scene *s, blocks *of)
{
  bool first = false;
  int side;

  of->n = 1;
  for (size_t k = 0; k < MOST_SPOTS; k++)
    of->of[k] = NO_BLOCK;
  for (size_t k = 0; k < s->n; k++) {
    const size_t at = s->site[k].spot;

    if (own_side(s, at, NULL, 0, 0, &side) ? one_in(s, 3) : one_in(s, 30))
      continue;
    of->of[at] = first && one_in(s, 2);
    of->n = of->of[at] == 1 ? 2 : of->n;
    first = true;
  }
  if (!first)
    of->of[s->site[0].spot] = 0;
}

static void
draw_choices(const scene *s, blocks *of, choices choice)
{
  for (size_t b = 0; b < of->n; b++) {
    of->cells[b] = one_in(s, 3) ? 1 : 2 + draw_below(s->state, s->tape.n_moving);
    for (size_t c = 0; c < of->cells[b]; c++)
      memcpy(choice[b][c], s->truth.cell[draw_below(s->state, s->truth.n_cells)].side, sizeof choice[b][c]);
  }
}

/* The lines of a cell. Is it realized? */
static bool
say_cell(scene *s, const int *side)
{
  move d[2];
  const size_t n = draw_moves(s, side, all_sided, d);

  say(s, "cell ");
  say_sides(s, side);
  say(s, "\n");
  say_moves(s, d, n);
  return realized(s, side, all_sided, d, n);
}

static answer
forge_balance(scene *s)
{
  blocks of = {.n = 1};
  choices choice;
  answer right = NO;
  bool there = true;

  if (s->n == 0)
    return UNKNOWN;
  for (size_t i = one_in(s, 4) ? 59 : 0; i < 60 && right != YES; i++) {
    draw_groups(s, &of);
    draw_choices(s, &of, choice);
    right = cells_are_there(s, &of, choice) || i == 59 ? groups_balance(s, &of, choice) : NO;
  }
  say(s, "evidence balance %zu\n", of.n);
  for (size_t b = 0; b < of.n; b++) {
    say(s, "group %zu", of.cells[b]);
    for (size_t k = 0; k < s->n; k++)
      if (of.of[s->site[k].spot] == b)
        say(s, " %zu", k);
    say(s, "\n");
  }
  for (size_t i = 0; i < cells_of(&of); i++) {
    int side[MOST_SPOTS];

    sides_of(s, &of, choice, i, side);
    if (one_in(s, 40)) {
      draw_sides(s, side);
      right = UNKNOWN;
    }
    there = say_cell(s, side) && there;
  }
  return !there ? NO : sites_are_told(s) ? right : UNKNOWN;
}

/* ---- Trees */

enum { MOST_LINES = 64 };

typedef struct {
  size_t n;
  size_t site[MOST_ROWS], option[MOST_ROWS];
  double row[MOST_ROWS][TAPE_WEIGHTS];
} path_rows;

/* The rows of the kernel's sites 0..n-1 under the sides; of a window by option, once each. */
static void
find_rows(const scene *s, const int *side, size_t n, path_rows *of)
{
  double row[TAPE_WIDTH][TAPE_WEIGHTS];

  of->n = 0;
  for (size_t k = 0; k < n; k++) {
    const site *at = &s->site[k];
    const spot *sp = &s->truth.spot[at->spot];
    bool seen[TAPE_WIDTH] = {false};

    for (size_t i = 0; i < (sp->window ? (size_t)TAPE_WIDTH : 1) && of->n < MOST_ROWS; i++) {
      int other[MOST_SPOTS];
      size_t o = sp->window && sp->tied[i] ? at->option[i] : 0;

      if (sp->window && (!sp->tied[i] || seen[o] || o == at->option[side[at->spot]]))
        continue;
      memcpy(other, side, sizeof other);
      seen[o] = true;
      if (truth_row(&s->truth, other, at->spot, (int)i, row[0])) {
        memcpy(of->row[of->n], row[0], sizeof *row);
        of->site[of->n] = k;
        of->option[of->n++] = o;
      }
    }
  }
}

/* Positive numbers that make the rows given cancel? */
static bool
cancel(const path_rows *of, const size_t *which, size_t n, double *by)
{
  const double *r[3] = {of->row[which[0]], of->row[which[n > 1]], of->row[which[n > 2 ? 2 : 0]]};
  double sum[TAPE_WEIGHTS] = {0};

  if (n == 2) {
    size_t axis = 0;

    while (axis + 1 < TAPE_WEIGHTS && r[0][axis] == 0)
      axis++;
    by[0] = fabs(r[1][axis]);
    by[1] = fabs(r[0][axis]);
  } else
    for (size_t i = 0; i < 3; i++)
      by[i] = cross(r[(i + 1) % 3], r[(i + 2) % 3]);
  const double sign = by[0] < 0 ? -1 : 1;
  for (size_t i = 0; i < n; i++) {
    by[i] *= sign;
    if (!(by[i] > 0))
      return false;
    for (size_t c = 0; c < TAPE_WEIGHTS; c++)
      sum[c] += by[i] * r[i][c];
  }
  return sum[0] == 0 && sum[1] == 0 && sum[2] == 0;
}

/* The lines of `dead`, right where two or three rows cancel. Are they? */
static answer
say_dead(scene *s, const path_rows *of)
{
  size_t which[3], n = 0;
  double by[3] = {1, 1, 1};
  bool found = false;

  for (size_t i = 0; i < of->n && !found; i++)
    for (size_t j = i + 1; j < of->n && !found; j++)
      for (size_t k = j; k < of->n && !found; k++) {
        which[0] = i;
        which[1] = j;
        which[2] = k;
        n = k > j ? 3 : 2;
        found = cancel(of, which, n, by);
      }
  if (!found) {
    if (of->n == 0) {
      say(s, "dead 0\n");
      return NO;
    }
    n = 1;
    which[0] = draw_below(s->state, of->n);
  }
  if (one_in(s, 20)) {
    by[draw_below(s->state, n)] += one_in(s, 2) ? 1 : -1;
    found = false;
  }
  say(s, "dead %zu\n", n);
  for (size_t i = 0; i < n; i++) {
    const size_t k = of->site[which[i]];

    say(s, "u %zu ", k);
    if (s->truth.spot[s->site[k].spot].window)
      say(s, "%c ", (char)('a' + of->option[which[i]]));
    say_number(s, by[i]);
    say(s, "\n");
  }
  return found ? YES : NO;
}

static answer
both(answer a, answer b)
{
  return a == NO || b == NO ? NO : a == YES && b == YES ? YES : UNKNOWN;
}

/* Is it separated from what these sides make, and from all sides of those sites that are open? */
static answer
is_apart(const scene *s, const int *side, const bool *open, size_t k)
{
  double g[TAPE_WEIGHTS];
  int other[MOST_SPOTS];

  while (k < s->n && !open[k])
    k++;
  if (k < s->n) {
    const spot *at = &s->truth.spot[s->site[k].spot];

    memcpy(other, side, sizeof other);
    for (int i = 0; i < (at->window ? (int)TAPE_WIDTH : 2); i++) {
      other[s->site[k].spot] = i;
      if ((!at->window || at->tied[i]) && is_apart(s, other, open, k + 1) != YES)
        return NO;
    }
    return YES;
  }
  truth_gradient(&s->truth, side, g);
  return (s->v[0] == 0 && s->v[1] == 0 && s->v[2] == 0) || along(g, s->v) < along(s->truth.ad, s->v) ? YES : NO;
}

/* From site k on. Is it right, as far as these numbers tell? */
/* The leaf of a path on which sites from k on have no sides. Is it separated? That of a family is where it is from all of it, no kink
 * being behind another; else it is not told. */
static answer
say_leaf(scene *s, const int *side, size_t k, bool families)
{
  bool open[MOST_SPOTS];

  say(s, "leaf\n");
  for (size_t i = 0; i < s->n; i++)
    open[i] = i >= k;
  return k < s->n && !families ? UNKNOWN : is_apart(s, side, open, 0);
}

static answer
say_tree(scene *s, int *side, size_t k, bool families, const bool *led)
{
  path_rows rows;
  answer right = YES;

  find_rows(s, side, k, &rows);
  const bool empty = truth_feasible(rows.row, rows.n, s->tape.n_moving) == NO;
  if (s->length > MOST_TEXT - 4096 || (empty && !one_in(s, 12)) || (!empty && one_in(s, 60)))
    return say_dead(s, &rows);
  while (k < s->n && led[k])
    k++;
  if (k == s->n || one_in(s, families ? 6 : 40))
    return say_leaf(s, side, k, families);
  const site *at = &s->site[k];
  const spot *sp = &s->truth.spot[at->spot];
  const int before = side[at->spot];
  say(s, "branch %zu\n", k);
  for (size_t o = 0; o < (sp->window ? at->options : 2); o++) {
    side[at->spot] = (int)o;
    for (size_t i = TAPE_WIDTH; i-- > 0 && sp->window;) /* the first of the option, whose sides the kernel asks for */
      if (sp->tied[i] && at->option[i] == o)
        side[at->spot] = (int)i;
    right = both(say_tree(s, side, k + 1, families, led), right);
  }
  side[at->spot] = before;
  return right;
}

/* The lines v: along which all cells are separated, where one is found. */
static void
say_vector(scene *s)
{
  const truth *of = &s->truth;
  bool apart = false;

  for (size_t i = 0; i < 40 && !apart; i++) {
    draw_move(s, s->v);
    apart = true;
    for (size_t c = 0; c < of->n_cells; c++)
      apart = apart && along(of->cell[c].gradient, s->v) < along(of->ad, s->v);
  }
  for (size_t i = 0; i < s->tape.n_moving; i++)
    if (s->v[i] != 0) {
      say(s, "v w %zu ", i);
      say_number(s, s->v[i]);
      say(s, "\n");
    }
}

static void
first_sides(const scene *s, int *side)
{
  memcpy(side, s->truth.cell[0].side, sizeof s->truth.cell[0].side);
  for (size_t k = 0; k < s->truth.n_spots; k++) {
    side[k] = 0;
    while (s->truth.spot[k].window && !s->truth.spot[k].tied[side[k]])
      side[k]++;
  }
}

static const bool none_led[MOST_SPOTS];

static answer
forge_tree(scene *s, bool separates)
{
  int side[MOST_SPOTS];

  say_vector(s);
  for (size_t i = 0; i < TAPE_WEIGHTS && !separates; i++)
    s->v[i] = 0;
  first_sides(s, side);
  say(s, "tree\n");
  const answer right = say_tree(s, side, 0, false, none_led);
  return s->truth.rounded || (s->truth.curved && right == YES) ? UNKNOWN : right;
}

static answer
forge_refute(scene *s)
{
  return forge_tree(s, false);
}

static answer
forge_separator(scene *s)
{
  say(s, "evidence separator\n");
  return forge_tree(s, true);
}

/* Kinks whose rows are multiples, under the first sides. */
static void
say_together(scene *s, const int *side, double sign, bool *led, bool *leads)
{
  double a[TAPE_WEIGHTS], b[TAPE_WEIGHTS];

  for (size_t j = 0; j < s->n; j++) {
    bool begun = false;

    for (size_t k = j + 1; k < s->n && !led[j]; k++) {
      const spot *one = &s->truth.spot[s->site[j].spot], *other = &s->truth.spot[s->site[k].spot];
      if (led[k] || leads[k] || one->window || other->window || one_in(s, 4)
          || !truth_row(&s->truth, side, s->site[j].spot, 0, a) || !truth_row(&s->truth, side, s->site[k].spot, 0, b))
        continue;
      const bool multiple = cross(a, b) == 0 && cross(a + 1, b + 1) == 0 && a[0] * b[2] == a[2] * b[0];
      if (!(multiple && along(a, b) * sign > 0) && !one_in(s, 40))
        continue;
      if (!begun)
        say(s, "%s %zu", sign > 0 ? "parallel" : "opposite", j);
      say(s, " %zu", k);
      begun = led[k] = leads[j] = true;
    }
    if (begun)
      say(s, "\n");
  }
}

static answer
forge_bound(scene *s)
{
  int side[MOST_SPOTS];
  bool led[MOST_SPOTS] = {false}, leads[MOST_SPOTS] = {false};

  say(s, "evidence bound\n");
  say_vector(s);
  first_sides(s, side);
  if (one_in(s, 2))
    say_together(s, side, 1, led, leads);
  if (one_in(s, 2))
    say_together(s, side, -1, led, leads);
  say(s, "tree\n");
  const answer right = say_tree(s, side, 0, true, led);
  for (size_t k = 0; k < s->truth.n_spots; k++) {
    if (k < s->n && led[k])
      return UNKNOWN;
    for (size_t j = 0; j < s->truth.n_spots; j++)
      if (truth_behind(&s->truth, k, j))
        return UNKNOWN;
  }
  return s->truth.rounded || s->truth.curved ? UNKNOWN : right;
}

answer
forge_evidence(scene *s, rule r)
{
  static const forger forgers[RULES] = {forge_realize, forge_refute, forge_ad, forge_mix, forge_hull, forge_compensation,
                                        forge_simplices, forge_balance, forge_separator, forge_bound};

  return forgers[r](s);
}
