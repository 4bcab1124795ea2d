#include "reproduce_result.h"
#include "base/output.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void
clarke_result_init(clarke_result *result)
{
  memset(result, 0, sizeof *result);
  clarke_points_init(&result->points, 0);
}

void
clarke_result_clear(clarke_result *result)
{
  free(result->text);
  clarke_numbers_free(result->x, result->n);
  clarke_points_clear(&result->points);
  clarke_result_init(result);
}

clarke_status
clarke_result_word(clarke_result *result, const char *text, clarke_error *err)
{
  result->kind = CLARKE_RESULT_WORD;
  result->text = strdup(text);
  return result->text != NULL ? CLARKE_OK : clarke_no_memory(err);
}

clarke_status
clarke_result_truth(clarke_result *result, clarke_truth a, clarke_error *err)
{
  return clarke_result_word(result, a == CLARKE_YES ? "yes" : a == CLARKE_NO ? "no" : "unknown", err);
}

/* n numbers to a stream: bare when there is one; rows of width in parentheses within parentheses
 * when there are several rows. */
static clarke_status
put_numbers(FILE *out, const clarke_number *x, size_t n, size_t width, bool rows, clarke_error *err)
{
  bool bare = n == 1 && !rows;

  fputs(bare ? "" : "(", out);
  for (size_t i = 0; i < n; i++) {
    char *text = clarke_number_text(&x[i]);

    if (text == NULL)
      return clarke_no_memory(err);
    fputs(i > 0 ? ", " : "", out);
    fputs(rows && i % width == 0 ? "(" : "", out);
    fputs(text, out);
    fputs(rows && (i + 1) % width == 0 ? ")" : "", out);
    free(text);
  }
  fputs(bare ? "" : ")", out);
  return CLARKE_OK;
}

/* Ends the text, which becomes the result's. */
static clarke_status
take_text(clarke_result *result, clarke_text *t, clarke_status status, clarke_error *err)
{
  status = clarke_text_close(t, status, err);
  if (status == CLARKE_OK) {
    result->text = t->text;
    t->text = NULL;
  }
  clarke_text_clear(t);
  return status;
}

clarke_status
clarke_result_numbers(clarke_result *result, clarke_number *x, size_t n, size_t width, clarke_error *err)
{
  clarke_text text;
  clarke_status status;

  result->kind = CLARKE_RESULT_NUMBERS;
  result->x = x;
  result->n = x != NULL ? n : 0;
  status = x != NULL ? clarke_text_open(&text, err) : clarke_no_memory(err);
  if (status != CLARKE_OK)
    return status;
  status = put_numbers(text.to, x, n, width, width > 0 && n > width, err);
  return take_text(result, &text, status, err);
}

clarke_status
clarke_result_count(clarke_result *result, size_t n, clarke_error *err)
{
  clarke_number *x = clarke_numbers(1);

  if (x != NULL)
    clarke_number_set_si(x, (long)n);
  return clarke_result_numbers(result, x, 1, 0, err);
}

static clarke_number *
from_rationals(mpq_t *q, size_t n)
{
  clarke_number *x = clarke_numbers(n);

  for (size_t i = 0; x != NULL && i < n; i++)
    clarke_number_set_q(&x[i], q[i]);
  return x;
}

clarke_status
clarke_result_rationals(clarke_result *result, mpq_t *q, size_t n, size_t width, clarke_error *err)
{
  return clarke_result_numbers(result, from_rationals(q, n), n, width, err);
}

clarke_status
clarke_result_set(clarke_result *result, const clarke_points *s, size_t width, clarke_error *err)
{
  bool interval = s->dim == 1 && s->n == 2;
  clarke_text text;
  clarke_status status = clarke_text_open(&text, err);

  if (status != CLARKE_OK)
    return status;
  result->kind = CLARKE_RESULT_SET;
  result->dim = s->dim;
  fputs(interval ? "[" : "{", text.to);
  for (size_t i = 0; i < s->n && status == CLARKE_OK; i++) {
    clarke_number *x = from_rationals(s->entry + i * s->dim, s->dim);

    fputs(i > 0 ? ", " : "", text.to);
    status = x != NULL ? put_numbers(text.to, x, s->dim, width, width > 0 && s->dim > width, err) : clarke_no_memory(err);
    clarke_numbers_free(x, s->dim);
  }
  fputs(interval ? "]" : "}", text.to);
  status = take_text(result, &text, status, err);
  if (status != CLARKE_OK)
    return status;
  clarke_points_clear(&result->points);
  clarke_points_init(&result->points, s->dim);
  return clarke_points_set(&result->points, s->n, s->entry, err);
}

/* By the fewest digits that read back as itself. */
static void
put_double(FILE *out, double v)
{
  char text[32] = "0";

  for (int digits = 1; v != 0 && digits <= 17; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, v);
    if (strtod(text, NULL) == v)
      break;
  }
  fputs(text, out);
}

clarke_status
clarke_result_doubles(clarke_result *result, const double *v, size_t n, size_t width, clarke_error *err)
{
  bool rows = width > 0 && n > width;
  clarke_text text;
  clarke_status status;
  mpq_t q;

  for (size_t i = 0; i < n; i++)
    if (!isfinite(v[i]))
      return clarke_result_word(result, "not finite", err);
  result->kind = CLARKE_RESULT_NUMBERS;
  result->x = clarke_numbers(n);
  result->n = result->x != NULL ? n : 0;
  status = result->x != NULL ? clarke_text_open(&text, err) : clarke_no_memory(err);
  if (status != CLARKE_OK)
    return status;
  mpq_init(q);
  fputs(n == 1 ? "" : "(", text.to);
  for (size_t i = 0; i < n; i++) {
    mpq_set_d(q, v[i]);
    clarke_number_set_q(&result->x[i], q);
    fputs(i > 0 ? ", " : "", text.to);
    fputs(rows && i % width == 0 ? "(" : "", text.to);
    put_double(text.to, v[i]);
    fputs(rows && (i + 1) % width == 0 ? ")" : "", text.to);
  }
  fputs(n == 1 ? "" : ")", text.to);
  mpq_clear(q);
  return take_text(result, &text, status, err);
}
