/* Programs, executions, patterns and derivations that are broken by hand are noticed. */
#include "break.h"
#include "../ok.h"

#include "program/prog.h"
#include "program/derive.h"

#include <stdlib.h>
#include <string.h>

static clarke_error error;
static clarke_code p;
static clarke_profile profile;
static mpq_t *at;

/* Of an input x[2], at the origin. */
static void
begin(const char *text)
{
  clarke_code_init(&p);
  clarke_profile_init(&profile);
  OK(clarke_prog_parse(&p, text, strlen(text), "t.prog", &error));
  OK(clarke_profile_parse(&profile, "like pytorch-2.13\n", strlen("like pytorch-2.13\n"), "profile", &error));
  at = calloc(clarke_code_entries(&p), sizeof *at);
  ck_assert_ptr_nonnull(at);
  for (size_t k = 0; k < clarke_code_entries(&p); k++)
    mpq_init(at[k]);
}

static void
end(void)
{
  for (size_t k = 0; k < clarke_code_entries(&p); k++)
    mpq_clear(at[k]);
  free(at);
  clarke_profile_clear(&profile);
  clarke_code_clear(&p);
}

static size_t
first_of(clarke_do kind)
{
  size_t i = 0;

  while (i < p.n && p.instruction[i].kind != kind)
    i++;
  ck_assert_uint_lt(i, p.n);
  return i;
}

START_TEST(programs)
{
  size_t linear, order, pieces, branch, constant;

  begin("input x[2], y\nlet a = relu6(x[0] - 2*x[1])\noutput max(a, x[1], y) + (if x[0] > 3 then a*y else elu(y))\n"
        "piece x[0] if x[1] > y\n");
  linear = first_of(CLARKE_DO_LINEAR);
  order = first_of(CLARKE_DO_ORDER);
  pieces = first_of(CLARKE_DO_PIECEWISE);
  branch = first_of(CLARKE_DO_BRANCH);
  constant = first_of(CLARKE_DO_CONSTANT);
  BREAK(clarke_code_is_valid(&p), p.instruction[linear].in[0], linear);
  BREAK(clarke_code_is_valid(&p), p.instruction[linear].n_coef, p.instruction[linear].n_in);
  BREAK(clarke_code_is_valid(&p), p.instruction[linear].kind, CLARKE_DO_PRODUCT);
  BREAK(clarke_code_is_valid(&p), p.instruction[order].rank, 0);
  BREAK(clarke_code_is_valid(&p), p.instruction[order].rank, 4);
  BREAK(clarke_code_is_valid(&p), p.instruction[order].op, NULL);
  BREAK(clarke_code_is_valid(&p), p.instruction[order].n_in, 2);
  BREAK(clarke_code_is_valid(&p), p.instruction[pieces].pieces, NULL);
  BREAK(clarke_code_is_valid(&p), p.instruction[pieces].n_in, 0);
  BREAK(clarke_code_is_valid(&p), p.instruction[pieces].pieces->n_kinks, CLARKE_MAX_KINKS + 1);
  BREAK_RATIONAL(clarke_code_is_valid(&p), p.instruction[pieces].pieces->kink[0], 7, 1);
  BREAK(clarke_code_is_valid(&p), p.instruction[branch].n_in, 3);
  BREAK_RATIONAL(clarke_code_is_valid(&p), p.instruction[constant].coef[0], 2, 2);
  BREAK(clarke_code_is_valid(&p), p.instruction[first_of(CLARKE_DO_ELU)].op, NULL);
  BREAK(clarke_code_is_valid(&p), p.output[0], p.n);
  BREAK(clarke_code_is_valid(&p), p.piece[0].value, p.n);
  BREAK(clarke_code_is_valid(&p), p.piece[0].condition[0].right, p.n);
  BREAK(clarke_code_is_valid(&p), p.arguments, p.arguments + 1);
  BREAK(clarke_code_is_valid(&p), p.input[0].n, 1);
  BREAK(clarke_code_is_valid(&p), p.input[0].vector, false);
  BREAK(clarke_code_is_valid(&p), p.input[1].first, 1);
  BREAK(clarke_code_is_valid(&p), p.input[1].n, 0);
  BREAK(clarke_code_is_valid(&p), p.n_inputs, 1);
  end();
}
END_TEST

