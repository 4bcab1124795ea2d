/* Faces of small arrangements of lines: those that a visitor sees, against those that hold a positive combination of three
 * corners of the arrangement with a box around it. */
#include "brute.h"

#include "exact/face.h"
#include "exact/face_side.h"

enum { DIM = 2, MOST = 5, BOX = 4, CODES = 243 };

/* a x + b y + c; the box last. */
typedef struct {
  size_t n;
  long form[MOST + BOX][3];
} arrangement;

typedef struct {
  long x, y, w; /* (x / w, y / w), w > 0 */
} corner;

static int
sign_of(long v)
{
  return (v > 0) - (v < 0);
}

/* --- by the definition ----------------------------------------------------------------------- */

/* Where two lines cross; false when they are parallel. */
static bool
cross(corner *z, const long *f, const long *g)
{
  const long w = f[0] * g[1] - f[1] * g[0], turn = sign_of(w);

  *z = (corner){ turn * (f[1] * g[2] - f[2] * g[1]), turn * (f[2] * g[0] - f[0] * g[2]), turn * w };
  return w != 0;
}

static bool
in_box(const arrangement *a, corner z)
{
  for (size_t k = a->n; k < a->n + BOX; k++)
    if (a->form[k][0] * z.x + a->form[k][1] * z.y + a->form[k][2] * z.w < 0)
      return false;
  return true;
}

static size_t
corners(corner *z, const arrangement *a)
{
  size_t n = 0;

  for (size_t i = 0; i < a->n + BOX; i++)
    for (size_t j = 0; j < i; j++)
      if (cross(&z[n], a->form[i], a->form[j]) && in_box(a, z[n]))
        n++;
  return n;
}

/* The signs of all forms at a point, as one number. */
static size_t
code_at(const arrangement *a, corner z)
{
  size_t code = 0;

  for (size_t k = 0; k < a->n; k++)
    code = 3 * code + (size_t)(sign_of(a->form[k][0] * z.x + a->form[k][1] * z.y + a->form[k][2] * z.w) + 1);
  return code;
}

/* Every face in the box has three corners in its closure with a positive combination (here: the sum in homogeneous
 * coordinates) inside it. The box is so large that it meets all faces. */
static void
faces_of(bool *there, const arrangement *a)
{
  corner z[(MOST + BOX) * (MOST + BOX) / 2];
  const size_t n = corners(z, a);

  memset(there, 0, CODES);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j <= i; j++)
      for (size_t k = 0; k <= j; k++)
        there[code_at(a, (corner){ z[i].x + z[j].x + z[k].x, z[i].y + z[j].y + z[k].y, z[i].w + z[j].w + z[k].w })] = true;
}

/* Lines of small numbers: parallel, equal and constant ones among them, and through the origin. */
static void
draw_arrangement(arrangement *a, size_t n)
{
  static const long box[BOX][3] = { { 1, 0, 1000 }, { -1, 0, 1001 }, { 0, 1, 1002 }, { 0, -1, 1003 } };

  a->n = n;
  for (size_t k = 0; k < n; k++)
    for (size_t j = 0; j < 3; j++)
      a->form[k][j] = draw(-2, 2);
  memcpy(a->form + n, box, sizeof box);
}

/* --- by visits ------------------------------------------------------------------------------- */

static void
set_form(mpq_t *form, const arrangement *a, size_t k)
{
  for (size_t j = 0; j < 3; j++)
    mpq_set_si(form[j], a->form[k][j], 1);
}

static int
sign_at(mpq_t *form, mpq_t *point)
{
  mpq_t value;
  int sign;

  mpq_init(value);
  clarke_form_value(value, form, point, DIM);
  sign = mpq_sgn(value);
  mpq_clear(value);
  return sign;
}

/* All signs of f hold at the point. */
static void
assert_inside(const clarke_face *f, const arrangement *a, mpq_t *point)
{
  mpq_t *form = new_rationals(3);

  for (size_t k = 0; k < a->n; k++) {
    set_form(form, a, k);
    ck_assert_int_eq(sign_at(form, point), f->sign[k]);
  }
  free_rationals(form, 3);
}

