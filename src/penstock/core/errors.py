"""What can go wrong, told in one sentence with the offending value and the remedy."""


class PenstockError(Exception):
    """Something failed that the user did not cause. The command line exits with 1."""

    exit_code = 1


class UserError(PenstockError):
    """Something the user can put right. The command line exits with 2."""

    exit_code = 2


class SettingError(UserError):
    """A setting that cannot be: wrong name, wrong unit, out of range."""


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


def in_words(error: BaseException) -> str:
    """The type of an error and the first line of its message.

    >>> in_words(ValueError("no licence")), in_words(SystemExit())
    ('ValueError: no licence', 'SystemExit')
    """
    first = next(iter(str(error).splitlines()), "")
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


def first_line(error: Exception) -> str:
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
