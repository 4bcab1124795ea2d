/* The replay's passes one by one, beside the exact pass over all samples: none contradicts it, and what each leaves open is what it
 * says. */
#include "../ok.h"
#include "../suites.h"
#include "networks.h"
#include "normalized.h"

#include "network/graph/build.h"
#include "network/replay/replay_inside.h"
#include "network/pass/pairs/pass.h"
#include "network/pass/slices/plan.h"
#include "network/pass/window.h"

#include <math.h>

static double
quarter(uint64_t *state)
{
  return (double)draw_between(state, -6, 6) / 4;
}

typedef struct {
  growing grown;
  clarke_tensor x;
  clarke_graph g;
  clarke_replay exact, r;
  bool *needed;
} scene;

static bool
begin(scene *c, uint64_t *state, size_t round)
{
  memset(c, 0, sizeof *c);
  if (round % 2 == 0) {
    grow_normalized(&c->grown, state, quarter);
    c->x = grow_batch(&c->grown, 1 + draw_below(state, 4));
  } else
    c->x = grow_network(&c->grown, state, quarter, 3 + draw_below(state, 4), true);
  clarke_graph_init(&c->g);
  OK(clarke_graph_build(&c->g, &c->grown.m, &c->x, &error));
  OK(clarke_graph_wrt(&c->g, NULL, 0, &error));
  clarke_replay_init(&c->exact);
  clarke_replay_init(&c->r);
  OK(clarke_replay_run(&c->exact, NULL, &c->g, &c->x, true, 1, &error));
  c->r.g = &c->g;
  c->r.x = &c->x;
  c->r.samples = c->x.dims[0];
  c->r.piece = calloc(c->g.n_steps + 1, sizeof *c->r.piece);
  c->r.ties = calloc(c->g.n_steps + 1, sizeof *c->r.ties);
  for (size_t i = 0; i < c->g.n_steps; i++)
    if (c->exact.piece[i] != NULL) {
      const size_t entries = c->g.values[c->g.steps[i].out].count * c->r.samples;

      c->r.piece[i] = malloc((entries + 1) * sizeof **c->r.piece);
      clarke_branches_leave(c->r.piece[i], entries);
      if (c->exact.ties[i] != NULL)
        c->r.ties[i] = calloc(c->r.samples + 1, sizeof **c->r.ties);
    }
  c->needed = malloc((c->g.n_values + 1) * sizeof *c->needed);
  clarke_graph_needed(&c->g, true, c->needed);
  return c->exact.open == 0;
}

static void
end(scene *c)
{
  clarke_replay_clear(&c->r);
  clarke_replay_clear(&c->exact);
  clarke_graph_clear(&c->g);
  clarke_tensor_clear(&c->x);
  clarke_model_clear(&c->grown.m);
  free(c->needed);
}

/* No place contradicts the exact pass, and at a kink none is found where `strictly`. Returns how many are decided. */
static size_t
agrees(const scene *c, clarke_branch *const *piece, const size_t *sample, size_t n, bool strictly)
{
  size_t decided = 0;

  for (size_t i = 0; i < c->g.n_steps; i++)
    for (size_t f = 0; piece[i] != NULL && f < c->g.values[c->g.steps[i].out].count; f++)
      for (size_t j = 0; j < n; j++) {
        const clarke_branch code = piece[i][f * n + j], known = c->exact.piece[i][f * c->r.samples + (sample != NULL ? sample[j] : j)];

        if (code == CLARKE_OPEN)
          continue;
        decided++;
        ck_assert(!strictly || code >= 0);
        ck_assert_msg(code == known, "step %zu, entry %zu: %d, exactly %d", i, f, code, known);
      }
  return decided;
}

