package index

import (
	"strings"
	"sync"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/spanish"
)

// Language is a language in which texts are analysed. The zero value is English.
type Language uint8

// The languages of Cosmos DB's full text search.
const (
	English Language = iota
	French
	German
	Italian
	Portuguese // of Portugal and of Brazil
	Spanish
)

// languageTag is a language with its name in full text policies.
type languageTag struct {
	tag string
	is  Language
}

func languageTags() []languageTag {
	return []languageTag{
		{"en-US", English}, {"de-DE", German}, {"es-ES", Spanish}, {"fr-FR", French}, {"it-IT", Italian},
		{"pt-BR", Portuguese}, {"pt-PT", Portuguese},
	}
}

// oldEnglish is another name of en-US: its number in Windows. Older samples of Cosmos DB use it.
const oldEnglish = "1033"

// LanguageOf returns the language of a name in a full text policy, such as fr-FR. It ignores case. The
// empty name is English. The result is false for an unknown name.
func LanguageOf(name string) (Language, bool) {
	for _, t := range languageTags() {
		if strings.EqualFold(t.tag, name) {
			return t.is, true
		}
	}
	return English, name == "" || name == oldEnglish
}

// LanguageTags returns the names of languages that a full text policy may use.
func LanguageTags() (tags []string) {
	for _, t := range languageTags() {
		tags = append(tags, t.tag)
	}
	return tags
}

// stem reduces a word in lower case to its stem, by the Snowball stemmer of the language.
func (l Language) stem(word string) string {
	env := snowballstem.NewEnv(word)
	switch l {
	case French:
		french.Stem(env)
	case German:
		german.Stem(env)
	case Italian:
		italian.Stem(env)
	case Portuguese:
		portuguese.Stem(env)
	case Spanish:
		spanish.Stem(env)
	default:
		english.Stem(env)
	}
	return env.Current()
}

// elide removes an article or pronoun that is joined to a word by an apostrophe: l'avion, dell'arte.
func (l Language) elide(word []byte) []byte {
	if l != French && l != Italian {
		return word
	}
	before, after, found := strings.Cut(string(word), "'")
	if found && after != "" && (l == French && frenchElisions().has(before) || l == Italian &&
		italianElisions().has(before)) {
		return word[len(before)+1:]
	}
	return word
}

// isStopWord reports whether a word is too frequent to be searched for.
func (l Language) isStopWord(word []byte) bool {
	switch l {
	case French:
		return frenchStops().has(string(word))
	case German:
		return germanStops().has(string(word))
	case Italian:
		return italianStops().has(string(word))
	case Portuguese:
		return portugueseStops().has(string(word))
	case Spanish:
		return spanishStops().has(string(word))
	}
	switch string(word) {
	case "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no", "not", "of", "on", "or",
		"such", "that", "the", "their", "then", "there", "these", "they", "this", "to", "was", "will", "with":
		return true
	}
	return false
}

// wordSet is a set of words.
type wordSet map[string]struct{}

func (s wordSet) has(word string) bool {
	_, ok := s[word]
	return ok
}

// words returns a function that returns the words of a list as a set. The set is built at the first call.
func words(list string) func() wordSet {
	return sync.OnceValue(func() wordSet {
		set := wordSet{}
		for _, word := range strings.Fields(list) {
			set[word] = struct{}{}
		}
		return set
	})
}

// The stop words of each language: its articles, pronouns, prepositions, conjunctions and auxiliary verbs.
var (
	frenchElisions  = words("l d c j m n s t qu jusqu lorsqu puisqu quoiqu")
	italianElisions = words(
		"l un c d m t s v n all dall dell nell sull coll pell gl agl dagl degl negl sugl quest quell")

	frenchStops = words(`au aux avec ce ces cet cette dans de des du elle elles en et eux il ils je la le les leur leurs lui ma mais me
		même mes moi mon ne nos notre nous on ou où par pas pour qu que qui sa se ses son sur ta te tes toi ton tu un une vos votre vous
		y à est es suis sommes êtes sont été était étaient sera seront soit ai as a avons avez ont avait avaient aura auront eu`)
	germanStops = words(`aber als am an auch auf aus bei bin bis bist da das dass dem den der des die dies diese diesem diesen dieser
		dieses doch du durch ein eine einem einen einer eines er es für hab habe haben hat hatte hatten ich ihm ihn ihnen ihr ihre ihrem
		ihren ihrer im in ist ja kann kein keine mein meine mich mir mit nach nicht noch nun nur ob oder ohne sein seine sich sie sind so
		über um und uns unser unter vom von vor war waren was wenn wer wie wir wird wo zu zum zur`)
	italianStops = words(`a ad agli ai al alla alle allo anche che chi ci come con cui da dagli dai dal dalla dalle dallo degli dei del
		della delle dello di dov dove e ed era erano è gli ha hai hanno ho i il in io la le lei li lo loro lui ma mi mia mie miei mio ne
		negli nei nel nella nelle nello noi non nostra nostro o per perché più quale quella quelle quelli quello questa queste questi
		questo se sei si siamo siete sono su sua sue sugli sui sul sulla sulle sullo suo suoi ti tra tu tua tuo un una uno vi voi`)
	portugueseStops = words(`a ao aos aquela aquelas aquele aqueles aquilo as até com como da das de dela delas dele deles depois do dos e
		ela elas ele eles em entre era eram essa essas esse esses esta estas este estes está estão eu foi foram há isso isto já lhe lhes
		mais mas me mesmo meu meus minha minhas muito na nas nem no nos nossa nosso não nós num numa o os ou para pela pelas pelo pelos
		por qual quando que quem se seja sem ser seu seus só sua suas são também te tem têm teu tua tu um uma você vocês vos à às é`)
	spanishStops = words(`a al algo ante antes como con contra cual cuando de del desde donde durante e el ella ellas ellos en entre era
		eran es esa esas ese eso esos esta estas este esto estos está están fue fueron ha han hasta hay la las le les lo los me mi mis mucho
		muy más ni no nos nosotros nuestra nuestro o os otra otro para pero poco por porque que qué quien se sea ser si sin sobre son su sus
		sí también te tiene tienen todo todos tu tus un una uno unos y ya yo él`)
)
