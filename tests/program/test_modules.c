/* What the room's files share, module by module. */
#include "../suites.h"

MODULE(coupled);
MODULE(lowering);
MODULE(machine);
MODULE(membership);
MODULE(search);
MODULE(units);
MODULE(walk_inside);

int
main(void)
{
  RUN(coupled_suite, lowering_suite, machine_suite, membership_suite, search_suite, units_suite, walk_inside_suite);
}