START_TEST(passes_agree_with_the_exact_one)
{
  uint64_t state = 61;
  size_t filtered = 0, refined = 0, rest = 0, coupled = 0;

  for (size_t round = 0; round < 200; round++) {
    size_t open = 0, left = 0, n = 0, before;
    scene c;

    if (begin(&c, &state, round)) {
      coupled += clarke_graph_couples(&c.g);
      OK(clarke_replay_filter(&c.r, NULL, 1, &open, &error));
      filtered += agrees(&c, c.r.piece, NULL, c.r.samples, true);
      ck_assert_uint_eq(open, clarke_places_open(&c.g, c.r.piece, c.r.samples));
      before = open;
      OK(clarke_constants_begin(&c.r.constants, &c.g, &error));
      for (size_t v = 0; v < c.g.n_values; v++)
        ck_assert_uint_eq(c.r.constants.constant[v].rows, 0);
      OK(clarke_constants_make(&c.r.constants, &error));
      OK(clarke_constants_make(&c.r.constants, &error)); /* once is enough */
      OK(clarke_replay_refine(&c.r, &left, &error));
      agrees(&c, c.r.piece, NULL, c.r.samples, true);
      refined += before - clarke_places_open(&c.g, c.r.piece, c.r.samples);
      OK(clarke_samples_open(&c.r.near_sample, &n, &c.r, &error));
      ck_assert_uint_eq(n, left);
      rest += n;
      if (n > 0) {
        OK(clarke_replay_exact(&c.r, n, c.needed, &error));
        ck_assert_uint_eq(clarke_places_open(&c.g, c.r.piece, c.r.samples), 0);
        ck_assert_uint_eq(c.r.n_touches, c.exact.n_touches);
        for (size_t k = 0; k < c.r.n_touches; k++) {
          const clarke_touch *a = &c.r.touch[k], *b = &c.exact.touch[k];

          ck_assert(a->step == b->step && a->feature == b->feature && a->sample == b->sample && a->kink == b->kink);
          ck_assert(a->n_options == b->n_options && a->first_condition == b->first_condition);
          ck_assert(a->n_options == 0 || memcmp(a->option, b->option, a->n_options * sizeof *a->option) == 0);
        }
      }
      agrees(&c, c.r.piece, NULL, c.r.samples, false);
    }
    end(&c);
  }
  printf("%zu places by the filter, %zu more in enclosures; %zu samples exactly; %zu coupled networks\n", filtered, refined, rest, coupled);
  ck_assert(filtered > 500 && rest > 50 && coupled > 20);
}
END_TEST

/* Some samples alone, exactly; and in slices where the graph is deep. */
START_TEST(samples_are_passed_alone)
{
  uint64_t state = 62;
  size_t sliced = 0;

  for (size_t round = 0; round < 150; round++) {
    clarke_growths growths = {0};
    clarke_forward f;
    clarke_tensor picked;
    size_t sample[8], n = 0, open = 12345;
    scene c;

    if (begin(&c, &state, round) && c.r.samples <= 8) {
      const size_t features = c.x.count / c.r.samples;
      const bool serve = clarke_replay_is_deep(&c.g) && clarke_slices_serve(&c.g, c.r.piece, c.r.samples);

      for (size_t j = 0; j < c.r.samples; j++)
        if (clarke_graph_couples(&c.g) || j % 2 == 0)
          sample[n++] = j;
      clarke_forward_init(&f);
      OK(clarke_constants_init(&c.r.constants, &c.g, &error));
      OK(clarke_replay_pass(&f, &c.r, sample, n, c.needed, &error));
      ck_assert(f.n == n && f.open == 0);
      agrees(&c, f.piece, sample, n, false);
      for (size_t i = 0; i < c.g.n_steps; i++) /* windows are decided once more */
        if (c.g.steps[i].kind == CLARKE_MAX && f.piece[i] != NULL) {
          free(f.piece[i]);
          free(f.ties[i]);
          f.piece[i] = NULL;
          f.ties[i] = NULL;
          OK(clarke_window_decide(&f, i, &error));
          for (size_t j = 0; j < n; j++)
            ck_assert_uint_eq(f.ties[i][j], c.exact.ties[i][sample[j]]);
        }
      agrees(&c, f.piece, sample, n, false);
      clarke_forward_clear(&f);
      clarke_forward_init(&f);
      OK(clarke_replay_some(&f, &c.r, sample, n, false, 64, &error));
      ck_assert_uint_eq(f.n, n);
      agrees(&c, f.piece, sample, n, false);
      clarke_forward_clear(&f);
      OK(clarke_samples_pick(&picked, &c.r, sample, n, &error));
      ck_assert(picked.dims[0] == n && picked.count == n * features && picked.integer == NULL);
      for (size_t e = 0; e < n * features; e++)
        ck_assert(picked.real[e] == c.x.real[sample[e / features] * features + e % features]);
      free(picked.real);
      OK(clarke_replay_slice(&c.r, &growths, &open, &error));
      ck_assert_uint_eq(open, serve ? clarke_places_open(&c.g, c.r.piece, c.r.samples) : 12345);
      sliced += agrees(&c, c.r.piece, NULL, c.r.samples, true);
      if (growths.g != NULL)
        clarke_growths_clear(&growths);
      if (clarke_graph_couples(&c.g)) {
        ck_assert_uint_eq(clarke_replay_group_size(&c.r), c.r.samples);
        OK(clarke_replay_check_coupled(&c.r, &error));
        c.g.activations = ((size_t)1 << 26) + 1;
        ck_assert_int_eq(clarke_replay_check_coupled(&c.r, &error), CLARKE_EINPUT);
        ck_assert(strstr(error.text, "Use a smaller minibatch") != NULL);
      } else {
        c.g.activations = ((size_t)1 << 24) * c.r.samples / 3;
        ck_assert(clarke_replay_group_size(&c.r) == 2 || clarke_replay_group_size(&c.r) == 3); /* a third of the room a sample */
        c.g.activations = ((size_t)1 << 27) * c.r.samples;
        ck_assert_uint_eq(clarke_replay_group_size(&c.r), 1);
        OK(clarke_replay_check_coupled(&c.r, &error));
      }
    }
    end(&c);
  }
  printf("%zu places in slices\n", sliced);
  ck_assert_uint_gt(sliced, 50);
}
END_TEST

