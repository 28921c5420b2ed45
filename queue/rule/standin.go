package rule

type Filter struct{}
type Action struct{}
