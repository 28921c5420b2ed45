// Package sharedengine lets tests open several stores over one engine, like several servers that share one
// PostgreSQL database. Each store has its own Engine value, called a door.
//
//	shared := sharedengine.Share(e)
//	a, err := store.Open(ctx, shared.Door(), ...)
//	b, err := store.Open(ctx, shared.Door(), ...)
//
// Each store closes its door. The engine is closed with the last door.
package sharedengine
