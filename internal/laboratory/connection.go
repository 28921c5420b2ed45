package laboratory

// Connection is the data that a client needs to connect, except for the host and the master key, which the
// client has already used for this request.
type Connection struct {
	Ports  []int `json:"ports" nullable:"false" description:"Of Cosmos DB, each for HTTP and HTTPS."`
	Direct bool  `json:"direct" description:"The same ports answer in direct mode, inside of TLS."`
	// ServiceBus is nil if the server has no ports for Service Bus.
	ServiceBus *BusConnection `json:"serviceBus,omitempty"`
}

// BusConnection is the data that a client needs to connect to Service Bus.
type BusConnection struct {
	Ports   []int  `json:"ports" nullable:"false" description:"Each for AMQP, WebSockets and HTTP, plain and in TLS."`
	KeyName string `json:"keyName"`
	Key     string `json:"key"`
}
