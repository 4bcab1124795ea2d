/* A normalization over several samples in floats, beside loops over C's own floats. */
#include "../ok.h"
#include "../suites.h"
#include "../draw.h"

#include "program/rounded_inside.h"

#include <math.h>
#include <stdlib.h>

enum { SAMPLES = 3, MOST = 24 };

/* A program of inputs alone: the argument's entries, then the results. */
typedef struct {
  clarke_step step;
  clarke_coupling c;
  clarke_code p;
  clarke_machine m;
  clarke_machine_room room[SAMPLES];
  clarke_coupled k;
  size_t n, x[MOST];
} scene;

static void
open_scene(scene *s, clarke_grouping grouping, const char *epsilon)
{
  size_t first;

  memset(s, 0, sizeof *s);
  s->n = grouping.blocks * grouping.groups * grouping.length;
  s->step = (clarke_step){.kind = CLARKE_NORMALIZE, .grouping = grouping};
  mpq_init(s->step.epsilon);
  mpq_set_str(s->step.epsilon, epsilon, 10);
  clarke_code_init(&s->p);
  OK(clarke_code_add_input(&s->p, &first, "x", s->n, true, &error));
  clarke_code_new_group(&s->p);
  OK(clarke_code_add_input(&s->p, &s->c.first, "y", s->n, true, &error));
  for (size_t e = 0; e < s->n; e++)
    s->x[e] = first + e;
  s->c = (clarke_coupling){.first = s->c.first, .n = s->n, .x = s->x, .step = &s->step};
  s->m = (clarke_machine){.p = &s->p};
  OK(clarke_machine_begin(&s->m, CLARKE_IEEE_F32, &error));
  s->room[0] = (clarke_machine_room){s->m.value, s->m.adjoint, s->m.reached};
  for (size_t j = 1; j < SAMPLES; j++)
    s->room[j] = (clarke_machine_room){calloc(s->p.n, sizeof(double)), calloc(s->p.n, sizeof(double)), calloc(s->p.n, sizeof(bool))};
  OK(clarke_coupled_begin(&s->k, &s->c, s->room, SAMPLES, &s->m, &error));
}

static void
close_scene(scene *s)
{
  clarke_coupled_clear(&s->k);
  for (size_t j = 1; j < SAMPLES; j++) {
    free(s->room[j].value);
    free(s->room[j].adjoint);
    free(s->room[j].reached);
  }
  clarke_machine_enter(&s->m, &s->room[0]);
  clarke_machine_clear(&s->m);
  clarke_code_clear(&s->p);
  mpq_clear(s->step.epsilon);
}

/* --- C's floats: each variable is one rounded operation --- */

typedef struct {
  const scene *s;
  size_t channel;
  float share, epsilon, root;
  float y[SAMPLES][MOST], g[SAMPLES][MOST], x[SAMPLES][MOST], back[SAMPLES][MOST];
} loops;

#define EACH(s, channel, j, f)                           \
  for (size_t j = 0; j < SAMPLES; j++)                   \
    for (size_t f = 0; f < (s)->n; f++)                  \
      if (f / (s)->step.grouping.length % (s)->step.grouping.groups == (channel))

static float
product(float a, float b)
{
  return a * b;
}

static void
forward(loops *l)
{
  float mean = 0, variance = 0;

  EACH(l->s, l->channel, j, f)
    mean += product(l->share, l->x[j][f]);
  EACH(l->s, l->channel, j, f)
  {
    const float c = l->x[j][f] - mean;

    variance += product(l->share, product(c, c));
  }
  variance += l->epsilon;
  l->root = sqrtf(variance);
  EACH(l->s, l->channel, j, f)
    l->y[j][f] = (l->x[j][f] - mean) / l->root;
}

static void
backward(loops *l)
{
  float root = 0, mean = 0, square, centre = 0;

  EACH(l->s, l->channel, j, f)
  {
    root += product(-l->g[j][f], l->y[j][f] / l->root);
    centre += product(l->share, l->x[j][f]);
  }
  square = product(l->share, root / product(2, l->root));
  EACH(l->s, l->channel, j, f)
  {
    const float part = product(square, l->x[j][f] - centre);

    l->back[j][f] = l->g[j][f] / l->root + part;
    l->back[j][f] += part;
    mean += -l->back[j][f];
  }
  EACH(l->s, l->channel, j, f)
    l->back[j][f] += product(l->share, mean);
}

static void
draw_scene(scene *s, loops *l, uint64_t *state)
{
  for (size_t j = 0; j < SAMPLES; j++)
    for (size_t f = 0; f < s->n; f++) {
      l->x[j][f] = (float)draw_between(state, -99, 99) / 7;
      l->g[j][f] = (float)draw_between(state, -99, 99) / 13;
      s->room[j].value[s->x[f]] = l->x[j][f];
      s->room[j].adjoint[s->c.first + f] = l->g[j][f];
      s->room[j].reached[s->c.first + f] = true;
    }
}

START_TEST(as_loops_over_floats)
{
  static const clarke_grouping groupings[] = {{1, 3, 4, true}, {2, 2, 3, true}, {4, 1, 2, true}, {1, 5, 1, true}};
  uint64_t state = 17;

  for (size_t i = 0; i < draw_count(400); i++) {
    loops l = {.share = 0};
    scene s;

    open_scene(&s, groupings[i % 4], "1/100000");
    l.s = &s;
    l.share = (float)(1.0 / (double)clarke_step_group_size(&s.step, SAMPLES));
    l.epsilon = (float)1e-5;
    draw_scene(&s, &l, &state);
    clarke_coupled_forward(&s.k, &s.m);
    clarke_coupled_backward(&s.k, &s.m);
    for (l.channel = 0; l.channel < groupings[i % 4].groups; l.channel++) {
      forward(&l);
      backward(&l);
    }
    for (size_t j = 0; j < SAMPLES; j++)
      for (size_t f = 0; f < s.n; f++) {
        ck_assert_msg(s.room[j].value[s.c.first + f] == (double)l.y[j][f], "%zu: y[%zu][%zu]", i, j, f);
        ck_assert_msg(s.room[j].reached[s.x[f]] && s.room[j].adjoint[s.x[f]] == (double)l.back[j][f], "%zu: x[%zu][%zu]: %a, not %a", i, j, f,
                      s.room[j].adjoint[s.x[f]], (double)l.back[j][f]);
      }
    close_scene(&s);
  }
}
END_TEST

/* What no adjoint reaches is given none: of two groups one, and in it all entries. */
START_TEST(a_group_is_reached_as_a_whole)
{
  scene s;

  open_scene(&s, (clarke_grouping){1, 2, 2, true}, "1");
  s.room[1].adjoint[s.c.first + 3] = 1;
  s.room[1].reached[s.c.first + 3] = true;
  clarke_coupled_forward(&s.k, &s.m);
  clarke_coupled_backward(&s.k, &s.m);
  for (size_t j = 0; j < SAMPLES; j++)
    for (size_t f = 0; f < 4; f++)
      ck_assert_msg(s.room[j].reached[s.x[f]] == (f >= 2), "%zu, %zu", j, f);
  close_scene(&s);
}
END_TEST

MODULE(coupled)
{
  TCase *tests = tests_of("coupled");

  tcase_add_test(tests, as_loops_over_floats);
  tcase_add_test(tests, a_group_is_reached_as_a_whole);
  return all_tests;
}
