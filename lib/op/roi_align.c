/* RoiAlign: the mean of what lies between entries at places in the parts of a box, box after box. Each box is a product with shares along
 * the height, and one along the width; shares are whole multiples of powers of two, to be divided by the number that all have. */
#include "op/axes.h"
#include "op/lower.h"
#include "op/node.h"

#include <gmp.h>
#include <stdlib.h>
#include <string.h>

#define MOST_BOXES 1024
#define MOST_SAMPLED 256 /* places of one part, along an axis */
#define NEAR_BITS 12

/* Places along one axis: `out` parts of a box, each of `grid` places. */
typedef struct {
  size_t n, out, grid;
  mpq_t start, length, end; /* of the box */
} line;

typedef struct {
  size_t dims[CLARKE_MAX_WHOLE], boxes, out[2];
  const double *box;
  const int64_t *sample;
  double scale;
  int64_t ratio;
  bool half_pixel;
} regions;

static void
start_line(line *l)
{
  mpq_inits(l->start, l->length, l->end, NULL);
}

static void
end_line(line *l)
{
  mpq_clears(l->start, l->length, l->end, NULL);
}

static bool
is_float(const mpq_t q)
{
  const double number = mpq_get_d(q);
  mpq_t back;
  bool same;

  mpq_init(back);
  mpq_set_d(back, number);
  same = (double)(float)number == number && mpq_equal(back, q);
  mpq_clear(back);
  return same;
}

/* Is q so near a whole number that rounding could put it on the other side? */
static bool
is_near_whole(const mpq_t q)
{
  mpz_t rest;
  bool near;

  mpz_init(rest);
  mpz_mul_2exp(rest, mpq_numref(q), NEAR_BITS);
  mpz_fdiv_q(rest, rest, mpq_denref(q));
  mpz_add_ui(rest, rest, 1);
  mpz_fdiv_r_2exp(rest, rest, NEAR_BITS);
  near = mpz_cmp_ui(rest, 2) <= 0;
  mpz_clear(rest);
  return near;
}

/* How many places a part of the length has: as the node says, or its length rounded up; 0 where rounding could decide that. */
static size_t
count_places(line *l, int64_t ratio)
{
  mpq_t q;
  mpz_t up;
  size_t n = 0;

  if (ratio > 0)
    return (size_t)ratio;
  mpq_init(q);
  mpz_init(up);
  mpq_set_ui(q, 1, l->out);
  mpq_mul(q, q, l->length);
  mpz_cdiv_q(up, mpq_numref(q), mpq_denref(q));
  mpq_add(l->end, l->start, l->length);
  if (!is_near_whole(q) || (mpz_cmp_ui(mpq_denref(q), 1) == 0 && is_float(l->start) && is_float(l->end) && is_float(l->length)))
    n = mpz_cmp_ui(up, MOST_SAMPLED) <= 0 && mpz_sgn(up) > 0 ? mpz_get_ui(up) : 0;
  mpz_clear(up);
  mpq_clear(q);
  return n;
}

/* Where the box begins and how long it is, axis 0 being the height; how many places a part has. */
static void
place_box(line *l, const regions *r, size_t box, size_t axis)
{
  mpq_t q;

  mpq_init(q);
  l->n = r->dims[2 + axis];
  l->out = r->out[axis];
  mpq_set_d(l->start, r->box[4 * box + 1 - axis]);
  mpq_set_d(l->length, r->box[4 * box + 3 - axis]);
  mpq_sub(l->length, l->length, l->start);
  mpq_set_d(q, r->scale);
  mpq_mul(l->start, l->start, q);
  mpq_mul(l->length, l->length, q);
  mpq_set_si(q, 1, 2);
  if (r->half_pixel)
    mpq_sub(l->start, l->start, q);
  else if (mpq_cmp_ui(l->length, 1, 1) < 0)
    mpq_set_ui(l->length, 1, 1);
  l->grid = count_places(l, r->ratio);
  mpq_clear(q);
}

