package discovery

import "slices"

// noteOfUnmeteredPages describes pages that only a server that charges nothing has.
const noteOfUnmeteredPages = "Where analyses are sold it leads to the front page, which says how to pay."

var (
	soldElsewhere = answer{status: 303, text: "Where analyses are sold: the front page, in Location.", headers: []string{"Location"}}

	hashParam  = parameter{name: "hash", text: "Hash of the transaction.", schema: schema{"type": "string"}}
	chainParam = parameter{name: "chain", text: "Slug or EIP-155 id of the chain.", schema: schema{"type": "string"}}
)

// errorPage is an error that a browser shows.
func errorPage(status int, text string) answer {
	return answer{status: status, text: text, bodies: []media{textOf("text/html")}}
}

// ofPage are the answers of an operation whose errors are pages: its own, and the common ones.
// Those are JSON where the request did not get as far as the operation.
func ofPage(own ...answer) []answer {
	var statuses []int
	for _, a := range own {
		statuses = append(statuses, a.status)
	}
	for i := range own {
		if own[i].status == 400 {
			own[i].bodies = append(own[i].bodies, jsonOf("ErrorBody"))
		}
	}
	for _, a := range without(commonAnswers, statuses...) {
		a.name, a.bodies = "", append(slices.Clone(a.bodies), textOf("text/html"))
		own = append(own, a)
	}
	return own
}

func findOp() operation {
	return operation{
		method: "get", path: "/tx", id: "findTransaction", tag: "service", summary: "The transaction that a text names",
		text: "Free. It leads to the page of the report, or says in JSON which transaction it is. " + noteOfUnmeteredPages,
		params: []parameter{{name: "hash", query: true, schema: schema{"type": "string"},
			text: "A hash with or without 0x, the address of a page of an explorer, or a signed transaction."}},
		answers: ofPage(
			answer{status: 200, text: "What the text names, for a client that accepts application/json.", bodies: []media{jsonOf("Found")}},
			answer{status: 303, text: "The page of the report, in Location.", headers: []string{"Location"}},
			errorPage(400, "The text names no transaction."),
		),
	}
}

func txOp(path, id, summary string, params ...parameter) operation {
	return operation{
		method: "get", path: path, id: id, tag: "analysis", summary: summary,
		text: "Free. It analyses the transaction and shows the report. " + noteOfUnmeteredPages, params: params,
		answers: ofPage(
			answer{status: 200, text: "The report.", bodies: []media{textOf("text/html")}}, soldElsewhere,
			errorPage(404, "There is no such chain, or no chain has the transaction."),
			errorPage(409, "The transaction is in no block yet."),
			errorPage(502, "A chain that may have the transaction did not answer."),
		),
	}
}
