// Package sharedengine lets tests open several stores over one engine, like several servers that share one
// PostgreSQL database. Each store has its own Engine value, called a handle.
//
//	shared := sharedengine.Share(e)
//	a, err := store.Open(ctx, shared.Handle(), ...)
//	b, err := store.Open(ctx, shared.Handle(), ...)
//
// Each store closes its handle. The engine is closed with the last handle.
package sharedengine