/* What place k of part j takes, times out and 2 grid: shares of the row of n. False where rounding could put it off the image. */
static bool
add_shares(const line *l, size_t j, size_t k, mpq_t *row)
{
  const unsigned long parts = 2 * l->out * l->grid;
  unsigned long low;
  mpq_t at, one;
  mpz_t whole;
  bool decided;

  mpq_inits(at, one, NULL);
  mpz_init(whole);
  mpq_set_ui(one, 2 * (j * l->grid + k) + 1, parts);
  mpq_canonicalize(one);
  mpq_mul(at, l->length, one);
  mpq_add(at, at, l->start);
  decided = !is_near_whole(at) || (mpq_cmp_si(at, -1, 2) > 0 && mpq_cmp_ui(at, 2 * l->n - 1, 2) < 0);
  if (mpq_cmp_si(at, -1, 1) >= 0 && mpq_cmp_ui(at, l->n, 1) <= 0) {
    if (mpq_sgn(at) < 0)
      mpq_set_ui(at, 0, 1);
    if (mpq_cmp_ui(at, l->n - 1, 1) > 0)
      mpq_set_ui(at, l->n - 1, 1);
    mpz_fdiv_q(whole, mpq_numref(at), mpq_denref(at));
    low = mpz_get_ui(whole);
    mpq_set_z(one, whole);
    mpq_sub(at, at, one); /* behind the entry before it */
    mpq_set_ui(one, parts, 1);
    mpq_mul(at, at, one);
    mpq_sub(one, one, at);
    mpq_add(row[low], row[low], one);
    if (mpq_sgn(at) != 0)
      mpq_add(row[low + 1], row[low + 1], at);
  }
  mpz_clear(whole);
  mpq_clears(at, one, NULL);
  return decided;
}

/* Shares of (out, n); false where one is no double, or rounding could decide it. */
static bool
fill_shares(const line *l, double *share)
{
  mpq_t *row = malloc(l->n * sizeof *row), back;
  bool exact = row != NULL;

  mpq_init(back);
  for (size_t i = 0; i < l->n && row != NULL; i++)
    mpq_init(row[i]);
  for (size_t j = 0; j < l->out && exact; j++) {
    for (size_t i = 0; i < l->n; i++)
      mpq_set_ui(row[i], 0, 1);
    for (size_t k = 0; k < l->grid && exact; k++)
      exact = add_shares(l, j, k, row);
    for (size_t i = 0; i < l->n && exact; i++) {
      share[j * l->n + i] = mpq_get_d(row[i]);
      mpq_set_d(back, share[j * l->n + i]);
      exact = mpq_equal(back, row[i]);
    }
  }
  for (size_t i = 0; i < l->n && row != NULL; i++)
    mpq_clear(row[i]);
  free(row);
  mpq_clear(back);
  return exact;
}

/* The value with the box's parts along one axis: from (C, H, W) the matrix is before, or, turned round, behind. */
static size_t
along_axis(clarke_lowering *low, const line *l, size_t value, bool width, clarke_error *err)
{
  const size_t dims[2] = {l->out, l->n};
  const double by = 2 * (double)l->out * (double)l->grid * (double)l->grid;
  size_t shares, divided;

  if (value == CLARKE_NONE || clarke_lower_made(low, 2, dims, &shares, err) != CLARKE_OK)
    return CLARKE_NONE;
  if (!fill_shares(l, low->graph->values[shares].real)) {
    clarke_lower_fail(low, err, "a place is at a border, where rounding decides, or a share of an entry has more digits than a double");
    return CLARKE_NONE;
  }
  if (width)
    shares = clarke_inner_transposed(low, shares, (int64_t[]){1, 0}, 2, err);
  divided = width ? clarke_inner_of(low, "MatMul", value, shares, err) : clarke_inner_of(low, "MatMul", shares, value, err);
  return divided != CLARKE_NONE ? clarke_inner_of(low, "Div", divided, clarke_inner_number(low, by, err), err) : divided;
}

static size_t
align(clarke_lowering *low, const regions *r, size_t box, clarke_error *err)
{
  size_t y = clarke_inner_sliced(low, low->in[0], 0, (size_t)r->sample[box], (size_t)r->sample[box] + 1, err);

  for (size_t axis = 0; axis < 2 && y != CLARKE_NONE; axis++) {
    line l;

    start_line(&l);
    place_box(&l, r, box, axis);
    if (l.grid == 0 || l.grid > MOST_SAMPLED) {
      clarke_lower_fail(low, err, "box %zu has no length, over %d places in a part, or a number of them that rounding decides", box, MOST_SAMPLED);
      y = CLARKE_NONE;
    } else
      y = along_axis(low, &l, y, axis == 1, err);
    end_line(&l);
  }
  return y;
}

