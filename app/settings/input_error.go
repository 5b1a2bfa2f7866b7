package settings

// InputError is a setting or an argument that cannot be what was meant.
type InputError struct{ Err error }

func (e InputError) Error() string { return e.Err.Error() }

// Unwrap returns what is wrong.
func (e InputError) Unwrap() error { return e.Err }
