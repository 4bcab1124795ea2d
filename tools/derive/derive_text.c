/* The report of clarke derive for a person. */
#include <stdio.h> /* before GMP, for its printing */

#include "derive_report.h"
#include "program/ieee.h"

#include <string.h>

/* The rest of a longer list is counted: --json has all of it. */
#define SHOWN ((size_t)24)
/* A fraction longer than this is shown as ~ and a decimal near it. */
#define LONG ((size_t)32)

/* A number, or when its fraction is long, about what it is. */
static void
print_number(FILE *out, const char *text)
{
  mpq_t x;

  if (strlen(text) <= LONG) {
    fputs(text, out);
    return;
  }
  mpq_init(x);
  if (mpq_set_str(x, text, 10) == 0)
    fprintf(out, "~%.10g", mpq_get_d(x));
  else
    fputs(text, out);
  mpq_clear(x);
}

/* Prints a row; of more than SHOWN numbers, the first. */
static void
print_row(FILE *out, char *const *x, size_t n)
{
  size_t shown = n <= SHOWN ? n : SHOWN / 4;

  fputc('(', out);
  for (size_t j = 0; j < shown; j++) {
    fputs(j > 0 ? ", " : "", out);
    print_number(out, x[j]);
  }
  if (shown < n)
    fprintf(out, ", ... %zu in all", n);
  fputc(')', out);
}

void
clarke_vector_print(FILE *out, const clarke_vectors *v, size_t row, const clarke_derive_text *t)
{
  char *const *x = &v->text[row * v->dim];
  bool matrix = t->rows && v->dim == t->n_outputs * t->width;
  size_t height = matrix ? t->n_outputs : 1, width = v->dim / height;
  size_t shown = height <= SHOWN ? height : SHOWN / 4;

  if (v->dim == 1 && !matrix) {
    print_number(out, x[0]);
    return;
  }
  fputs(matrix ? "[" : "", out);
  for (size_t i = 0; i < shown; i++) {
    fputs(i > 0 ? ", " : "", out);
    print_row(out, x + i * width, width);
  }
  if (shown < height)
    fprintf(out, ", ... %zu rows in all", height);
  fputs(matrix ? "]" : "", out);
}

static void
print_list(const clarke_vectors *v, const clarke_derive_text *t)
{
  for (size_t i = 0; i < v->n && i < SHOWN; i++) {
    fputs(i > 0 ? ", " : "", stdout);
    clarke_vector_print(stdout, v, i, t);
  }
  if (v->n > SHOWN)
    printf(", ... (%zu in all; --json lists them)", v->n);
}

/* A finite set. */
static void
print_set(const char *label, const clarke_vectors *v, const clarke_derive_text *t)
{
  printf("%-15s{", label);
  print_list(v, t);
  puts("}");
}

/* The convex hull of vertices; of two numbers, an interval. */
static void
print_hull(const char *label, const clarke_vectors *v, const clarke_derive_text *t)
{
  printf("%-15s", label);
  if (v->n == 2 && v->dim == 1 && !t->rows) {
    putchar('[');
    print_number(stdout, v->text[0]);
    fputs(", ", stdout);
    print_number(stdout, v->text[1]);
    puts("]");
  } else {
    fputs(v->n > 1 ? "conv {" : "{", stdout);
    print_list(v, t);
    puts("}");
  }
}

static void
print_vector(const char *label, const clarke_vectors *v, const clarke_derive_text *t)
{
  printf("%-15s", label);
  clarke_vector_print(stdout, v, 0, t);
  putchar('\n');
}

/* --- the parts -------------------------------------------------------------------------------- */

static void
print_strings(char *const *x, size_t n, const char *between)
{
  for (size_t i = 0; i < n; i++)
    printf("%s%s", i > 0 ? between : "", x[i]);
}

static void
print_kink(const clarke_touched_text *k)
{
  printf("%s: ", k->node);
  if (k->several && k->n_slopes > 0) {
    printf("arguments ");
    print_strings(k->slope, k->n_slopes, ", ");
    printf(" (from 0) are all %s, AD weighs them ", k->argument);
    print_strings(k->proxy, k->n_proxies, ", ");
  } else if (k->several) {
    printf("all arguments are 0, AD takes (");
    print_strings(k->proxy, k->n_proxies, ", ");
    putchar(')');
  } else if (strcmp(k->slope[0], "then") == 0)
    printf("both sides of the comparison are %s, the branch taken is `%s`", k->argument,
           k->proxy[0]);
  else
    printf("argument %s, slopes %s on the left and %s on the right, AD takes %s", k->argument,
           k->slope[0], k->slope[1], k->proxy[0]);
  putchar('\n');
}