static clarke_status
read_regions(regions *r, clarke_lowering *low, clarke_error *err)
{
  const clarke_attr *mode = clarke_model_attr(low->node, "mode"), *where = clarke_model_attr(low->node, "coordinate_transformation_mode");
  const int64_t out[2] = {clarke_lower_int(low, "output_height", 1), clarke_lower_int(low, "output_width", 1)};
  size_t boxes[CLARKE_MAX_WHOLE], n;
  clarke_status status = clarke_lower_constant(low, 1, err);

  if (status == CLARKE_OK)
    status = clarke_lower_integers(low, 2, &r->sample, &n, err);
  if (status != CLARKE_OK)
    return status;
  r->half_pixel = low->opset >= 16 && (where == NULL || strcmp(where->s, "half_pixel") == 0);
  if (mode != NULL && strcmp(mode->s, "avg") != 0)
    return clarke_lower_fail(low, err, "mode is '%.40s'; expected avg", mode->s);
  if (where != NULL && !r->half_pixel && strcmp(where->s, "output_half_pixel") != 0)
    return clarke_lower_fail(low, err, "coordinate_transformation_mode is '%.40s'; expected half_pixel or output_half_pixel", where->s);
  if (clarke_axes_of_run(low, 0, r->dims) != 4 || clarke_axes_of_run(low, 1, boxes) != 2 || boxes[1] != 4 || boxes[0] != n || n == 0
      || n > MOST_BOXES || r->dims[2] == 0 || r->dims[3] == 0)
    return clarke_lower_fail(low, err, "expected images of four axes, and 1 to %d boxes of four numbers, each with an image", MOST_BOXES);
  r->boxes = n;
  r->box = clarke_lower_value(low, 1)->real;
  r->scale = clarke_lower_float(low, "spatial_scale", 1);
  r->ratio = clarke_lower_int(low, "sampling_ratio", 0);
  for (size_t i = 0; i < 2; i++)
    if (out[i] < 1 || out[i] > INT16_MAX || r->ratio < 0)
      return clarke_lower_fail(low, err, "output_height, output_width or sampling_ratio is too small, or too large");
  r->out[0] = (size_t)out[0];
  r->out[1] = (size_t)out[1];
  for (size_t i = 0; i < n; i++)
    if (r->sample[i] < 0 || (uint64_t)r->sample[i] >= r->dims[0])
      return clarke_lower_fail(low, err, "box %zu is of image %lld of %zu", i, (long long)r->sample[i], r->dims[0]);
  return CLARKE_OK;
}

static clarke_status
lower_roi_align(clarke_lowering *low, clarke_error *err)
{
  regions r;
  size_t part[MOST_BOXES];
  clarke_status status = clarke_lower_first(low, err);

  if (status == CLARKE_OK)
    status = clarke_axes_apart(low, 0, 0, err);
  if (status == CLARKE_OK)
    status = read_regions(&r, low, err);
  if (status != CLARKE_OK)
    return status;
  low->graph->values[low->in[1]].bound = true; /* numbers that are read here */
  for (size_t i = 0; i < r.boxes; i++) {
    r.box = clarke_lower_value(low, 1)->real; /* values may move as they are made */
    r.sample = clarke_lower_value(low, 2)->integer;
    if ((part[i] = align(low, &r, i, err)) == CLARKE_NONE)
      return clarke_inner_failed(err);
  }
  return clarke_inner_done(low, 0, clarke_inner_joined(low, part, r.boxes, 0, err), err);
}

#define ROI_ATTRIBUTES "mode:s output_height:i output_width:i sampling_ratio:i spatial_scale:f"

const clarke_op clarke_ops_roi_align[] = {
  {.name = "RoiAlign",
   .forms = {{10, 3, 3, 1, ROI_ATTRIBUTES}, {16, 3, 3, 1, "coordinate_transformation_mode:s " ROI_ATTRIBUTES}},
   .lower = lower_roi_align, .batch = CLARKE_BATCH_ANY},
  {.name = NULL},
};
