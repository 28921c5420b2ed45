package cosmos

// Statuses of responses. All protocols use the numbers of HTTP.
const (
	StatusOK                  = 200
	StatusCreated             = 201
	StatusNoContent           = 204
	StatusMultiStatus         = 207 // of a batch: at least one operation failed
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

// Substatuses, which distinguish failures of the same status.
const (
	SubstatusPartitionKeyMismatch = 1001
	SubstatusSessionNotAvailable  = 1002 // with status 404
	// SubstatusNameStale, with status 410, means that the container's name, which the client has cached, now
	// belongs to another container.
	SubstatusNameStale      = 1000
	SubstatusRangeGone      = 1002 // with status 410
	SubstatusOwnerNotFound  = 1003
	SubstatusCrossPartition = 1004
	// The container's rid is not the one that the client intended.
	SubstatusWrongContainer = 1024
	SubstatusThrottled      = 3200
)

// codeNames maps HTTP statuses to the values of the member "code" in an error's body.
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
