"""A fixture for tests of models: assert_in_clarke(model, x, y, loss_fn), or assert_in_clarke("run/").

It fails unless the recorded gradient is AD's, but for rounding, and proved to be in the Clarke subdifferential."""
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
        if answer.gradient["explained"] is not True:
            pytest.fail(f"the recorded gradient is not known to be AD's: {answer.gradient['why']}")
        if not answer.in_clarke:
            touched = ", ".join(f"{name or 'the model'} ({n})" for name, n in answer.touched.items()) or "none"
            pytest.fail(f"{answer.verdict}: {answer.reason}. Touched kinks: {touched}")
        return answer
    return check
