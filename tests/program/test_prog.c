/* The program language. Random programs are made together with their values: read, lowered and
 * executed here, instruction by instruction, they must give those; printed, they must mean the same.
 * Literals are compared with MPFR's reading of them. */
#include "program/prog.h"
#include "../suite.h"
#include "exact/literal.h"

#include <mpfr.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* --- reading, printing --------------------------------------------------------------------------- */

static clarke_status
parse(clarke_code *p, const char *text, clarke_error *err)
{
  clarke_code_init(p);
  return clarke_prog_parse(p, text, strlen(text), "t.prog", err);
}

static char *
format(const char *text)
{
  clarke_prog g;
  clarke_error err = { CLARKE_OK, "" };
  char *printed = NULL;
  size_t size;
  FILE *out = open_memstream(&printed, &size);

  clarke_prog_init(&g);
  ck_assert_msg(clarke_prog_read(&g, text, strlen(text), "t.prog", &err) == CLARKE_OK, "%s\n%s",
                text, err.text);
  ck_assert(clarke_prog_print(out, &g));
  fclose(out);
  clarke_prog_clear(&g);
  return printed;
}

static const struct {
  const char *text, *layout;
} layouts[] = {
  { "input   x,y [ 3 ]\noutput((x+1)*2-(-x))/((3))", "input x, y[3]\noutput ((x + 1) * 2 - -x) / 3\n" },
  { "output (a+b)+c-(d-e)*(f*g)/(h/i)", "output a + b + c - (d - e) * (f * g) / (h / i)\n" },
  { "output a-(b+c)+(d*e)+(-(f*g))-(-h)", "output a - (b + c) + d * e + -(f * g) - -h\n" },
  { "output (-a)*b*(-(-c))", "output -a * b * --c\n" },
  { "output (if a<b then (c) else (if d>=e then f else g)) * 2, (if a!=b then 1 else 2)",
    "output (if a < b then c else if d >= e then f else g) * 2, if a != b then 1 else 2\n" },
  { "output ((v)[ 0 ]+(u+v)[1 : 2])[3]", "output (v[0] + (u + v)[1:2])[3]\n" },
  { "output relu{ -1 }( x ),max{hybrid(1/2)} ( a,[ b ,c] ) , max { mean }(x), [1,2][0]",
    "output relu{-1}(x), max{hybrid 1 / 2}(a, [b, c]), max{mean}(x), [1, 2][0]\n" },
  { "piece (if a<b then c else d)if x<1 and(y+1)*2==z",
    "piece if a < b then c else d if x < 1 and (y + 1) * 2 == z\n" },
  { "\n\n#  one \t\n\n\n# two\nlet a = max( # three\n\n  b, # four\n c) # five\n#six\noutput a#seven",
    "#  one\n\n# two\n# three\n# four\nlet a = max(b, c) # five\n#six\noutput a #seven\n" },
  { "output a\r\n# b\r\n\r\n", "output a\n# b\n" },
  { "input t\nlet a = b # of a\nlet c = d", "input t\nlet a = b # of a\nlet c = d\n" },
  { "input t\noutput max(t, # in\nt)", "input t\n# in\noutput max(t, t)\n" },
  { "input t\n\noutput max(t, # in\nt)", "input t\n\n# in\noutput max(t, t)\n" },
  { "", "" },
};

START_TEST(one_layout)
{
  char *printed, *again;

  printed = format(layouts[_i].text);
  again = format(printed);
  ck_assert_str_eq(printed, layouts[_i].layout);
  ck_assert_str_eq(again, printed);
  free(printed);
  free(again);
}
END_TEST

/* --- messages -------------------------------------------------------------------------------------- */

