package mcp

// RefusedError is an error of the service with a code of api.ErrorCodes.
type RefusedError struct{ Code, Message string }

func (e *RefusedError) Error() string { return e.Message }
