/* clarke cost --svg: bars of what each layer, or each elementary function of a program, costs forward and backward. */
#include "cost_report.h"

#include "base/output.h"
#include "derive_svg.h"

#include <stdlib.h>

#define LEFT 230.0
#define WIDTH 520.0
#define ROW 26.0
#define TOP 40.0

/* The two lengths of a row, in what is counted. */
typedef struct {
  const char *name;
  mpz_t forward, backward;
} bar;

static void
put_bar(FILE *out, double y, const mpz_t n, const mpz_t most, const char *colour)
{
  const double share = mpz_sgn(most) > 0 ? mpz_get_d(n) / mpz_get_d(most) : 0;

  fputs("<rect x=\"", out);
  clarke_svg_pixel(out, LEFT);
  fputs("\" y=\"", out);
  clarke_svg_pixel(out, y);
  fputs("\" width=\"", out);
  clarke_svg_pixel(out, WIDTH * share);
  fprintf(out, "\" height=\"9\" fill=\"%s\"/>\n<text x=\"", colour);
  clarke_svg_pixel(out, LEFT + WIDTH * share + 4);
  fputs("\" y=\"", out);
  clarke_svg_pixel(out, y + 8);
  gmp_fprintf(out, "\" font-size=\"9\">%Zd</text>\n", n);
}

static void
put_row(FILE *out, size_t i, const bar *b, const mpz_t most)
{
  const double y = TOP + ROW * (double)i;

  fputs("<text x=\"6\" y=\"", out);
  clarke_svg_pixel(out, y + 13);
  fputs("\" font-size=\"11\">", out);
  clarke_svg_text(out, b->name);
  fputs("</text>\n", out);
  put_bar(out, y, b->forward, most, "#2a6f97");
  put_bar(out, y + 10, b->backward, most, "#e07a5f");
}

static void
put_picture(FILE *out, const char *name, const char *title, const bar *row, size_t n)
{
  mpz_t most;

  mpz_init(most);
  for (size_t i = 0; i < n; i++) {
    if (mpz_cmp(row[i].forward, most) > 0)
      mpz_set(most, row[i].forward);
    if (mpz_cmp(row[i].backward, most) > 0)
      mpz_set(most, row[i].backward);
  }
  fprintf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"880\" height=\"%zu\" font-family=\"sans-serif\">\n"
               "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n<text x=\"6\" y=\"20\" font-size=\"13\">",
          (size_t)(TOP + ROW * (double)n + 10));
  clarke_svg_text(out, name);
  fprintf(out, ": %s</text>\n", title);
  for (size_t i = 0; i < n; i++)
    put_row(out, i, &row[i], most);
  fputs("</svg>\n", out);
  mpz_clear(most);
}

/* Layers that multiply; the functions of a program, each with its price at 1. */
static size_t
fill(bar *row, const clarke_cost_report *r)
{
  const clarke_network_cost *c = &r->session.cost;
  const clarke_count *count = &r->session.count;
  size_t n = 0;

  for (size_t i = 0; r->session.network && i < c->n; i++) {
    clarke_layer_products(row[n].forward, &c->layer[i]);
    if (mpz_sgn(row[n].forward) == 0)
      continue;
    row[n].name = c->layer[i].name;
    clarke_layer_flop(row[n].forward, &c->layer[i], true);
    clarke_layer_flop_backward(row[n++].backward, &c->layer[i], CLARKE_PARAMETERS_ALONE, true);
  }
  for (size_t i = 0; !r->session.network && i < count->n; i++) {
    clarke_operations o;

    row[n].name = count->row[i].what.name;
    clarke_elementary_backward(&o, &count->row[i].what);
    for (int k = 0; k < CLARKE_N_OPERATIONS; k++) {
      mpz_addmul_ui(row[n].forward, count->row[i].times, count->row[i].what.cost.of[k]);
      mpz_addmul_ui(row[n].backward, count->row[i].times, o.of[k]);
    }
    n++;
  }
  return n;
}

clarke_status
clarke_cost_svg(const clarke_cost_report *r, const char *path, clarke_error *err)
{
  const size_t most = (r->session.network ? r->session.cost.n : r->session.count.n) + 1;
  bar *row = calloc(most, sizeof *row);
  clarke_output file;
  clarke_status status = row != NULL ? clarke_output_open(&file, path, err) : clarke_no_memory(err);

  if (status == CLARKE_OK) {
    for (size_t i = 0; i < most; i++)
      mpz_inits(row[i].forward, row[i].backward, NULL);
    put_picture(file.to, r->session.name,
                r->session.network ? "floating-point operations of layers, forward (blue) and backward (red)"
                                   : "operations of functions, cost(g) (blue) and in backward mode (red)", row, fill(row, r));
    for (size_t i = 0; i < most; i++)
      mpz_clears(row[i].forward, row[i].backward, NULL);
    status = clarke_output_close(&file, status, path, err);
  }
  free(row);
  return status;
}
