package laboratory

// ConnectionInfo is the data that a client needs to connect, except for the host and the master key, which
// the client has already used for this request.
type ConnectionInfo struct {
	Ports  []int `json:"ports" nullable:"false" description:"Ports of Cosmos DB, for HTTP and HTTPS."`
	Direct bool  `json:"direct" description:"Whether the same ports also serve direct mode, over TLS."`
	// ServiceBus is nil if the server has no ports for Service Bus.
	ServiceBus *ServiceBusConnectionInfo `json:"serviceBus,omitempty"`
}

// ServiceBusConnectionInfo is the data that a client needs to connect to Service Bus.
type ServiceBusConnectionInfo struct {
	Ports   []int  `json:"ports" nullable:"false" description:"Ports for AMQP, WebSockets and HTTP, also over TLS."`
	KeyName string `json:"keyName" description:"Name of the shared access key."`
	Key     string `json:"key" description:"Shared access key."`
}