static const struct {
  const char *text, *place, *says, *line;
} errors[] = {
  { "input x\noutput max(x, y)", "2:15", "unknown name 'y'", "output max(x, y)\n              ^" },
  { "input x, yellow\noutput yelow", "2:8", "did you mean yellow?", NULL },
  { "input x\noutput maxx(x)", "2:8", "did you mean max?", NULL },
  { "input x\noutput zebra(x)", "2:8", "unknown function 'zebra'", NULL },
  { "input x\noutput relu", "2:8", "'relu' is a function", NULL },
  { "input x\nlet x = 1\noutput x", "2:5", "bound already, in line 1", NULL },
  { "input sort\noutput 1", "1:7", "'sort' is a function", NULL },
  { "input then\noutput 1", "1:7", "a word of the language", NULL },
  { "input x[2]\noutput\tx[2]", "2:10", "expected 0 to 1", "output\tx[2]\n      \t  ^" },
  { "input x[2]\noutput x[-1]", "2:10", "out of range", NULL },
  { "input x[2]\noutput x[1/2]", "2:10", "no integer", NULL },
  { "input x[2]\noutput x[1:1]", "2:12", "expected 2 to 2", NULL },
  { "input x\noutput x[0]", "2:9", "a scalar has no entries", NULL },
  { "input x[2], y[3]\noutput x + y", "2:10", "a vector of 2 beside a vector of 3", NULL },
  { "input x[2]\noutput if x < 1 then 1 else 2", "2:11", "takes a scalar", NULL },
  { "input x[2]\noutput if x[0] < 1 then x else [1, 2, 3]", "2:8", "a vector of 2 beside", NULL },
  { "input x\noutput x / (1/2 - 0.5)", "2:10", "division by zero", NULL },
  { "input x\noutput [1, 2] / [1, 0]", "2:15", "division by zero", NULL },
  { "input x\noutput exp(x, x)", "2:8", "exp takes one argument, but 2 are given", NULL },
  { "input x\noutput relu()", "2:8", "relu takes 1 argument, but 0 are given", NULL },
  { "input x\noutput clamp(x, 1)", "2:8", "clamp takes 3 arguments, but 2 are given", NULL },
  { "input x\noutput clamp(x, 1, 1)", "2:8", "lower bound below", NULL },
  { "input x\noutput hardtanh(x, 1, 2, 3)", "2:8", "1 argument and up to 2 more", NULL },
  { "input x\noutput leaky_relu(x, x)", "2:22", "not constant", NULL },
  { "input x\noutput kth(3, x, x)", "2:12", "from 1 to 2", NULL },
  { "input x\noutput kth(1)", "2:8", "a rank and one or more", NULL },
  { "input x\noutput dot(x)", "2:8", "dot takes two vectors", NULL },
  { "input x\noutput max()", "2:8", "one or more arguments", NULL },
  { "input x\noutput relu{mean}(x)", "2:13", "relu takes a number, left or right", NULL },
  { "input x\noutput max{1}(x)", "2:11", "first, last, stable, mean or hybrid B", NULL },
  { "input x\noutput sum{1}(x)", "2:11", "no proxy to override", NULL },
  { "input x\noutput x,\n", "2:10", "but the line ends", NULL },
  { "input x\noutput (x", "2:10", "but the text ends", NULL },
  { "input x\noutput x x", "2:10", "end of the line, but found 'x'", NULL },
  { "input x\noutput 1 + if x < 1 then 1 else 2", "2:12", "in parentheses", NULL },
  { "input x\noutput if x = 1 then 1 else 2", "2:13", "expected '=='", NULL },
  { "input x\noutput if x < 1 then 1", "2:23", "expected 'else'", NULL },
  { "x = 1", "1:1", "expected a statement", NULL },
  { "input x\nlet y = 1", "2:10", "no output", NULL },
  { "", "1:1", "no output", NULL },
  { "input x", "1:8", "no output", NULL },
  { "input x\r\noutput x x\r\n", "2:10", "end of the line", "output x x\n" },
  { "output 1", "1:1", "no input", NULL },
  { "input x\noutput x\noutput x", "3:1", "an output already, in line 2", NULL },
  { "input x\noutput x, x\npiece x", "3:1", "single output, but the program has 2", NULL },
  { "input x[2]\noutput x[0]\npiece x", "3:7", "takes a scalar", NULL },
  { "input x[0]\noutput 1", "1:9", "from 1 on", NULL },
  { "input x[1/2]\noutput 1", "1:10", "expected ']'", NULL },
  { "input x\noutput 1e5000", "2:8", "is no number", NULL },
  { "input x\noutput 65520h", "2:8", "is no number", NULL },
  { "input x\noutput x ! 1", "2:10", "'!='", NULL },
  { "input x\noutput x ^ 2", "2:10", "'^' is not used", NULL },
  { "input x\noutput x\001", "2:9", "byte 0x01", "output x?\n        ^" },
  { "input x\noutput x # \xc3\xa9\xff", "2:13", "byte 0xff is not text", NULL },
};

START_TEST(messages)
{
  clarke_code p;
  clarke_error err = { CLARKE_OK, "" };
  char start[64];

  snprintf(start, sizeof start, "t.prog:%s: ", errors[_i].place);
  ck_assert_msg(parse(&p, errors[_i].text, &err) != CLARKE_OK, "accepted: %s", errors[_i].text);
  ck_assert_msg(strncmp(err.text, start, strlen(start)) == 0, "%s\n%s", errors[_i].text, err.text);
  ck_assert_msg(strstr(err.text, errors[_i].says) != NULL, "%s\n%s", errors[_i].text, err.text);
  if (errors[_i].line != NULL)
    ck_assert_msg(strstr(err.text, errors[_i].line) != NULL, "%s", err.text);
  ck_assert(p.n == 0 && p.file == NULL);
  clarke_code_clear(&p);
  ck_assert(parse(&p, errors[_i].text, NULL) == err.code);
  clarke_code_clear(&p);
}
END_TEST

START_TEST(nul_is_no_text)
{
  clarke_code p;
  clarke_error err = { CLARKE_OK, "" };

  clarke_code_init(&p);
  ck_assert(clarke_prog_parse(&p, "input x\0\noutput x", 17, "t.prog", &err) == CLARKE_EINPUT);
  ck_assert_ptr_nonnull(strstr(err.text, "t.prog:1:8: byte 0x00"));
  clarke_code_clear(&p);
}
END_TEST

/* A long line is shown around its column, the caret under it. */
START_TEST(long_lines_are_cut)
{
  clarke_code p;
  clarke_error err = { CLARKE_OK, "" };
  char text[4096] = "input x\noutput x";
  const char *line, *caret;

  for (size_t k = 0; k < 300; k++)
    strcat(text, k == 150 ? " + why" : " + x");
  ck_assert(parse(&p, text, &err) == CLARKE_EINPUT);
  line = strchr(err.text, '\n') + 1;
  caret = strchr(line, '\n') + 1;
  ck_assert_uint_lt((size_t)(caret - line), 110);
  ck_assert_int_eq(strncmp(line + (strchr(caret, '^') - caret), "why", 3), 0);
  clarke_code_clear(&p);
}
END_TEST

