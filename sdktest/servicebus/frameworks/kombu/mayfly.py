"""The transport azureservicebus of kombu, as it is, but for where its two clients go: it knows no other hosts
than those of the cloud, and one name for both."""

import os

from azure.servicebus import ServiceBusClient
from azure.servicebus.management import ServiceBusAdministrationClient
from kombu.transport import TRANSPORT_ALIASES, azureservicebus
from kombu.utils.objects import cached_property

KEY = "SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=SAS_KEY_VALUE;"
BROKER = "azureservicebus://RootManageSharedAccessKey:SAS_KEY_VALUE@mayfly.net"


class Channel(azureservicebus.Channel):
    @cached_property
    def queue_service(self):
        amqp = f"Endpoint=sb://{os.environ['AMQP']};{KEY}UseDevelopmentEmulator=true;"
        return ServiceBusClient.from_connection_string(amqp, retry_total=self.retry_total)

    @cached_property
    def queue_mgmt_service(self):
        admin = f"Endpoint=sb://{os.environ['ADMIN']};{KEY}"
        return ServiceBusAdministrationClient.from_connection_string(admin)


class Transport(azureservicebus.Transport):
    Channel = Channel


TRANSPORT_ALIASES["azureservicebus"] = "mayfly:Transport"
