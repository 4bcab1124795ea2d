/* The room's modules, each by itself. */
#include "../suites.h"

MODULE(affine_pieces);
MODULE(circuits);
MODULE(cross);
MODULE(forms);
MODULE(rows);
MODULE(widest);

int
main(void)
{
  RUN(affine_pieces_suite, circuits_suite, cross_suite, forms_suite, rows_suite, widest_suite);
}