/* --- limits ----------------------------------------------------------------------------------------- */

/* A text made of parts, each repeated. */
static char *
repeated(const char *first, ...)
{
  char *text = calloc(1, 1 << 20);
  size_t n = 0;
  va_list list;

  va_start(list, first);
  for (const char *part = first; part != NULL; part = va_arg(list, const char *))
    for (int times = va_arg(list, int); times > 0; times--) {
      memcpy(text + n, part, strlen(part));
      n += strlen(part);
    }
  va_end(list);
  return text;
}

static void
require_limit(char *text, const char *says)
{
  clarke_code p;
  clarke_error err = { CLARKE_OK, "" };
  clarke_status status = parse(&p, text, &err);

  if (says == NULL) {
    ck_assert_msg(status == CLARKE_OK, "%s", err.text);
  } else {
    ck_assert_int_ne(status, CLARKE_OK);
    ck_assert_msg(strstr(err.text, says) != NULL, "%s", err.text);
  }
  clarke_code_clear(&p);
  free(text);
}

START_TEST(limits)
{
  char *doubling = repeated("input x\nlet a = [x, x]\n", 1, NULL);
  char *squaring = repeated("input x\nlet a = 9e4000\n", 1, NULL);
  size_t n = strlen(doubling), m = strlen(squaring);

  require_limit(repeated("input x\noutput ", 1, "(", 199, "x", 1, ")", 199, NULL), NULL);
  require_limit(repeated("input x\noutput ", 1, "(", 200, "x", 1, ")", 200, NULL), "deeper than 200");
  require_limit(repeated("input x\noutput ", 1, "-", 198, "x", 1, NULL), NULL);
  require_limit(repeated("input x\noutput ", 1, "-", 199, "x", 1, NULL), "deeper than 200");
  require_limit(repeated("input x[1]\noutput x", 1, "[0:1]", 199, NULL), "deeper than 200");
  require_limit(repeated("input x[1]\noutput x", 1, "[0:1]", 198, NULL), NULL);
  require_limit(repeated("input x\noutput ", 1, "if x < 1 then 0 else ", 300, "x", 1, NULL),
                "deeper than 200");
  require_limit(repeated("input x\noutput x", 1, " + x * 2", 20000, NULL), NULL);
  require_limit(repeated("input x[2000000]\nlet y = x * 2", 1, NULL), "instructions");
  require_limit(repeated("input x[3000000]", 1, NULL), "the limit is 2097152 (--limit instructions=N raises it)");
  require_limit(repeated("input x[2000]\noutput sort(x)", 1, NULL), "arguments");
  require_limit(repeated("input x\noutput x", 1, " + 1 / 7e4000", 40000, NULL), "words in all");
  for (char c = 'a'; c < 'z'; c++) {
    n += (size_t)sprintf(doubling + n, "let %c = [%c, %c]\n", c + 1, c, c);
    m += (size_t)sprintf(squaring + m, "let %c = %c * %c\n", c + 1, c, c);
  }
  require_limit(doubling, "the limit is 2097152 (--limit instructions=N raises it)");
  require_limit(squaring, "bits");
}
END_TEST

START_TEST(size_limit)
{
  const size_t size = clarke_limit_of(CLARKE_LIMIT_TEXT) + 1;
  char *text = malloc(size);
  clarke_code p;

  memset(text, ' ', size);
  clarke_code_init(&p);
  ck_assert_int_eq(clarke_prog_parse(&p, text, size, "t.prog", NULL), CLARKE_ENOMEM);
  free(text);
  clarke_code_clear(&p);
}
END_TEST

/* --- what an instruction is --------------------------------------------------------------------------- */

