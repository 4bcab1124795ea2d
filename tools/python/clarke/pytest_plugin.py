"""A fixture for tests of models: assert_in_clarke(model, x, y, loss_fn), or assert_in_clarke("run/").

Where AD differentiates another function by design (surrogates), it asks about that one only with surrogates=True.

It fails unless the recorded gradient is AD's, but for rounding, and proved to be in the Clarke subdifferential. Where rounding took other
branches than exact arithmetic, that is asked of the gradient along them."""
import pytest

from .answer import Failed, audit


@pytest.fixture
def assert_in_clarke():
    def check(what, x=None, y=None, loss=None, *, surrogates=False, **options):
        __tracebackhide__ = True
        try:
            answer = audit(what, x, y, loss, **options)
        except Failed as why:
            pytest.fail(f"nothing is known: {why}")
        if answer.outside is not None:
            pytest.fail("\n".join(answer.outside["lines"]))
        if answer.answer in ("refuted", "not known"):
            pytest.fail(f"the recorded gradient is {answer.answer}: {answer.gradient['why']}")
        if answer.in_clarke is None and not surrogates:
            pytest.fail("AD differentiates another function than the one that is computed, and surrogates=True asks about that: "
                        + "; ".join(answer.surrogates))
        if not answer.in_clarke_of_surrogate and answer.answer == "turned":
            pytest.fail(f"turned: {answer.gradient['why']}. Along the recorded branches: {answer.verdict}: {answer.reason}")
        if not answer.in_clarke_of_surrogate:
            touched = ", ".join(f"{name or 'the model'} ({n})" for name, n in answer.touched_by_module.items())
            touched = touched or ("not known" if answer.report.get("touched") is None else "none")
            pytest.fail(f"{answer.verdict}: {answer.reason}. Touched kinks: {touched}")
        return answer
    return check
