package exec

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/internal/plan"
	"github.com/mayflydb/mayfly/query/internal/source"
)

// FullTextScore from the index.
//
// The index entry of a word holds how often a document's text has it and how many words that text has. This
// is all that BM25 needs about the document. What BM25 needs about the other texts is counted from the
// entries as well. The number of words in all texts comes from the entries of the empty word, which every
// text has once. The number of texts with a term comes from the entries of the term, which are read for the
// scores anyway. So there are no stored statistics that a write would have to update. The scores are equal,
// to the last bit, to those computed by reading all documents: dead documents that are still in the index
// are left out (see liveRIDSet), and terms are summed in the same order.
//
// The lists of the terms are always read whole. Algorithms that skip parts of them (WAND, max score) have to
// know the number of texts with a term beforehand. That would need a counter for each word, which every
// write of a text updates. Without this number there is no bound on a word's contribution before its list
// has been read. If few documents are needed, fewer documents are read: they are read in the order of their
// scores until there are enough rows.

// wordPostings lists the texts of one source that have a word or a term, by rid.
type wordPostings struct {
	rids    []uint64
	counts  []uint32 // how often each text has it
	lengths []uint32 // number of words in each text
}

// wordSize is the size of an entry of wordPostings in bytes.
const wordSize = 16

func (l *wordPostings) add(rid, count, length uint64) {
	l.rids = append(l.rids, rid)
	l.counts = append(l.counts, uint32(min(count, math.MaxUint32)))
	l.lengths = append(l.lengths, uint32(min(length, math.MaxUint32)))
}

// textScores holds the scores of the texts of one source that have any of the terms, by rid. All other texts
// score 0.
type textScores struct {
	rids   []uint64
	scores []float64
}

// of returns the score of the text with a rid.
func (s *textScores) of(rid uint64) float64 {
	if i, ok := slices.BinarySearch(s.rids, rid); ok {
		return s.scores[i]
	}
	return 0
}

