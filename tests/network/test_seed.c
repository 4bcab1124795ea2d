/* The loss's gradient at outputs that are off by as much as is said: it is off by no more than its bound, and may be by almost as
 * much. */
#include "../ok.h"
#include "../suites.h"
#include "networks.h"

#include "network/derive/gradient/gradient.h"

#include <math.h>
#include <string.h>

enum { MOST_ROWS = 5, MOST_SAMPLES = 3 };

typedef struct {
  clarke_value values[1];
  clarke_graph g;
  clarke_replay r;
  bool fine[1];
  clarke_gradient_plan plan;
  clarke_loss loss;
  clarke_normed value[1], grad[1];
  clarke_gradient_sizes seen;
  clarke_gradient_pass p;
} scene;

static void
begin(scene *c, clarke_loss_kind kind, const clarke_tensor *y, size_t rows, size_t n, size_t lanes)
{
  memset(c, 0, sizeof *c);
  c->values[0] = (clarke_value){.count = rows};
  c->g = (clarke_graph){.n_values = 1, .values = c->values, .input = 0, .output = 0};
  c->fine[0] = true;
  c->plan = (clarke_gradient_plan){.fine_back = c->fine};
  c->loss = (clarke_loss){.kind = kind, .y = y, .samples = n + 1};
  c->p = (clarke_gradient_pass){.r = &c->r, .g = &c->g, .loss = &c->loss, .n = n, .lanes = lanes, .plan = &c->plan, .value = c->value,
                          .grad = c->grad, .err = &error};
  OK(clarke_normed_make(&c->value[0], rows, n, true, &error));
}

static void
seed(scene *c)
{
  clarke_forward outputs;

  clarke_forward_init(&outputs);
  OK(clarke_gradient_pass_enclose(&outputs, &c->p));
  OK(clarke_gradient_pass_seed(&c->p, &outputs));
  clarke_forward_clear(&outputs);
}

static void
end(scene *c)
{
  clarke_normed_drop(&c->value[0]);
  clarke_normed_drop(&c->grad[0]);
}

/* Moves a lane's outputs by `by` together: in one sample from one output to another, or in all of them anyhow. */
static void
move(scene *to, size_t lane, double by, uint64_t *state)
{
  const size_t rows = to->values[0].count, n = to->p.n, sample = to->p.lanes == 1 ? draw_below(state, n) : lane;
  double step[MOST_ROWS * MOST_SAMPLES] = {0}, square = 0;
  const bool anyhow = draw(state) & 1;

  for (size_t e = 0; e < rows * n && anyhow; e++)
    step[e] = clarke_lane_of(&to->p, e % n) == lane ? (double)draw_between(state, -9, 9) : 0;
  if (!anyhow) {
    step[draw_below(state, rows) * n + sample] += 1;
    step[draw_below(state, rows) * n + sample] -= 1;
  }
  for (size_t e = 0; e < rows * n; e++)
    square += step[e] * step[e];
  for (size_t e = 0; e < rows * n && square > 0; e++)
    clarke_normed_put(&to->value[0], e, clarke_two_sum(to->value[0].at[e], by * step[e] / sqrt(square) * (1 - 0x1p-40)));
}

/* By how much of its bound a lane's gradient is off, where its outputs are moved by its error. */
static double
part_of_bound(const scene *c, clarke_loss_kind kind, const clarke_tensor *y, size_t lane, uint64_t *state)
{
  const size_t rows = c->values[0].count, n = c->p.n;
  double square = 0;
  scene moved;

  begin(&moved, kind, y, rows, n, c->p.lanes);
  memcpy(moved.value[0].at, c->value[0].at, rows * n * sizeof(double));
  move(&moved, lane, c->value[0].error[lane], state);
  seed(&moved);
  for (size_t e = 0; e < rows * n; e++) {
    const double off = (c->grad[0].at[e] - moved.grad[0].at[e]) + (c->grad[0].low[e] - moved.grad[0].low[e]);

    square += clarke_lane_of(&c->p, e % n) == lane ? off * off : 0;
  }
  end(&moved);
  return sqrt(square) / c->grad[0].error[lane];
}

START_TEST(seeds_off)
{
  static const double errors[] = {0x1p-30, 0x1p-10, 0.2, 3};
  uint64_t state = 1;
  double nearest[3][4] = {{0}};

  for (size_t round = 0; round < draw_count(12000); round++) {
    const clarke_loss_kind kind = draw_below(&state, 4) == 0 ? CLARKE_LOSS_MSE : draw_below(&state, 9) == 0 ? CLARKE_LOSS_SUM : CLARKE_LOSS_CE;
    const size_t rows = 1 + draw_below(&state, MOST_ROWS), n = 1 + draw_below(&state, MOST_SAMPLES), at = draw_below(&state, 4);
    const size_t lanes = draw(&state) & 1 ? 1 : n;
    const double scale = draw_below(&state, 3) == 0 ? 0 : draw_below(&state, 9) == 0 ? 20 : 1;
    clarke_tensor y = kind == CLARKE_LOSS_CE ? tensor_of("y", CLARKE_I64, SHAPE((long)n, )) : tensor_of("y", CLARKE_F64, SHAPE((long)n, (long)rows, ));
    scene c;

    for (size_t e = 0; e < y.count; e++)
      if (kind == CLARKE_LOSS_CE)
        y.integer[e] = (int64_t)draw_below(&state, rows);
      else
        y.real[e] = (double)draw_between(&state, -3, 3);
    begin(&c, kind, &y, rows, n, lanes);
    for (size_t e = 0; e < rows * n; e++)
      c.value[0].at[e] = scale * (double)draw_between(&state, -400, 400) / 100;
    for (size_t j = 0; j < lanes; j++)
      c.value[0].error[j] = errors[at];
    seed(&c);
    for (size_t j = 0; j < lanes; j++) {
      const double part = kind == CLARKE_LOSS_SUM ? 0 : part_of_bound(&c, kind, &y, j, &state);

      ck_assert_double_le(part, 1);
      nearest[kind][at] = fmax(nearest[kind][at], part);
      ck_assert(kind != CLARKE_LOSS_SUM || c.grad[0].error[j] < 0x1p-90);
      ck_assert_double_le(c.grad[0].error[j], 2.01 * errors[at] / (double)(n + 1) + 0x1p-90);
    }
    clarke_normed_drop(&c.grad[0]);
    c.p.seen = &c.seen; /* a look sees by how much it may turn, and takes nothing to be off */
    seed(&c);
    ck_assert(kind == CLARKE_LOSS_SUM ? c.seen.turn == 0 : c.grad[0].error[0] < 0x1p-90);
    end(&c);
    clarke_tensor_clear(&y);
  }
  for (size_t at = 0; at < 4; at++)
    printf("seeds off by so much of their bounds: MSE %.3f, CE %.3f\n", nearest[CLARKE_LOSS_MSE][at], nearest[CLARKE_LOSS_CE][at]);
  ck_assert(nearest[CLARKE_LOSS_MSE][0] > 0.99 && nearest[CLARKE_LOSS_MSE][3] > 0.99);
  ck_assert(nearest[CLARKE_LOSS_CE][0] > 0.99 && nearest[CLARKE_LOSS_CE][1] > 0.99 && nearest[CLARKE_LOSS_CE][2] > 0.8);
}
END_TEST

MODULE(seed)
{
  TCase *tests = tests_of("seed");

  tcase_add_test(tests, seeds_off);
  return all_tests;
}
