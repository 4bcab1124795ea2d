/* The room's modules, each by itself. */
#include "../suites.h"

MODULE(pairs);
MODULE(slice_digits);

int
main(void)
{
  RUN(pairs_suite, slice_digits_suite);
}