START_TEST(executions)
{
  clarke_execution e;

  begin("input x[2]\noutput relu(x[0]) + max(x) + (if x[0] >= 0 then abs(x[1]) else x[1]*x[0])\n");
  clarke_execution_init(&e);
  OK(clarke_execute(&e, &p, at, &error));
  ck_assert_uint_eq(e.n_touched, 4);
  BREAK(clarke_execution_is_valid(&e), e.n_order, e.n_order - 1);
  BREAK(clarke_execution_is_valid(&e), e.order[0], p.n);
  BREAK(clarke_execution_is_valid(&e), e.order[0], first_of(CLARKE_DO_PRODUCT));
  BREAK(clarke_execution_is_valid(&e), e.live[first_of(CLARKE_DO_PRODUCT)], true);
  BREAK(clarke_execution_is_valid(&e), e.live[p.output[0]], false);
  BREAK(clarke_execution_is_valid(&e), e.piece[first_of(CLARKE_DO_BRANCH)], 0);
  BREAK(clarke_execution_is_valid(&e), e.piece[first_of(CLARKE_DO_BRANCH)], 2);
  BREAK(clarke_execution_is_valid(&e), e.piece[first_of(CLARKE_DO_PIECEWISE)], 1);
  BREAK(clarke_execution_is_valid(&e), e.touch_of[p.output[0]], 0);
  BREAK(clarke_execution_is_valid(&e), e.touch_of[p.output[0]], 4);
  for (size_t t = 0; t < e.n_touched; t++) {
    const size_t i = e.touched[t].instruction;

    BREAK(clarke_execution_is_valid(&e), e.touched[t].instruction, p.output[0]);
    BREAK(clarke_execution_is_valid(&e), e.touch_of[i], CLARKE_NONE);
    if (p.instruction[i].kind == CLARKE_DO_PIECEWISE)
      BREAK(clarke_execution_is_valid(&e), e.touched[t].kink, 1);
    if (p.instruction[i].kind != CLARKE_DO_ORDER)
      continue;
    BREAK(clarke_execution_is_valid(&e), e.touched[t].tied[1], 0);
    BREAK(clarke_execution_is_valid(&e), e.touched[t].tied[1], 2);
    BREAK(clarke_execution_is_valid(&e), e.touched[t].n_tied, 1);
    BREAK(clarke_execution_is_valid(&e), e.touched[t].rank_in_tie, 0);
    BREAK(clarke_execution_is_valid(&e), e.touched[t].rank_in_tie, 3);
  }
  e.open = true;
  e.open_at = p.n;
  ck_assert(!clarke_execution_is_valid(&e));
  clarke_execution_clear(&e);
  end();
}
END_TEST

/* relu(x0) - relu(-x0) at 0, AD's output being 0: four patterns of signs, of which two are refuted. */
START_TEST(derivations)
{
  clarke_derivation d;
  clarke_patterns *t = &d.patterns;
  clarke_node *refuted;

  begin("input x[2]\noutput relu(x[0]) - relu(-x[0]) + x[1]\n");
  clarke_derivation_init(&d);
  OK(clarke_derive(&d, &p, at, &profile, &error));
  ck_assert_int_eq(d.verdict, CLARKE_NOT_IN_CLARKE);
  BREAK(clarke_derivation_is_valid(&d), d.verdict, CLARKE_IN_CLARKE);
  BREAK(clarke_derivation_is_valid(&d), d.verdict, CLARKE_UNDECIDED);
  BREAK(clarke_derivation_is_valid(&d), d.evidence, CLARKE_EVIDENCE_AD);
  BREAK(clarke_derivation_is_valid(&d), d.evidence, CLARKE_EVIDENCE_HULL);
  BREAK(clarke_derivation_is_valid(&d), d.evidence, CLARKE_EVIDENCE_NONE);
  BREAK(clarke_derivation_is_valid(&d), d.evidence, CLARKE_EVIDENCE_UNANIMOUS);
  BREAK(clarke_derivation_is_valid(&d), d.lipschitz, false);
  BREAK(clarke_derivation_is_valid(&d), t->jumps, true);
  BREAK(clarke_derivation_is_valid(&d), t->tree.complete, false);
  BREAK(clarke_derivation_is_valid(&d), d.separator, NULL);
  BREAK(clarke_derivation_is_valid(&d), d.execution.n_order, 0);
  ck_assert_uint_eq(t->n, 2);
  BREAK(clarke_patterns_is_valid(t), t->tree.n, t->tree.n - 1);
  BREAK(clarke_patterns_is_valid(t), t->n, 1);
  BREAK(clarke_patterns_is_valid(t), t->tree.node[0].n_branches, 1);
  BREAK(clarke_patterns_is_valid(t), t->tree.node[0].n_branches, 3);
  BREAK(clarke_patterns_is_valid(t), t->pattern[0].realized, false);
  BREAK(clarke_patterns_is_valid(t), t->pattern[1].exact, false);
  BREAK(clarke_patterns_is_valid(t), t->pattern[1].gradient, NULL);
  BREAK_RATIONAL(clarke_patterns_is_valid(t), t->pattern[0].direction[0][0], 2, 2);
  refuted = t->tree.node;
  while (refuted->kind != CLARKE_DEAD)
    refuted++;
  ck_assert_uint_eq(refuted->gordan.n, 2);
  BREAK(clarke_patterns_is_valid(t), refuted->gordan.n, 0);
  BREAK(clarke_patterns_is_valid(t), refuted->gordan.multiplier[1].of, 0);
  BREAK(clarke_patterns_is_valid(t), refuted->gordan.multiplier[1].of, refuted->depth);
  BREAK_RATIONAL(clarke_patterns_is_valid(t), refuted->gordan.multiplier[0].u, -1, 1);
  BREAK_RATIONAL(clarke_patterns_is_valid(t), refuted->gordan.multiplier[0].u, 0, 1);
  clarke_derivation_clear(&d);
  end();
}
END_TEST

