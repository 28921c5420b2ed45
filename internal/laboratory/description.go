package laboratory

import (
	"reflect"

	"github.com/mayflydb/mayfly/internal/laboratory/route"
	"github.com/mayflydb/mayfly/store"
)

const (
	title = "Mayfly"
	about = "Mayfly's own API, in addition to the protocol of Azure Cosmos DB. Requests are signed with " +
		"the " +
		"master key as in that protocol: the resource type is empty, and the resource link is the path " +
		"without its first slash. A body with a member that is not listed here is refused."
)

// describe returns the OpenAPI document of the routes.
func describe(all routeTable) (route.OpenAPIDocument, error) {
	own := reflect.TypeFor[store.OnExpireSettings]().PkgPath() // structs of package store allow no additional members
	return route.Describe(all, route.OpenAPIOptions{
		Title: title, Text: about, Prefixes: []string{"Laboratory", "Route", "Store"},
		Closed: func(pkgPath string) bool { return pkgPath == own },
		Types: []route.SchemaTypeMapping{
			{Of: settingEdit[bool]{}, As: false}, {Of: settingEdit[int]{}, As: 0},
			{Of: settingEdit[int32]{}, As: int32(0)},
			{Of: settingEdit[string]{}, As: ""}, {Of: settingEdit[jsonDuration]{},
				As: jsonDuration(0)},
			{Of: settingEdit[entityStatus]{}, As: entityStatus(0)},
			{Of: settingEdit[*store.OnExpireSettings]{}, As: store.OnExpireSettings{}},
			{Of: settingEdit[*store.ExpiryEventSettings]{}, As: store.ExpiryEventSettings{}},
			{Of: settingEdit[*store.ReaperSettings]{}, As: store.ReaperSettings{}},
			{Of: settingEdit[*store.PurgeDelay]{}, As: store.PurgeDelay{}},
			{Of: settingEdit[*store.PurgeRateLimit]{}, As: store.PurgeRateLimit{}},
			{Of: ImportResults{}, As: []DocumentImportResult{}},
		},
	})
}
