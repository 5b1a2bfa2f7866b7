package mcp

// RefusedError is an error of the service that api.ErrorCodes knows by its code.
type RefusedError struct{ Code, Message string }

func (e *RefusedError) Error() string { return e.Message }