START_TEST(evidence_of_a_mean)
{
  clarke_derivation d;

  begin("input x[2]\noutput exp(1)*abs(x[0]) + x[1]\n");
  clarke_derivation_init(&d);
  OK(clarke_derive(&d, &p, at, &profile, &error));
  ck_assert(d.evidence == CLARKE_EVIDENCE_HULL && d.opposite != NULL);
  BREAK(clarke_derivation_is_valid(&d), d.verdict, CLARKE_IN_BOULIGAND);
  BREAK(clarke_derivation_is_valid(&d), d.weight, d.opposite);
  BREAK(clarke_derivation_is_valid(&d), d.opposite, NULL);
  clarke_derivation_clear(&d);
  end();
}
END_TEST

START_TEST(evidence_of_membership)
{
  clarke_derivation d;

  begin("input x[2]\noutput abs(x[0]) + relu{1/3}(x[1])\n");
  clarke_derivation_init(&d);
  OK(clarke_derive(&d, &p, at, &profile, &error));
  ck_assert_int_eq(d.evidence, CLARKE_EVIDENCE_HULL);
  BREAK(clarke_derivation_is_valid(&d), d.verdict, CLARKE_NOT_IN_CLARKE);
  BREAK(clarke_derivation_is_valid(&d), d.weight, NULL);
  BREAK(clarke_derivation_is_valid(&d), d.ad_exact, false);
  for (size_t i = 0; i < d.patterns.n; i++)
    if (mpq_sgn(d.weight[i]) > 0) {
      BREAK_RATIONAL(clarke_derivation_is_valid(&d), d.weight[i], 2, 1);
      BREAK_RATIONAL(clarke_derivation_is_valid(&d), d.weight[i], -1, 1);
    }
  clarke_derivation_clear(&d);
  end();
  begin("input x[2]\noutput relu(x[0]) + x[1]\n");
  clarke_derivation_init(&d);
  OK(clarke_derive(&d, &p, at, &profile, &error));
  ck_assert_int_eq(d.evidence, CLARKE_EVIDENCE_AD);
  BREAK(clarke_derivation_is_valid(&d), d.ad_pattern, d.patterns.n);
  BREAK(clarke_derivation_is_valid(&d), d.verdict, CLARKE_IN_CLARKE);
  clarke_derivation_clear(&d);
  end();
}
END_TEST

int
main(void)
{
  TCase *tcase = tests_of("valid-programs");

  tcase_add_test(tcase, programs);
  tcase_add_test(tcase, executions);
  tcase_add_test(tcase, derivations);
  tcase_add_test(tcase, evidence_of_a_mean);
  tcase_add_test(tcase, evidence_of_membership);
  return run_tests();
}
