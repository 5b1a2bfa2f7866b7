package mpp

// Class says what a paid request is for.
type Class uint8

const (
	// Content is charged and served.
	Content Class = iota
	// Management moves the channel and is answered 204 with a receipt and no body.
	// It is never charged, and the route's handler never runs for it.
	Management
)

func (c Class) String() string {
	if c == Management {
		return "management"
	}
	return "content"
}

// Shape is what of an HTTP request decides its class. The query string does not:
// a voucher for a stream is posted to the stream's whole URL.
type Shape struct {
	Method string
	// HasBody: at least one byte of body was there to read. Headers do not tell.
	HasBody bool
	// EmptyPost: the route sells content to a POST without a body.
	EmptyPost bool
	// HasAccept and HasSession: the headers Accept-Payment and Payment-Session are
	// there. Content requests of the published client carry one of them,
	// management requests neither.
	HasAccept, HasSession bool
}

// Classify tells management from content for a request with a payload of action a.
func Classify(a Action, s Shape) Class {
	switch {
	case a == ActionTopUp || a == ActionClose || s.Method == "HEAD":
		return Management
	case s.Method != "POST" || s.HasBody:
		return Content
	case s.EmptyPost && (s.HasAccept || s.HasSession):
		return Content
	}
	return Management
}
