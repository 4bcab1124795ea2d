/* Elementary selections: a program's pieces by the branches it takes, and the composition of two such (Bolte, Pauwels, Propositions 1, 5). */
#include "suite_drawn.h"

#include <stdlib.h>
#include <string.h>

#define INPUTS 2
#define NODES 4
/* A kink parts in three. */
#define MOST_PIECES 9
#define MOST_CONDITIONS (NODES / 2)

/* of[0] x_0 + of[1] x_1 + of[2] */
typedef struct {
  long of[INPUTS + 1];
} form;

typedef enum { BELOW, AT, ABOVE } side;

/* On the points where all conditions hold, arguments below, at or above 0, the last nodes have these values. */
typedef struct {
  size_t n_conditions;
  form argument[MOST_CONDITIONS];
  side at[MOST_CONDITIONS];
  form value[2];
} piece;

typedef struct {
  size_t n;
  piece piece[MOST_PIECES];
} selection;

static form
sum_of(long a, form x, long b, form y, long c)
{
  form f;

  for (size_t i = 0; i <= INPUTS; i++)
    f.of[i] = a * x.of[i] + b * y.of[i];
  f.of[INPUTS] += c;
  return f;
}

/* The form of two values, where these have forms of their own. */
static form
behind(form f, const form *inner)
{
  return sum_of(f.of[0], inner[0], f.of[1], inner[1], f.of[INPUTS]);
}

/* AD's slope at a kink at 0, of ReLU and absolute value, by a node's choice; or of a maximum whether it takes the last one. */
static const long slopes[] = {0, 0, 1};
#define CHOICES (sizeof slopes / sizeof *slopes)

/* What the node is on a side of its argument: a of a ReLU or absolute value, a - b of a maximum. */
static form
value_on(const clarke_drawn_node *v, form a, form b, side at)
{
  static const form none = {{0}};

  if (v->kind == CLARKE_DRAWN_MAX)
    return at == ABOVE || (at == AT && v->choice != 2) ? a : b;
  if (at == AT)
    return sum_of(slopes[v->choice], a, 0, none, 0);
  return at == ABOVE ? a : sum_of(v->kind == CLARKE_DRAWN_ABS ? -1 : 0, a, 0, none, 0);
}

/* Follows a program from a node on, on each side of each kink. */
static void
part(selection *s, const clarke_drawn *p, size_t node, piece on, form *value)
{
  static const form none = {{0}};

  if (node == p->n) {
    for (size_t i = 0; i < 2; i++)
      on.value[i] = value[p->n_inputs + p->n - 2 + i];
    s->piece[s->n++] = on;
    return;
  }
  const clarke_drawn_node *v = &p->node[node];
  const form a = value[v->a], b = value[v->b];

  if (v->kind == CLARKE_DRAWN_LINEAR) {
    value[p->n_inputs + node] = sum_of(v->of[0], a, v->of[1], b, v->of[2]);
    part(s, p, node + 1, on, value);
    return;
  }
  on.argument[on.n_conditions++] = v->kind == CLARKE_DRAWN_MAX ? sum_of(1, a, -1, b, 0) : sum_of(1, a, 0, none, 0);
  for (side at = BELOW; at <= ABOVE; at++) {
    on.at[on.n_conditions - 1] = at;
    value[p->n_inputs + node] = value_on(v, a, b, at);
    part(s, p, node + 1, on, value);
  }
}

static void
select_pieces(selection *s, const clarke_drawn *p)
{
  form value[INPUTS + NODES] = {0};

  s->n = 0;
  for (size_t i = 0; i < INPUTS; i++)
    value[i].of[i] = 1;
  part(s, p, 0, (piece){0}, value);
}

static void
put_form(FILE *to, form f)
{
  fprintf(to, "(%ld)*w[0] + (%ld)*w[1] + (%ld)", f.of[0], f.of[1], f.of[INPUTS]);
}

static void
put_conditions(FILE *to, const piece *p, const form *inner, bool first)
{
  static const char *const sides[] = {"<", "==", ">"};

  for (size_t i = 0; i < p->n_conditions; i++) {
    fputs(first && i == 0 ? " if " : " and ", to);
    put_form(to, inner != NULL ? behind(p->argument[i], inner) : p->argument[i]);
    fprintf(to, " %s 0", sides[p->at[i]]);
  }
}

/* The composition of both: a piece for each pair. */
static void
put_composed(FILE *to, const selection *f, const selection *g)
{
  for (size_t i = 0; i < f->n; i++)
    for (size_t k = 0; k < g->n; k++) {
      fputs("piece ", to);
      put_form(to, behind(g->piece[k].value[1], f->piece[i].value));
      put_conditions(to, &f->piece[i], NULL, true);
      put_conditions(to, &g->piece[k], f->piece[i].value, false);
      fputs("\n", to);
    }
}

/* A drawn program of two kinks, whose numbers at them are slopes of a piece there. */
static void
draw(clarke_drawn *p, clarke_draws *d, const long *at)
{
  clarke_drawn_draw(p, d, at, INPUTS, NODES, CLARKE_DRAWN_MAX, false);
  for (size_t i = 1; i < NODES; i += 2)
    p->node[i].choice = 1 + clarke_draw_below(d, CHOICES - 1);
}

/* Is AD's output at the point the gradient of the piece that holds it? */
static bool
takes_piece(const clarke_posed *q)
{
  const clarke_representation *r = &q->d.representation;
  bool equal = r->associated != NULL;

  for (size_t i = 0; equal && i < INPUTS; i++)
    equal = q->d.ad[i].exact && mpq_equal(r->associated[i], q->d.ad[i].q);
  return equal;
}

/* Each of two programs is a selection by its branches; composed piece by piece these are a selection of the composed program, on the whole
 * plane, and AD's output at the point is the gradient of the piece there. Where the piece is on a kink it differs. */
clarke_status
clarke_suite_selections(clarke_suite_counts *t, clarke_draws *d, clarke_error *err)
{
  long at[INPUTS], inner[INPUTS];
  clarke_drawn f, g;
  selection of[2];
  clarke_posed q;
  clarke_text text;
  clarke_status status;

  clarke_draw_point(at, d, INPUTS);
  draw(&f, d, at);
  for (size_t i = 0; i < INPUTS; i++)
    inner[i] = clarke_drawn_value(&f, at, INPUTS + NODES - 2 + i);
  draw(&g, d, inner);
  select_pieces(&of[0], &f);
  select_pieces(&of[1], &g);
  status = clarke_text_open(&text, err);
  if (status != CLARKE_OK)
    return status;
  clarke_drawn_put_both(text.to, &f, &g);
  put_composed(text.to, &of[0], &of[1]);
  clarke_posed_init(&q);
  status = clarke_posed_read(&q, &text, at, INPUTS, err);
  if (status == CLARKE_OK)
    status = clarke_posed_derive(&q, err);
  if (status == CLARKE_OK) {
    const clarke_representation *r = &q.d.representation;

    t->of[CLARKE_COUNT_TOUCHED] += q.d.execution.n_touched;
    t->of[CLARKE_COUNT_DIFFER] += q.d.execution.n_touched > 0;
    clarke_suite_add(t, r->answer == CLARKE_REPRESENTS_UNKNOWN ? CLARKE_UNKNOWN
                        : r->answer == CLARKE_REPRESENTS && takes_piece(&q) ? CLARKE_YES : CLARKE_NO);
  }
  clarke_posed_clear(&q);
  return status;
}
