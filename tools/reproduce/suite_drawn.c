#include "suite_drawn.h"

#include <stdlib.h>
#include <string.h>

/* In braces behind a function's name; 0: nothing. */
#define CHOICES 6
static const char *const numbers[CHOICES] = {"", "{0}", "{1}", "{1/2}", "{7/3}", "{-2}"};
static const char *const rules[CHOICES] = {"", "{first}", "{last}", "{mean}", "{hybrid 5/2}", "{hybrid -3}"};

void
clarke_drawn_draw(clarke_drawn *p, clarke_draws *d, const long *at, size_t n_inputs, size_t n, clarke_drawn_kind last, bool choices)
{
  memset(p, 0, sizeof *p);
  p->n_inputs = n_inputs;
  p->n = n;
  for (size_t i = 0; i < n; i++) {
    clarke_drawn_node *v = &p->node[i];
    const size_t before = n_inputs + i;

    /* Kinks and sums in turn: a kink of a kink says little. */
    v->kind = i % 2 == 0 ? CLARKE_DRAWN_LINEAR : (clarke_drawn_kind)(1 + clarke_draw_below(d, (size_t)last));
    v->a = i % 2 == 0 ? clarke_draw_below(d, before) : before - 1;
    v->b = clarke_draw_below(d, before);
    v->choice = choices ? clarke_draw_below(d, CHOICES) : 0;
    v->of[0] = clarke_draw_between(d, 1, 2) * (clarke_draw_below(d, 2) ? 1 : -1);
    v->of[1] = clarke_draw_between(d, -2, 2);
    v->of[2] = clarke_draw_below(d, 2) ? clarke_draw_between(d, -1, 1)
                                       : -v->of[0] * clarke_drawn_value(p, at, v->a) - v->of[1] * clarke_drawn_value(p, at, v->b);
  }
}

long
clarke_drawn_value(const clarke_drawn *p, const long *at, size_t i)
{
  if (i < p->n_inputs)
    return at[i];
  const clarke_drawn_node *v = &p->node[i - p->n_inputs];
  const long a = clarke_drawn_value(p, at, v->a), b = clarke_drawn_value(p, at, v->b);

  switch (v->kind) {
  case CLARKE_DRAWN_LINEAR:
    return v->of[0] * a + v->of[1] * b + v->of[2];
  case CLARKE_DRAWN_RELU:
    return a > 0 ? a : 0;
  case CLARKE_DRAWN_ABS:
    return labs(a);
  case CLARKE_DRAWN_MAX:
    return a > b ? a : b;
  default:
    return a * b;
  }
}

/* A name as "v3" or "w[2]". */
static void
put_name(FILE *to, const clarke_drawn *p, size_t i, char letter, const char *input, const char *end)
{
  if (i < p->n_inputs)
    fprintf(to, "%s%zu%s", input, i, end);
  else
    fprintf(to, "%c%zu", letter, i - p->n_inputs);
}

void
clarke_drawn_put_node(FILE *to, const clarke_drawn *p, size_t i, char letter, const char *input, const char *end)
{
  static const char *const names[] = {"", "relu", "abs", "max", ""};
  const clarke_drawn_node *v = &p->node[i];
  const bool two = v->kind != CLARKE_DRAWN_RELU && v->kind != CLARKE_DRAWN_ABS;

  fprintf(to, "let %c%zu = %s%s(", letter, i, names[v->kind],
          v->kind == CLARKE_DRAWN_MAX                                   ? rules[v->choice]
          : v->kind == CLARKE_DRAWN_RELU || v->kind == CLARKE_DRAWN_ABS ? numbers[v->choice]
                                                                        : "");
  if (v->kind == CLARKE_DRAWN_LINEAR)
    fprintf(to, "(%ld)*", v->of[0]);
  put_name(to, p, v->a, letter, input, end);
  if (v->kind == CLARKE_DRAWN_LINEAR)
    fprintf(to, " + (%ld) + (%ld)*", v->of[2], v->of[1]);
  else if (two)
    fputs(v->kind == CLARKE_DRAWN_MAX ? ", " : "*", to);
  if (two)
    put_name(to, p, v->b, letter, input, end);
  fputs(")\n", to);
}

void
clarke_drawn_put(FILE *to, const clarke_drawn *p, char letter, const char *input, const char *end)
{
  for (size_t i = 0; i < p->n; i++)
    clarke_drawn_put_node(to, p, i, letter, input, end);
}

clarke_status
clarke_drawn_open(clarke_text *t, const clarke_drawn *p, clarke_error *err)
{
  const clarke_status status = clarke_text_open(t, err);

  if (status != CLARKE_OK)
    return status;
  fprintf(t->to, "input w[%zu]\n", p->n_inputs);
  clarke_drawn_put(t->to, p, 'v', "w[", "]");
  return CLARKE_OK;
}

clarke_status
clarke_drawn_pose(clarke_posed *q, const clarke_drawn *p, const long *at, size_t outputs, clarke_error *err)
{
  clarke_text t;
  const clarke_status status = clarke_drawn_open(&t, p, err);

  if (status != CLARKE_OK)
    return status;
  for (size_t i = p->n - outputs; i < p->n; i++)
    fprintf(t.to, "%sv%zu", i > p->n - outputs ? ", " : "output ", i);
  fputs("\n", t.to);
  return clarke_posed_read(q, &t, at, p->n_inputs, err);
}

void
clarke_drawn_put_both(FILE *to, const clarke_drawn *f, const clarke_drawn *g)
{
  fprintf(to, "input w[%zu]\n", f->n_inputs);
  clarke_drawn_put(to, f, 'v', "w[", "]");
  for (size_t i = 0; i < 2; i++)
    fprintf(to, "let x%zu = v%zu\n", i, f->n - 2 + i);
  clarke_drawn_put(to, g, 'u', "x", "");
  fprintf(to, "output u%zu\n", g->n - 1);
}

clarke_status
clarke_drawn_pose_both(clarke_posed *q, const clarke_drawn *f, const clarke_drawn *g, const long *at, clarke_error *err)
{
  clarke_text t;
  const clarke_status status = clarke_text_open(&t, err);

  if (status != CLARKE_OK)
    return status;
  clarke_drawn_put_both(t.to, f, g);
  return clarke_posed_read(q, &t, at, f->n_inputs, err);
}
