package laboratory

import (
	"net/http"

	"github.com/mayflydb/mayfly/internal/laboratory/route"
)

func ofQueueing() routeTable {
	const entity = root + "/entities/{entity}"
	return routeTable{
		on(get, root+"/entities", "All queues, topics and subscriptions",
			(*Laboratory).listEntities).Failing(404),
		on(post, root+"/entities", "Make a queue, a topic or a subscription", (*Laboratory).createEntity).
			Answering(http.StatusCreated).Failing(404, 409),
		on(get, entity, "A queue, a topic or a subscription", (*Laboratory).getEntity).Failing(404),
		on(patch, entity, "Change some settings of an entity; null puts one back to its default",
			(*Laboratory).patchEntity).Failing(404),
		on(del, entity, "Delete an entity with all that is in it", (*Laboratory).deleteEntity).Failing(404),
		on(post, entity+"/send", "Send a message", (*Laboratory).sendMessage).
			Answering(http.StatusCreated).Failing(404),
		on(post, entity+"/receive", "Take messages out of an entity",
			(*Laboratory).takeMessages).Failing(404),
		on(post, entity+"/peek", "Look at messages, and at when and why they die",
			(*Laboratory).peekMessages).
			Failing(404),
		on(post, entity+"/sessions", "The sessions of an entity that have messages",
			(*Laboratory).listSessions).
			Failing(404),
		on(post, entity+"/query", "Query the messages of an entity, as documents",
			(*Laboratory).queryMessages).
			Failing(404, 408),
		on(post, entity+"/resubmit", "Send dead letters again to where they died", (*Laboratory).resubmit).
			Failing(404),
		on(post, entity+"/delete", "Delete messages by their numbers", (*Laboratory).deleteMessages).
			Failing(404),
		on(put, entity+"/session-state", "Set the state of a session; an empty one clears it",
			(*Laboratory).setSessionState).Failing(404, 409),
		on(post, entity+"/purge", "Delete the messages of an entity that nobody has locked",
			(*Laboratory).purgeMessages).
			Failing(404),
		on(post, entity+"/wait", "Wait until an entity is empty, or has so many messages",
			(*Laboratory).waitForMessages).
			Failing(404, 408, 503),
		on(get, entity+"/forecast", "When messages of an entity expire",
			(*Laboratory).forecastMessages).Failing(404),
	}
}

func ofReceivers() routeTable {
	const receiver = root + "/receivers/{receiver}"
	return routeTable{
		route.Raw(post, root+"/entities/{entity}/receivers",
			"Open a receiver in peek-lock, whose locks end with the stream of events that this answers",
			(*Laboratory).streamReceiver).
			As(route.ResponseFormat{Kind: eventKind, Description: receiverText}).Failing(404, 408, 409),
		on(post, receiver+"/receive", "Lock messages for a receiver", (*Laboratory).receiveLocked).
			Failing(404, 409, 410),
		on(post, receiver+"/settle", "Complete, abandon, defer, dead-letter or release locked messages",
			(*Laboratory).settleMessages).Failing(404, 410),
		on(post, receiver+"/renew", "Renew locks of messages, or that of the session",
			(*Laboratory).renewLocks).Failing(404, 410),
	}
}

func ofSubscriptions() routeTable {
	const rules = root + "/entities/{entity}/rules"
	return routeTable{
		on(get, rules, "The rules of a subscription", (*Laboratory).listRules).Failing(404),
		on(post, rules, "Give a subscription one more rule", (*Laboratory).createRule).
			Answering(http.StatusCreated).Failing(404, 409),
		on(del, rules+"/{rule}", "Take a rule from a subscription", (*Laboratory).deleteRule).Failing(404),
	}
}
