/* Softmax, and its logarithm, in a gradient: values and probabilities from balls (docs/gradient.md). */
#include "network/derive/gradient/softmax.h"

#include "network/derive/gradient/analytic.h"
#include "network/pass/exponential.h"
#include "network/pass/softmax.h"

#include <stdlib.h>

/* Bits of the balls; and what a probability may be off by. */
#define PRECISION 128
#define OFF 0x1p-100

/* The variance of v under p is at most a quarter of the square of its range, which is at most sqrt(2) |v|; so |diag(p) - p p^T| <= 1/2.
 * For the logarithm |I - 1 p^T| <= 1 + sqrt(length). */
double
clarke_softmax_growth(const clarke_step *s)
{
  return s->log ? clarke_bound_up(1 + sqrt((double)s->length)) : 0.5;
}

/* |diag(q)| + |p q^T| + |q p^T| <= 3 |q|, for probabilities that are q apart, or |1 q^T|; and |q| is at most half of x's error. */
double
clarke_softmax_bend(const clarke_step *s)
{
  return s->log ? clarke_bound_up(sqrt((double)s->length) / 2) : 1.5;
}

/* A group's entries: `length` of them from `first` on, `stride` rows apart. */
typedef struct {
  size_t first, length, apart;
} softmax_group;

/* A group's values or probabilities, and what each is off by; room for balls. */
typedef struct {
  clarke_pair *at;
  double *off;
  arb_ptr ball;
} softmax_room;

static bool
room_begin(softmax_room *room, size_t length)
{
  *room = (softmax_room){malloc((length + 1) * sizeof *room->at), malloc((length + 1) * sizeof *room->off), _arb_vec_init((long)length)};
  return room->at != NULL && room->off != NULL;
}

static void
room_end(softmax_room *room, size_t length)
{
  free(room->at);
  free(room->off);
  _arb_vec_clear(room->ball, (long)length);
}

/* Calls `go` for each group, of each sample. */
static clarke_status
each_group(clarke_gradient_pass *p, const clarke_step *s,
           void (*go)(clarke_gradient_pass *, const clarke_step *, const softmax_group *, softmax_room *))
{
  softmax_room room;
  const bool well = room_begin(&room, s->length);

  for (size_t g = 0; well && g < s->groups; g++)
    for (size_t r = 0; r < s->stride; r++)
      for (size_t j = 0; j < p->n; j++)
        go(p, s, &(softmax_group){(g * s->length * s->stride + r) * p->n + j, s->length, s->stride * p->n}, &room);
  room_end(&room, s->length);
  return well ? CLARKE_OK : clarke_no_memory(p->err);
}

static clarke_pair
argument(const clarke_gradient_pass *p, const clarke_step *s, const softmax_group *of, size_t i)
{
  return clarke_normed_get(&p->value[s->in[0].value], of->first + i * of->apart);
}

static double
largest(const clarke_gradient_pass *p, const clarke_step *s, const softmax_group *of)
{
  double most = -INFINITY;

  for (size_t i = 0; i < of->length; i++)
    most = fmax(most, argument(p, s, of, i).high);
  return most;
}

/* The balls of a group. */
static void
enclose_group(softmax_room *room, const clarke_gradient_pass *p, const clarke_step *s, const softmax_group *of, bool logarithm)
{
  for (size_t i = 0; i < of->length; i++)
    clarke_ball_of_pair(room->ball + i, argument(p, s, of, i));
  clarke_softmax_balls(room->ball, of->length, 1, logarithm, PRECISION);
  for (size_t i = 0; i < of->length; i++)
    room->at[i] = clarke_pair_of_ball(&room->off[i], room->ball + i);
}

/* For a look, whose numbers tell sizes alone, doubles. */
static void
look_at_group(softmax_room *room, const clarke_gradient_pass *p, const clarke_step *s, const softmax_group *of, bool logarithm)
{
  const double most = largest(p, s, of);
  double sum = 0;

  for (size_t i = 0; i < of->length; i++)
    sum += exp(argument(p, s, of, i).high - most);
  for (size_t i = 0; i < of->length; i++) {
    const double z = argument(p, s, of, i).high - most;

    room->at[i] = (clarke_pair){logarithm ? z - log(sum) : exp(z) / sum, 0};
    room->off[i] = isfinite(room->at[i].high) ? 0 : INFINITY;
  }
}

/* What is below exp(-CLARKE_PAIR_FAR). */
#define LEAST 0x1p-400

/* What probabilities are off by, in parts: exponentials of differences that are themselves off by a unit of at most CLARKE_PAIR_FAR, their
 * sum, which adds them up, and what a quotient takes. */
static double
off_in_pairs(size_t length)
{
  return 2 * (CLARKE_PAIR_EXP_UNIT + CLARKE_PAIR_FAR * CLARKE_PAIR_UNIT) + clarke_bound_gamma((double)length + 8, CLARKE_PAIR_UNIT);
}

/* log(sum), sum >= 1, off by no more than sum, in parts, and by what is told. */
static clarke_pair
log_of(double *off, arb_t room, clarke_pair sum)
{
  clarke_ball_of_pair(room, sum);
  arb_log(room, room, PRECISION);
  return clarke_pair_of_ball(off, room);
}