/* A form reduced has its value at the point, and is 0 at all pivots; one that is 0 there but not constant is left to both
 * sides without leaving f. */
static void
leave(const clarke_face *f, const arrangement *a)
{
  mpq_t *form = new_rationals(3), *reduced = new_rationals(3), *to = new_rationals(DIM), value;

  mpq_init(value);
  for (size_t j = 0; j < DIM; j++)
    mpq_set_si(form[j], draw(-3, 3), 2);
  clarke_form_value(value, form, f->point, DIM);
  mpq_neg(form[DIM], value);
  mpq_canonicalize(form[DIM]);
  clarke_face_reduce(reduced, f, form);
  ck_assert_int_eq(sign_at(reduced, f->point), 0);
  for (size_t i = 0; i < f->n_equal; i++)
    ck_assert_int_eq(mpq_sgn(reduced[f->pivot[i]]), 0);
  if (f->n_equal == DIM)
    ck_assert(clarke_form_constant(reduced, DIM));
  for (int side = -1; side <= 1; side += 2) {
    if (clarke_form_constant(reduced, DIM)) {
      ck_assert_int_eq(clarke_face_leave(to, f, reduced, side, &error), CLARKE_EINTERNAL);
      continue;
    }
    OK(clarke_face_leave(to, f, reduced, side, &error));
    ck_assert_int_eq(sign_at(form, to), side);
    assert_inside(f, a, to);
  }
  mpq_clear(value);
  free_rationals(form, 3);
  free_rationals(reduced, 3);
  free_rationals(to, DIM);
}

/* Entries that are free may be any: those of the pivots make all equalities true. */
static void
complete(const clarke_face *f)
{
  mpq_t *point = new_rationals(DIM), value;

  mpq_init(value);
  for (size_t j = 0; j < DIM; j++)
    mpq_set_si(point[j], draw(-9, 9), 1);
  for (size_t j = 0; j < DIM; j++) {
    bool pivot = false;

    mpq_set(value, point[j]);
    for (size_t i = 0; i < f->n_equal; i++)
      pivot = pivot || f->pivot[i] == j;
    clarke_face_complete(point, f);
    ck_assert(pivot || mpq_equal(value, point[j]));
  }
  for (size_t i = 0; i < f->n_equal; i++) {
    clarke_form_value(value, &f->equal[i * (DIM + 1)], point, DIM);
    ck_assert_int_eq(mpq_sgn(value), 0);
  }
  mpq_clear(value);
  free_rationals(point, DIM);
}

/* Has the face a point on that side of one line more? By the definition: the arrangement with it has such a face. */
static void
side_of(const clarke_face *f, const arrangement *a)
{
  mpq_t *form = new_rationals(3), *reduced = new_rationals(3), *to = new_rationals(DIM);
  arrangement more = *a;
  bool there[CODES];

  more.n++;
  memmove(more.form + more.n, more.form + a->n, BOX * sizeof *more.form);
  for (size_t j = 0; j < 3; j++)
    more.form[a->n][j] = draw(-2, 2);
  faces_of(there, &more);
  set_form(form, &more, a->n);
  clarke_face_reduce(reduced, f, form);
  for (int side = -1; side <= 1 && !clarke_form_constant(reduced, DIM); side += 2) {
    clarke_cone_answer answer = CLARKE_CONE_UNKNOWN;
    size_t code = 0;

    for (size_t k = 0; k < a->n; k++)
      code = 3 * code + (size_t)(f->sign[k] + 1);
    OK(clarke_face_side(&answer, to, f, reduced, side, &error));
    ck_assert_int_eq(answer, there[3 * code + (size_t)(side + 1)] ? CLARKE_CONE_FEASIBLE : CLARKE_CONE_EMPTY);
    if (answer == CLARKE_CONE_FEASIBLE) {
      assert_inside(f, a, to);
      ck_assert_int_eq(sign_at(form, to), side);
    }
  }
  free_rationals(form, 3);
  free_rationals(reduced, 3);
  free_rationals(to, DIM);
}