// readTexts computes the text scores of ORDER BY RANK for all sources from the index. It returns false, and
// has computed nothing, if one of the scores has no index or if reading the documents is cheaper.
func (x *Execution) readTexts(parts []rankScoreState) (bool, error) {
	texts := 0
	for i := range parts {
		if parts[i].Text != nil && parts[i].Path == nil {
			return false, nil
		} else if parts[i].Text != nil && parts[i].Valid {
			texts++
		}
	}
	if texts == 0 {
		return true, nil
	}
	sets, few, err := x.liveSets()
	if err != nil || few {
		return false, err
	}
	for i := range parts {
		if r := &parts[i]; r.Text != nil && r.Valid {
			if err := x.readText(r, sets); err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

// readText computes the score r, one FullTextScore of ORDER BY RANK, for the texts of all sources. sets are
// the live documents of each source.
func (x *Execution) readText(r *rankScoreState, sets []*liveRIDSet) error {
	lists := make([][]wordPostings, len(x.sources)) // by source and term
	for i, src := range x.sources {
		r.stats.documents += float64(sets[i].documents)
		if err := x.countWords(src, sets[i], r); err != nil {
			return err
		}
		for t := range r.Terms {
			list, err := x.termList(src, sets[i], r.CompiledRankScore, &r.Terms[t])
			if err != nil {
				return err
			}
			r.stats.hits[t] += float64(len(list.rids))
			lists[i] = append(lists[i], list)
		}
	}
	scores := lang.NewBM25(r.stats.documents, r.stats.words, r.stats.hits)
	for _, terms := range lists {
		s, err := x.addUp(&scores, terms)
		if err != nil {
			return err
		}
		r.indexed = append(r.indexed, s)
	}
	return nil
}

// countWords adds the words of all texts of a source to the statistics.
func (x *Execution) countWords(src source.DocumentSource, sets *liveRIDSet, r *rankScoreState) error {
	return x.eachText(src, sets, r.Path, "",
		func(_, _, length uint64) { r.stats.words += float64(length) })
}

// eachText calls fn for each live document whose text at path has the given word, in the order of rids.
// count is how often the word occurs there, length the number of words of the text.
func (x *Execution) eachText(src source.DocumentSource, sets *liveRIDSet, path index.Path, word string,
	fn func(rid, count, length uint64)) (err error) {
	key := x.Plan.Info.Index.TextKey(path, word)
	terms := src.Terms(key, append(bytes.Clone(key), 0xFF), false)
	defer func() {
		if e := terms.Close(); err == nil {
			err = e
		}
	}()
	alive := liveRIDFilter{p: sets}
	for terms.Next() {
		if err := x.passEntry(); err != nil {
			return err
		}
		if rid := terms.RID(); alive.accepts(rid) {
			count, length := index.DecodeText(terms.Value())
			fn(rid, count, length)
		}
	}
	return nil
}

// termList returns the texts of a source that have a term. For a word the index lists them. For a phrase the
// index lists the texts that have all its words, and these texts are read.
func (x *Execution) termList(src source.DocumentSource, sets *liveRIDSet, r *plan.CompiledRankScore,
	t *lang.TextTerm) (list wordPostings,
	err error) {
	for i, word := range t.Words {
		one, err := x.wordList(src, sets, r.Path, word.Term, t.Distance)
		if err != nil {
			return wordPostings{}, err
		}
		if i == 0 {
			list = one
		} else {
			list = list.within(one.rids)
		}
	}
	x.Run.Use(wordSize*len(list.rids), "ORDER BY RANK")
	if len(t.Words) < 2 {
		return list, x.Run.Err
	}
	return x.phrase(src, r, t, list)
}

// wordList returns the texts that have a word, or a word within the given edit distance of it.
func (x *Execution) wordList(src source.DocumentSource, sets *liveRIDSet, path index.Path, word string,
	distance int) (list wordPostings, err error) {
	if distance == 0 {
		return list, x.eachText(src, sets, path, word, list.add)
	}
	similar, err := x.similarWords(src, path, word, distance)
	if err != nil {
		return list, err
	}
	var all []wordFrequencyEntry
	for _, s := range similar {
		before := len(all)
		err := x.eachText(src, sets, path, s, func(rid, count, length uint64) {
			all = append(all, wordFrequencyEntry{rid, count, length})
		})
		x.Run.Use(textHitSize*(len(all)-before), "ORDER BY RANK")
		if err != nil || x.Run.Err != nil {
			return list, cmp.Or(err, x.Run.Err)
		}
	}
	slices.SortFunc(all, func(a, b wordFrequencyEntry) int { return cmp.Compare(a.rid, b.rid) })
	for i := 0; i < len(all); {
		hit := all[i]
		for i++; i < len(all) && all[i].rid == hit.rid; i++ {
			hit.count += all[i].count
		}
		list.add(hit.rid, hit.count, hit.length)
	}
	return list, nil
}

// wordFrequencyEntry is an index entry of a word: the rid of a text that has the word, how often the text has
// it, and the number of words of the text.
type wordFrequencyEntry struct{ rid, count, length uint64 }

const textHitSize = 24

// similarWords reads the distinct words of all texts and returns those that are similar to a word.
func (x *Execution) similarWords(src source.DocumentSource, path index.Path, word string,
	distance int) (list []string,
	err error) {
	lo, hi := x.Plan.Info.Index.TextWords(path)
	terms := src.Terms(lo, hi, false)
	wanted := []rune(word)
	var last []byte
	at := false // terms is at an entry that has not been looked at yet
	for same := 0; err == nil && (at || terms.Next()); {
		at = false
		err = x.passEntry()
		if key := terms.Key(); !bytes.Equal(key, last) {
			last, same = append(last[:0], key...), 0
			found, ok := index.TextWord(key)
			longer := utf8.RuneCountInString(found) - len(wanted)
			if ok && found != "" && max(longer, -longer) <= distance &&
				x.Run.Spend(lang.TokenWork*(1+distance)) &&
				lang.EditDistance(wanted, []rune(found), distance) <= distance {
				list = append(list, found)
			}
		} else if same++; same == nexts && err == nil { // many texts have this word
			behind := append(bytes.Clone(last), 0xFF)
			if s, ok := terms.(source.SeekableIndexEntryIterator); ok {
				if !s.Seek(behind) {
					break
				}
				at = true
				continue
			}
			err = terms.Close()
			terms = src.Terms(behind, hi, false)
		}
	}
	if e := terms.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = x.Run.Err
	}
	return list, err
}

// phrase reads the texts of a list and keeps those in which the words of a term are adjacent and in order.
func (x *Execution) phrase(src source.DocumentSource, r *plan.CompiledRankScore, t *lang.TextTerm,
	all wordPostings) (list wordPostings,
	err error) {
	for i, rid := range all.rids {
		prefetchList(src, i, len(all.rids), func(i int) uint64 { return all.rids[i] })
		d, live, err := src.Fetch(rid)
		if err != nil {
			return list, err
		}
		if !live {
			continue
		}
		x.load(d)
		x.Plan.Rows.BindPaths(x.f)
		n := t.CountFor(&x.Run.CallContext.ResourceLimiter, x.Run.CallContext.Words(r.Text(x.f), r.Spoken))
		if n > 0 {
			list.add(rid, uint64(n), uint64(all.lengths[i]))
		}
		if _, err := x.stop(); err != nil {
			return list, err
		}
	}
	return list, nil
}

// within returns the entries of the list for the documents whose rids are in the sorted list rids.
func (l wordPostings) within(rids []uint64) (both wordPostings) {
	for i, rid := range l.rids {
		n, ok := slices.BinarySearch(rids, rid)
		if rids = rids[n:]; ok {
			both.add(rid, uint64(l.counts[i]), uint64(l.lengths[i]))
		}
	}
	return both
}

// addUp computes the BM25 scores of those texts of a source that contain at least one of the terms.
func (x *Execution) addUp(scores *lang.BM25, terms []wordPostings) (s textScores, err error) {
	n := 0
	for _, l := range terms {
		n += len(l.rids)
	}
	x.Run.Use(2*8*n, "ORDER BY RANK")
	if s.rids = unionOfRIDs(terms); !x.Run.Spend(lang.EntryWork * n) {
		return s, x.Run.Err
	}
	s.scores = make([]float64, len(s.rids))
	for t, l := range terms {
		at := 0
		for i, rid := range l.rids {
			at = seekRID(s.rids, at, rid)
			s.scores[at] += scores.Term(t, int(l.counts[i]), int(l.lengths[i]))
		}
		if !x.Run.Spend(lang.EntryWork * len(l.rids)) {
			return s, x.Run.Err
		}
	}
	return s, nil
}

// unionOfRIDs returns the rids of the texts that have any term.
func unionOfRIDs(terms []wordPostings) []uint64 {
	if len(terms) == 0 {
		return nil
	}
	if len(terms) == 1 {
		return terms[0].rids
	}
	a, b := unionOfRIDs(terms[:len(terms)/2]), unionOfRIDs(terms[len(terms)/2:])
	all := make([]uint64, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		low := min(a[0], b[0])
		all = append(all, low)
		if a[0] == low {
			a = a[1:]
		}
		if b[0] == low {
			b = b[1:]
		}
	}
	return append(append(all, a...), b...)
}

// seekRID returns the index of the first of the ascending rids that is not less than rid, starting at the
// index from. It is fast if that index is near from.
func seekRID(rids []uint64, from int, rid uint64) int {
	step := 1
	for from+step < len(rids) && rids[from+step] <= rid {
		from += step
		step *= 2
	}
	i, _ := slices.BinarySearch(rids[from:min(from+step+1, len(rids))], rid)
	return from + i
}
