package jsondoc

import "testing"

func TestMarshal(t *testing.T) {
	got, err := Marshal(map[string]any{"a": "<b> & c", "d": []int{1}})
	if want := `{"a":"<b> & c","d":[1]}`; err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
	if got, err := Marshal(func() {}); err == nil {
		t.Errorf("a function is %s", got)
	}
}
