"""Stands in for the SDK's package of this name: tests run live, nothing is recorded, and what they need is made anew
for each."""

import functools
import inspect
import os
import random
import string
import time
from types import SimpleNamespace

from azure.core.credentials import AccessToken

FakeResource = SimpleNamespace


class AzureTestError(Exception):
    pass


class ReservedResourceNameError(Exception):
    pass


def _nothing(*args, **kwargs):
    pass


add_general_regex_sanitizer = set_custom_default_matcher = _nothing


def get_region_override(default):
    return default


class _Credential:
    def __init__(self, is_async):
        self.is_async = is_async

    def get_token(self, *scopes, **kwargs):
        token = AccessToken(os.environ["MAYFLY_TOKEN"], int(time.time()) + 3600)
        return _ready(token) if self.is_async else token

    def close(self):
        return _ready(None) if self.is_async else None

    async def __aenter__(self):
        return self

    async def __aexit__(self, *args):
        pass


async def _ready(value):
    return value


def get_credential(is_async=False, **kwargs):
    return _Credential(is_async)


class AzureRecordedTestCase:
    @staticmethod
    def await_prepared_test(test):
        return test


class AzureMgmtRecordedTestCase(AzureRecordedTestCase):
    pass


def recorded_by_proxy(test):
    return test


class _Preparer:
    """A decorator that gives a test what before() returns."""

    def before(self, values):
        raise NotImplementedError

    def after(self, values):
        pass

    def __call__(self, test):
        if inspect.iscoroutinefunction(test):

            @functools.wraps(test)
            async def prepared(instance, **values):
                values.update(self.before(values))
                try:
                    await test(instance, **_taken(test, values))
                finally:
                    self.after(values)

        else:

            @functools.wraps(test)
            def prepared(instance, **values):
                values.update(self.before(values))
                try:
                    test(instance, **_taken(test, values))
                finally:
                    self.after(values)

        # What a preparer gives is no fixture of pytest's, which looks at the parameters.
        parameters = inspect.signature(test).parameters.values()
        prepared.__signature__ = inspect.Signature([p for p in parameters if p.name not in self.gives()])
        return prepared

    def gives(self):
        return ()


def _taken(test, values):
    """The values that a test has parameters for."""
    parameters = inspect.signature(inspect.unwrap(test)).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return values
    return {name: value for name, value in values.items() if name in parameters}


class AzureMgmtPreparer(_Preparer):
    """Makes a resource for a test and removes it."""

    is_live = True
    moniker = resource = resource_moniker = None

    def __init__(self, name_prefix, random_name_length, random_name_enabled=False, **kwargs):
        self.name_prefix = name_prefix
        self.random_name_length = random_name_length
        self.random_name_enabled = random_name_enabled

    def set_cache(self, *args):
        pass

    def create_mgmt_client(self, kind, **kwargs):
        return kind()

    def before(self, values):
        room = self.random_name_length - len(self.name_prefix)
        self.name = self.name_prefix + "".join(random.choices(string.ascii_lowercase, k=room))
        return self.create_resource(self.name, **values)

    def after(self, values):
        self.remove_resource(self.name, **values)


class RandomNameResourceGroupPreparer(_Preparer):
    def __init__(self, **kwargs):
        pass

    def before(self, values):
        return {"resource_group": SimpleNamespace(name="group"), "location": "here"}


CachedResourceGroupPreparer = RandomNameResourceGroupPreparer


class PowerShellPreparer(_Preparer):
    """Gives a test what the environment has under the names that it asks for."""

    def __init__(self, folder, **defaults):
        self.names = defaults

    def gives(self):
        return self.names

    def before(self, values):
        return {name: os.environ.get(name.upper(), default) for name, default in self.names.items()}
