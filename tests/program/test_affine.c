/* Instructions as affine forms on the faces of the plane, beside the forms known by hand. */
#include "../ok.h"

#include "program/affine.h"
#include "program/prog.h"

#include <string.h>

/* A program of two inputs and its faces, visited one after another. */
typedef struct {
  clarke_code p;
  clarke_affine a;
  clarke_faces s;
  mpq_t *at, *point;
} plane;

static void
begin(plane *x, const char *text)
{
  bool small;

  clarke_code_init(&x->p);
  clarke_affine_init(&x->a);
  clarke_faces_init(&x->s);
  OK(clarke_prog_parse(&x->p, text, strlen(text), "t.prog", &error));
  OK(clarke_code_wrt(&x->p, NULL, 0, &error));
  x->a.target = x->p.output[0];
  ck_assert_ptr_nonnull(x->at = clarke_rationals(2));
  ck_assert_ptr_nonnull(x->point = clarke_rationals(2));
  OK(clarke_affine_begin(&x->a, &small, &x->p, x->at, &error));
  ck_assert(small && x->a.dim == 2);
  OK(clarke_faces_begin(&x->s, 2, x->point, &error));
}

static void
end(plane *x)
{
  clarke_rationals_free(x->at, 2);
  clarke_rationals_free(x->point, 2);
  clarke_affine_clear(&x->a);
  clarke_faces_clear(&x->s);
  clarke_code_clear(&x->p);
}

/* The kind of the output on the next face; false when there is none. */
static bool
next(plane *x, clarke_affine_kind *kind, clarke_face *f)
{
  if (!clarke_faces_pop(f, &x->s))
    return false;
  clarke_affine_restart(&x->a);
  OK(clarke_affine_of(kind, &x->a, x->p.output[0], f, &x->s, &error));
  return true;
}

/* What the function is at integers. */
static long
bent(long x, long y)
{
  const long a = x > 0 ? x : 0;

  return 2 * (a > y ? a : y) - x + 1;
}

START_TEST(forms_are_the_function_on_every_face)
{
  clarke_affine_kind kind;
  clarke_face f;
  plane x;
  size_t faces = 0, open_faces = 0;
  mpq_t value;

  mpq_init(value);
  begin(&x, "input x, y\noutput 2*max(relu(x), y) - x + 1");
  for (; next(&x, &kind, &f); faces++) {
    ck_assert_int_eq(kind, CLARKE_AFFINE);
    open_faces += f.n_equal == 0;
    for (size_t k = 0; k < 2; k++) /* cones: a multiple of the point is on the face, too */
      for (size_t j = 0; j < 2; j++)
        mpq_mul_2exp(f.point[j], f.point[j], 4);
    for (size_t j = 0; j < 2; j++) {
      while (mpz_cmp_ui(mpq_denref(f.point[j]), 1) != 0) {
        mpq_t d;

        mpq_init(d);
        mpz_set(mpq_numref(d), mpq_denref(f.point[j]));
        for (size_t i = 0; i < 2; i++)
          mpq_mul(f.point[i], f.point[i], d);
        mpq_clear(d);
      }
    }
    clarke_form_value(value, clarke_affine_form(&x.a, x.p.output[0]), f.point, 2);
    ck_assert(mpq_cmp_si(value, bent(mpz_get_si(mpq_numref(f.point[0])), mpz_get_si(mpq_numref(f.point[1]))), 1) == 0);
    clarke_face_clear(&f);
  }
  ck_assert(!x.s.open);
  ck_assert_uint_eq(open_faces, 4);
  ck_assert_uint_eq(faces, 4 + 4 + 1); /* regions, rays between them, the origin */
  mpq_clear(value);
  end(&x);
}
END_TEST

START_TEST(what_is_not_affine_is_told)
{
  static const struct {
    const char *text;
    clarke_affine_kind kind;
  } known[] = {
    {"input x, y\noutput x*y", CLARKE_AFFINE_NOT},
    {"input x, y\noutput exp(x)", CLARKE_AFFINE_NOT},
    {"input x, y\noutput x*(2 + 0*y)", CLARKE_AFFINE},
    {"input x, y\noutput x/(y - y)", CLARKE_AFFINE_UNDEFINED},
  };

  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    clarke_affine_kind kind;
    clarke_face f;
    plane x;

    begin(&x, known[i].text);
    ck_assert(next(&x, &kind, &f));
    ck_assert_msg(kind == known[i].kind, "%s: %d", known[i].text, (int)kind);
    clarke_face_clear(&f);
    end(&x);
  }
}
END_TEST

/* The sign of x - y, all over a face: three faces. */
START_TEST(comparisons_cut_the_plane)
{
  clarke_affine_kind kind;
  clarke_face f;
  plane x;
  int seen[3] = {0};

  begin(&x, "input x, y\noutput x");
  while (next(&x, &kind, &f)) {
    int sign;

    OK(clarke_affine_of(&kind, &x.a, 1, &f, &x.s, &error));
    OK(clarke_affine_compare(&sign, &x.a, 0, 1, &f, &x.s, &error));
    ck_assert_int_eq(sign, mpq_cmp(f.point[0], f.point[1]) > 0 ? 1 : mpq_cmp(f.point[0], f.point[1]) < 0 ? -1 : 0);
    seen[sign + 1]++;
    clarke_face_clear(&f);
  }
  ck_assert(seen[0] == 1 && seen[1] == 1 && seen[2] == 1);
  end(&x);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("affine");

  tcase_add_test(tests, forms_are_the_function_on_every_face);
  tcase_add_test(tests, what_is_not_affine_is_told);
  tcase_add_test(tests, comparisons_cut_the_plane);
  return run_tests();
}