START_TEST(instructions)
{
  static const clarke_do kinds[] = {
    CLARKE_DO_INPUT, CLARKE_DO_INPUT, CLARKE_DO_INPUT, /* x[0], x[1], y */
    CLARKE_DO_LINEAR, CLARKE_DO_LINEAR,     /* 2 * x */
    CLARKE_DO_PRODUCT, CLARKE_DO_PRODUCT,   /* x * y */
    CLARKE_DO_CONSTANT, CLARKE_DO_QUOTIENT, /* y / 3 */
    CLARKE_DO_LINEAR, CLARKE_DO_CONSTANT, CLARKE_DO_QUOTIENT, /* mean */
    CLARKE_DO_PIECEWISE, CLARKE_DO_PIECEWISE, CLARKE_DO_LINEAR, /* norm1 */
    CLARKE_DO_PIECEWISE, CLARKE_DO_PIECEWISE, CLARKE_DO_ORDER,  /* norminf */
    CLARKE_DO_NORM, CLARKE_DO_ORDER, CLARKE_DO_ORDER, /* norm2, sort */
    CLARKE_DO_ELU, CLARKE_DO_ANALYTIC, CLARKE_DO_BRANCH,
  };
  clarke_code p;
  clarke_error err = { CLARKE_OK, "" };

  ck_assert_msg(parse(&p, "input x[2], y\noutput [2 * x,\n  x * y, y / 3, mean(x), norm1{1/2}(x),"
                          " norminf{last}(x), normpool(x), sort{hybrid 3}(x), elu{right}(y, 2),"
                          " sin(y), if x[0] < y then y else x[1]]", &err) == CLARKE_OK,
                "%s", err.text);
  ck_assert_uint_eq(p.n, sizeof kinds / sizeof kinds[0]);
  for (size_t i = 0; i < p.n; i++)
    ck_assert_msg(p.instruction[i].kind == kinds[i], "instruction %zu", i);
  for (size_t i = 1; i < p.n; i++) {
    const bool together = i == 1 || i == 4 || i == 6 || i == 13 || i == 16 || i == 20;

    ck_assert_int_eq(p.instruction[i].group == p.instruction[i - 1].group, together);
  }
  ck_assert(p.instruction[3].line == 2 && p.instruction[3].column == 11);
  ck_assert(p.instruction[5].line == 3 && p.instruction[5].column == 5);
  ck_assert(p.instruction[12].proxy.given && p.instruction[12].proxy.kind == CLARKE_PROXY_VALUE);
  ck_assert(mpq_cmp_ui(p.instruction[13].proxy.value, 1, 2) == 0);
  ck_assert(!p.instruction[15].proxy.given && p.instruction[17].proxy.tie == CLARKE_TIE_LAST);
  ck_assert(p.instruction[19].rank == 2 && p.instruction[20].rank == 1);
  ck_assert(p.instruction[20].proxy.tie == CLARKE_TIE_FIRST
            && mpq_cmp_ui(p.instruction[20].proxy.value, 3, 1) == 0);
  ck_assert(p.instruction[21].proxy.kind == CLARKE_PROXY_RIGHT);
  ck_assert_str_eq(p.instruction[17].op->name, "Max");
  ck_assert_str_eq(p.instruction[19].op->name, "Sort");
  ck_assert(p.output_vector && p.n_outputs == 14 && p.input[0].vector && !p.input[1].vector);
  clarke_code_clear(&p);
}
END_TEST

START_TEST(pieces_and_headers)
{
  static const char text[] = "#: claim  B-1 \n# no\ninput x # no\n#:\noutput x #: no\n"
                             "piece x if x < 0 and x != 3\npiece 2\n#:end";
  clarke_prog g;
  clarke_code p;
  clarke_prog_header header[8];

  clarke_prog_init(&g);
  clarke_code_init(&p);
  ck_assert_int_eq(clarke_prog_read(&g, text, sizeof text - 1, "d/t.prog", NULL), CLARKE_OK);
  ck_assert_uint_eq(clarke_prog_headers(header, 8, &g), 3);
  ck_assert(header[0].line == 1 && header[0].length == 10
            && strncmp(header[0].text, "claim  B-1", 10) == 0);
  ck_assert(header[1].line == 4 && header[1].length == 0);
  ck_assert(header[2].line == 8 && strncmp(header[2].text, "end", 3) == 0);
  ck_assert_int_eq(clarke_prog_lower(&p, &g, NULL), CLARKE_OK);
  ck_assert_str_eq(p.file, "t.prog");
  ck_assert(p.n_pieces == 2 && p.piece[0].n_conditions == 2 && p.piece[1].n_conditions == 0);
  ck_assert(p.piece[0].condition[1].relation == CLARKE_NE && p.piece[0].line == 6);
  ck_assert(!p.output_vector && p.n_outputs == 1 && p.output[0] == 0);
  clarke_code_clear(&p);
  clarke_prog_clear(&g);
}
END_TEST

/* --- points --------------------------------------------------------------------------------------------- */

static const struct {
  const char *text, *says; /* says NULL: fine */
} points[] = {
  { "v=1,-1/3, 0.5", NULL },
  { "x=0x1p-3", NULL },
  { "v=1,2", "input 'v' has 3 entries, but 2 are given" },
  { "x=1,2", "input 'x' has 1 entry, but 2 are given" },
  { "x=", "is no number" },
  { "x=1f f", "is no number" },
  { "z=1", "no input 'z': the inputs are v[3], x" },
  { "x", "expected NAME=VALUE" },
  { "y=1,x=2", "no input 'y'" },
  { "v=1,x=2", "input 'v' has 3 entries, but 1 is given" },
  { ",x=2", "no input ',x'" },
};

/* Several inputs at once, in any order; each keeps its own values. */
START_TEST(points_of_several_inputs)
{
  static const struct {
    const char *text, *says;
  } all[] = {
    { "v=1,-1/3,0.5,x=1/8", NULL }, { "x=0x1p-3, v=1,-1/3, 0.5", NULL }, { "x=1/8,v=1,-1/3,0.5,x=1/8", "input 'x' is given twice" },
    { "v=1,-1/3,0.5,x=", "is no number" }, { "v=1,-1/3,0.5,=2", "no input ''" }, { "x=1/8,v=1,2", "input 'v' has 3 entries, but 2 are given" },
    { "x=1/8,", "input 'x' has 1 entry, but 2 are given" }, { "x==1/8", "is no number" }, { "x=1/8,v=1,-1/3,y=2", "input 'v' has 3 entries" },
  };
  clarke_code p;
  mpq_t at[4];

  for (size_t k = 0; k < 4; k++)
    mpq_init(at[k]);
  ck_assert_int_eq(parse(&p, "input v[3], x\noutput x", NULL), CLARKE_OK);
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    clarke_error err = { CLARKE_OK, "" };
    bool given[2] = { false, false };
    const clarke_status status = clarke_point_parse(at, given, &p, all[i].text, &err);

    ck_assert_msg((status == CLARKE_OK) == (all[i].says == NULL), "%s: %s", all[i].text, err.text);
    if (all[i].says != NULL)
      ck_assert_msg(strstr(err.text, all[i].says) != NULL, "%s", err.text);
    else
      ck_assert(given[0] && given[1] && mpq_cmp_si(at[0], 1, 1) == 0 && mpq_cmp_si(at[1], -1, 3) == 0 && mpq_cmp_si(at[2], 1, 2) == 0
                && mpq_cmp_si(at[3], 1, 8) == 0);
  }
  for (size_t k = 0; k < 4; k++)
    mpq_clear(at[k]);
  clarke_code_clear(&p);
}
END_TEST

