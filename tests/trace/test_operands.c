/* The products that entries are sums of, the trees of these sums, and the sieve, which adds them up in doubles. */
#include "recorded.h"

#include "network/derive/reverse.h"
#include "trace/certify/sieve.h"
#include "trace/sums/summation.h"

#include <math.h>

/* The products that an entry is the sum of give it, in doubles, but for float32's rounding. */
START_TEST(operands)
{
  clarke_certified c;
  size_t found = 0;

  run_record(&c, records[_i], true);
  for (size_t i = 0; i < c.nodes.n; i++) {
    const clarke_certificate *of = &c.nodes.certificate[i];
    const clarke_tensor *t = of->part == CLARKE_PARAMETER ? clarke_tensors_find(c.nodes.gradients, of->name)
                                                          : traced(&c.nodes, clarke_part_name(of->part), of->name);
    const char *why = NULL;
    clarke_sum_operands o;
    double *p, *q;

    OK(clarke_sum_operands_find(&o, &why, &c.nodes, of->part, of->name, &error));
    p = calloc(o.leaves + 1, sizeof *p);
    q = calloc(o.leaves + 1, sizeof *q);
    for (size_t k = 0; why == NULL && k < t->count; k++) {
      double sum = 0, mass = 0;

      clarke_sum_operands_take(p, q, &o, k);
      for (size_t l = 0; l < o.leaves; l++) {
        sum += (o.added != NULL && l + 1 == o.leaves ? o.beta : o.alpha) * p[l] * q[l];
        mass += fabs(p[l] * q[l]);
      }
      ck_assert(fabs(sum / o.divisor - t->real[k]) <= ((double)o.leaves + 4) * 0x1p-24 * mass);
    }
    found += why == NULL;
    if (why != NULL)
      ck_assert_uint_gt(strlen(why), 5);
    if (of->op != NULL && strcmp(of->op, "Relu") == 0 && of->part == CLARKE_OUTPUT)
      ck_assert_ptr_nonnull(why);
    free(p);
    free(q);
    clarke_sum_operands_clear(&o);
    ck_assert(o.own == NULL && o.start == NULL && o.reader == NULL);
  }
  ck_assert(found > 0 || _i >= 5);
  ck_assert(_i != 0 || found == 15);
  clarke_certified_clear(&c);
}
END_TEST

/* A transposed convolution's weight, (planes, outputs, 3, 3), of steps of two: entry (c, o, a, b) adds up x[n,c,i,j] g[n,o,2i-1+a,2j-1+b]
 * over samples, then places; 0 where there is no such output. */
START_TEST(turned_weight)
{
  const clarke_tensor *x, *g;
  const char *why = NULL;
  double p[24], q[24];
  clarke_sum_operands o;
  clarke_certified c;
  size_t *map, at, own;

  run_record(&c, "turned", true);
  x = traced(&c.nodes, "output", "1/relu");
  g = traced(&c.nodes, "gradient", "2/convolution");
  OK(clarke_sum_operands_find(&o, &why, &c.nodes, CLARKE_PARAMETER, "2.weight", &error));
  ck_assert(why == NULL && o.kind == CLARKE_SUM_OF_TURNED_WEIGHT && o.leaves == 24 && o.divisor == 1);
  ck_assert(x->dims[2] == 3 && x->dims[3] == 4 && g->dims[2] == 6 && g->dims[3] == 8);
  for (size_t k = 0; k < 54; k++) {
    clarke_sum_turned_take(p, q, &o, k);
    for (size_t l = 0; l < 24; l++) {
      const size_t n = l / 12, i = l / 4 % 3, j = l % 4, y = 2 * i + k / 3 % 3, z = 2 * j + k % 3; /* one more than the output's */
      const bool inside = y > 0 && z > 0 && y <= 6 && z <= 8;

      ck_assert(p[l] == (inside ? x->real[((n * 3 + k / 18) * 3 + i) * 4 + j] : 0));
      ck_assert(q[l] == (inside ? g->real[((n * 2 + k / 9 % 2) * 6 + y - 1) * 8 + z - 1] : 0));
    }
  }
  map = (size_t *)o.map;
  for (at = 0; map[at] == CLARKE_NONE; at++)
    ;
  own = map[at];
  for (int wrong = 0; wrong < 2; wrong++) { /* of another plane; twice */
    for (size_t r = 1; wrong == 1 && r < o.product->dense.repeat; r++)
      if (at + r < o.product->dense.repeat && map[at + r] != CLARKE_NONE)
        map[at] = map[at + r];
    map[at] = wrong == 0 ? (own + o.places) % (3 * o.places) : map[at];
    ck_assert(map[at] != own);
    free(o.entry);
    OK(clarke_sum_turned_find(&o, &why, &error));
    ck_assert_str_eq(why, "it is not the weight of one transposed convolution");
    map[at] = own;
  }
  free(o.entry);
  o.gradient = NULL;
  o.entry = NULL;
  OK(clarke_sum_turned_find(&o, &why, &error));
  ck_assert_str_eq(why, "what its gradient is made of was not recorded");
  clarke_sum_operands_clear(&o);
  clarke_certified_clear(&c);
}
END_TEST

