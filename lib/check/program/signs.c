/* Rows, their signs, and circuits (signs.h). What a branch gives is kept on stacks, which are cut back when another begins. */
#include "check/program/signs.h"
#include "check/base/allocate.h"
#include "check/base/lines.h"

#include <stdlib.h>

/* A combination that is zero, by increasing rows. */
struct circuit {
  size_t n, *row;
  signed char *sign; /* of the coefficients */
};

/* How far the stacks were filled where a node began. split: the row, or NONE. */
struct sign_node {
  size_t rows, open, signs, rounds, split;
};

void
signs_begin(signs *s, size_t width, bool affine, const char *noun)
{
  *s = (signs){.width = width, .affine = affine, .noun = noun, .point = allocate(width, sizeof(integer))};
  for (size_t k = 0; k < width; k++)
    s->point[k] = integer_zero();
}

/* ---- Rows */

static void
make_primitive(integer *x, size_t n)
{
  INTEGER(common);
  for (size_t i = 0; i < n && mpz_cmp_ui(&common, 1) != 0; i++)
    mpz_gcd(&common, &common, &x[i]);
  for (size_t i = 0; i < n && mpz_cmp_ui(&common, 1) > 0; i++)
    mpz_divexact(&x[i], &x[i], &common);
}

void
signs_push(signs *s, const integer *row)
{
  if (s->n_rows == s->room) {
    s->rows = grow(s->rows, s->n_rows, sizeof *s->rows);
    s->order = grow(s->order, s->n_rows, sizeof *s->order);
    s->rows[s->n_rows].vector = allocate(s->width, sizeof *s->rows->vector);
    for (size_t k = 0; k < s->width; k++)
      s->rows[s->n_rows].vector[k] = integer_zero();
    s->room++;
  }
  sign_row *r = &s->rows[s->n_rows++];
  for (size_t k = 0; k < s->width; k++)
    mpz_set(&r->vector[k], &row[k]);
  make_primitive(r->vector, s->width);
  r->sign = 0;
  r->left_out = false;
  s->n_open++;
}

void
signs_give(signs *s, size_t r, int sign)
{
  s->rows[r].sign = (signed char)sign;
  s->order[s->n_signs++] = r;
  s->n_open--;
}

void
signs_leave_out(signs *s, size_t r)
{
  s->rows[r].left_out = true;
  s->n_open--;
}

size_t
signs_next_row(signs *s)
{
  size_t r = next_number();
  require(r < s->n_rows && !s->rows[r].left_out, "there is no %s %zu that counts", s->noun, r);
  return r;
}

size_t
signs_next_open(signs *s)
{
  size_t r = signs_next_row(s);
  require(s->rows[r].sign == 0, "%s %zu has its sign already", s->noun, r);
  return r;
}

/* ---- Circuits */

static void
next_integer(integer *x)
{
  RATIONAL(value);
  next_rational(&value);
  require(mpz_cmp_ui(mpq_denref(&value), 1) == 0, "integers are expected");
  mpz_set(x, mpq_numref(&value));
}

/* The rest of `circuit R VALUE R VALUE ...` */
static void
read_circuit(signs *s)
{
  struct circuit c = {0, NULL, NULL};
  integer *sum = allocate(s->width, sizeof *sum);
  INTEGER(value);
  for (size_t i = 0; i < s->width; i++)
    sum[i] = integer_zero();
  while (more_words()) {
    size_t r = next_number();
    next_integer(&value);
    require(r < s->n_rows && !s->rows[r].left_out && (c.n == 0 || r > c.row[c.n - 1]),
            "%ss that there are, in increasing order, are expected", s->noun);
    require(mpz_sgn(&value) != 0, "integers that are not 0 are expected");
    for (size_t i = 0; i < s->width; i++)
      mpz_addmul(&sum[i], &value, &s->rows[r].vector[i]);
    c.row = grow(c.row, c.n, sizeof *c.row);
    c.sign = grow(c.sign, c.n, sizeof *c.sign);
    c.row[c.n] = r;
    c.sign[c.n++] = (signed char)mpz_sgn(&value);
  }
  for (size_t i = 0; i < s->width; i++) {
    require(mpz_sgn(&sum[i]) == 0, "the combination of the %ss is not 0", s->noun);
    mpz_clear(&sum[i]);
  }
  free(sum);
  s->circuits = grow(s->circuits, s->n_circuits, sizeof *s->circuits);
  s->circuits[s->n_circuits++] = c;
}

