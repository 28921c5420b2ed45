package cosmos

// Statuses of answers. The protocol has the numbers of HTTP, and every wire of it carries them as they are.
const (
	StatusOK                  = 200
	StatusCreated             = 201
	StatusNoContent           = 204
	StatusMultiStatus         = 207 // of a batch: one of its operations at least is no success
	StatusNotModified         = 304
	StatusBadRequest          = 400
	StatusUnauthorized        = 401
	StatusForbidden           = 403
	StatusNotFound            = 404
	StatusMethodNotAllowed    = 405
	StatusRequestTimeout      = 408
	StatusConflict            = 409
	StatusGone                = 410
	StatusPreconditionFailed  = 412
	StatusTooLarge            = 413
	StatusFailedDependency    = 424
	StatusTooManyRequests     = 429
	StatusHeadTooLarge        = 431
	StatusRetryWith           = 449
	StatusInternalError       = 500
	StatusUnavailable         = 503
	StatusInsufficientStorage = 507
)

// Substatuses, which tell failures of one status apart.
const (
	SubstatusPartitionKeyMismatch = 1001
	SubstatusSessionNotAvailable  = 1002 // of a 404
	SubstatusNameStale            = 1000 // of a 410: what the client has cached under a name is another one
	SubstatusRangeGone            = 1002 // of a 410
	SubstatusOwnerNotFound        = 1003
	SubstatusCrossPartition       = 1004
	// the container that the client has cached is not the one of that name any more
	SubstatusWrongContainer = 1024
	SubstatusThrottled      = 3200
)

// codeNames are the failures as the member "code" of an error's body calls them.
var codeNames = map[int]string{
	StatusBadRequest: "BadRequest", StatusUnauthorized: "Unauthorized", StatusForbidden: "Forbidden",
	StatusNotFound: "NotFound", StatusMethodNotAllowed: "MethodNotAllowed", StatusRequestTimeout: "RequestTimeout",
	StatusConflict: "Conflict", StatusGone: "Gone", StatusPreconditionFailed: "PreconditionFailed",
	StatusTooLarge: "RequestEntityTooLarge", StatusFailedDependency: "FailedDependency",
	StatusTooManyRequests: "TooManyRequests", StatusHeadTooLarge: "RequestHeaderFieldsTooLarge",
	StatusRetryWith:     "RetryWith",
	StatusInternalError: "InternalServerError",
	StatusUnavailable:   "ServiceUnavailable", StatusInsufficientStorage: "InsufficientStorage",
}
