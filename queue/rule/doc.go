// Package rule implements the rules of subscriptions: filters, which select the messages of a subscription,
// and actions, which change the subscription's copies.
//
//	f, err := rule.SQL("color = 'red' AND price > @limit", rule.Parameter{Name: "limit", Value: rule.Int(10)})
//	wanted, err := f.Match(message)
//	a, err := rule.NewAction("SET seen = TRUE; REMOVE price")
//	err = a.Run(message)
//
// A Filter is one of four kinds: True, False, SQL, and Correlation, which compares properties for equality.
// The zero Filter is True; the zero Action changes nothing. They are evaluated on a Message, which returns
// system properties by SystemProperty values and the sender's properties by name.
//
// # The language
//
//	predicate   OR, AND, NOT, comparisons, IS [NOT] NULL, [NOT] IN (...), [NOT] LIKE ... ESCAPE,
//	            EXISTS (property)
//	expression  + - * / %, literals, [user.]name, sys.Name, [any name], "any name", @parameter,
//	            newid(), property(...)
//	action      SET property = expression; REMOVE property; ...
//
// Logic has three values: true, false and unknown. A comparison is unknown if a property is missing or null,
// or if its operands have different kinds. A filter that evaluates to unknown does not match. Case is
// ignored in the names of properties, but not in strings.
//
//	lexer.go, parser.go   text -> tree, or a SyntaxError
//	expressionNode.go               the tree, and its text
//	eval.go, value.go     the tree and a message -> a value
//	action.go             the statements of an action
//	filter.go             the four kinds; how they are stored
package rule
