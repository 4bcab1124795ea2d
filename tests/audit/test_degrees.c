/* Degrees of kinks' arguments, as the rules of docs/proof-format.md have them ("Degrees", "flat"), on expressions built by hand: a
 * Relu stands behind each, so its argument is 0 at the weights. */
#include "asked.h"

#include "audit/degree.h"
#include "audit/factor.h"

typedef void (*build)(asked *a);

/* One sample, x = 1. What is in wrt is 0, but for `one`; f, g and s are not. Each makes y. */
static void
scalar(asked *a, const char *name, double value)
{
  weight(a, name, SHAPE(1, 1,), NUMBERS(value));
}

static void
product(asked *a)
{
  node(a, "MatMul", "x,w", "y");
}

static void
frozen(asked *a)
{
  scalar(a, "f", 0);
  node(a, "MatMul", "x,f", "y");
}

static void
product_of_weights(asked *a)
{
  node(a, "MatMul", "x,w", "p");
  node(a, "MatMul", "p,v", "y");
}

static void
scaled_by_weight(asked *a)
{
  node(a, "MatMul", "x,w", "p");
  node(a, "Mul", "p,v", "y");
}

static void
frozen_multiple(asked *a)
{
  scalar(a, "f", 3);
  node(a, "MatMul", "x,w", "p");
  node(a, "MatMul", "p,f", "y");
}

static void
weight_times_constant(asked *a)
{
  scalar(a, "f", 3);
  node(a, "MatMul", "x,f", "p");
  node(a, "Mul", "p,w", "y");
}

static void
weight_times_nothing(asked *a)
{
  scalar(a, "f", 0);
  node(a, "MatMul", "x,f", "p");
  node(a, "MatMul", "p,w", "y");
}

static void
over_weight(asked *a)
{
  node(a, "MatMul", "x,w", "p");
  node(a, "Div", "p,one", "y");
}

static void
over_frozen(asked *a)
{
  scalar(a, "f", 2);
  node(a, "MatMul", "x,w", "p");
  node(a, "Div", "p,f", "y");
}

static void
constant_over_weight(asked *a)
{
  scalar(a, "f", 1);
  node(a, "Div", "x,one", "p");
  node(a, "Sub", "p,f", "y");
}

static void
nothing_over_weight(asked *a)
{
  scalar(a, "f", 0);
  node(a, "MatMul", "x,f", "p");
  node(a, "Div", "p,one", "y");
}

static void
sum_with_product(asked *a)
{
  node(a, "MatMul", "x,w", "p");
  node(a, "MatMul", "p,v", "q");
  node(a, "MatMul", "x,u", "r");
  node(a, "Add", "q,r", "y");
}

static void
sum_with_constant(asked *a)
{
  scalar(a, "f", 0);
  node(a, "MatMul", "x,f", "p");
  node(a, "Add", "p,w", "y");
}

static void
smooth(asked *a)
{
  node(a, "MatMul", "x,w", "p");
  node(a, "Tanh", "p", "y");
}

static void
smooth_of_frozen(asked *a)
{
  scalar(a, "f", 0);
  node(a, "MatMul", "x,f", "p");
  node(a, "Tanh", "p", "y");
}

static void
square(asked *a)
{
  node(a, "MatMul", "x,w", "p");
  node(a, "HardSwish", "p", "y");
}

static void
square_of_frozen(asked *a)
{
  scalar(a, "f", 0);
  node(a, "MatMul", "x,f", "p");
  node(a, "HardSwish", "p", "y");
}

static void
steep_piece(asked *a)
{
  scalar(a, "f", 1);
  node(a, "MatMul", "x,w", "p");
  node(a, "Add", "p,f", "q");
  node(a, "Relu", "q", "r");
  node(a, "Sub", "r,f", "y");
}

static void
constant_piece(asked *a)
{
  scalar(a, "f", 1);
  node(a, "MatMul", "x,w", "p");
  node(a, "Sub", "p,f", "q");
  node(a, "Relu", "q", "y");
}

/* PRelu at -1 + w, less its value. */
static void
left_of(asked *a, const char *slope, double by)
{
  scalar(a, "f", 1);
  scalar(a, "g", by);
  node(a, "MatMul", "x,w", "p");
  node(a, "Sub", "p,f", "q");
  node(a, "PRelu", slope[0] == 's' ? "q,s" : "q,v", "r");
  node(a, "Add", "r,g", "y");
}

static void
left_of_slope(asked *a)
{
  scalar(a, "s", 0.5);
  left_of(a, "s", 0.5);
}

