/* The numbers of a float format in a rectangle: its first entry is swept over, the second one is a course that moves. */
#include "session/grid_inside.h"

#include "base/stop.h"

#define MOST_COLUMNS 100000

typedef struct {
  clarke_grid *g;
  const clarke_code *p;
  mpq_t *low, *high;  /* the rectangle's corners */
  size_t u, v, n;     /* both entries, of n */
  clarke_ieee format;
} sweep;

/* Both entries in which the corners differ; low and high become what they say. */
static clarke_status
find_entries(sweep *s, clarke_error *err)
{
  size_t found = 0;

  for (size_t i = 0; i < s->n; i++) {
    if (mpq_equal(s->low[i], s->high[i]))
      continue;
    if (found < 2)
      *(found == 0 ? &s->u : &s->v) = i;
    found++;
    if (mpq_cmp(s->low[i], s->high[i]) > 0)
      mpq_swap(s->low[i], s->high[i]);
  }
  return found == 2 ? CLARKE_OK
                    : clarke_fail(err, CLARKE_EINPUT, "a grid of numbers has two entries that vary: %zu do", found);
}

/* The course of v at u, which moves on with h where it is to. */
static clarke_status
run_at(clarke_course *c, const sweep *s, const mpq_t u, bool moves, clarke_error *err)
{
  clarke_status status = clarke_course_begin(c, s->p, err);

  if (status != CLARKE_OK)
    return status;
  mpq_set(clarke_moving(c->t.x, 0)[0], s->low[s->v]);
  mpq_set(clarke_moving(c->t.x, 1)[0], s->high[s->v]);
  for (size_t i = 0; i < s->p->n; i++)
    for (size_t j = 0; j < 2 && c->value[i].x != NULL; j++) {
      const size_t entry = clarke_code_entry(s->p, i);
      mpq_t *x = clarke_moving(c->value[i].x, j);

      mpq_set(x[0], entry == s->u ? u : j == 0 ? s->low[entry] : s->high[entry]);
      mpq_set_ui(x[1], moves && entry == s->u, 1);
    }
  return clarke_course_run(c, err);
}

/* x = the moving number at h. */
static void
move_to(mpq_t x, mpq_t *moving, const mpq_t h)
{
  mpq_mul(x, moving[1], h);
  mpq_add(x, x, moving[0]);
}

/* Is the zone, at u + h and halfway between two points of the course, the bifurcation zone? */
static clarke_status
ask_between(clarke_truth *several, const sweep *s, const clarke_course *c, size_t k, size_t j, const mpq_t u, const mpq_t h, clarke_error *err)
{
  mpq_t *at = clarke_rationals(s->n), x;
  clarke_status status;

  if (at == NULL)
    return clarke_no_memory(err);
  mpq_init(x);
  for (size_t i = 0; i < s->n; i++)
    mpq_set(at[i], s->low[i]);
  mpq_add(at[s->u], u, h);
  move_to(at[s->v], clarke_moving(c->t.x, k), h);
  move_to(x, clarke_moving(c->t.x, j), h);
  mpq_add(at[s->v], at[s->v], x);
  mpq_div_2exp(at[s->v], at[s->v], 1);
  status = clarke_grid_parts(several, s->p, at, err);
  mpq_clear(x);
  clarke_rationals_free(at, s->n);
  return status;
}

/* How many numbers of v are between two points at h, or at them where they are one. */
static void
count_between(mpz_t count, const sweep *s, const clarke_course *c, size_t k, size_t j, const mpq_t h)
{
  mpq_t x, y;

  mpq_inits(x, y, NULL);
  move_to(x, clarke_moving(c->t.x, k), h);
  move_to(y, clarke_moving(c->t.x, j), h);
  clarke_grid_count(count, s->format, x, y, k != j);
  mpq_clears(x, y, NULL);
}

/* The course's point as a line over u + h: line[0] + line[1] (u + h). */
static void
line_of(mpq_t line[2], mpq_t *moving, const mpq_t u)
{
  mpq_set(line[1], moving[1]);
  mpq_mul(line[0], moving[1], u);
  mpq_sub(line[0], moving[0], line[0]);
}

/* The same in the open column from u to u + width: on a line, or below the upper one, less what is not above the lower one. */
static clarke_status
count_column(mpz_t count, const sweep *s, const clarke_course *c, size_t k, size_t j, const mpq_t u, const mpq_t width, clarke_error *err)
{
  clarke_status status;
  mpz_t under, on;
  mpq_t to, line[2];

  mpz_inits(under, on, NULL);
  mpq_inits(to, line[0], line[1], NULL);
  mpq_add(to, u, width);
  line_of(line, clarke_moving(c->t.x, j), u);
  status = clarke_grid_under(under, on, s->format, u, to, line, err);
  if (k == j)
    mpz_set(count, on);
  else
    mpz_sub(count, under, on);
  if (status == CLARKE_OK && k != j) {
    line_of(line, clarke_moving(c->t.x, k), u);
    status = clarke_grid_under(under, on, s->format, u, to, line, err);
    mpz_sub(count, count, under);
  }
  mpz_clears(under, on, NULL);
  mpq_clears(to, line[0], line[1], NULL);
  return status;
}

