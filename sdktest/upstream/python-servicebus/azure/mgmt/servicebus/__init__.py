"""Stands in for the management of namespaces, which Mayfly does not have: there is one namespace, with the keys that
the server was started with, and what lies in it is made by its administration."""

import os
from types import SimpleNamespace

from azure.core.exceptions import ResourceNotFoundError
from azure.servicebus.management import AuthorizationRule, ServiceBusAdministrationClient

NAMESPACE = os.environ["SERVICEBUS_FULLY_QUALIFIED_NAMESPACE"].partition(".")[0]


def keys(name, entity=""):
    host, key = os.environ["SERVICEBUS_FULLY_QUALIFIED_NAMESPACE"], os.environ["SERVICEBUS_SAS_KEY"]
    text = f"Endpoint=sb://{host}/;SharedAccessKeyName={name};SharedAccessKey={key}"
    return SimpleNamespace(
        key_name=name,
        primary_key=key,
        primary_connection_string=text + (f";EntityPath={entity}" if entity else ""),
    )


class Namespaces:
    def __init__(self):
        self.rules = {}

    def begin_create_or_update(self, group, name, options):
        return SimpleNamespace(result=lambda: SimpleNamespace(name=NAMESPACE))

    def delete(self, group, name):
        pass

    def create_or_update_authorization_rule(self, group, namespace, name, rule):
        rights = {right.value for right in rule.rights}
        self.rules[name] = {"Send": "SendOnly", "Listen": "ListenOnly"}.get("+".join(rights), "RootManageSharedAccessKey")
        return SimpleNamespace(name=name)

    def delete_authorization_rule(self, group, namespace, name):
        del self.rules[name]

    def list_keys(self, group, namespace, name):
        return keys(self.rules.get(name, name))


class Entities:
    def __init__(self, admin, kind):
        self.create = getattr(admin, "create_" + kind)
        self.remove = getattr(admin, "delete_" + kind)

    def create_or_update(self, group, namespace, *names_and_options):
        *names, options = names_and_options
        self.create(*names, **(options if isinstance(options, dict) else vars(options)))
        return SimpleNamespace(name=names[-1])

    def delete(self, group, namespace, *names):
        try:
            self.remove(*names)
        except ResourceNotFoundError:
            pass  # the test has deleted it, or what it lies in


class Queues(Entities):
    def __init__(self, admin):
        super().__init__(admin, "queue")
        self.admin = admin

    def create_or_update_authorization_rule(self, group, namespace, queue, name, rule):
        there = self.admin.get_queue(queue)
        key = keys(name).primary_key
        there.authorization_rules = [
            AuthorizationRule(
                type="SharedAccessAuthorizationRule",
                claim_type="SharedAccessKey",
                claim_value="None",
                rights=[right.value for right in rule.rights],
                key_name=name,
                primary_key=key,
                secondary_key=key,
            )
        ]
        self.admin.update_queue(there)
        return SimpleNamespace(name=name)

    def delete_authorization_rule(self, group, namespace, queue, name):
        pass  # the queue goes, too

    def list_keys(self, group, namespace, queue, name):
        return keys(name, queue)


class ServiceBusManagementClient:
    def __init__(self):
        text = keys("RootManageSharedAccessKey").primary_connection_string
        admin = ServiceBusAdministrationClient.from_connection_string(text)
        self.namespaces, self.queues = Namespaces(), Queues(admin)
        self.topics, self.subscriptions = Entities(admin, "topic"), Entities(admin, "subscription")
