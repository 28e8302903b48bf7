"""The errors of Penstock: each message is one sentence with the offending value and the remedy."""

from collections.abc import Iterable


class PenstockError(Exception):
    """Something failed that the user did not cause. The command line exits with 1."""

    exit_code = 1


class UserError(PenstockError):
    """Something the user can put right. The command line exits with 2."""

    exit_code = 2


class SettingError(UserError):
    """A setting that cannot be: wrong name, wrong unit, out of range.

    >>> SettingError("low is above high", fields=("low", "high")).within({"high": 3})
    ('high',)
    """

    def __init__(
        self,
        *args: object,
        path: tuple[str | int, ...] = (),
        fields: tuple[str, ...] = (),
        also: "tuple[SettingError, ...]" = (),
    ) -> None:
        super().__init__(*args)
        self.also = also
        """Further mistakes in the same value."""
        self.path = path
        """Of the value that is wrong, within the part; empty where it is the part itself."""
        self.fields = fields
        """Settings that contradict one another."""

    def within(self, given: Iterable[str]) -> tuple[str | int, ...]:
        """The path of the value that is wrong, among settings that were given."""
        names = {name.replace("-", "_"): name for name in given}
        return self.path or next(((names[f],) for f in self.fields if f in names), ())


class FileError(UserError):
    """A file or folder that is missing, malformed or full."""


class ClusterError(UserError):
    """A cluster that cannot be started or reached."""


class MissingPackageError(UserError):
    """A package that this part of Penstock needs is not installed."""


class PlantError(PenstockError):
    """The plant stopped working in the middle of a run."""


class PartError(PenstockError):
    """A part of the user's own failed in the middle of a run."""


def describe(error: BaseException) -> str:
    """An error in a few words: its type alone where it says nothing, or cannot say it.

    >>> describe(ValueError("no rows")), describe(SystemExit())
    ('ValueError: no rows', 'SystemExit')
    """
    name = type(error).__name__
    try:
        line = first_line(error)
    except (Exception, SystemExit):  # an error of a user's part has a `__str__` of its own
        return name
    return name if line == name else f"{name}: {line}"


def first_line(error: BaseException) -> str:
    """What an error of Spark's says, without the trace that follows; ask while its JVM lives.

    >>> first_line(ValueError("It failed: Traceback (most recent call last):\\n at\\nOSError: 7"))
    'It failed: OSError: 7'
    """
    cause = getattr(error, "java_exception", None)
    text = str(error if cause is None else cause.toString()).partition("JVM stacktrace")[0].strip()
    before, trace, after = text.partition("Traceback (most recent call last):")
    lines = [line.strip() for line in after.splitlines() if not line.startswith((" ", "SQLSTATE"))]
    if trace and any(lines):  # of Python's own trace, the last line says what happened
        text = f"{before.strip()} {[line for line in lines if line][-1]}"
    return text.splitlines()[0].strip().rstrip(".") if text else type(error).__name__
