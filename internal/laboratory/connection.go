package laboratory

// Connection is what a client needs to connect, beside the host's name and the master key, which whoever asks
// has.
type Connection struct {
	Ports  []int `json:"ports" nullable:"false" description:"Of Cosmos DB, each for HTTP and HTTPS."`
	Direct bool  `json:"direct" description:"The same ports answer in direct mode, inside of TLS."`
	// ServiceBus is nil where the server has no ports of Service Bus.
	ServiceBus *BusConnection `json:"serviceBus,omitempty"`
}

// BusConnection is how clients connect to Service Bus.
type BusConnection struct {
	Ports   []int  `json:"ports" nullable:"false" description:"Each for AMQP, WebSockets and HTTP, plain and in TLS."`
	KeyName string `json:"keyName"`
	Key     string `json:"key"`
}