START_TEST(points_of_programs)
{
  clarke_code p;
  clarke_error err = { CLARKE_OK, "" };
  bool given[2] = { false, false };
  mpq_t at[4];

  for (size_t k = 0; k < 4; k++)
    mpq_init(at[k]);
  ck_assert_int_eq(parse(&p, "input v[3], x\noutput x", &err), CLARKE_OK);
  if (points[_i].says == NULL) {
    ck_assert_int_eq(clarke_point_parse(at, given, &p, points[_i].text, &err), CLARKE_OK);
    ck_assert(given[0] != given[1] && given[0] == (points[_i].text[0] == 'v'));
    if (given[0])
      ck_assert(mpq_cmp_si(at[0], 1, 1) == 0 && mpq_cmp_si(at[1], -1, 3) == 0
                && mpq_cmp_si(at[2], 1, 2) == 0 && mpq_sgn(at[3]) == 0);
    else
      ck_assert(mpq_cmp_si(at[3], 1, 8) == 0 && mpq_sgn(at[0]) == 0);
    ck_assert_int_eq(clarke_point_parse(at, given, &p, points[_i].text, &err), CLARKE_EINPUT);
    ck_assert_ptr_nonnull(strstr(err.text, "given twice"));
  } else {
    ck_assert_int_eq(clarke_point_parse(at, given, &p, points[_i].text, &err), CLARKE_EINPUT);
    ck_assert_msg(strstr(err.text, points[_i].says) != NULL, "%s", err.text);
    ck_assert(!given[0] && !given[1]);
  }
  for (size_t k = 0; k < 4; k++)
    mpq_clear(at[k]);
  clarke_code_clear(&p);
}
END_TEST

/* --- literals --------------------------------------------------------------------------------------------- */

static const struct {
  const char *text, *value; /* value NULL: refused */
} literals[] = {
  { "3", "3" }, { "-1/3", "-1/3" }, { "+2/4", "1/2" }, { "0.1", "1/10" }, { "1e-3", "1/1000" },
  { "-.5", "-1/2" }, { "5.", "5" }, { "1.5E+2", "150" }, { "0x10", "16" }, { "0x1.8p-4", "3/32" },
  { "0XaP1", "20" }, { "0x1f", "31" }, { "0.1f", "13421773/134217728" }, { "0.1h", "819/8192" },
  { "0.1d", "3602879701896397/36028797018963968" }, { "65519.99h", "65504" }, { "1e-60f", "0" },
  { "0x1p-149f", "1/713623846352979940529142984724747568191373312" }, { "-0", "0" },
  { "0x1.99999ap-4", "13421773/134217728" }, { "2049h", "2048" }, { "2051h", "2052" },
  { "", NULL }, { "-", NULL }, { ".", NULL }, { "1/0", NULL }, { "1/2f", NULL }, { "1.5/2", NULL },
  { "1e", NULL }, { "1e5000", NULL }, { "0x", NULL }, { "0x1p5000", NULL }, { "1 ", NULL },
  { " 1", NULL }, { "65520h", NULL }, { "1e39f", NULL }, { "1e309d", NULL }, { "1ff", NULL },
  { "inf", NULL }, { "nan", NULL }, { "--1", NULL }, { "1/-2", NULL }, { "1_0", NULL },
  { "0x1p-3g", NULL }, { "0b1", NULL }, { "1e1e1", NULL }, { "1e+-1", NULL },
};

START_TEST(literals_by_hand)
{
  mpq_t value, expected;

  mpq_inits(value, expected, NULL);
  ck_assert_msg(clarke_literal_parse(value, literals[_i].text) == (literals[_i].value != NULL), "%s",
                literals[_i].text);
  if (literals[_i].value != NULL) {
    mpq_set_str(expected, literals[_i].value, 10);
    ck_assert_msg(mpq_equal(value, expected), "%s", literals[_i].text);
  }
  mpq_clears(value, expected, NULL);
}
END_TEST

static uint64_t state = 20260301;

static unsigned
below(unsigned n)
{
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(state >> 33) % n;
}

/* The format's number nearest to the decimal text, by MPFR; false when infinite. */
static bool
by_mpfr(mpq_t value, const char *text, long bits, long lowest, long top)
{
  mpfr_exp_t low = mpfr_get_emin(), high = mpfr_get_emax();
  mpfr_t x;
  int inexact;
  bool finite;

  mpfr_init2(x, bits);
  mpfr_set_emin(lowest + 1);
  mpfr_set_emax(top);
  inexact = mpfr_strtofr(x, text, NULL, 10, MPFR_RNDN);
  mpfr_subnormalize(x, inexact, MPFR_RNDN);
  mpfr_set_emin(low);
  mpfr_set_emax(high);
  finite = mpfr_number_p(x) != 0;
  if (finite)
    mpfr_get_q(value, x);
  mpfr_clear(x);
  return finite;
}