/* Enclosures of 63 bits alone decide all but what is at kinks, as a rule, and so they do with pairs behind them; margins hold the exact distances. */
START_TEST(enclosures_decide_strictly_and_measure)
{
  uint64_t state = 63;
  size_t decided = 0, measured = 0, left = 0;

  for (size_t round = 0; round < 150; round++) {
    scene c;

    if (begin(&c, &state, round)) {
      clarke_margin **margin = clarke_margin_rows(&c.g, c.r.samples);
      bool inside = false;
      clarke_matrix input;
      clarke_forward f;
      clarke_forward_rest rest = {0};
      size_t sample[16], vague;
      double needs;

      clarke_matrix_init(&input);
      clarke_forward_init(&f);
      for (size_t j = 0; j < c.r.samples; j++)
        sample[j] = j;
      OK(clarke_constants_init(&c.r.constants, &c.g, &error));
      OK(clarke_samples_matrix(&input, &c.x, sample, c.r.samples, &error));
      OK(clarke_forward_refine(c.r.piece, c.r.ties, margin, &inside, round % 2 ? &rest : NULL, &c.r.constants, &input, &c.x, 63, &error));
      left += rest.value != NULL;
      if (rest.value != NULL)
        OK(clarke_pairs_run(c.r.piece, c.r.ties, margin, &inside, &vague, &needs, &c.g, &c.x, &rest, NULL, &error));
      clarke_forward_rest_clear(&rest, &c.g);
      ck_assert(!inside); /* not asked for */
      decided += agrees(&c, c.r.piece, NULL, c.r.samples, true);
      OK(clarke_replay_pass(&f, &c.r, sample, c.r.samples, c.needed, &error));
      f.margin = clarke_margin_rows(&c.g, c.r.samples);
      for (size_t i = 0; i < c.g.n_steps; i++)
        for (size_t e = 0; c.r.piece[i] != NULL && e < c.g.values[c.g.steps[i].out].count * c.r.samples; e++)
          if (c.r.piece[i][e] >= 0) {
            const size_t feature = e / c.r.samples, j = e % c.r.samples;
            double least, most;

            clarke_margin_of(&least, &most, &c.g, &c.g.steps[i], &f.value[c.g.steps[i].in[0].value], f.piece[i][e], feature, j);
            ck_assert(margin[i][j].least <= most); /* at least as near as this one */
            f.margin[i][j] = (clarke_margin){.least = INFINITY, .most = INFINITY};
            clarke_forward_measure(&f, i, feature, j);
            ck_assert(f.margin[i][j].least == least && f.margin[i][j].most == most && (isinf(least) || f.margin[i][j].feature == feature));
            measured++;
          }
      clarke_margin_rows_free(f.margin, c.g.n_steps);
      f.margin = NULL;
      clarke_forward_measure(&f, 0, 0, 0); /* nobody asks */
      clarke_margin_rows_free(margin, c.g.n_steps);
      clarke_forward_clear(&f);
      clarke_matrix_clear(&input);
    }
    end(&c);
  }
  ck_assert_uint_gt(left, 0);
  ck_assert(decided > 500 && measured > 500);
}
END_TEST

