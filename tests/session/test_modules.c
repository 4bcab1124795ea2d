/* What the tools stand on, module by module. */
#include "../suites.h"

MODULE(audits);
MODULE(derivations);
MODULE(places);
MODULE(records);
MODULE(sweeps);
MODULE(trained);

int
main(void)
{
  RUN(audits_suite, derivations_suite, places_suite, records_suite, sweeps_suite, trained_suite);
}
