/* Cross entropy beside what was recorded (record_node.h). */
#include "check/record/record_node.h"
#include "check/kernel/point.h"

#include <string.h>

static number *
recall_outputs(node_pass *p, const graph_value *v, size_t b)
{
  number *a = number_new(v->count, p->doubles);
  for (size_t i = 0; i < v->count; i++)
    node_recall(&a[i], p, record_read(p->r, (source){v->step, v->map[i]}, b));
  return a;
}

static size_t
label_of(const record *r, size_t b)
{
  return mpz_get_ui(mpq_numref(&r->p->target->value[b]));
}

/* The scale divided by the number of samples that are not ignored. */
static void
share_of_loss(rational *q, const record *r)
{
  RATIONAL(n);
  mpq_set_ui(&n, loss_counted(r->p), 1);
  mpq_div(q, &r->scale, &n);
}

/* What the exponential is of: a difference, less a logarithm of n terms. */
static bound
loss_shift(node_pass *p, const number *a, size_t n)
{
  bound most = {0, 0}, shift = {0, 0};
  size_t bits = 0;
  for (size_t i = 0; i < n; i++) {
    most = bound_most(most, size_of(&a[i]));
    shift = bound_most(shift, a[i].off);
  }
  while (n >> bits > 0)
    bits++;
  shift = bound_scale(shift, 1);
  most = bound_add_times(bound_natural(bits + 2), most, bound_natural(3));
  node_round(p, &shift, n + 2 * SPARE_COMPOSED, most);
  return shift;
}

/* (share - 1 at the label) q: the share is off by a factor of exp(shift), which is at least 1 + shift. */
static void
loss_entry(node_pass *p, const enclosure *share, bool label, bound shift, const multiple *by, const rational *q,
           cotangent *to)
{
  ENCLOSURE(x, p->doubles);
  RATIONAL(minus);
  bound size = least_size(share), off = bound_times(size, shift), mass = bound_add(size, off);
  mpq_neg(&minus, q);
  enclosure_add_times(&x, share, by);
  if (label) {
    enclosure_add_number(&x, &minus);
    mass = bound_add(mass, bound_natural(1));
  }
  node_round(p, &off, SPARE_COMPOSED, mass);
  off = bound_times(off, bound_of(q));
  node_hand(p, to, &x, off, bound_add(least_size(&x), off));
}

void
loss_back(node_pass *p, const graph_value *v, size_t b, cotangent *const *to)
{
  number *a = recall_outputs(p, v, b);
  enclosure *share = enclosures(v->count, p->doubles);
  RATIONAL(q);
  share_of_loss(&q, p->r);
  multiple by = multiple_of(&q, p->doubles);
  bound shift = loss_shift(p, a, v->count);
  for (size_t i = 0; i < v->count; i++)
    enclosure_copy(&share[i], &a[i].x);
  enclosure_softmax(share, v->count, false);
  for (size_t i = 0; i < v->count && !loss_ignores(p->r->p, b); i++)
    loss_entry(p, &share[i], i == label_of(p->r, b), shift, &by, &q, to[i]);
  number_free(a, v->count);
  enclosures_free(share, v->count);
}

/* ---- The model's own LogSoftmax */

bool
loss_is_log(const record *r, const char *name)
{
  const tail *own = &r->p->net->own;
  return own->kind == LOSS_CE && r->p->loss == LOSS_CE && strcmp(r->m->nodes[own->from].out[0], name) == 0;
}

/* The value that it reads. NULL: it was not recorded. */
static const graph_value *
read_by_log(const record *r, const tensor *t)
{
  const graph_value *v = network_value(r->p->net, r->p->net->own.of);
  bool fits = t->real && t->rank == 2 && t->dims[0] == r->p->net->batch && t->dims[1] == v->count;
  require(fits, "tensor '%s' is not of floats, or does not have the shape of its node's output", t->name);
  return record_plain(r, v) && record_known(r, v->step) ? v : NULL;
}

/* What is said of sample b, in doubles or in GMP's numbers. False: doubles do not tell. */
static bool
log_sample(record *r, const graph_value *v, const tensor *t, size_t b, bool doubles, answer *all)
{
  node_pass p = {.r = r, .n = 1, .first = b, .type = t->type, .doubles = doubles};
  number *a = recall_outputs(&p, v, b), *y = number_new(v->count, doubles);
  bool told = true;
  line_log_softmax(&p, y, a, v->count);
  for (size_t i = 0; i < v->count && (doubles ? told : *all < REFUTED); i++)
    if (doubles)
      told = node_within(&y[i], &t->whole[b * v->count + i]);
    else
      *all = answer_note(r, *all, node_judge(r, &y[i], &t->whole[b * v->count + i]));
  number_free(a, v->count);
  number_free(y, v->count);
  return told;
}

answer
loss_log_output(record *r, const tensor *t)
{
  const graph_value *v = read_by_log(r, t);
  answer all = BOUNDED;
  for (size_t b = 0; v != NULL && b < r->p->net->batch && all < REFUTED; b++)
    if (!node_in_doubles(t->type) || !log_sample(r, v, t, b, true, &all))
      log_sample(r, v, t, b, false, &all);
  return v != NULL ? all : NOT_COVERED;
}

/* Less the scale / N at the label, and nothing elsewhere, nor where it is ignored. */
answer
loss_log_gradient(record *r, const tensor *t)
{
  const graph_value *v = read_by_log(r, t);
  answer all = EXACT;
  RATIONAL(q);
  share_of_loss(&q, r);
  mpq_neg(&q, &q);
  for (size_t b = 0; v != NULL && b < r->p->net->batch; b++)
    for (size_t i = 0; i < v->count && all < REFUTED; i++) {
      sum *s = sums(1);
      s->rounds = !loss_ignores(r->p, b) && i == label_of(r, b);
      if (s->rounds)
        sum_add_number(s, &r->unit, &q);
      all = answer_note(r, all, answer_of(EXACT, sum_judge(s, &r->unit, t->type, SPARE, &t->whole[b * v->count + i])));
      sums_free(s, 1);
    }
  return v != NULL ? all : NOT_COVERED;
}