START_TEST(literals_by_mpfr)
{
  static const struct {
    char suffix;
    long bits, lowest, top, exponents;
  } formats[] = { { 'h', 11, -24, 16, 9 }, { 'f', 24, -149, 128, 48 }, { 'd', 53, -1074, 1024, 330 } };
  mpq_t value, expected;

  mpq_inits(value, expected, NULL);
  for (size_t f = 0; f < 3; f++)
    for (size_t k = 0; k < 4000; k++) {
      char text[60], with[64];
      const long e = (long)below(2 * (unsigned)formats[f].exponents) - formats[f].exponents;
      bool finite;

      snprintf(text, sizeof text, "%s%u.%0*ue%ld", below(2) ? "-" : "", below(10000),
               1 + (int)below(9), below(1000000000), e);
      snprintf(with, sizeof with, "%s%c", text, formats[f].suffix);
      finite = by_mpfr(expected, text, formats[f].bits, formats[f].lowest, formats[f].top);
      ck_assert_msg(clarke_literal_parse(value, with) == finite, "%s", with);
      ck_assert_msg(!finite || mpq_equal(value, expected), "%s", with);
    }
  mpq_clears(value, expected, NULL);
}
END_TEST

/* Halfway between neighbours: to the even one, exactly. */
START_TEST(literal_ties)
{
  mpq_t value;

  mpq_init(value);
  for (unsigned long m = 2048; m < 4096; m++) {
    char text[32];
    const unsigned long even = m % 2 == 0 ? m : (m + 1) % 4 == 0 ? m + 1 : m - 1;

    snprintf(text, sizeof text, "%luh", m);
    ck_assert(clarke_literal_parse(value, text));
    ck_assert_msg(mpq_cmp_ui(value, even, 1) == 0, "%s", text);
  }
  mpq_clear(value);
}
END_TEST

/* --- random programs --------------------------------------------------------------------------------------- */

#define MOST 8

/* A value with the text of it. */
typedef struct {
  bool vector;
  size_t n;
  mpq_t v[MOST];
} val;

static FILE *text;
static mpq_t input_value[4]; /* x, u[3] */

static void make_sum(val *v, unsigned depth, bool vector);

static void
val_init(val *v)
{
  v->vector = false;
  v->n = 1;
  for (size_t k = 0; k < MOST; k++)
    mpq_init(v->v[k]);
}

static void
val_clear(val *v)
{
  for (size_t k = 0; k < MOST; k++)
    mpq_clear(v->v[k]);
}

static void
blanks(void)
{
  if (below(3) == 0)
    fputs(below(2) ? " " : "\t ", text);
}

/* a becomes a OPERATOR b. */
static void
apply(val *a, char operator, val *b)
{
  const size_t n = a->vector ? a->n : b->n;

  for (size_t k = n; k-- > 0;) {
    mpq_t *x = &a->v[a->vector ? k : 0], *y = &b->v[b->vector ? k : 0];

    (operator == '+' ? mpq_add : operator == '-' ? mpq_sub : operator == '*' ? mpq_mul
                                                                             : mpq_div)(a->v[k], *x, *y);
  }
  a->n = n;
  a->vector = a->vector || b->vector;
}

static void
make_number(val *v)
{
  const unsigned a = below(6), b = below(100);

  fprintf(text, "%u.%02u", a, b);
  mpq_set_ui(v->v[0], 100 * a + b, 100);
  mpq_canonicalize(v->v[0]);
}

static int
by_value(const void *a, const void *b)
{
  return mpq_cmp(*(const mpq_t *)a, *(const mpq_t *)b);
}

static void
clamp(mpq_t x, long lo, long hi)
{
  if (mpq_cmp_si(x, lo, 1) < 0)
    mpq_set_si(x, lo, 1);
  if (mpq_cmp_si(x, hi, 1) > 0)
    mpq_set_si(x, hi, 1);
}

/* The function of a list of three or four numbers. */
static void
make_list_call(val *v, unsigned depth)
{
  static const char *const names[] = { "sum(", "mean(", "max{last}(", "min(", "kth{mean}(2, ",
                                       "median(", "norm1{0}(", "norminf(", "dot(", "maxpool(" };
  const unsigned which = below(10);
  val other;

  val_init(&other);
  fputs(names[which], text);
  make_sum(v, depth, true);
  fputc(',', text);
  make_sum(&other, depth, which == 8);
  fputc(')', text);
  if (which == 8) {
    apply(v, '*', &other);
  } else if (v->n < MOST) {
    mpq_set(v->v[v->n++], other.v[0]);
  }
  for (size_t k = 0; k < v->n && (which == 6 || which == 7); k++)
    mpq_abs(v->v[k], v->v[k]);
  if (which == 0 || which == 1 || which == 6 || which == 8) {
    for (size_t k = 1; k < v->n; k++)
      mpq_add(v->v[0], v->v[0], v->v[k]);
    mpq_set_ui(other.v[0], which == 1 ? v->n : 1, 1);
    mpq_div(v->v[0], v->v[0], other.v[0]);
  } else {
    qsort(v->v, v->n, sizeof v->v[0], by_value);
    mpq_set(v->v[0], v->v[which == 3 ? 0 : which == 4 ? v->n - 2 : which == 5 ? (v->n - 1) / 2
                                                                            : v->n - 1]);
  }
  v->vector = false;
  v->n = 1;
  val_clear(&other);
}

