// Package discovery makes the documents from which a caller that has never seen
// the service learns all of it: the OpenAPI description, the tool specification,
// the instructions for agents and their indexes.
//
// Shapes come from the Go types that the handlers write (see schema.go), codes from
// api.ErrorCodes, events from api.Layouts, models from api.Models; the
// table of operations is in operations.go, words about members are in fields.tsv.
// A test of the transport checks each answer it receives against the description.
//
// # Metered and unmetered
//
// The interface is one: a client that was made from the documents of an unmetered
// server works with a metered one. So both describe the whole of it, payment
// included. What a deployment does is said apart: where nothing is charged,
// x-service-info has metered: false, each x-payment-info has charged: false, the
// operations need no security, and each text says it before it says how to pay.
package discovery
