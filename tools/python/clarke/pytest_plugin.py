"""A fixture for tests of models: assert_in_clarke(model, x, y, loss_fn), or assert_in_clarke("run/").

It fails unless the recorded gradient is AD's, but for rounding, and proved to be in the Clarke subdifferential. Where rounding took other
branches than exact arithmetic, that is asked of the gradient along them."""
import pytest

from .answer import Failed, audit


@pytest.fixture
def assert_in_clarke():
    def check(what, x=None, y=None, loss=None, **options):
        __tracebackhide__ = True
        try:
            answer = audit(what, x, y, loss, **options)
        except Failed as why:
            pytest.fail(f"nothing is known: {why}")
        if answer.answer in ("refuted", "not known"):
            pytest.fail(f"the recorded gradient is {answer.answer}: {answer.gradient['why']}")
        if not answer.in_clarke and answer.answer == "turned":
            pytest.fail(f"turned: {answer.gradient['why']}. Along the recorded branches: {answer.verdict}: {answer.reason}")
        if not answer.in_clarke:
            touched = ", ".join(f"{name or 'the model'} ({n})" for name, n in answer.touched.items()) or "none"
            pytest.fail(f"{answer.verdict}: {answer.reason}. Touched kinks: {touched}")
        return answer
    return check