static void
group_in_pairs(softmax_room *room, const clarke_gradient_pass *p, const clarke_step *s, const softmax_group *of, bool logarithm)
{
  const double most = largest(p, s, of), part = off_in_pairs(of->length);
  clarke_pair sum = {0, 0}, by;
  double off = 0;

  for (size_t i = 0; i < of->length; i++) {
    const clarke_pair z = clarke_pair_add_double(argument(p, s, of, i), -most);

    /* infinity less infinity is told by the sum, and by all that is divided by it */
    room->at[i] = z.high >= -CLARKE_PAIR_FAR ? clarke_pair_exp(z) : (clarke_pair){isnan(z.high) ? NAN : 0, 0};
    sum = clarke_pair_add(sum, room->at[i]);
  }
  by = logarithm ? log_of(&off, room->ball, sum) : clarke_pair_reciprocal(sum);
  for (size_t i = 0; i < of->length; i++) {
    const clarke_pair z = clarke_pair_add_double(argument(p, s, of, i), -most);

    room->at[i] = logarithm ? clarke_pair_add(z, (clarke_pair){-by.high, -by.low}) : clarke_pair_multiply(room->at[i], by);
    room->off[i] = logarithm ? clarke_bound_up(off + part + (double)of->length * LEAST + 4 * CLARKE_PAIR_UNIT * (fabs(z.high) + by.high))
                             : clarke_bound_up(part * room->at[i].high + (double)of->length * LEAST);
  }
}

static void
fill_group(softmax_room *room, const clarke_gradient_pass *p, const clarke_step *s, const softmax_group *of, bool logarithm)
{
  if (p->seen != NULL)
    look_at_group(room, p, s, of, logarithm);
  else if (p->in_pairs)
    group_in_pairs(room, p, s, of, logarithm);
  else
    enclose_group(room, p, s, of, logarithm);
}

static void
group_forward(clarke_gradient_pass *p, const clarke_step *s, const softmax_group *of, softmax_room *room)
{
  clarke_normed *y = &p->value[s->out];

  fill_group(room, p, s, of, s->log);
  for (size_t i = 0; i < of->length; i++) {
    const size_t e = of->first + i * of->apart;
    const double off = clarke_bound_up(room->off[i] + (y->low == NULL ? fabs(room->at[i].low) : 0));

    p->lost = p->lost || !isfinite(off) || !isfinite(room->at[i].high);
    clarke_normed_put(y, e, room->at[i]);
    y->error[clarke_lane_of(p, e % p->n)] += off * off;
  }
}

clarke_status
clarke_softmax_forward(clarke_gradient_pass *p, const clarke_step *s)
{
  const clarke_normed *x = &p->value[s->in[0].value];
  clarke_normed *y = &p->value[s->out];
  const clarke_status status = each_group(p, s, group_forward);

  for (size_t j = 0; j < p->lanes && status == CLARKE_OK; j++)
    y->error[j] = clarke_bound_up(clarke_softmax_growth(s) * x->error[j] + sqrt(clarke_bound_up(y->error[j])));
  return status;
}

/* What a group's probabilities, whose norm is at most 1, are off by, as a norm; they are all within `most` then. */
static double
off_of_group(const clarke_gradient_pass *p, size_t length, double *most)
{
  *most = p->in_pairs ? 2 * (off_in_pairs(length) + (double)length * LEAST) : OFF;
  return clarke_bound_up(p->in_pairs ? off_in_pairs(length) + (double)length * (double)length * LEAST : sqrt((double)length) * OFF);
}

/* p (g - <p, g>), or g - p <1, g>. */
static void
group_back(clarke_gradient_pass *p, const clarke_step *s, const softmax_group *of, softmax_room *room)
{
  const clarke_normed *g = &p->grad[s->out];
  clarke_normed *to = &p->grad[s->in[0].value];
  clarke_pair sum = {0, 0};
  double most;

  fill_group(room, p, s, of, false);
  off_of_group(p, of->length, &most);
  for (size_t i = 0; i < of->length; i++) {
    const clarke_pair v = clarke_normed_get(g, of->first + i * of->apart);

    p->lost = p->lost || !(room->off[i] <= most);
    sum = clarke_pair_add(sum, s->log ? v : clarke_pair_multiply(room->at[i], v));
  }
  for (size_t i = 0; i < of->length; i++) {
    const size_t e = of->first + i * of->apart;
    const clarke_pair v = clarke_normed_get(g, e);
    const clarke_pair rest = clarke_pair_multiply(s->log ? room->at[i] : (clarke_pair){1, 0}, (clarke_pair){-sum.high, -sum.low});
    const clarke_pair here = clarke_pair_add(v, rest);

    clarke_normed_add(to, e, s->log ? here : clarke_pair_multiply(room->at[i], here));
  }
}

/* Sums over a group have at most the norm of g times sqrt(length), and are rounded; probabilities that are q apart turn the derivative by what
 * clarke_softmax_bend says of an error of 2 |q|. */
clarke_status
clarke_softmax_back(clarke_gradient_pass *p, const clarke_step *s)
{
  const double length = (double)s->length, growth = clarke_softmax_growth(s);
  double most = 0, within;
  const double turned = 2 * clarke_softmax_bend(s) * off_of_group(p, s->length, &within);
  const double rounded = clarke_bound_gamma(length + 8, CLARKE_PAIR_UNIT) * (length + 2) + turned;
  clarke_status status;

  if (!p->carries[s->in[0].value])
    return CLARKE_OK;
  for (size_t j = 0; j < p->lanes; j++)
    most = fmax(most, p->value[s->in[0].value].error[j]);
  status = clarke_note_operand(p, s, &p->grad[s->out], growth, clarke_bound_up(clarke_softmax_bend(s) * most + rounded), 0);
  return status == CLARKE_OK ? each_group(p, s, group_back) : status;
}