static void
left_of_no_slope(asked *a)
{
  scalar(a, "s", 0);
  left_of(a, "s", 0);
}

static void
left_of_moving_slope(asked *a)
{
  left_of(a, "v", 0);
}

static void
frozen_left_of_moving_slope(asked *a)
{
  scalar(a, "f", -1);
  node(a, "MatMul", "x,f", "p");
  node(a, "PRelu", "p,v", "y");
}

static void
right_of_moving_slope(asked *a)
{
  scalar(a, "f", 1);
  node(a, "Add", "x,w", "p");
  node(a, "PRelu", "p,v", "q");
  node(a, "Sub", "q,f", "y");
}

static const struct {
  build make;
  const char *wrt;
  int degree;
} expressions[] = {
  {product, "w", 1}, {frozen, "w", 0}, {product_of_weights, "w,v", 2}, {scaled_by_weight, "w,v", 2},
  {frozen_multiple, "w", 1}, {weight_times_constant, "w", 1}, {weight_times_nothing, "w", 0},
  {over_weight, "w,one", 2}, {over_frozen, "w", 1}, {constant_over_weight, "w,one", 2},
  {nothing_over_weight, "w,one", 0}, {sum_with_product, "w,v,u", 2}, {sum_with_constant, "w", 1},
  {smooth, "w", 2}, {smooth_of_frozen, "w", 0}, {square, "w", 2}, {square_of_frozen, "w", 0},
  {steep_piece, "w", 1}, {constant_piece, "w", 0}, {left_of_slope, "w", 1}, {left_of_no_slope, "w", 0},
  {left_of_moving_slope, "w,v", 2}, {frozen_left_of_moving_slope, "w,v", 1}, {right_of_moving_slope, "w,v", 1},
};

static void
begin(asked *a, const char *wrt)
{
  size_t n;
  char **names = words_of(wrt, &n);

  asked_begin(a, 1, 1, NUMBERS(1));
  a->profile = "Relu 0 0\nPRelu 0 left\nHardSwish 0 left\nHardSwish 1 left\ntie MaxPool first\n";
  a->wrt = wrt;
  for (size_t i = 0; i < n; i++) {
    scalar(a, names[i], strcmp(names[i], "one") == 0);
    free(names[i]);
  }
  free(names);
}

START_TEST(degrees_are_those_of_the_rules)
{
  asked a;
  uint8_t degree;
  clarke_branch side = CLARKE_LEFT;
  bool flat;

  begin(&a, expressions[_i].wrt);
  expressions[_i].make(&a);
  node(&a, "MatMul", "x,w", "unread"); /* w has a use in all */
  node(&a, "Relu", "y", "z");
  node(&a, "Add", "z,unread", "out");
  ask(&a, "out");
  ck_assert_uint_eq(a.replay.n_touches, 1);
  OK(clarke_degrees(&degree, &a.question, &side, &error));
  ck_assert_int_eq(degree, expressions[_i].degree);
  OK(clarke_flat(&flat, &a.question, &side, &error));
  ck_assert(flat == (degree == 0));
  asked_end(&a);
}
END_TEST

/* What stands behind a touched kink has the degree of its side's piece; anything, without a side. */
START_TEST(what_is_behind_a_kink_follows_its_side)
{
  static const struct {
    clarke_branch side;
    int degree;
  } sides[] = {{CLARKE_LEFT, 0}, {CLARKE_RIGHT, 1}, {CLARKE_PROXY, 2}};
  asked a;

  begin(&a, "w");
  node(&a, "MatMul", "x,w", "p");
  node(&a, "Relu", "p", "y");
  node(&a, "Relu", "y", "out");
  ask(&a, "out");
  ck_assert_uint_eq(a.replay.n_touches, 2);
  for (size_t i = 0; i < 3; i++) {
    uint8_t degree[2];
    clarke_branch side[2] = {sides[i].side, CLARKE_LEFT};

    OK(clarke_degrees(degree, &a.question, side, &error));
    ck_assert_int_eq(degree[0], 1);
    ck_assert_int_eq(degree[1], sides[i].degree);
  }
  asked_end(&a);
}
END_TEST

