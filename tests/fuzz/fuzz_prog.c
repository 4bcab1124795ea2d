/* Programs. What is accepted is printed, read and printed again: the same text; and both mean the
 * same instructions, their places aside. */
#include "program/prog.h"
#include "mutate.h"
#include "target.h"

MUTATED_AS(mutate_text)

static char *
print(const clarke_prog *g, size_t *size)
{
  char *text = NULL;
  FILE *out = open_memstream(&text, size);

  REQUIRE(out != NULL);
  REQUIRE(clarke_prog_print(out, g));
  REQUIRE(fclose(out) == 0);
  return text;
}

static void
require_same_pieces(const clarke_pieces *a, const clarke_pieces *b)
{
  REQUIRE((a == NULL) == (b == NULL));
  if (a == NULL)
    return;
  REQUIRE(a->n_kinks == b->n_kinks && a->first_kink == b->first_kink);
  for (size_t k = 0; k < a->n_kinks; k++)
    REQUIRE(mpq_equal(a->kink[k], b->kink[k]));
  for (size_t k = 0; k <= a->n_kinks; k++)
    for (size_t c = 0; c < 3; c++)
      REQUIRE(mpq_equal(a->coef[k][c], b->coef[k][c]));
}

static void
require_same_instruction(const clarke_instruction *a, const clarke_instruction *b, size_t place)
{
  REQUIRE(a->kind == b->kind && a->n_in == b->n_in && a->n_coef == b->n_coef);
  for (size_t k = 0; k < a->n_in; k++)
    REQUIRE(a->in[k] == b->in[k] && a->in[k] < place);
  for (size_t k = 0; k < a->n_coef; k++)
    REQUIRE(mpq_equal(a->coef[k], b->coef[k]));
  REQUIRE(a->function == b->function && a->op == b->op && a->rank == b->rank);
  REQUIRE(a->relation == b->relation && a->group == b->group);
  REQUIRE(a->proxy.given == b->proxy.given && a->proxy.kind == b->proxy.kind);
  REQUIRE(a->proxy.tie == b->proxy.tie && mpq_equal(a->proxy.value, b->proxy.value));
  REQUIRE(a->line > 0 && a->column > 0);
  require_same_pieces(a->pieces, b->pieces);
}

static void
require_same_piece(const clarke_piece *a, const clarke_piece *b)
{
  REQUIRE(a->value == b->value && a->n_conditions == b->n_conditions);
  for (size_t k = 0; k < a->n_conditions; k++)
    REQUIRE(a->condition[k].left == b->condition[k].left
            && a->condition[k].right == b->condition[k].right
            && a->condition[k].relation == b->condition[k].relation);
}

static void
require_same_program(const clarke_code *a, const clarke_code *b)
{
  REQUIRE(a->n == b->n && a->n_inputs == b->n_inputs && a->n_outputs == b->n_outputs);
  REQUIRE(a->output_vector == b->output_vector && a->n_pieces == b->n_pieces);
  REQUIRE(a->n_inputs > 0 && a->n_outputs > 0);
  for (size_t i = 0; i < a->n; i++)
    require_same_instruction(&a->instruction[i], &b->instruction[i], i);
  for (size_t i = 0; i < a->n_inputs; i++)
    REQUIRE(strcmp(a->input[i].name, b->input[i].name) == 0 && a->input[i].n == b->input[i].n
            && a->input[i].first == b->input[i].first && a->input[i].vector == b->input[i].vector);
  for (size_t i = 0; i < a->n_outputs; i++)
    REQUIRE(a->output[i] == b->output[i] && a->output[i] < a->n);
  for (size_t i = 0; i < a->n_pieces; i++)
    require_same_piece(&a->piece[i], &b->piece[i]);
}

/* Lowered alike, or refused alike. */
static void
require_same_meaning(const clarke_prog *g, const clarke_prog *again)
{
  clarke_code a, b;
  clarke_error err = { CLARKE_OK, "" };
  clarke_status status;

  clarke_code_init(&a);
  clarke_code_init(&b);
  status = clarke_prog_lower(&a, g, &err);
  REQUIRE(clarke_prog_lower(&b, again, NULL) == status);
  if (status == CLARKE_OK) {
    require_same_program(&a, &b);
  } else {
    require_refusal(status, &err, "fuzzed.prog:");
    REQUIRE(a.n == 0 && a.instruction == NULL);
  }
  clarke_code_clear(&a);
  clarke_code_clear(&b);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  clarke_prog g, again;
  clarke_error err = { CLARKE_OK, "" };
  clarke_status status;
  size_t n[2];

  clarke_prog_init(&g);
  clarke_prog_init(&again);
  status = clarke_prog_read(&g, data, size, "fuzzed.prog", &err);
  if (status == CLARKE_OK) {
    char *text = print(&g, &n[0]), *second;

    REQUIRE(clarke_prog_read(&again, text, n[0], "again.prog", &err) == CLARKE_OK);
    second = print(&again, &n[1]);
    REQUIRE(n[0] == n[1] && memcmp(text, second, n[0]) == 0);
    REQUIRE(clarke_prog_headers(NULL, 0, &g) <= g.n_comments);
    require_same_meaning(&g, &again);
    free(text);
    free(second);
  } else {
    require_refusal(status, &err, "fuzzed.prog:");
    REQUIRE(g.node == NULL && g.text == NULL);
  }
  clarke_prog_clear(&g);
  clarke_prog_clear(&again);
  return 0;
}
