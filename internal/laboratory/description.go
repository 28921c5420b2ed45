package laboratory

import (
	"reflect"

	"github.com/mayflydb/mayfly/internal/laboratory/route"
	"github.com/mayflydb/mayfly/store"
)

const (
	title = "Mayfly"
	about = "What Mayfly has beside the protocol of Azure Cosmos DB. Requests are signed with the master " +
		"key as that protocol signs them, with an empty resource type and the path, without its first " +
		"slash, for the resource link. Bodies have no other members than these."
)

// describe returns the OpenAPI document of the routes.
func describe(all routes) (route.Description, error) {
	own := reflect.TypeFor[store.OnExpire]().PkgPath() // structs of package store allow no additional members
	return route.Describe(all, route.About{
		Title: title, Text: about, Prefixes: []string{"Laboratory", "Route", "Store"},
		Closed: func(pkgPath string) bool { return pkgPath == own },
		Types: []route.TypeMapping{
			{Of: setting[bool]{}, As: false}, {Of: setting[int]{}, As: 0},
			{Of: setting[int32]{}, As: int32(0)},
			{Of: setting[string]{}, As: ""}, {Of: setting[durationMember]{}, As: durationMember(0)},
			{Of: setting[status]{}, As: status(0)},
			{Of: setting[*store.OnExpire]{}, As: store.OnExpire{}},
			{Of: setting[*store.ExpiryEvents]{}, As: store.ExpiryEvents{}},
			{Of: setting[*store.ReaperSettings]{}, As: store.ReaperSettings{}},
			{Of: setting[*store.PurgeDelay]{}, As: store.PurgeDelay{}},
			{Of: setting[*store.Starvation]{}, As: store.Starvation{}},
			{Of: ImportResults{}, As: []ImportResult{}},
		},
	})
}
