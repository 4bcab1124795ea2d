#include "failed.h"

#include "command.h"
#include "process.h"
#include "session/json.h"

#include <stdio.h>

int
clarke_failed(const char *command, bool json, const clarke_error *why)
{
  clarke_error err = {CLARKE_OK, ""};

  fprintf(stderr, "clarke %s: %s\n", command, why->text);
  if (json && !clarke_process_has_printed() &&
      clarke_json_print(stdout, json_pack("{s:o}", "error", clarke_json_text(why->text)), JSON_INDENT(2), "\n", &err) != CLARKE_OK)
    fprintf(stderr, "clarke %s: %s\n", command, err.text);
  return why->code == CLARKE_ESTOPPED ? EXIT_UNDECIDED : EXIT_NOT_ASKED;
}