static void
make_pointwise(val *v, unsigned depth, bool vector)
{
  const unsigned which = below(5);
  static const char *const names[] = { "relu(", "abs{1/2}(", "relu6{left}(", "clamp(", "leaky_relu(" };

  fputs(names[which], text);
  make_sum(v, depth, vector);
  fputs(which == 3 ? ", -2, 3)" : which == 4 ? ", 1/4)" : ")", text);
  for (size_t k = 0; k < v->n; k++) {
    if (which == 1)
      mpq_abs(v->v[k], v->v[k]);
    else if (which == 4 && mpq_sgn(v->v[k]) < 0)
      mpq_div_2exp(v->v[k], v->v[k], 2);
    else if (which == 0 && mpq_sgn(v->v[k]) < 0)
      mpq_set_ui(v->v[k], 0, 1);
    else if (which == 2)
      clamp(v->v[k], 0, 6);
    else if (which == 3)
      clamp(v->v[k], -2, 3);
  }
}

static void
make_if(val *v, unsigned depth, bool vector)
{
  static const char *const relations[] = { "<", "<=", ">", ">=", "==", "!=" };
  const unsigned which = below(6);
  val left, right, other;
  int sign;

  val_init(&left);
  val_init(&right);
  val_init(&other);
  fputs("(if ", text);
  make_sum(&left, depth, false);
  fputs(relations[which], text);
  make_sum(&right, depth, false);
  fputs(" then ", text);
  make_sum(v, depth, vector);
  fputs(" else ", text);
  make_sum(&other, depth, vector);
  fputc(')', text);
  sign = mpq_cmp(left.v[0], right.v[0]);
  if (!(which == 0 ? sign < 0 : which == 1 ? sign <= 0 : which == 2 ? sign > 0
        : which == 3 ? sign >= 0 : which == 4 ? sign == 0 : sign != 0))
    for (size_t k = 0; k < MOST; k++)
      mpq_set(v->v[k], other.v[k]);
  val_clear(&left);
  val_clear(&right);
  val_clear(&other);
}

/* [SUM, SUM, SUM], or the input u. */
static void
make_vector(val *v, unsigned depth)
{
  v->vector = true;
  v->n = 3;
  if (depth == 0 || below(2) == 0) {
    fputs("u", text);
    for (size_t k = 0; k < 3; k++)
      mpq_set(v->v[k], input_value[1 + k]);
    return;
  }
  for (size_t k = 0; k < 3; k++) {
    val entry;

    val_init(&entry);
    fputs(k == 0 ? "[" : ",", text);
    make_sum(&entry, depth - 1, false);
    mpq_set(v->v[k], entry.v[0]);
    val_clear(&entry);
  }
  fputc(']', text);
}

/* Entry k of a vector, of its slice from 1, or of the sorted vector. */
static void
make_entry(val *v, unsigned depth)
{
  const unsigned how = below(3), k = how == 1 ? 1 + below(2) : below(3);

  fputs(how == 2 ? "sort(" : "(", text);
  make_sum(v, depth, true);
  fprintf(text, how == 1 ? ")[1:3][%u]" : ")[%u]", how == 1 ? k - 1 : k);
  if (how == 2)
    qsort(v->v, v->n, sizeof v->v[0], by_value);
  mpq_swap(v->v[0], v->v[k]);
  v->vector = false;
  v->n = 1;
}

static void
make_primary(val *v, unsigned depth, bool vector)
{
  if (depth > 0 && below(3) == 0) {
    fputc('(', text);
    make_sum(v, depth - 1, vector);
    fputc(')', text);
  } else if (depth > 0 && below(3) == 0) {
    make_if(v, depth - 1, vector);
  } else if (depth > 0 && below(3) == 0) {
    make_pointwise(v, depth - 1, vector);
  } else if (vector) {
    make_vector(v, depth);
  } else if (depth > 0 && below(3) == 0) {
    make_entry(v, depth - 1);
  } else if (depth > 0 && below(2) == 0) {
    make_list_call(v, depth - 1);
  } else if (below(2) == 0) {
    fputs("x", text);
    mpq_set(v->v[0], input_value[0]);
  } else {
    make_number(v);
  }
}

static void
make_factor(val *v, unsigned depth, bool vector)
{
  const unsigned minuses = below(6) == 0 ? 1 + below(2) : 0;

  for (unsigned k = 0; k < minuses; k++)
    fputc('-', text);
  make_primary(v, depth, vector);
  for (size_t k = 0; k < v->n && minuses % 2 == 1; k++)
    mpq_neg(v->v[k], v->v[k]);
}

static void
make_term(val *v, unsigned depth, bool vector)
{
  make_factor(v, depth, vector);
  while (below(3) == 0) {
    val other;

    val_init(&other);
    blanks();
    if (below(3) == 0) {
      fputs("/ 4", text);
      mpq_set_ui(other.v[0], 4, 1);
      apply(v, '/', &other);
    } else {
      fputc('*', text);
      make_factor(&other, depth, vector && below(2));
      apply(v, '*', &other);
    }
    val_clear(&other);
  }
}

