package laboratory

import (
	"net/http"

	"github.com/mayflydb/mayfly/internal/laboratory/route"
)

func ofQueueing() routeTable {
	const entity = root + "/entities/{entity}"
	return routeTable{
		on(get, root+"/entities", "List all queues, topics and subscriptions",
			(*Laboratory).listEntities).Failing(404),
		on(post, root+"/entities", "Create a queue, a topic or a subscription", (*Laboratory).createEntity).
			Answering(http.StatusCreated).Failing(404, 409),
		on(get, entity, "Get a queue, a topic or a subscription", (*Laboratory).getEntity).Failing(404),
		on(patch, entity, "Change settings of an entity; null resets one to its default",
			(*Laboratory).patchEntity).Failing(404),
		on(del, entity, "Delete an entity with its messages; a topic also with its subscriptions",
			(*Laboratory).deleteEntity).Failing(404),
		on(post, entity+"/send", "Send a message, or several copies of it", (*Laboratory).sendMessage).
			Answering(http.StatusCreated).Failing(404),
		on(post, entity+"/receive", "Receive and delete messages of an entity",
			(*Laboratory).takeMessages).Failing(404),
		on(post, entity+"/peek", "Peek at messages, with when and why they expire",
			(*Laboratory).peekMessages).
			Failing(404),
		on(post, entity+"/sessions", "The sessions of an entity that have messages or a state",
			(*Laboratory).listSessions).
			Failing(404),
		on(post, entity+"/query", "Query the messages of an entity as if they were documents",
			(*Laboratory).queryMessages).
			Failing(404, 408),
		on(post, entity+"/resubmit", "Send dead letters again, to their queue or topic",
			(*Laboratory).resubmit).
			Failing(404),
		on(post, entity+"/delete", "Delete messages by their sequence numbers", (*Laboratory).deleteMessages).
			Failing(404),
		on(put, entity+"/session-state", "Set the state of a session; an empty state clears it",
			(*Laboratory).setSessionState).Failing(404, 409),
		on(post, entity+"/purge", "Delete all messages of an entity that are not locked",
			(*Laboratory).purgeMessages).
			Failing(404),
		on(post, entity+"/wait", "Wait until an entity is empty, or has a number of messages",
			(*Laboratory).waitForMessages).
			Failing(404, 408, 503),
		on(get, entity+"/forecast", "How many messages of an entity will expire when",
			(*Laboratory).forecastMessages).Failing(404),
	}
}

func ofReceivers() routeTable {
	const receiver = root + "/receivers/{receiver}"
	return routeTable{
		route.Raw(post, root+"/entities/{entity}/receivers",
			"Open a peek-lock receiver; it and its locks last as long as the event stream in the response",
			(*Laboratory).streamReceiver).
			As(route.ResponseFormat{Kind: eventKind, Description: receiverText}).Failing(404, 408, 409),
		on(post, receiver+"/receive", "Lock messages for a receiver", (*Laboratory).receiveLocked).
			Failing(404, 409, 410),
		on(post, receiver+"/settle", "Complete, abandon, defer, dead-letter or release locked messages",
			(*Laboratory).settleMessages).Failing(404, 410),
		on(post, receiver+"/renew", "Renew the locks of messages, or the lock of the receiver's session",
			(*Laboratory).renewLocks).Failing(404, 410),
	}
}

func ofSubscriptions() routeTable {
	const rules = root + "/entities/{entity}/rules"
	return routeTable{
		on(get, rules, "The rules of a subscription", (*Laboratory).listRules).Failing(404),
		on(post, rules, "Add a rule to a subscription", (*Laboratory).createRule).
			Answering(http.StatusCreated).Failing(404, 409),
		on(del, rules+"/{rule}", "Delete a rule of a subscription", (*Laboratory).deleteRule).Failing(404),
	}
}
