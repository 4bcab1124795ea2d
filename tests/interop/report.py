"""Counting checks: one line each, and a last line `N passed, N failed`."""


class Report:
    def __init__(self):
        self.passed = self.failed = 0

    def check(self, ok, name, why=""):
        """Prints the check; `why` is what was found and what was expected, shown when it fails."""
        if ok:
            self.passed += 1
            print(f"ok      {name}", flush=True)
        else:
            self.failed += 1
            print(f"FAILED  {name}: {why}", flush=True)
        return ok

    def close(self):
        print(f"{self.passed} passed, {self.failed} failed")
        return 1 if self.failed else 0