/* Margins of some samples join the batch's; those of an exact pass take their place, unless it touches a kink. */
START_TEST(margins_are_joined_or_measured_anew)
{
  uint64_t state = 64;
  size_t touching = 0, apart = 0;

  for (size_t round = 0; round < 80; round++) {
    scene c;

    if (begin(&c, &state, round)) {
      const size_t n = c.r.samples, sample[1] = {n - 1};
      clarke_margins all = {.n_steps = c.g.n_steps, .samples = n, .at = clarke_margin_rows(&c.g, n)};
      clarke_margin **one = clarke_margin_rows(&c.g, 1);
      size_t every[16];
      clarke_forward f;
      bool touches = false;

      c.r.margins = &all;
      for (size_t i = 0; i < c.g.n_steps; i++)
        if (one[i] != NULL) {
          all.at[i][n - 1] = (clarke_margin){.least = 2, .most = 5, .size = 1, .feature = 0};
          one[i][0] = (clarke_margin){.least = 3, .most = 4, .size = 7, .feature = 1};
        }
      clarke_replay_join_margins(&c.r, one, sample, 1);
      clarke_replay_join_margins(&c.r, NULL, sample, 1);
      for (size_t i = 0; i < c.g.n_steps; i++)
        if (one[i] != NULL) {
          ck_assert(all.at[i][n - 1].least == 2 && all.at[i][n - 1].most == 4 && all.at[i][n - 1].size == 7);
          ck_assert(n == 1 || isinf(all.at[i][0].least));
        }
      for (size_t j = 0; j < n; j++)
        every[j] = j;
      clarke_forward_init(&f);
      OK(clarke_constants_init(&c.r.constants, &c.g, &error));
      OK(clarke_replay_pass(&f, &c.r, every, n, c.needed, &error));
      for (size_t i = 0; i < c.g.n_steps; i++)
        for (size_t e = 0; f.piece[i] != NULL && e < c.g.values[c.g.steps[i].out].count * n; e++)
          touches = touches || f.piece[i][e] < 0;
      clarke_replay_measure_pass(&c.r, &f, every);
      for (size_t i = 0; i < c.g.n_steps; i++)
        for (size_t j = 0; one[i] != NULL && j < n; j++) {
          clarke_margin m = {.least = INFINITY, .most = INFINITY};

          if (touches)
            clarke_margin_forget(&m); /* nothing is known */
          else
            clarke_margin_column(&m, &c.g, &c.g.steps[i], &f.value[c.g.steps[i].in[0].value], f.piece[i], j);
          ck_assert(all.at[i][j].least == m.least && (touches || (all.at[i][j].most == m.most && all.at[i][j].size == m.size)));
        }
      touching += touches;
      apart += !touches;
      clarke_forward_clear(&f);
      clarke_margin_rows_free(one, c.g.n_steps);
      c.r.margins = NULL;
      clarke_margins_clear(&all);
    }
    end(&c);
  }
  ck_assert(touching > 10 && apart > 10);
}
END_TEST

/* Eight products of samples that are normalized together are more than a filter without norms follows. */
START_TEST(deep_coupled_networks_are_lost_to_the_filter)
{
  for (size_t layers = 7; layers <= 8; layers++)
    for (int couples = 0; couples < 2; couples++) {
      clarke_tensor x = tensor_of("x", CLARKE_F32, SHAPE(4, 2, ));
      char at[8] = "x";
      clarke_model m;
      clarke_replay r;
      clarke_graph g;

      for (size_t e = 0; e < x.count; e++)
        x.real[e] = (double)e;
      model_begin(&m, 17);
      model_input(&m, "x", SHAPE(-1, 2, ));
      for (const char *const *name = (const char *const[]){"s", "b", "mean", "var", NULL}; *name != NULL; name++)
        memcpy(model_floats(&m, *name, SHAPE(2, )), (const double[]){1, 1}, 2 * sizeof(double));
      for (size_t l = 0; l < layers; l++) {
        char weight[8], product[8], operands[20];
        double *w;

        snprintf(weight, sizeof weight, "w%zu", l);
        snprintf(product, sizeof product, "p%zu", l);
        snprintf(operands, sizeof operands, "%s,%s", at, weight);
        w = model_floats(&m, weight, SHAPE(2, 2, ));
        w[0] = w[3] = 1;
        model_node(&m, "MatMul", operands, product);
        strcpy(at, product);
      }
      {
        char operands[40];
        clarke_model_node *norm;

        snprintf(operands, sizeof operands, "%s,s,b,mean,var", at);
        norm = model_node(&m, "BatchNormalization", operands, "n");
        if (couples)
          attr_int(norm, "training_mode", 1);
      }
      model_node(&m, "Relu", "n", "y");
      model_output(&m, "y");
      clarke_graph_init(&g);
      OK(clarke_graph_build(&g, &m, &x, &error));
      ck_assert_int_eq(clarke_graph_couples(&g), couples);
      clarke_replay_init(&r);
      OK(clarke_replay_run(&r, NULL, &g, &x, false, 1, &error));
      ck_assert_int_eq(clarke_replay_is_lost(&r), layers == 8 && couples && clarke_slices_serve(&g, r.piece, r.samples));
      ck_assert(!couples || clarke_slices_serve(&g, r.piece, r.samples));
      clarke_replay_clear(&r);
      clarke_graph_clear(&g);
      clarke_model_clear(&m);
      clarke_tensor_clear(&x);
    }
}
END_TEST

MODULE(replay_parts)
{
  TCase *tests = tests_of("replay parts");

  tcase_add_test(tests, passes_agree_with_the_exact_one);
  tcase_add_test(tests, samples_are_passed_alone);
  tcase_add_test(tests, enclosures_decide_strictly_and_measure);
  tcase_add_test(tests, margins_are_joined_or_measured_anew);
  tcase_add_test(tests, deep_coupled_networks_are_lost_to_the_filter);
  return all_tests;
}
