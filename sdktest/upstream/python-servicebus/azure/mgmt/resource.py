class ResourceManagementClient:
    """The group of resources is there already: SERVICEBUS_RESOURCE_GROUP names it."""
