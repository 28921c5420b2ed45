package rule

type Kind uint8

const (
	KindTrue Kind = iota
	KindCorrelation
)

type Filter struct{}

func (Filter) Kind() Kind { return KindTrue }

type Action struct{}