/* Between two points, or at them: in the column from u on of that width; or of width 0 at u, which is a number of the format. */
static clarke_status
add_part(sweep *s, const clarke_course *c, size_t k, size_t j, const mpq_t u, const mpq_t width, clarke_error *err)
{
  clarke_truth several = CLARKE_UNKNOWN;
  clarke_status status;
  mpz_t count;
  mpq_t half;

  mpz_init(count);
  mpq_init(half);
  mpq_div_2exp(half, width, 1);
  status = ask_between(&several, s, c, k, j, u, half, err);
  if (status == CLARKE_OK && several != CLARKE_NO) {
    if (mpq_sgn(width) == 0)
      count_between(count, s, c, k, j, half);
    else
      status = count_column(count, s, c, k, j, u, width, err);
  }
  if (status == CLARKE_OK)
    clarke_grid_add(s->g, several, count);
  mpz_clear(count);
  mpq_clear(half);
  return status;
}

static clarke_status
add_parts(sweep *s, const clarke_course *c, const mpq_t u, const mpq_t width, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (size_t k = 0; k < c->n && status == CLARKE_OK; k++) {
    status = add_part(s, c, k, k, u, width, err);
    if (status == CLARKE_OK && k + 1 < c->n)
      status = add_part(s, c, k, k + 1, u, width, err);
  }
  return status;
}

/* What is at u alone, where it is a number of the format. */
static clarke_status
add_line(sweep *s, const mpq_t u, clarke_error *err)
{
  clarke_course c = {0};
  clarke_status status;
  mpq_t none;

  if (!clarke_grid_has(s->format, u))
    return CLARKE_OK;
  mpq_init(none);
  status = run_at(&c, s, u, false, err);
  if (status == CLARKE_OK)
    status = add_parts(s, &c, u, none, err);
  clarke_course_clear(&c);
  mpq_clear(none);
  return status;
}

/* The column from u on: u moves to its end. */
static clarke_status
add_column(sweep *s, mpq_t u, clarke_error *err)
{
  clarke_course c = {0};
  clarke_status status;
  mpq_t width;

  mpq_init(width);
  mpq_sub(width, s->high[s->u], u);
  status = run_at(&c, s, u, true, err);
  if (status == CLARKE_OK && c.ends && mpq_cmp(c.until, width) < 0)
    mpq_set(width, c.until);
  if (status == CLARKE_OK)
    status = add_parts(s, &c, u, width, err);
  mpq_add(u, u, width);
  clarke_course_clear(&c);
  mpq_clear(width);
  s->g->intervals++;
  return status == CLARKE_OK && s->g->intervals > MOST_COLUMNS
           ? clarke_fail(err, CLARKE_EINPUT, "more than %d columns where kinks meet", MOST_COLUMNS) : status;
}

static void
count_grid(sweep *s)
{
  mpz_t other;

  mpz_init(other);
  clarke_grid_count(s->g->numbers, s->format, s->low[s->u], s->high[s->u], false);
  clarke_grid_count(other, s->format, s->low[s->v], s->high[s->v], false);
  mpz_mul(s->g->numbers, s->g->numbers, other);
  mpz_clear(other);
}

clarke_status
clarke_grid_find_plane(clarke_grid *g, const clarke_region_function *f, mpq_t *a, mpq_t *b, clarke_ieee format, clarke_error *err)
{
  sweep s = {.g = g, .p = &f->program, .low = clarke_rationals(f->n), .high = clarke_rationals(f->n), .n = f->n, .format = format};
  clarke_status status = s.low != NULL && s.high != NULL ? CLARKE_OK : clarke_no_memory(err);
  mpq_t u;

  mpq_init(u);
  for (size_t i = 0; status == CLARKE_OK && i < f->n; i++) {
    mpq_set(s.low[i], a[i]);
    mpq_set(s.high[i], b[i]);
  }
  if (status == CLARKE_OK)
    status = find_entries(&s, err);
  if (status == CLARKE_OK) {
    count_grid(&s);
    mpq_set(u, s.low[s.u]);
    status = add_line(&s, u, err);
  }
  while (status == CLARKE_OK && mpq_cmp(u, s.high[s.u]) < 0) {
    status = add_column(&s, u, err);
    if (status == CLARKE_OK)
      status = add_line(&s, u, err);
  }
  mpq_clear(u);
  clarke_rationals_free(s.low, f->n);
  clarke_rationals_free(s.high, f->n);
  return status;
}
