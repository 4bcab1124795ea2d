/* The attributes of LSTM, GRU and RNN. */
#include "op/recurrent.h"
#include "op/lower.h"

#include <string.h>

clarke_status
clarke_recurrence_attributes(const clarke_lowering *low, clarke_error *err)
{
  static const char *const others[] = {"clip", "activation_alpha", "activation_beta"};

  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (clarke_model_attr(low->node, others[i]) != NULL)
      return clarke_lower_fail(low, err, "attribute '%s' is not supported", others[i]);
  if (clarke_lower_int(low, "input_forget", 0) != 0)
    return clarke_lower_fail(low, err, "input_forget must be 0");
  if (clarke_lower_int(low, "layout", 0) != 0 && clarke_lower_int(low, "layout", 0) != 1)
    return clarke_lower_fail(low, err, "layout is %lld; expected 0 or 1", (long long)clarke_lower_int(low, "layout", 0));
  return CLARKE_OK;
}

clarke_status
clarke_recurrence_direction(const clarke_lowering *low, size_t *directions, bool *reversed, clarke_error *err)
{
  const clarke_attr *a = clarke_model_attr(low->node, "direction");
  const char *direction = a != NULL ? a->s : "forward";

  *directions = strcmp(direction, "bidirectional") == 0 ? 2 : 1;
  *reversed = strcmp(direction, "reverse") == 0;
  if (*directions == 1 && !*reversed && strcmp(direction, "forward") != 0)
    return clarke_lower_fail(low, err, "direction is '%s'; expected forward, reverse or bidirectional", direction);
  return CLARKE_OK;
}

/* Is it the text, or, of two directions, the text twice? */
static bool
says(const char *words, const char *each, bool twice)
{
  const size_t n = strlen(each);

  return strncmp(words, each, n) == 0 && (twice ? words[n] == ' ' && strcmp(words + n + 1, each) == 0 : words[n] == '\0');
}

clarke_status
clarke_recurrence_activations(const clarke_lowering *low, const char *each, const char *other, bool *is_other, clarke_error *err)
{
  const clarke_attr *a = clarke_model_attr(low->node, "activations"), *direction = clarke_model_attr(low->node, "direction");
  const bool twice = direction != NULL && strcmp(direction->s, "bidirectional") == 0;

  *is_other = a != NULL && other != NULL && says(a->s, other, twice);
  if (a == NULL || *is_other || says(a->s, each, twice))
    return CLARKE_OK;
  return clarke_lower_fail(low, err, "activations '%.80s'; expected, for each direction, %s%s%s", a->s, each,
                           other != NULL ? " or " : "", other != NULL ? other : "");
}