/* Asks for all forms in order; the face's number among the sign vectors. */
static size_t
visit(clarke_face *f, clarke_faces *s, const arrangement *a)
{
  mpq_t *form = new_rationals(3);
  size_t code = 0;

  for (size_t k = 0; k < a->n; k++) {
    int sign = 9;

    set_form(form, a, k);
    OK(clarke_face_decide(&sign, f, s, form, &error));
    ck_assert(!s->open);
    ck_assert_int_eq(sign, sign_at(form, f->point));
    code = 3 * code + (size_t)(sign + 1);
  }
  ck_assert_uint_eq(f->n_signs, a->n);
  free_rationals(form, 3);
  return code;
}

static void
compare(const arrangement *a, mpq_t *point)
{
  bool there[CODES], seen[CODES] = { false };
  clarke_faces s;
  clarke_face f;

  faces_of(there, a);
  clarke_faces_init(&s);
  OK(clarke_faces_begin(&s, DIM, point, &error));
  while (clarke_faces_pop(&f, &s)) {
    const size_t code = visit(&f, &s, a);

    ck_assert_msg(!seen[code], "a face was visited twice");
    seen[code] = true;
    assert_inside(&f, a, f.point);
    leave(&f, a);
    complete(&f);
    if (a->n < MOST)
      side_of(&f, a);
    clarke_face_clear(&f);
  }
  ck_assert_uint_eq(s.entries, 0);
  for (size_t code = 0; code < CODES; code++)
    ck_assert_msg(seen[code] == there[code], "face %zu: seen %d, there %d", code, seen[code], there[code]);
  clarke_faces_clear(&s);
}

START_TEST(all_faces_once)
{
  mpq_t *point = new_rationals(DIM);
  arrangement a;

  brute_state = 1;
  for (int round = 0; round < 60; round++) {
    draw_arrangement(&a, (size_t)draw(0, MOST));
    for (size_t j = 0; j < DIM; j++) {
      mpq_set_si(point[j], draw(-2, 2), (unsigned long)draw(1, 2));
      mpq_canonicalize(point[j]);
    }
    compare(&a, point);
  }
  free_rationals(point, DIM);
}
END_TEST

/* Without dimensions all forms are constant: one face. */
START_TEST(a_point)
{
  mpq_t *none = new_rationals(0), *form = new_rationals(1);
  clarke_faces s;
  clarke_face f;

  clarke_faces_init(&s);
  OK(clarke_faces_begin(&s, 0, none, &error));
  ck_assert(clarke_faces_pop(&f, &s));
  for (int want = -1; want <= 1; want++) {
    int sign = 9;

    mpq_set_si(form[0], want, 1);
    OK(clarke_face_decide(&sign, &f, &s, form, &error));
    ck_assert_int_eq(sign, want);
  }
  clarke_face_clear(&f);
  ck_assert(!s.open && !clarke_faces_pop(&f, &s));
  clarke_faces_clear(&s);
  free_rationals(none, 0);
  free_rationals(form, 1);
}
END_TEST

/* A question beyond the work leaves the search open, and no part of the face behind. */
START_TEST(work_has_an_end)
{
  mpq_t *point = new_rationals(DIM), *form = new_rationals(3);
  clarke_faces s;
  clarke_face f;
  int sign;

  mpq_set_si(form[0], 1, 1);
  mpq_set_si(form[DIM], 1, 1);
  clarke_faces_init(&s);
  OK(clarke_faces_begin(&s, DIM, point, &error));
  ck_assert(clarke_faces_pop(&f, &s));
  s.work = CLARKE_FACE_WORK;
  OK(clarke_face_decide(&sign, &f, &s, form, &error));
  ck_assert(s.open);
  ck_assert_uint_eq(s.n, 0);
  clarke_face_clear(&f);
  clarke_faces_clear(&s);
  ck_assert(!s.open);
  free_rationals(point, DIM);
  free_rationals(form, 3);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("face");
  int failed;

  tcase_add_test(tests, all_faces_once);
  tcase_add_test(tests, a_point);
  tcase_add_test(tests, work_has_an_end);
  failed = run_tests();
  flint_cleanup_master();
  return failed;
}
