"""What all tests share."""

from hypothesis import settings

# The same examples on every machine: a change that fails is the change's fault. To look further:
# pytest --hypothesis-profile=exploring
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.register_profile("exploring", deadline=None, max_examples=1000)
settings.load_profile("repeatable")