void
signs_begin_round(signs *s)
{
  s->first_circuit = grow(s->first_circuit, s->n_rounds, sizeof *s->first_circuit);
  s->first_circuit[s->n_rounds++] = s->n_circuits;
}

void
signs_read_circuits(signs *s)
{
  while (line_is("circuit"))
    read_circuit(s);
}

int
signs_read_refuted(signs *s, size_t r)
{
  size_t k = next_number(), others = 0;
  int turn = 0, own = 0;
  require(k < s->n_circuits, "there is no circuit %zu here", k);
  const struct circuit *c = &s->circuits[k];
  for (size_t i = 0; i < c->n; i++) {
    if (c->row[i] == r) {
      own = c->sign[i];
      continue;
    }
    int sign = s->rows[c->row[i]].sign * c->sign[i];
    require(sign != 0 && (others == 0 || sign == turn),
            "the signs given do not stand as in circuit %zu, nor all opposite", k);
    turn = sign;
    others++;
  }
  require(others > 0, "circuit %zu has no other %s", k, s->noun);
  require(r == NONE || own != 0, "circuit %zu has no %s %zu", k, s->noun, r);
  return turn * own;
}

/* ---- The tree */

void
signs_node(signs *s, size_t split)
{
  s->nodes = grow(s->nodes, s->path.depth, sizeof *s->nodes);
  s->nodes[s->path.depth] = (struct sign_node){s->n_rows, s->n_open, s->n_signs, s->n_rounds, split};
}

size_t
signs_read(signs *s)
{
  while (s->n_open > 0) {
    signs_read_circuits(s);
    bool forced = line_is("forced");
    if (!forced)
      next_line("split");
    size_t r = signs_next_open(s);
    if (!forced) {
      signs_node(s, r);
      return 2;
    }
    signs_give(s, r, -signs_read_refuted(s, r));
  }
  return 0;
}

void
signs_enter(void *of)
{
  signs *s = of;
  const struct sign_node *n = &s->nodes[s->path.depth - 1];
  while (s->n_signs > n->signs)
    s->rows[s->order[--s->n_signs]].sign = 0;
  s->n_rows = n->rows;
  s->n_open = n->open;
  if (s->n_rounds != n->rounds)
    for (s->n_rounds = n->rounds; s->n_circuits > s->first_circuit[s->n_rounds];) {
      free(s->circuits[--s->n_circuits].row);
      free(s->circuits[s->n_circuits].sign);
    }
  if (n->split != NONE)
    signs_give(s, n->split, s->path.choice[s->path.depth - 1] == 0 ? -1 : 1);
}

/* ---- Leaves */

void
signs_read_point(signs *s)
{
  INTEGER(product);
  for (size_t k = 0; k < s->width; k++)
    next_integer(&s->point[k]);
  require(!s->affine || mpz_sgn(&s->point[s->width - 1]) > 0, "the last entry must be above 0");
  for (size_t r = 0; r < s->n_rows; r++) {
    if (s->rows[r].left_out)
      continue;
    mpz_set_ui(&product, 0);
    for (size_t k = 0; k < s->width; k++)
      mpz_addmul(&product, &s->point[k], &s->rows[r].vector[k]);
    require(mpz_sgn(&product) == s->rows[r].sign, "the point is not on the side given of %s %zu", s->noun, r);
  }
}
