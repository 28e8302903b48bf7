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
