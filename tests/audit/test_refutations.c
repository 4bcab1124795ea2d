/* Gordan vectors that were met are met again: a path is refuted just where all of a vector's classes have its options. */
#include "audit/refutations.h"
#include "../draw.h"
#include "../ok.h"

#define CLASSES 6
#define KEPT 40

typedef struct {
  size_t n, class[3], option[3];
} circuit;

/* A dead node of one to three classes, each met by its first touch, class i's being touch 10 i. */
static void
draw_dead(clarke_gordan *dead, circuit *c, size_t *chosen, uint64_t *state)
{
  size_t from = draw_below(state, CLASSES);

  c->n = dead->n = 1 + draw_below(state, 3);
  dead->multiplier = calloc(dead->n, sizeof *dead->multiplier);
  for (size_t i = 0; i < CLASSES; i++)
    chosen[i] = draw_below(state, 4) == 0 ? CLARKE_UNCHOSEN : draw_below(state, 2);
  for (size_t i = 0; i < dead->n; i++) {
    c->class[i] = (from + i) % CLASSES;
    c->option[i] = chosen[c->class[i]] = draw_below(state, 3);
    dead->multiplier[i].of = 10 * c->class[i];
    dead->multiplier[i].condition = i;
    mpq_init(dead->multiplier[i].u);
    mpq_set_ui(dead->multiplier[i].u, 1 + draw_below(state, 99), 7);
  }
}

static bool
holds(const circuit *c, const size_t *chosen)
{
  for (size_t i = 0; i < c->n; i++)
    if (chosen[c->class[i]] != c->option[i])
      return false;
  return true;
}

START_TEST(against_a_list)
{
  uint64_t state = 1;
  size_t touch[CLASSES][1], chosen[CLASSES], met = 0;
  clarke_class class[CLASSES] = {{0}};
  const clarke_classes classes = {.n = CLASSES, .class = class};
  clarke_refutations s;
  clarke_gordan dead[KEPT] = {{0}};
  circuit kept[KEPT];

  for (size_t i = 0; i < CLASSES; i++) {
    touch[i][0] = 10 * i;
    class[i].n = 1;
    class[i].touch = touch[i];
  }
  clarke_refutations_init(&s);
  for (size_t k = 0; k < KEPT; k++) {
    draw_dead(&dead[k], &kept[k], chosen, &state);
    OK(clarke_refutations_keep(&s, &dead[k], &classes, chosen, &error));
    for (int round = 0; round < 50; round++) {
      size_t last = k + 1;
      bool refuted;
      clarke_tree tree;

      for (size_t i = 0; i < CLASSES; i++)
        chosen[i] = draw_below(&state, 3) == 0 ? CLARKE_UNCHOSEN : draw_below(&state, 3);
      while (last > 0 && !holds(&kept[last - 1], chosen))
        last--;
      clarke_tree_init(&tree);
      OK(clarke_refutations_refute(&refuted, &tree, &s, chosen, &error));
      ck_assert(refuted == (last > 0));
      ck_assert_uint_eq(tree.n, refuted ? 1 : 0);
      met += refuted;
      if (refuted) { /* the one that was kept last; its numbers are there */
        ck_assert_uint_eq(tree.node[0].gordan.n, dead[last - 1].n);
        for (size_t i = 0; i < tree.node[0].gordan.n; i++) {
          ck_assert_uint_eq(tree.node[0].gordan.multiplier[i].of, dead[last - 1].multiplier[i].of);
          ck_assert(mpq_equal(tree.node[0].gordan.multiplier[i].u, dead[last - 1].multiplier[i].u));
        }
      }
      clarke_tree_clear(&tree);
    }
  }
  ck_assert(met > 200 && met < 50 * KEPT);
  for (size_t k = 0; k < KEPT; k++)
    clarke_gordan_clear(&dead[k]);
  clarke_refutations_clear(&s);
  ck_assert_uint_eq(s.n, 0);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("refutations");

  tcase_add_test(tests, against_a_list);
  return run_tests();
}
