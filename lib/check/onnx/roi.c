/* RoiAlign (docs/operators.md, "Operators that are others"): each part of a box is a mean over places, each of which takes shares of the
 * four entries around it. */
#include "check/onnx/roi.h"
#include "check/base/allocate.h"
#include "check/onnx/inner.h"

#include <string.h>

#define MOST_BOXES 1024
#define MOST_PLACES 256 /* of a part, along an axis */

static const unsigned near_bits = 12; /* nearer than 2^-12 to where it changes, rounding could decide */

/* What each part takes along an axis, (parts, n). */
typedef struct {
  size_t n, parts;
  rational *share;
} shares;

/* Floats have the number exactly. */
static bool
is_float(const rational *q)
{
  size_t digits = mpz_sizeinbase(mpq_numref(q), 2) - mpz_scan1(mpq_numref(q), 0);
  return mpq_sgn(q) == 0 || (mpz_popcount(mpq_denref(q)) == 1 && digits <= 24);
}

/* How far q is from the nearest whole number, below 2^-12? */
static bool
is_close(const rational *q)
{
  RATIONAL(rest);
  RATIONAL(bound);
  mpz_fdiv_r(mpq_numref(&rest), mpq_numref(q), mpq_denref(q));
  mpz_set(mpq_denref(&rest), mpq_denref(q));
  mpq_canonicalize(&rest);
  mpq_set_ui(&bound, 1, 1);
  mpq_div_2exp(&bound, &bound, near_bits);
  bool low = mpq_cmp(&rest, &bound) <= 0;
  mpq_sub(&bound, &plus_one, &bound);
  return low || mpq_cmp(&rest, &bound) >= 0;
}

/* Places of a part: the node's number, or the part's length rounded up. */
static size_t
places_of(const builder *b, const rational *from, const rational *to, const rational *length, size_t parts)
{
  long ratio = whole_attribute(b, "sampling_ratio", 0);
  RATIONAL(q);
  need(ratio >= 0 && ratio <= MOST_PLACES, "a sampling_ratio below 0, or too large");
  if (ratio > 0)
    return (size_t)ratio;
  mpq_set_ui(&q, 1, parts);
  mpq_mul(&q, &q, length);
  need(!is_close(&q) || (mpz_cmp_ui(mpq_denref(&q), 1) == 0 && is_float(from) && is_float(to) && is_float(length)),
       "rounding decides how many places a part has");
  mpz_cdiv_q(mpq_numref(&q), mpq_numref(&q), mpq_denref(&q));
  need(mpz_sgn(mpq_numref(&q)) > 0 && mpz_cmp_ui(mpq_numref(&q), MOST_PLACES) <= 0,
       "a box without length, or too long");
  return mpz_get_ui(mpq_numref(&q));
}

/* What lies at a place: nothing beyond -1 and n, the border's entry beyond the image, and between two entries shares of both. */
static void
share_out(const builder *b, rational *at, size_t n, const rational *weight, rational *share)
{
  RATIONAL(whole);
  RATIONAL(part);
  bool inside = mpq_cmp_si(at, -1, 2) > 0 && mpq_cmp_ui(at, 2 * n - 1, 2) < 0;
  need(inside || !is_close(at), "a place at the border, where rounding decides");
  if (mpq_cmp_si(at, -1, 1) < 0 || mpq_cmp_ui(at, n, 1) > 0)
    return;
  if (mpq_sgn(at) < 0)
    mpq_set_ui(at, 0, 1);
  if (mpq_cmp_ui(at, n - 1, 1) >= 0)
    mpq_set_ui(at, n - 1, 1);
  mpz_fdiv_q(mpq_numref(&whole), mpq_numref(at), mpq_denref(at));
  size_t first = mpz_get_ui(mpq_numref(&whole));
  mpq_sub(&part, at, &whole);
  mpq_mul(&part, &part, weight);
  mpq_add(&share[first], &share[first], weight);
  mpq_sub(&share[first], &share[first], &part);
  if (first + 1 < n)
    mpq_add(&share[first + 1], &share[first + 1], &part);
}

/* Axis 0 is the height: of box numbers x, y, x', y'. */
static shares
shares_along(const builder *b, const value *boxes, size_t box, size_t axis, size_t n, size_t parts)
{
  bool half =
      b->opset >= 16 && strcmp(text_attribute(b, "coordinate_transformation_mode", "half_pixel"), "half_pixel") == 0;
  shares s = {n, parts, rationals(n * parts)};
  RATIONAL(from);
  RATIONAL(to);
  RATIONAL(length);
  RATIONAL(scale);
  RATIONAL(at);
  RATIONAL(weight);
  real_attribute(b, "spatial_scale", &scale, 1);
  mpq_mul(&from, &boxes->constant->value[boxes->map[4 * box + 1 - axis]], &scale);
  mpq_mul(&to, &boxes->constant->value[boxes->map[4 * box + 3 - axis]], &scale);
  mpq_set_si(&at, 1, 2);
  if (half) {
    mpq_sub(&from, &from, &at);
    mpq_sub(&to, &to, &at);
  }
  mpq_sub(&length, &to, &from);
  if (!half && mpq_cmp_ui(&length, 1, 1) < 0) {
    mpq_set_ui(&length, 1, 1);
    mpq_add(&to, &from, &length);
  }
  size_t many = places_of(b, &from, &to, &length, parts);
  mpq_set_ui(&weight, 1, many);
  for (size_t k = 0; k < parts * many; k++) { /* in the middle of each place */
    mpq_set_ui(&at, 2 * k + 1, 2 * parts * many);
    mpq_canonicalize(&at);
    mpq_mul(&at, &at, &length);
    mpq_add(&at, &at, &from);
    share_out(b, &at, n, &weight, s.share + k / many * n);
  }
  return s;
}

