// Package doors lets tests open several stores over one engine, as several servers over one database are.
//
//	shared := doors.Share(e)
//	a, err := store.Open(ctx, shared.Door(), ...)
//	b, err := store.Open(ctx, shared.Door(), ...)
//
// Each door is closed by its store. The engine is closed with the last of them.
package doors
