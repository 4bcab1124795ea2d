/* clarke explain: the words of reports, in others. */
#include "command.h"
#include "explain_kink.h"

#include "glossary_words.h"

#include <argp.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_WORDS (sizeof words / sizeof words[0])
#define WIDTH 78

typedef struct {
  int n;
  char **asked;
  const char *report;
} request;

#define OPTION_OF 'f'

static const struct argp_option options[] = {
  {"of", OPTION_OF, "FILE.json", 0, "an answer as JSON, with its touched kinks: explain these", 0},
  CLARKE_OPTION_OF_LIMIT,
  {NULL, 0, NULL, 0, NULL, 0},
};

static char doc[] = "Says what words of the reports mean, as docs/glossary.md does; and of an operator what each framework takes at its "
                    "kinks, and among equal entries, and since which version. Without a word, which there are. With --of a word is a touched kink: "
                    "LAYER, LAYER,NEURON or LAYER,NEURON,SAMPLE; without one, all."
                    "\vExample:\n"
                    "  clarke explain in-bouligand\n"
                    "  clarke explain relu maxpool\n"
                    "  clarke explain proxy profile\n"
                    "  clarke explain conv1,3,17 --of answer.json\n\n"
                    "Exit status: 0 all were explained, 2 one is neither in the glossary nor such an operator.";

static error_t
parse(int key, char *arg, struct argp_state *state)
{
  static const clarke_shared_options shared = {.output = NULL};
  request *r = state->input;

  if (clarke_take_shared(key, arg, state, &shared))
    return 0;
  if (key == ARGP_KEY_ARG)
    r->asked[r->n++] = arg;
  else if (key == OPTION_OF)
    r->report = arg;
  else
    return ARGP_ERR_UNKNOWN;
  return 0;
}

/* Case does not matter, and a space, hyphen or underscore is as good as another. */
static bool
same(char a, char b)
{
  static const char joins[] = " -_";
  const bool join = a != '\0' && strchr(joins, a) != NULL;

  return tolower((unsigned char)a) == tolower((unsigned char)b) || (join && b != '\0' && strchr(joins, b) != NULL);
}

/* How many characters two words begin with alike. */
static size_t
alike(const char *a, const char *b)
{
  size_t n = 0;

  while (a[n] != '\0' && same(a[n], b[n]))
    n++;
  return n;
}

/* The entry of that name, or the only one that begins so; N_WORDS: none. */
static size_t
find(const char *asked)
{
  size_t found = N_WORDS, n = 0;

  for (size_t i = 0; i < N_WORDS; i++) {
    const size_t begun = alike(asked, words[i].word);

    if (asked[begun] != '\0')
      continue;
    if (words[i].word[begun] == '\0')
      return i;
    found = i;
    n++;
  }
  return n == 1 ? found : N_WORDS;
}

/* Lines that fit a terminal. */
static void
print_text(const char *text)
{
  for (size_t column = 0; *text != '\0';) {
    const size_t n = strcspn(text, " ");
    const bool fits = column == 0 || column + 1 + n <= WIDTH - 2;

    printf("%s%.*s", column == 0 ? "  " : fits ? " " : "\n  ", (int)n, text);
    column = column > 0 && fits ? column + 1 + n : n;
    text += n + (text[n] == ' ');
  }
  putchar('\n');
}

static void
print_list(FILE *to)
{
  for (size_t i = 0; i < N_WORDS; i++)
    fprintf(to, "%s%s", i > 0 ? ", " : "", words[i].word);
  putc('\n', to);
}

static int
explain(const char *asked, bool first)
{
  const size_t i = find(asked);
  clarke_error err = {CLARKE_OK, ""};
  bool found = false;

  if (i == N_WORDS && clarke_explain_kink(&found, asked, first, &err) != CLARKE_OK) {
    fprintf(stderr, "clarke explain: %s\n", err.text);
    return EXIT_NOT_ASKED;
  }
  if (found)
    return EXIT_HOLDS;
  if (i == N_WORDS) {
    fprintf(stderr, "clarke explain: '%s' is no operator with kinks, and not in the glossary, which has: ", asked);
    print_list(stderr);
    return EXIT_NOT_ASKED;
  }
  printf("%s%s\n", first ? "" : "\n", words[i].word);
  print_text(words[i].text);
  return EXIT_HOLDS;
}

static int
explain_touched(const request *r)
{
  clarke_error err = {CLARKE_OK, ""};
  clarke_status status = CLARKE_OK;

  for (int i = 0; status == CLARKE_OK && (i == 0 || i < r->n); i++) {
    fputs(i > 0 ? "\n" : "", stdout);
    status = clarke_explain_touched(r->report, r->n > 0 ? r->asked[i] : NULL, &err);
  }
  if (status != CLARKE_OK)
    fprintf(stderr, "clarke explain: %s\n", err.text);
  return status == CLARKE_OK ? EXIT_HOLDS : EXIT_NOT_ASKED;
}

int
clarke_command_explain(int argc, char **argv)
{
  static char name[] = "clarke explain";
  struct argp argp = {options, parse, "[WORD...]", doc, NULL, NULL, NULL};
  request r = {0, calloc((size_t)argc, sizeof *r.asked), NULL};
  int status = EXIT_HOLDS;

  if (r.asked == NULL) {
    fputs("clarke explain: out of memory\n", stderr);
    return EXIT_NOT_ASKED;
  }
  clarke_read_arguments(&r, &argp, name, argc, argv, 0);
  if (r.report != NULL)
    status = explain_touched(&r);
  else if (r.n == 0)
    print_list(stdout);
  for (int i = 0; r.report == NULL && i < r.n && status == EXIT_HOLDS; i++)
    status = explain(r.asked[i], i == 0);
  free(r.asked);
  return status;
}
