from enum import Enum
from types import SimpleNamespace


class AccessRights(str, Enum):
    manage = "Manage"
    send = "Send"
    listen = "Listen"


SBAuthorizationRule = SBQueue = SBSubscription = SimpleNamespace
