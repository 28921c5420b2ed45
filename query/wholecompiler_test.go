package query

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	planField = regexp.MustCompile(
		` (rewrittenQuery|distinctType|top|offset|limit|orderByExpressions|orderBy|groupByExpressions|groupByAliases|` +
			`aggregates|groupByAliasToAggregateType|hasSelectValue|dCountInfo|hasNonStreamingOrderBy|ranges)(=|\b)`)
	errorCode = regexp.MustCompile(`^refused: (SC\d+|\d+)`)
)

// classOf returns a text that names how the answer got of this package differs from want, that of the
// compiler, or "" if they agree. The texts sort by severity, the worst first.
func classOf(got, want string) string {
	got, want = samePrint(got), samePrint(want)
	accepts := func(answer string) bool { return !strings.HasPrefix(answer, "refused") }
	switch {
	case got == want:
		return ""
	case accepts(got) && !accepts(want):
		return "1 accepted, refused by the compiler: " + cmp.Or(errorCode.FindString(want), "refused")
	case !accepts(got) && accepts(want):
		return "2 refused, accepted by the compiler: " + cmp.Or(errorCode.FindString(got),
			"refused without a code")
	case accepts(got) && strings.TrimSuffix(want, "\x00hasSelectValue") == "plan":
		return "6 sent as it is: the compiler knows that nothing can match"
	case accepts(got):
		return "3 plan: " + firstField(got, want)
	case errorCode.FindString(got) != errorCode.FindString(want):
		return "4 code: " + cmp.Or(errorCode.FindString(got), "none") + " for " +
			cmp.Or(errorCode.FindString(want), "none")
	}
	return "5 place: " + errorCode.FindString(want)
}

// samePrint prepares the answer of a query compiler, the text of a plan, for comparison: it removes ASC,
// blanks and parentheses, which do not change its meaning. An answer that refuses the query stays as it is.
func samePrint(answer string) string {
	if strings.HasPrefix(answer, "refused") {
		return answer
	}
	return strings.NewReplacer(" ASC", "", "(", "", ")", "", " ", "", `\n`,
		"").Replace(planField.ReplaceAllString(answer, "\x00$1$2"))
}

// firstField returns the name of the first part in which two plans, as printed by planAnswer, differ. The
// rewritten query is compared last.
func firstField(got, want string) string {
	parts := func(answer string) map[string]string {
		m := map[string]string{}
		for _, part := range strings.Split(answer, "\x00") {
			name, _, _ := strings.Cut(part, "=")
			m[name] = part
		}
		return m
	}
	a, b := parts(got), parts(want)
	all := maps.Clone(a)
	maps.Copy(all, b)
	var fields []string
	for name := range all {
		if a[name] != b[name] {
			fields = append(fields, name)
		}
	}
	slices.Sort(fields)
	return strings.Join(fields, " ")
}

// meant reports whether it is intended that this package and Cosmos DB's query compiler differ in this way;
// class is a result of classOf. This package sends a query that can have no rows to the store all the same.
// It refuses an ORDER BY over items of an array, as the service does although its compiler accepts it.
func meant(class string) bool {
	return strings.HasPrefix(class, "6 ") ||
		class == "2 refused, accepted by the compiler: refused without a code"
}

// AskWholeQueries compares the plans and errors of random queries with those of Cosmos DB's query
// compiler. It reports the differences by class, with shortened examples.
func AskWholeQueries(t *testing.T, seed uint64) {
	folder := os.Getenv(compilerFolder)
	if folder == "" {
		t.Skip(compilerFolder + " names no folder with queryplan.py: Cosmos DB's query compiler is not asked")
	}
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 23))
	texts := make([]string, askedQueries)
	for i := range texts {
		texts[i] = randomWholeQuery(r)
	}
	found := map[string][]string{}
	accepted, differ, shrunk := 0, 0, 0
	for i, want := range askCompiler(t, folder, texts) {
		if !strings.HasPrefix(want, "refused") {
			accepted++
		}
		if class := classOf(ourAnswer(t, texts[i]), want); class != "" {
			if !meant(class) {
				differ++
			}
			found[class] = append(found[class], texts[i])
		}
	}
	t.Logf("%d of %d differ without being meant to; the compiler accepts %d", differ, len(texts), accepted)
	failed := differ*100 > len(texts)*maxDiffering
	if failed {
		t.Errorf("%d of %d differ", differ, len(texts))
	}
	if !failed && !testing.Verbose() { // examples take longer than all else
		return
	}
	for _, class := range slices.Sorted(maps.Keys(found)) {
		smallest := slices.MinFunc(found[class], func(a, b string) int { return len(a) - len(b) })
		small := smallest
		if shrunk++; shrunk <= maxShrunk {
			small = shrink(t, folder, smallest, class)
		}
		t.Logf("%4d  %s\n%s\ngot  %s\nwant %s", len(found[class]), class, small, ourAnswer(t, small),
			askCompiler(t, folder, []string{small})[0])
	}
}

// maxShrunk is the number of classes of differences between this package and Cosmos DB's query compiler for
// which the test looks for a shorter example query, since that takes long. Further classes are only reported.
const maxShrunk = 5

// maxDiffering is the maximum percentage of random queries for which Mayfly's answer may differ from that of
// Cosmos DB's own query compiler.
const maxDiffering = 15

var wordOrSign = regexp.MustCompile(`\s*("[^"]*"|'[^']*'|[\w@.]+|[^\s\w])`)

// shrink removes parts of a query as long as our answer still differs from that of Cosmos DB's query compiler
// in the same class of differences, and returns the shortest text that it finds.
func shrink(t *testing.T, folder, text, class string) string {
	for range 5 {
		words := wordOrSign.FindAllString(text, -1)
		var smaller []string
		for i := range words {
			for j := i + 1; j <= len(words) && j <= i+12; j++ {
				if part := words[i:j]; balanced(part) {
					smaller = append(smaller,
						strings.TrimSpace(strings.Join(words[:i], "")+strings.Join(words[j:], "")))
				}
			}
		}
		slices.SortFunc(smaller,
			func(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) })
		smaller = slices.Compact(smaller)
		smaller = smaller[:min(len(smaller), 60)]
		next := ""
		for i, want := range askCompiler(t, folder, smaller) {
			if classOf(ourAnswer(t, smaller[i]), want) == class {
				next = smaller[i]
				break
			}
		}
		if next == "" {
			return text
		}
		text = next
	}
	return text
}

// balanced reports whether each bracket that the words open is closed by them, and vice versa.
func balanced(words []string) bool {
	depth := 0
	for _, word := range words {
		switch strings.TrimSpace(word) {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			if depth--; depth < 0 {
				return false
			}
		}
	}
	return depth == 0
}
