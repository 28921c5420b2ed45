// Package config reads the Config.json of Microsoft's Service Bus emulator. It lists the queues, topics,
// subscriptions and rules that must exist after the server's start.
//
//	c, err := config.Parse("Config.json", data)
//	err = c.Apply(ctx, queues)
//
// Parse reads the complete file before any entity is created (read*.go, with package tree). Errors of Parse
// and Apply are *Error, with the file, line and column.
//
// Apply creates missing entities and changes existing ones to match the file. Properties and entities that
// the file does not contain stay unchanged (apply.go). Therefore Apply can run at each start.
//
// Differences reports what Apply would change. Properties converts an entity's properties to the form of the
// file (describe.go).
//
// Besides the properties of the emulator's file, the package supports all properties of the service, by
// their names in its management API.
package config
