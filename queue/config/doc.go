// Package config reads the Config.json of the Service Bus emulator: queues, topics, subscriptions and rules
// that are to be there from the start.
//
//	c, err := config.Parse("Config.json", data)
//	err = c.Apply(ctx, queues)
//
// Parse reads all of the file before anything is made (read*.go, over the values of package tree). Its
// errors, and those of Apply, are *Error: the file, the line, the column, and what is wrong there.
//
// Apply makes what is not there and changes what is another way than the file says; what it does not name
// stays (apply.go). So it can run at each start. Entities that the file does not name stay, too.
//
// Differences reports what Apply would change, and Properties is the other way: an entity in the words of the
// file (describe.go).
//
// Beside the properties of the emulator's file it knows those that the service has for an entity, by the
// names of its management API.
package config