/* A window max(w, v u), or max(w, v): its options have the degrees 1 and 2, or 1 and 1. */
START_TEST(what_is_behind_a_window_follows_its_option)
{
  for (int second = 1; second <= 2; second++)
    for (int turned = 0; turned < 2; turned++) {
      asked a;
      uint8_t degree[3];
      clarke_branch side[2] = {0, CLARKE_LEFT};
      int first = turned ? second : 1, last = turned ? 1 : second;

      begin(&a, second == 2 ? "w,v,u" : "w,v");
      memcpy(model_integers(&a.model, "line", SHAPE(3,)), (const int64_t[]){0, 1, 2}, 24);
      node(&a, "MatMul", "x,w", "p");
      node(&a, "MatMul", "x,v", "q");
      if (second == 2)
        node(&a, "MatMul", "q,u", "r");
      attr_int(node(&a, "Concat", turned ? second == 2 ? "r,p" : "q,p" : second == 2 ? "p,r" : "p,q", "both"), "axis", 1);
      node(&a, "Reshape", "both,line", "c");
      attr_ints(node(&a, "MaxPool", "c", "m"), "kernel_shape", SHAPE(2,));
      node(&a, "Relu", "m", "out");
      ask(&a, "out");
      ck_assert_uint_eq(a.replay.n_touches, 2);
      ck_assert_uint_eq(a.replay.touch[0].n_options, 2);
      for (int option = 0; option < 3; option++) {
        side[0] = (clarke_branch)(option == 2 ? CLARKE_PROXY : CLARKE_OPTION(option));
        OK(clarke_degrees(degree, &a.question, side, &error));
        ck_assert_int_eq(degree[0], first);
        ck_assert_int_eq(degree[1], last);
        ck_assert_int_eq(degree[2], option == 0 ? first : option == 1 ? last : 2);
      }
      asked_end(&a);
    }
}
END_TEST

/* --- but for a factor --- */

/* (x w) one: one is 1, and stays near it. */
static void
times_one(asked *a)
{
  node(a, "MatMul", "x,w", "p");
  node(a, "MatMul", "p,one", "y");
}

/* (x one) v, v being 0. */
static void
one_times(asked *a)
{
  node(a, "MatMul", "x,one", "p");
  node(a, "MatMul", "p,v", "y");
}

/* (x w) one less f, which is 0. */
static void
times_one_less_zero(asked *a)
{
  scalar(a, "f", 0);
  node(a, "MatMul", "x,w", "p");
  node(a, "MatMul", "p,one", "q");
  node(a, "Sub", "q,f", "y");
}

/* (x w) one + x w: one + 1 is no parameter's entry. */
static void
times_one_and_once_more(asked *a)
{
  node(a, "MatMul", "x,w", "p");
  node(a, "MatMul", "p,one", "q");
  node(a, "Add", "p,q", "y");
}

static const struct {
  build make;
  const char *wrt;
  bool is;
} factors[] = {
  {product, "w", true}, {times_one, "w,one", true}, {one_times, "one,v", true}, {product_of_weights, "w,v", false},
  {over_weight, "w,one", true}, {constant_over_weight, "w,one", false}, {smooth, "w", false}, {sum_with_product, "w,v,u", false},
  {square, "w", false}, {times_one_less_zero, "w,one", true}, {times_one_and_once_more, "w,one", false}, {left_of_moving_slope, "w,v", false},
};

START_TEST(arguments_may_be_affine_but_for_a_factor)
{
  const clarke_branch side = CLARKE_RIGHT;
  clarke_marking m;
  asked a;
  bool is;

  begin(&a, factors[_i].wrt);
  factors[_i].make(&a);
  node(&a, "MatMul", "x,w", "unread");
  node(&a, "Relu", "y", "z");
  node(&a, "Add", "z,unread", "out");
  if (strstr(factors[_i].wrt, "w") == NULL)
    scalar(&a, "w", 0);
  ask(&a, "out");
  OK(clarke_marking_run(&m, &a.question, &side, &error));
  OK(clarke_affine_but_for_a_factor(&is, &m, 0, side, 0, &error));
  ck_assert_int_eq(is, factors[_i].is);
  clarke_marking_clear(&m);
  asked_end(&a);
}
END_TEST

int
main(void)
{
  TCase *tcase = tests_of("audit-degrees");

  tcase_add_loop_test(tcase, degrees_are_those_of_the_rules, 0, sizeof expressions / sizeof *expressions);
  tcase_add_loop_test(tcase, arguments_may_be_affine_but_for_a_factor, 0, sizeof factors / sizeof *factors);
  tcase_add_test(tcase, what_is_behind_a_kink_follows_its_side);
  tcase_add_test(tcase, what_is_behind_a_window_follows_its_option);
  return run_tests();
}