static void
make_sum(val *v, unsigned depth, bool vector)
{
  blanks();
  make_term(v, depth, vector);
  while (below(3) == 0) {
    const char operator = below(2) ? '+' : '-';
    val other;

    val_init(&other);
    blanks();
    fputc(operator, text);
    make_term(&other, depth, vector && below(2));
    apply(v, operator, &other);
    val_clear(&other);
  }
}

/* Instruction i's value, those before it known. */
static void
execute(mpq_t *value, const clarke_code *p, size_t i)
{
  const clarke_instruction *d = &p->instruction[i];
  mpq_t product, *sorted = malloc((d->n_in + 1) * sizeof *sorted);
  size_t piece = 0;

  mpq_init(product);
  switch (d->kind) {
  case CLARKE_DO_INPUT:
    mpq_set(value[i], input_value[i]);
    break;
  case CLARKE_DO_CONSTANT:
    mpq_set(value[i], d->coef[0]);
    break;
  case CLARKE_DO_LINEAR:
    mpq_set(value[i], d->coef[d->n_in]);
    for (size_t k = 0; k < d->n_in; k++) {
      mpq_mul(product, d->coef[k], value[d->in[k]]);
      mpq_add(value[i], value[i], product);
    }
    break;
  case CLARKE_DO_PRODUCT:
    mpq_mul(value[i], value[d->in[0]], value[d->in[1]]);
    break;
  case CLARKE_DO_QUOTIENT:
    mpq_div(value[i], value[d->in[0]], value[d->in[1]]);
    break;
  case CLARKE_DO_PIECEWISE:
    while (piece < d->pieces->n_kinks && mpq_cmp(value[d->in[0]], d->pieces->kink[piece]) > 0)
      piece++;
    mpq_mul(value[i], d->pieces->coef[piece][1], value[d->in[0]]);
    mpq_add(value[i], value[i], d->pieces->coef[piece][0]);
    break;
  case CLARKE_DO_ORDER:
    for (size_t k = 0; k < d->n_in; k++)
      memcpy(sorted[k], value[d->in[k]], sizeof sorted[k]);
    qsort(sorted, d->n_in, sizeof *sorted, by_value);
    mpq_set(value[i], sorted[d->n_in - d->rank]);
    break;
  case CLARKE_DO_BRANCH:
    mpq_set(value[i], value[d->in[clarke_relation_holds(
                        d->relation, mpq_cmp(value[d->in[0]], value[d->in[1]])) ? 2 : 3]]);
    break;
  default:
    ck_abort_msg("instruction of kind %d", (int)d->kind);
  }
  mpq_clear(product);
  free(sorted);
}

static void
require_value(const char *source, val *v)
{
  clarke_code p;
  clarke_error err = { CLARKE_OK, "" };
  mpq_t *value;

  ck_assert_msg(parse(&p, source, &err) == CLARKE_OK, "%s\n%s", source, err.text);
  ck_assert_uint_eq(p.n_outputs, v->n);
  ck_assert(p.output_vector == v->vector);
  value = malloc(p.n * sizeof *value);
  for (size_t i = 0; i < p.n; i++) {
    mpq_init(value[i]);
    execute(value, &p, i);
  }
  for (size_t k = 0; k < v->n; k++)
    ck_assert_msg(mpq_equal(value[p.output[k]], v->v[k]), "%s", source);
  for (size_t i = 0; i < p.n; i++)
    mpq_clear(value[i]);
  free(value);
  clarke_code_clear(&p);
}

START_TEST(random_programs)
{
  for (size_t k = 0; k < 4; k++) {
    mpq_init(input_value[k]);
    mpq_set_si(input_value[k], (long)below(19) - 9, 1 + below(4));
    mpq_canonicalize(input_value[k]);
  }
  for (size_t round = 0; round < 1500; round++) {
    const bool vector = below(2);
    char *source = NULL, *printed;
    size_t size;
    val v;

    val_init(&v);
    text = open_memstream(&source, &size);
    fputs("input x, u[3]\noutput ", text);
    make_sum(&v, 1 + below(3), vector);
    fclose(text);
    printed = format(source);
    require_value(source, &v);
    require_value(printed, &v);
    ck_assert(strlen(printed) < 2 * size);
    free(printed);
    free(source);
    val_clear(&v);
  }
  for (size_t k = 0; k < 4; k++)
    mpq_clear(input_value[k]);
}
END_TEST

#define COUNT(array) (int)(sizeof array / sizeof array[0])

int
main(void)
{
  TCase *tc = tests_of("prog");

  tcase_add_loop_test(tc, one_layout, 0, COUNT(layouts));
  tcase_add_loop_test(tc, messages, 0, COUNT(errors));
  tcase_add_test(tc, nul_is_no_text);
  tcase_add_test(tc, long_lines_are_cut);
  tcase_add_test(tc, limits);
  tcase_add_test(tc, size_limit);
  tcase_add_test(tc, instructions);
  tcase_add_test(tc, pieces_and_headers);
  tcase_add_loop_test(tc, points_of_programs, 0, COUNT(points));
  tcase_add_test(tc, points_of_several_inputs);
  tcase_add_loop_test(tc, literals_by_hand, 0, COUNT(literals));
  tcase_add_test(tc, literals_by_mpfr);
  tcase_add_test(tc, literal_ties);
  tcase_add_test(tc, random_programs);
  return run_tests();
}