/* The trees once more, of certificates that have none yet. */
static void
explain(clarke_certified *c)
{
  for (size_t i = 0; i < c->nodes.n; i++) {
    c->nodes.certificate[i].tree = CLARKE_NO_TREE;
    free(c->nodes.certificate[i].tree_why);
    c->nodes.certificate[i].tree_why = NULL;
  }
  OK(clarke_summation_explain(&c->nodes, &c->record.trees, "trees", &error));
}

/* Recorded trees explain what is within the bound; not another's numbers, and not what is refuted. */
START_TEST(trees)
{
  clarke_certified c;
  clarke_certificate *of;
  clarke_tensor *t;
  double own;

  run_record(&c, "small-trees", true);
  of = (clarke_certificate *)certificate_of(&c.nodes, CLARKE_OUTPUT, "6/addmm");
  ck_assert(of->certainty == CLARKE_BY_TREE && of->tree == CLARKE_TREE_EXPLAINS);
  t = traced(&c.nodes, "output", "6/addmm");
  own = t->real[3];
  t->real[3] = (double)nextafterf((float)own, 1e9f);
  of->certainty = CLARKE_WITHIN_BOUND;
  FAILS(clarke_summation_explain(&c.nodes, &c.record.trees, "trees", &error), "is there twice");
  explain(&c);
  ck_assert(of->certainty == CLARKE_WITHIN_BOUND && of->tree == CLARKE_TREE_DOES_NOT && of->tree_why != NULL);
  t->real[3] = own;
  of->certainty = CLARKE_IS_REFUTED;
  explain(&c);
  ck_assert_int_eq(of->certainty, CLARKE_IS_REFUTED);
  of->certainty = CLARKE_WITHIN_BOUND;
  explain(&c);
  ck_assert(of->certainty == CLARKE_BY_TREE && of->tree == CLARKE_TREE_EXPLAINS);
  clarke_certified_clear(&c);
}
END_TEST

/* --- the sieve --- */

/* Doubles alone: the exact answers, or less; what they leave open is said so. */
START_TEST(sieved)
{
  clarke_certified c;
  clarke_certify fast;
  bool decided;

  run_record(&c, records[_i], true);
  begin_again(&fast, &c);
  OK(clarke_sieve_run(&decided, &fast, &error));
  ck_assert(_i > 1 || decided);
  for (size_t i = 0; decided && i < fast.n; i++) {
    const clarke_certificate *a = &fast.certificate[i], *b = certificate_of(&c.nodes, a->part, a->name);

    ck_assert(a->entries == b->entries && a->exact <= b->exact && a->certainty >= b->certainty);
    ck_assert(a->certainty <= CLARKE_WITHIN_BOUND && a->worst >= b->worst * (1 - 1e-9));
  }
  clarke_certify_clear(&fast);
  traced(&c.nodes, "output", certificate_of(&c.nodes, CLARKE_OUTPUT, c.nodes.g->values[c.nodes.g->output].name)->name)->real[0] += 1;
  begin_again(&fast, &c);
  OK(clarke_sieve_run(&decided, &fast, &error));
  ck_assert(!decided);
  clarke_certify_clear(&fast);
  clarke_certified_clear(&c);
}
END_TEST

