package httpapi

import (
	"fmt"
	"testing"
)

func TestUserDefinedFunctionsInQueries(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t)
	w.container("")
	for i, income := range []int{500, 50000, 200000} {
		w.do("POST", docs, fmt.Sprintf(`{"id":"%d","pk":"a","income":%d}`, i, income), pk(`["a"]`)...).want(201)
	}
	w.script("udfs", "tax", `function tax(income) {
		if (income == undefined) throw "no input";
		if (income < 1000) return income * 0.1;
		else if (income < 10000) return income * 0.2;
		else return income * 0.4;
	}`, "")
	w.script("udfs", "nothing", `function () {}`, "")
	w.script("udfs", "leak", `function () { Object.prototype.seen = ({}).seen + 1 || 1; return ({}).seen; }`, "")
	w.script("udfs", "forever", `function () { for (;;) ; }`, "")
	ask := func(text string, headers ...string) *testResponse {
		t.Helper()
		return w.do("POST", docs, `{"query":`+jsonString(text)+`}`, append(queryHeaders(pk(`["a"]`)...), headers...)...)
	}
	ask("SELECT c.id, udf.tax(c.income) AS tax FROM c WHERE udf.tax(c.income) > 20000").want(200).has("Documents", `[{"id":"2","tax":80000}]`)
	ask("SELECT VALUE SUM(udf.tax(c.income)) FROM c").want(200).has("Documents", `[100050]`)
	ask("SELECT c.id FROM c WHERE c.id = '1' AND udf.tax(c.income) = 20000").want(200).has("Documents", `[{"id":"1"}]`)
	ask("SELECT VALUE {x: udf.nothing(c)} FROM c WHERE c.id = '1'").want(200).has("Documents", `[{}]`)
	ask("SELECT VALUE udf.leak() FROM c").want(200).has("Documents", `[1,2,3]`) // one world a query,
	ask("SELECT VALUE udf.leak() FROM c").want(200).has("Documents", `[1,2,3]`) // and no other
	ask("SELECT VALUE udf.tax(c.none) FROM c").fails(400, 0, "Exception = no input")
	ask("SELECT VALUE udf.tex(c.none) FROM c").fails(400, 0, "The user defined function 'tex' does not exist.")
	plain := ask("SELECT VALUE c.income FROM c").want(200)
	if called := ask("SELECT VALUE udf.nothing(c.income) FROM c").want(200); called.charge() < plain.charge()+2 {
		t.Errorf("three calls cost %v, none %v", called.charge(), plain.charge())
	}
	w.procedure(`function () { __.queryDocuments(__.getSelfLink(), "SELECT VALUE udf.tax(c.income) FROM c", (e, l) => __.response.setBody(l)); }`, "[]").body200("[50,20000,80000]")
}
