// Package discovery makes the documents from which a new client learns the whole service: the
// OpenAPI description, the tool specification, the instructions for agents and their indexes.
//
// Schemas come from the Go types that the handlers write (see schema.go), codes from
// api.ErrorCodes, events from api.Layouts, models from api.Models. The table of operations is
// in operations.go, descriptions of members are in fields.tsv. A test of the transport checks
// each answer against the description.
//
// # Metered and unmetered
//
// A client that was generated from the documents of an unmetered server works with a metered
// one. So both describe the whole interface, including payment. The differences of a
// deployment are stated separately: if nothing is charged, x-service-info has metered: false,
// each x-payment-info has charged: false, the operations need no security, and each text says
// so before it explains payment.
package discovery
