package main

var transactions = []scenario{
	without("transaction-commit", "no transactions"),
	without("transaction-rollback", "no transactions"),
	without("transaction-settle", "no transactions"),
	without("transaction-across", "no transactions"),
}

var processors = []scenario{
	without("processor-all", "no processor"),
	without("processor-throws", "no processor"),
	without("processor-sessions", "no processor"),
	without("processor-minute", "no processor"),
	without("renewer-message", "no renewer"),
	without("renewer-session", "no renewer"),
}