static void
print_touched(const clarke_derive_text *t, bool executed)
{
  if (t->n_touched == 0)
    printf("%-15s%s\n", "touched", executed ? "none" : "not known");
  for (size_t i = 0; i < t->n_touched && i < SHOWN; i++) {
    printf("%-15s", i == 0 ? "touched" : "");
    print_kink(&t->touched[i]);
  }
  if (t->n_touched > SHOWN)
    printf("%-15s... (%zu in all; --json lists them)\n", "", t->n_touched);
}

static void
print_sets(const clarke_derivation *d, const clarke_derive_text *t)
{
  if (d->zone == CLARKE_ZONE_REGULAR && t->bouligand.known) {
    printf("%-15sAD's output: it is the one element of the Bouligand, Clarke and conservative "
           "sets\n", "gradient");
    return;
  }
  if (t->bouligand.known)
    print_set("Bouligand", &t->bouligand, t);
  else {
    printf("%-15snot known wholly%s%s\n", "Bouligand",
           d->patterns.why[0] != '\0'           ? ": "
           : clarke_patterns_enclose(&d->patterns) ? ": a norm of zeros takes every unit vector for its derivative"
                                                   : "",
           d->patterns.why);
    if (t->realized.n > 0)
      print_set("  proved", &t->realized, t);
  }
  if (t->clarke.known)
    print_hull("Clarke", &t->clarke, t);
  if (t->conservative.known)
    print_hull("conservative", &t->conservative, t);
  else if (d->conservative.known && !d->conservative.singleton)
    printf("%-15smore than one element (its corners are too many to list)\n", "conservative");
  else
    printf("%-15snot known\n", "conservative");
  if (t->least.known)
    print_vector("least norm", &t->least, t);
}

static void
print_declared(const clarke_representation *r, const clarke_derive_text *t)
{
  static const char *const answer[] = {"yes", "NO", "not known"};

  if (!r->declared)
    return;
  printf("%-15s%s%s%s\n", "pieces", answer[r->answer],
         r->why[0] != '\0' ? ": " : r->answer == CLARKE_REPRESENTS ? ": they represent it" : "",
         r->why);
  if (t->selection.known)
    print_hull("selection", &t->selection, t);
  else
    printf("%-15snot known\n", "selection");
  if (t->associated.known)
    print_vector("associated", &t->associated, t);
}

static void
print_floats(const clarke_derive_text *t)
{
  for (size_t f = 0; f < 4; f++) {
    const clarke_float_text *r = &t->rounded[f];

    if (!r->asked)
      continue;
    printf("%-15svalue ", clarke_ieee_name((clarke_ieee)f));
    clarke_vector_print(stdout, &r->value, 0, t);
    printf(", AD ");
    clarke_vector_print(stdout, &r->ad, 0, t);
    puts(r->agrees == CLARKE_YES  ? ", the exact AD"
         : r->agrees == CLARKE_NO ? ", NOT the exact AD"
                                  : "");
  }
}

static bool
any_long(const clarke_vectors *v)
{
  for (size_t i = 0; i < v->n * v->dim; i++)
    if (strlen(v->text[i]) > LONG)
      return true;
  return false;
}

static void
print_verdict(const clarke_derivation *d)
{
  static const char *const sentence[] = {
    "AD's output is an element of the Bouligand subdifferential: a limit of true gradients at "
    "points that approach this one.",
    "AD's output is an element of the Clarke subdifferential: a convex combination of limits of "
    "true gradients.",
    "AD's output is NOT an element of the Clarke subdifferential.",
    "Whether AD's output is a generalized derivative was not decided.",
  };

  printf("\n%s: %s\n", clarke_verdict_name(d->verdict), sentence[d->verdict]);
  if (d->why[0] != '\0')
    printf("Reason: %s.\n", d->why);
}

void
clarke_derive_print_text(const clarke_derivation *d, const clarke_derive_text *t)
{
  static const char *const answer[] = {"yes", "no", "not known"};

  if (t->value.known)
    print_vector("value", &t->value, t);
  if (t->ad.known)
    print_vector("AD", &t->ad, t);
  print_floats(t);
  print_touched(t, d->execution.live != NULL);
  putchar('\n');
  print_sets(d, t);
  print_declared(&d->representation, t);
  printf("%-15s%s\n%-15s%s\n", "differentiable", answer[d->differentiable], "zone",
         clarke_zone_name(d->zone));
  if (d->convex)
    printf("%-15syes: so Clarke's subdifferential is the convex one, of all g with F(y) >= F(w) + <g, y - w> for each y\n", "convex");
  print_verdict(d);
  if (any_long(&t->value) || any_long(&t->ad))
    puts("(~ is near a fraction too long to show: --json has them all.)");
}