/* Its two passes by hand: each value near what was recorded, within its slack and the bound of its certificate. */
START_TEST(passes_of_the_sieve)
{
  clarke_certified c;
  clarke_certify fast;
  clarke_sieve s;
  size_t forward, dropped = 0, settled = 0;

  run_record(&c, "small", true);
  begin_again(&fast, &c);
  OK(clarke_certify_begin(&fast, &error));
  OK(clarke_sieve_begin(&s, &fast, &error));
  OK(clarke_sieve_forward(&s, &error));
  ck_assert(!s.open);
  forward = fast.n;
  for (size_t i = 0; i < forward; i++)
    ck_assert(fast.certificate[i].part == CLARKE_OUTPUT || fast.certificate[i].part == CLARKE_INDICES);
  for (size_t v = 0; v < fast.g->n_values; v++)
    for (size_t e = 0; c.nodes.recorded[v] != NULL && s.value[v].near != NULL && e < fast.g->values[v].count * s.n; e++)
      ck_assert_double_eq_tol(s.value[v].near[e], c.nodes.recorded[v][e], 1e-5);
  for (size_t i = 0; i < fast.g->n_steps; i++) { /* what a kink alone read is turned again when it is asked for */
    const size_t x = fast.g->steps[i].in[0].value;
    const float *again;

    if (fast.g->steps[i].kind != CLARKE_PIECEWISE || s.value[x].exact != NULL)
      continue;
    again = clarke_sieve_known(&s, x, &error);
    for (size_t e = 0; e < fast.g->values[x].count * s.n; e++)
      ck_assert((double)again[e] == c.nodes.recorded[x][e]);
    ck_assert(clarke_sieve_known(&s, x, &error) == again);
    dropped++;
  }
  ck_assert_uint_gt(dropped, 0);
  OK(clarke_sieve_backward(&s, &error));
  ck_assert(!s.open && fast.n > forward);
  for (size_t i = 0; i < fast.g->n_steps; i++) { /* a kernel is settled at once, and no gradient kept that nobody looks up any more */
    const clarke_step *step = &fast.g->steps[i];

    if (step->kind != CLARKE_DENSE || s.settled[fast.g->values[step->dense.weight].parameter].entries == 0)
      continue;
    ck_assert(s.grad[step->out].exact == NULL && s.grad[step->dense.weight].near == NULL);
    settled++;
  }
  ck_assert_uint_eq(settled, 2);
  for (size_t i = forward; i < fast.n; i++) {
    const clarke_certificate *b = certificate_of(&c.nodes, fast.certificate[i].part, fast.certificate[i].name);

    ck_assert(fast.certificate[i].certainty >= b->certainty && fast.certificate[i].certainty <= CLARKE_WITHIN_BOUND);
  }
  clarke_sieve_end(&s);
  clarke_certify_clear(&fast);
  clarke_certified_clear(&c);
}
END_TEST

MODULE(operands)
{
  TCase *tests = tests_of("operands");

  tcase_add_loop_test(tests, operands, 0, RECORDS);
  tcase_add_test(tests, turned_weight);
  tcase_add_test(tests, trees);
  tcase_add_loop_test(tests, sieved, 0, RECORDS);
  tcase_add_test(tests, passes_of_the_sieve);
  return all_tests;
}
