// Package rule is the rules of subscriptions: filters, which say what a subscription wants, and actions,
// which change the copies that it gets.
//
//	f, err := rule.SQL("color = 'red' AND price > @limit", rule.Parameter{Name: "limit", Value: rule.Int(10)})
//	wanted, err := f.Match(message)
//	a, err := rule.NewAction("SET seen = TRUE; REMOVE price")
//	err = a.Run(message)
//
// A Filter is one of four: True, False, SQL, and a Correlation, which compares properties for equality. The
// zero Filter is True, the zero Action changes nothing. What they work on is a Message, which knows the
// properties of the service by their System names and those of the sender by their own.
//
// # The language
//
//	predicate   OR, AND, NOT, comparisons, IS [NOT] NULL, [NOT] IN (...), [NOT] LIKE ... ESCAPE,
//	            EXISTS (property)
//	expression  + - * / %, literals, [user.]name, sys.Name, [any name], "any name", @parameter,
//	            newid(), property(...)
//	action      SET property = expression; REMOVE property; ...
//
// Logic has three values. A property that is missing, or null, makes a comparison unknown, and so does one of
// two values of different kinds; what is unknown at the end is no match. Names of properties have no case,
// strings have.
//
//	lexer.go, parser.go   text -> tree, or a SyntaxError
//	node.go               the tree, and its text
//	eval.go, value.go     the tree and a message -> a value
//	action.go             the statements of an action
//	filter.go             the four kinds; how they are stored
package rule
