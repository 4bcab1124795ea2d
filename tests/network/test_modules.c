/* The room's modules, each by itself. */
#include "../suites.h"

MODULE(batches);
MODULE(descent);
MODULE(filter_steps);
MODULE(pairs);
MODULE(passes);
MODULE(slice_digits);
MODULE(slice_steps);

int
main(void)
{
  RUN(batches_suite, descent_suite, filter_steps_suite, pairs_suite, passes_suite, slice_digits_suite, slice_steps_suite);
}
