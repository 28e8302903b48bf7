"""A SPARK_HOME whose Python files are already compiled.

Spark puts its own `pyspark.zip` in front of every Python process it starts, and Python compiles
what it finds in a zip file anew each time. On a cluster of our own the same files lie unpacked
beside it, compiled once at installation. This home is Spark's in every respect but that one.
"""

from pathlib import Path


def compiled_home(scratch: Path) -> Path:
    """Make the home below `scratch`, out of links to the installed PySpark."""
    import py4j
    import pyspark

    spark, home = Path(pyspark.__file__).parent, scratch / "home"
    library = home / "python" / "lib"
    library.mkdir(parents=True)
    for entry in spark.iterdir():
        if entry.name != "python":
            (home / entry.name).symlink_to(entry)
    for archive in (spark / "python" / "lib").glob("*.zip"):
        package = Path(py4j.__file__).parent if archive.name.startswith("py4j") else spark
        stand_in = library / archive.name
        stand_in.mkdir()
        (stand_in / package.name).symlink_to(package)
    return home