/* The image's parts along its axis 0 or 1, the others as they are. */
static value
averaged(builder *b, const value *image, size_t axis, const shares *s)
{
  size_t dims[4], behind = axis == 0 ? image->dims[3] : 1;
  memcpy(dims, image->dims, sizeof dims);
  dims[2 + axis] = s->parts;
  step *made = add_step(b, LINEAR, s->n, 4, dims);
  for (size_t f = 0; f < made->n; f++) {
    size_t part = f / behind % s->parts, first = f / behind / s->parts * s->n;
    for (size_t i = 0; i < s->n; i++) {
      const rational *share = &s->share[part * s->n + i];
      if (mpq_sgn(share) != 0)
        operand(b, made, f * s->n + i, image, (first + i) * behind + f % behind)->coef = share;
      else
        made->sources[f * s->n + i].step = PADDING;
    }
  }
  value y = b->out;
  y.name = "";
  y.at = image->at;
  y.inner = image->inner;
  y.shared = image->shared;
  return y;
}

void
lower_boxes(builder *b)
{
  const value *x = &b->in[0], *boxes = &b->in[1], *of = &b->in[2];
  const char *where = text_attribute(b, "coordinate_transformation_mode", "half_pixel");
  long height = whole_attribute(b, "output_height", 1), width = whole_attribute(b, "output_width", 1);
  need(x->rank == 4 && !on_batch(b, x, 0) && x->count > 0, "its images have not four axes, or are samples apart");
  need(boxes->constant != NULL && boxes->constant->real && !is_odd(boxes) && boxes->rank == 2 && boxes->dims[1] == 4
           && boxes->dims[0] > 0 && boxes->dims[0] <= MOST_BOXES && !boxes->negated,
       "its boxes are no constant rows of four numbers");
  need(strcmp(text_attribute(b, "mode", "avg"), "avg") == 0
           && (strcmp(where, "half_pixel") == 0 || strcmp(where, "output_half_pixel") == 0),
       "another mode than avg, or other coordinates");
  need(height > 0 && width > 0 && height <= INT16_MAX && width <= INT16_MAX, "an output of no parts, or too many");
  size_t n = boxes->dims[0];
  long *image = allocate(n, sizeof *image);
  need(of->rank == 1 && whole_list_within(b, 2, "", image, n) == n, "not an image for each box");
  boxes->constant->number = true;
  value *all = allocate(n, sizeof *all);
  for (size_t i = 0; i < n; i++) {
    need(image[i] >= 0 && (size_t)image[i] < x->dims[0], "an image that is not there");
    long to = image[i] + 1, along = 0;
    value y = inner_node(b, "Slice", 4,
                         (value[]){*x, list_of(b, 1, &image[i]), list_of(b, 1, &to), list_of(b, 1, &along)}, NULL);
    shares rows = shares_along(b, boxes, i, 0, x->dims[2], (size_t)height);
    shares columns = shares_along(b, boxes, i, 1, x->dims[3], (size_t)width);
    y = averaged(b, &y, 1, &columns);
    all[i] = averaged(b, &y, 0, &rows);
  }
  b->out = inner_node(b, "Concat", n, all, inner_whole("axis", 0));
}

static tensor
word(const char *name, const char *text)
{
  tensor t = *inner_whole(name, 0);
  t.text = allocate(strlen(text) + 1, 1);
  memcpy(t.text, text, strlen(text));
  return t;
}

void
lower_upsample(builder *b)
{
  const tensor *given = find_attribute(b, "scales");
  const char *mode = text_attribute(b, "mode", "nearest");
  need(b->opset < 10, "an operator that ends before the model's operator set");
  need(strcmp(mode, "nearest") == 0 || strcmp(mode, "linear") == 0, "another mode than nearest and linear");
  value scales = b->in[1], none = made_numbers(b, 1, (size_t[]){0});
  if (given != NULL) {
    scales = made_numbers(b, 1, &given->count);
    for (size_t i = 0; i < given->count; i++)
      mpq_set(&scales.constant->value[i], &given->value[i]);
  }
  need(given != NULL || has_input(b, 1), "no scales");
  tensor attributes[3] = {word("mode", mode), word("coordinate_transformation_mode", "asymmetric"),
                          word("nearest_mode", "floor")};
  b->out = inner_node_of(b, "Resize", 3, (value[]){b->in[0], none, scales}, 3, attributes);
}
