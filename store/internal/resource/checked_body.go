package resource

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/record"
)

// checkedBody is the body of a small resource (a user, for example) that has passed its checks.
type checkedBody struct {
	id   string
	body []byte
}

// draft parses the body of a child resource, such as a user or a stored procedure, and checks it by the rules
// of the resource's kind. The result omits the member that responses have and clients send back, such as
// _permissions of a user.
func (r ChildResources) draft(ctx context.Context, body []byte) (checkedBody, error) {
	parsed, err := jsondoc.Parse(body, jsondoc.Limits{})
	if err != nil {
		return checkedBody{}, definition.DocumentError(err)
	}
	kind := &record.Kinds[r.family.Kind]
	d := checkedBody{body: withoutMember(parsed.Body, kind.System)}
	v := jsondoc.Of(d.body)
	if err := checkRequired(v, requiredMembers[r.family.Kind]); err != nil {
		return d, err
	}
	d.id = strings.Clone(v.Member("id").Str())
	if err := definition.ValidateID(kind.Word, d.id); err != nil {
		return d, err
	}
	switch r.family.Kind {
	case record.KindPermission:
		err = r.of.CheckGrant(ctx, v)
	case record.KindTrigger:
		if err = checkWord(v, "triggerType", "Pre", "Post"); err == nil {
			err = checkWord(v, "triggerOperation", "All", "Create", "Update", "Delete", "Replace", "Upsert")
		}
	}
	return d, err
}

// requiredMembers are the required properties of each kind of small resource. A name that ends with {} stands
// for an object; the others are strings.
var requiredMembers = [...][]string{
	record.KindUser:            {"id"},
	record.KindPermission:      {"id", "permissionMode", "resource"},
	record.KindEncryptionKey:   {"id", "encryptionAlgorithm", "wrappedDataEncryptionKey", "keyWrapMetadata{}"},
	record.KindStoredProcedure: {"id", "body"},
	record.KindTrigger:         {"id", "body", "triggerType", "triggerOperation"},
	record.KindFunction:        {"id", "body"},
}

// checkRequired returns one error that names all missing properties, as Cosmos DB does.
func checkRequired(v jsondoc.Value, names []string) error {
	missing := ""
	for _, name := range names {
		name, object := strings.CutSuffix(name, "{}")
		want := jsondoc.String
		if object {
			want = jsondoc.Object
		}
		switch k := v.Member(name).Kind(); k {
		case want:
		case jsondoc.Undefined:
			missing += name + "; "
		default:
			return fault.New(fault.CodeBadRequest,
				fmt.Sprintf("The input content is invalid because the property '%s' is not of kind %s but %s.", name, want, k))
		}
	}
	if missing != "" {
		return fault.New(fault.CodeBadRequest,
			"The input content is invalid because the required properties - '"+
				missing+"' - are missing")
	}
	return nil
}

// checkWord checks that the value of a property is one of the given words. It ignores case, because clients
// differ in it; the body is stored as sent.
func checkWord(v jsondoc.Value, name string, words ...string) error {
	got := v.Member(name).Str()
	if slices.ContainsFunc(words, func(w string) bool { return strings.EqualFold(w, got) }) {
		return nil
	}
	return fault.New(fault.CodeBadRequest,
		fmt.Sprintf("The input content is invalid because the property '%s' has the value '%s': choose among %s.",
			name, got, strings.Join(words, ", ")))
}

// withoutMember returns a body without the member of that name. If there is no such member, it returns
// body itself.
func withoutMember(body []byte, name string) []byte {
	v := jsondoc.Of(body)
	if name == "" || v.Member(name).Kind() == jsondoc.Undefined {
		return body
	}
	out := []byte{'{'}
	v.Each(func(key string, elem jsondoc.Value) bool {
		if key != name {
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = elem.AppendJSON(append(jsondoc.AppendString(out, key), ':'))
		}
		return true
	})
	return append(out, '}')
}

// checkSiblings returns CodeConflict if the user already has a permission for the same resource: two
// permissions for one resource could have different modes. The caller holds the catalog's lock.
func (r ChildResources) checkSiblings(old *record.SmallResource, d checkedBody) error {
	s := r.in.Resources()[r.family]
	if r.family.Kind != record.KindPermission || s == nil {
		return nil
	}
	for _, rec := range s.List {
		if rec == old {
			continue
		}
		if v := jsondoc.Of(rec.Body); sameResource(v, jsondoc.Of(d.body)) {
			return fault.New(fault.CodeConflict,
				"Resource with specified id or name already exists: the permission '"+rec.ID+
					"' is for the same resource.")
		}
	}
	return nil
}

// sameResource reports whether two permissions are for the same resource.
func sameResource(a, b jsondoc.Value) bool {
	link := func(v jsondoc.Value) string { return strings.Trim(v.Member("resource").Str(), "/") }
	return link(a) == link(b) && bytes.Equal(a.Member("resourcePartitionKey").AppendJSON(nil),
		b.Member("resourcePartitionKey").AppendJSON(nil))
}
